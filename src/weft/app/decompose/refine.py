"""`weft decompose --refine`: ask an agent for names of the parts and for better places of files.

An invalid answer goes back to the agent with all its errors, once. Without a valid answer no plan is written, so
that a written plan is always refined.
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
from weft.decompose.refinement.tree import RefinedTree, TreeRefiner
from weft.engine.state.outputs import MOST_CHECKED, NotJsonError, json_of
from weft.errors import InputError, WeftError
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.model import Agent

TIMEOUT = 600.0
"""Seconds for an answer."""
MOST_QUESTIONS = 20
TRIES = 2
"""For each question."""
_FAULTS_TOLD = 20
_ANSWER_TOLD = 20_000
"""The most characters of an invalid answer that the agent sees again."""
_WITHOUT = "nothing has been written; for a plan that no agent has refined, leave out --refine"

Call = Callable[[str, int], AgentReply]
"""Calls the agent with a prompt and the number of the attempt."""
Tell = Callable[[str], object]


class AnswerRefusedError(WeftError):
    """The agent's answers are invalid."""

    def __init__(self, agent: str, faults: Sequence[str], spent: RefinementCost) -> None:
        self.faults = tuple(faults)
        self._spent = spent
        super().__init__(f"{agent} was asked {TRIES} times, and its answer is invalid")

    def lines(self) -> Iterator[str]:
        yield f"error: {self}:"
        yield from _fault_lines(self.faults)
        yield f"{_WITHOUT} ({self._spent.words()})"


def _fault_lines(faults: Sequence[str]) -> Iterator[str]:
    yield from (f"  - {fault}" for fault in faults[:_FAULTS_TOLD])
    if len(faults) > _FAULTS_TOLD:
        yield f"  and {len(faults) - _FAULTS_TOLD:,} more"


class Refiner:
    """Refines a tree with an agent; calls `tell` with sentences about the progress."""

    def __init__(self, agent: Agent, call: Call, tell: Tell, *, most_bytes: int = MOST_BYTES) -> None:
        self.agent = agent
        self._call = call
        self._tell = tell
        self._most_bytes = most_bytes
        self._spent = RefinementCost()

    def refine(self, whole: Part, signals: Signals, limits: Limits, goal: str) -> tuple[Part, Refinement]:
        """Returns the refined tree.

        Raises `AnswerRefusedError`, and `WeftError` if there is no answer, or if there are too many questions.
        """
        questions = Questions(signals, limits, goal, most_bytes=self._most_bytes)
        refining = TreeRefiner(signals, limits)
        scopes = questions.scopes(whole)
        if len(scopes) > MOST_QUESTIONS:
            raise InputError(
                f"{self.agent.name} would be asked {len(scopes):,} questions, more than the limit of "
                f"{MOST_QUESTIONS}; name a DIR in it, choose with --files, or leave out --refine"
            )
        refined = list[RefinedTree]()
        for number, scope in enumerate(scopes, 1):
            which = f", question {number} of {len(scopes)}" if len(scopes) > 1 else ""
            self._tell(f"asking {self.agent.name} for names, words and moves{which}")
            # One after the other: each answer changes the tree that the next question shows.
            refined.append(self._ask_until_accepted(whole, scope, questions.text(whole, scope), refining))
            whole = refined[-1].whole
        return whole, Refinement(
            agent=self.agent.name,
            model=self.agent.model,
            questions=len(scopes),
            renamed=sum(answer.renamed for answer in refined),
            worded=sum(answer.worded for answer in refined),
            moved=sum(answer.moved for answer in refined),
            spent=self._spent,
        )

    def _ask_until_accepted(
        self, whole: Part, scope: QuestionScope, prompt: str, refining: TreeRefiner
    ) -> RefinedTree:
        faults: Sequence[str] = ()
        again = ""
        for attempt in range(1, TRIES + 1):
            if faults:
                self._tell(f"its answer is invalid: {faults[0]}; asking again")
            # The whole prompt is sent again, since not every agent can resume a conversation.
            answer = self._answer(prompt + again, attempt)
            taken = _apply_answer(answer, whole, scope, refining)
            if isinstance(taken, RefinedTree):
                return taken
            faults, again = taken, _again(taken, answer)
        raise AnswerRefusedError(self.agent.name, faults, self._spent)

    def _answer(self, prompt: str, attempt: int) -> str:
        reply = self._call(prompt, attempt)
        self._spent += RefinementCost(tries=1, seconds=reply.seconds, tokens=reply.tokens, cost=reply.cost)
        if not reply.has_answered:
            raise WeftError(f"{self.agent.name} did not answer: {_why(reply)}; {_WITHOUT}")
        return reply.answer


def _apply_answer(
    answer: str, whole: Part, scope: QuestionScope, refining: TreeRefiner
) -> RefinedTree | tuple[str, ...]:
    """Returns the changed tree, or all errors of the answer."""
    # An endless answer would take minutes to parse, only to be refused.
    if len(answer) > MOST_CHECKED:
        return (f"the answer has {len(answer):,} characters; the limit is {MOST_CHECKED:,}",)
    try:
        value = json_of(answer, of_agent=True)
    except NotJsonError as error:
        return (str(error),)
    refined = refining.refine(whole, scope, value)
    return refined if isinstance(refined, RefinedTree) else refined.faults


def _again(faults: Sequence[str], answer: str) -> str:
    shown = answer if len(answer) <= _ANSWER_TOLD else f"{answer[:_ANSWER_TOLD]}…"
    return "\n".join(
        (
            "\n\nYou were asked this before, and your answer is invalid:",
            *_fault_lines(faults),
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


# --- the agent ---


def refiner(
    found: PlanAgents, name: str, environ: Mapping[str, str], *, model: str | None, timeout: float, tell: Tell
) -> Refiner:
    """Returns a refiner with the agent of that name, as `weft agents` finds it. Raises `InputError`."""
    statuses = overview(found, [name], environ, patience=None)
    to_ask = to_probe(found, statuses, environ, named=True, model=model)
    for status in to_ask.missing:
        raise InputError(
            f"the agent {name} needs {status.program}, which is not on the PATH; "
            f"to install it, type: {status.install}"
        )
    return Refiner(to_ask.agents[0], partial(_call, found, to_ask.agents[0], environ, timeout), tell)


def _call(
    found: PlanAgents, agent: Agent, environ: Mapping[str, str], timeout: float, prompt: str, attempt: int
) -> AgentReply:
    # The answer is all that is wanted, so an agent that can be kept from writing files is.
    can_only_read = AGENT_PROGRAMS[agent.use].reads_only
    question = AgentQuestion(
        agent=agent, prompt=prompt, step="refine", attempt=attempt, read_only=can_only_read
    )
    return ask(found, [question], environ, timeout=timeout)[0]
