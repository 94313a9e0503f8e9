"""Call agents outside a run and return their replies. The call is that of a step, in an empty directory.

A supervisor runs the calls as it runs steps, so no process of an agent is left behind. It exits when all calls
have ended. If this process is killed, the supervisor ends the calls at their time limit, then exits.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio
from msgspec import Struct

from weft.agents.adapters import adapter_of
from weft.agents.shared.text import last_line
from weft.app.agents.overview import PlanAgents
from weft.app.isolation.step_isolation import isolation_of
from weft.app.project.hosts import host_of
from weft.app.project.places import Places
from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import AgentTask, Launch
from weft.errors import WeftError
from weft.plan.model import Agent
from weft.plan.order.outline import ROOT
from weft.ports.host import Host, JobEnded
from weft.runtime.jobs import JobFactory

GRACE = 2.0
AT_ONCE = 4
"""The most calls at once; some agents need hundreds of megabytes each."""
_RUN = "asking"


class AgentQuestion(Struct, frozen=True, kw_only=True):
    agent: Agent
    prompt: str
    step: str
    """The name of the step that the agent sees."""
    attempt: int = 1
    read_only: bool = False


class AgentReply(Struct, frozen=True, kw_only=True):
    agent: Agent
    how: StepOutcome | None
    """The outcome; None if the agent could not be called."""
    message: str = ""
    """Why there was no answer."""
    answer: str = ""
    seconds: float = 0.0
    tokens: int | None = None
    cost: int | None = None
    """In micro-dollars."""
    until: float | None = None
    """The end of a usage limit that the agent has met."""

    @property
    def has_answered(self) -> bool:
        return self.how is StepOutcome.DONE


OnReply = Callable[[AgentReply], object]


def ask(
    found: PlanAgents,
    questions: Sequence[AgentQuestion],
    environ: Mapping[str, str],
    *,
    timeout: float,
    on_reply: OnReply = lambda _reply: None,
) -> list[AgentReply]:
    """Returns a reply to each question, in the same order; calls `on_reply` as soon as a reply arrives."""
    if not questions:
        return []
    with tempfile.TemporaryDirectory(prefix="weft-agents-", ignore_cleanup_errors=True) as folder:
        places = Places(Path(folder))
        places.host(_RUN).mkdir(parents=True)
        # No run takes these jobs over, so the supervisor ends with the last of them.
        host = host_of(places, _RUN, linger=0.0)
        asking = _QuestionRun(
            found, questions, environ, places=places, host=host, timeout=timeout, on_reply=on_reply
        )
        try:
            anyio.run(asking.run)
        finally:
            # The supervisor still writes below the temporary directory; removing that first would leave files
            # behind.
            host.wait_until_gone()
    return [asking.replies[number] for number in range(len(questions))]


class _QuestionRun:
    def __init__(  # noqa: PLR0913 - by name, most of them
        self,
        found: PlanAgents,
        questions: Sequence[AgentQuestion],
        environ: Mapping[str, str],
        *,
        places: Places,
        host: Host,
        timeout: float,
        on_reply: OnReply,
    ) -> None:
        self._places = places
        self._host = host
        self._questions = questions
        self._model = found.plan.scopes[ROOT].settings.model
        self._timeout = timeout
        self._on_reply = on_reply
        self._jobs = JobFactory(
            run=_RUN,
            plan=found.plan,
            plan_dir=found.folder,
            logs=places.logs(_RUN),
            records=host,
            adapter_of=adapter_of,
            environ=environ,
            isolation=isolation_of(found.plan, places, _RUN, found.folder, environ),
        )
        self._waiting = list(enumerate(questions))
        self._running: dict[str, tuple[int, Launch, Path]] = {}
        self.replies: dict[int, AgentReply] = {}

    async def run(self) -> None:
        host = self._host
        await host.open()
        try:
            self._start()
            if self._running:
                async for ends in host.ended():
                    self._take(ends)
                    self._start()
                    if not self._running:
                        break
        finally:
            for job in self._running:  # the user has interrupted the wait
                host.stop(job, grace=0.0)
            # The scope may be cancelled already, and then every await would raise instead of closing the
            # connection.
            with anyio.CancelScope(shield=True):
                await host.close()

    def _start(self) -> None:
        while self._waiting and len(self._running) < AT_ONCE:
            number, question = self._waiting.pop(0)
            launch, cwd = self._launch(number, question), self._places.project / str(number)
            # Each call has an empty directory: agents read the files around them, and no call may see those of
            # another.
            cwd.mkdir()
            try:
                job = self._jobs.job(launch, cwd)
            except (WeftError, OSError) as error:
                self._note(number, AgentReply(agent=question.agent, how=None, message=str(error)))
            else:
                self._running[job.id] = (number, launch, cwd)
                self._host.start(job)

    def _launch(self, number: int, question: AgentQuestion) -> Launch:
        return Launch(
            firing=number,
            execution=1,
            row=ROOT,
            path=f"agents/{number}",
            step=question.step,
            attempt=question.attempt,
            work=AgentTask(
                agent=question.agent,
                model=question.agent.model or self._model,
                prompt=question.prompt,
                read_only=question.read_only,
            ),
            timeout=self._timeout,
            grace=GRACE,
        )

    def _take(self, ends: Sequence[JobEnded]) -> None:
        for end in ends:
            number, launch, cwd = self._running.pop(end.id)
            fact = self._jobs.fact(launch, end, cwd, at=time.time(), halted=None)
            self._note(number, reply_of(self._questions[number].agent, fact, self._timeout))

    def _note(self, number: int, reply: AgentReply) -> None:
        self.replies[number] = reply
        self._on_reply(reply)


def reply_of(agent: Agent, fact: Ended, timeout: float) -> AgentReply:
    message = fact.message
    if fact.how is StepOutcome.TIMEOUT:
        last = last_line(fact.errors) or last_line(fact.result)
        message = f"there was no answer within {timeout:g} s" + (f"; it said: {last}" if last else "")
    return AgentReply(
        agent=agent,
        how=fact.how,
        message="" if fact.how is StepOutcome.DONE else message,
        answer=fact.result if fact.how is StepOutcome.DONE else "",
        seconds=fact.seconds,
        tokens=fact.tokens,
        cost=fact.cost,
        until=fact.until,
    )
