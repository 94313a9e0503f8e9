"""What `weft decompose --refine` does: an agent is asked what it would call the parts, and where files belong.

An answer that cannot be taken is told to it with all that is wrong, and it is asked once more. If there is none
that can be taken, there is no plan: nobody should have to find out whether the one that was written is refined.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from weft.app.agents.overview import PlanAgents, overview
from weft.app.agents.probes import to_probe
from weft.app.agents.question import AgentQuestion, AgentReply, ask
from weft.app.decompose.refinement import Refinement, RefinementCost
from weft.decompose.model import Limits, Part, Signals
from weft.decompose.refinement.questions import MOST_BYTES, Questions, QuestionScope
from weft.decompose.refinement.tree import Refined, Refining
from weft.engine.state.outputs import MOST_CHECKED, NotJsonError, json_of
from weft.errors import InputError, WeftError
from weft.plan.language.adapters import ADAPTERS
from weft.plan.model import Agent

TIMEOUT = 600.0
"""Seconds for an answer."""
MOST_QUESTIONS = 20
TRIES = 2
"""For each question."""
_FAULTS_TOLD = 20
_ANSWER_TOLD = 20_000
"""Characters of an answer that the agent sees again, if it could not be taken."""
_WITHOUT = "nothing has been written; for a plan that no agent has refined, leave out --refine"

Call = Callable[[str, int], AgentReply]
"""A prompt, and for which time: what came of it."""
Tell = Callable[[str], object]


class AnswerRefusedError(WeftError):
    """What an agent answered cannot be taken."""

    def __init__(self, agent: str, faults: Sequence[str], spent: RefinementCost) -> None:
        self.faults = tuple(faults)
        self._spent = spent
        super().__init__(f"{agent} was asked {TRIES} times, and its answer is invalid")

    def lines(self) -> Iterator[str]:
        yield f"error: {self}:"
        yield from _told(self.faults)
        yield f"{_WITHOUT} ({self._spent.words()})"


def _told(faults: Sequence[str]) -> Iterator[str]:
    yield from (f"  - {fault}" for fault in faults[:_FAULTS_TOLD])
    if len(faults) > _FAULTS_TOLD:
        yield f"  and {len(faults) - _FAULTS_TOLD:,} more"


class Refiner:
    """An agent that can be asked; `tell` hears what is going on, in sentences."""

    def __init__(self, agent: Agent, call: Call, tell: Tell, *, most_bytes: int = MOST_BYTES) -> None:
        self.agent = agent
        self._call = call
        self._tell = tell
        self._most_bytes = most_bytes
        self._spent = RefinementCost()

    def refine(self, whole: Part, signals: Signals, limits: Limits, goal: str) -> tuple[Part, Refinement]:
        """Raises `AnswerRefusedError`, and `WeftError` if there is no answer, or too much to ask."""
        questions = Questions(signals, limits, goal, most_bytes=self._most_bytes)
        refining = Refining(signals, limits)
        scopes = questions.scopes(whole)
        if len(scopes) > MOST_QUESTIONS:
            raise InputError(
                f"{self.agent.name} would be asked {len(scopes):,} questions, more than the limit of "
                f"{MOST_QUESTIONS}; name a DIR in it, choose with --files, or leave out --refine"
            )
        done = list[Refined]()
        for number, scope in enumerate(scopes, 1):
            which = f", question {number} of {len(scopes)}" if len(scopes) > 1 else ""
            self._tell(f"asking {self.agent.name} for names, words and moves{which}")
            done.append(self._answered(whole, scope, questions.text(whole, scope), refining))
            whole = done[-1].whole
        return whole, Refinement(
            agent=self.agent.name,
            model=self.agent.model,
            questions=len(scopes),
            renamed=sum(one.renamed for one in done),
            worded=sum(one.worded for one in done),
            moved=sum(one.moved for one in done),
            spent=self._spent,
        )

    def _answered(self, whole: Part, scope: QuestionScope, prompt: str, refining: Refining) -> Refined:
        faults: Sequence[str] = ()
        again = ""
        for attempt in range(1, TRIES + 1):
            if faults:
                self._tell(f"its answer is invalid: {faults[0]}; asking again")
            answer = self._answer(prompt + again, attempt)
            taken = _taken(answer, whole, scope, refining)
            if isinstance(taken, Refined):
                return taken
            faults, again = taken, _again(taken, answer)
        raise AnswerRefusedError(self.agent.name, faults, self._spent)

    def _answer(self, prompt: str, attempt: int) -> str:
        reply = self._call(prompt, attempt)
        self._spent += RefinementCost(tries=1, seconds=reply.seconds, tokens=reply.tokens, cost=reply.cost)
        if not reply.has_answered:
            raise WeftError(f"{self.agent.name} did not answer: {_why(reply)}; {_WITHOUT}")
        return reply.answer


def _taken(answer: str, whole: Part, scope: QuestionScope, refining: Refining) -> Refined | tuple[str, ...]:
    """What becomes of the tree, or all that is wrong with the answer."""
    if len(answer) > MOST_CHECKED:
        return (f"the answer has {len(answer):,} characters; the limit is {MOST_CHECKED:,}",)
    try:
        value = json_of(answer, of_agent=True)
    except NotJsonError as error:
        return (str(error),)
    refined = refining.refined(whole, scope, value)
    return refined if isinstance(refined, Refined) else refined.faults


def _again(faults: Sequence[str], answer: str) -> str:
    shown = answer if len(answer) <= _ANSWER_TOLD else f"{answer[:_ANSWER_TOLD]}…"
    return "\n".join(
        (
            "\n\nYou were asked this before, and your answer is invalid:",
            *_told(faults),
            "It was:",
            shown,
            "Answer again, with a whole JSON object.",
        )
    )


def _why(reply: AgentReply) -> str:
    if reply.until is None:
        return reply.message
    until = datetime.fromtimestamp(reply.until, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{reply.message}; limited until {until}"


# --- who is asked ---


def refiner(
    found: PlanAgents, name: str, environ: Mapping[str, str], *, model: str | None, timeout: float, tell: Tell
) -> Refiner:
    """The agent of that name, found as `weft agents` finds it. Raises `InputError` if it cannot be asked."""
    seen = overview(found, [name], environ, patience=None)
    asked = to_probe(found, seen, environ, named=True, model=model)
    for one in asked.missing:
        raise InputError(
            f"the agent {name} needs {one.program}, which is not on the PATH; to install it, type: {one.install}"
        )
    return Refiner(asked.agents[0], partial(_call, found, asked.agents[0], environ, timeout), tell)


def _call(
    found: PlanAgents, agent: Agent, environ: Mapping[str, str], timeout: float, prompt: str, attempt: int
) -> AgentReply:
    can_only_read = ADAPTERS[agent.use].reads_only
    question = AgentQuestion(
        agent=agent, prompt=prompt, step="refine", attempt=attempt, read_only=can_only_read
    )
    return ask(found, [question], environ, timeout=timeout)[0]
