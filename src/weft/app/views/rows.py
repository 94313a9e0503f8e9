"""The view of one subplan of a run, and of its running steps."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct

from weft.engine.messages.step_events import StepEnd, StepFinishedEvent, StepStartedEvent
from weft.engine.states import SubplanExecutionState as State

Key = TypeVar("Key")
Item = TypeVar("Item")
BECAUSE_OF_OTHERS = frozenset({"blocked", "cancelled"})
"""Reasons of a failure that another subplan or the user caused."""
BAD_ENDS = frozenset(
    {
        StepEnd.FAILED,
        StepEnd.TIMEOUT,
        StepEnd.INFRA,
        StepEnd.LOST,
        StepEnd.CONFLICT,
        StepEnd.REJECTED,
    }
)
"""Outcomes of a step that did not do its work."""


class StepFailure(Struct, frozen=True, kw_only=True):
    step: str
    attempt: int = 0
    command: str = ""
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    tail: str = ""
    """The end of the output."""
    how: str = "failed"


class Rejection(Struct, frozen=True, kw_only=True):
    """A step that ran without error and had its result rejected."""

    step: str
    attempt: int
    reason: str


class RunningStep(Struct, kw_only=True, eq=False):
    """A running step."""

    step: str
    attempt: int
    firing: int
    execution: int
    started_at: float
    command: str
    agent: str
    output: str = ""
    """The last line of its output."""
    cancelled_by: str = ""
    """The cause of its cancellation, if it is being cancelled."""
    reserved: tuple[int, int] = (0, 0)
    """The reservation of an agent: micro-dollars and tokens."""
    host: str = ""
    """The host on which it runs; empty for this machine."""


class OpenStepQuestion(Struct, frozen=True, kw_only=True):
    firing: int
    text: str
    """The question; if it is about a result, the condition and the end of the result follow on further lines."""
    asked_at: float

    @property
    def headline(self) -> str:
        return self.text.partition("\n")[0]


class HeldWork(Struct, frozen=True, kw_only=True):
    """Work that cannot be merged or land until a person acts."""

    subplan: str
    step: str
    """`@merge` or `@land`; `@workspace` or `@verify` if the work is held before that."""
    message: str
    files: tuple[str, ...] = ()
    """Files in conflict, or files that block the merge."""
    conflict: bool = False
    waits_for: tuple[str, ...] = ()
    """Subplans that must land first."""
    asks: bool = False
    """Whether the work only waits for a person's approval."""
    red: bool = False
    """Whether a verify failed on the tree that would have landed."""

    @property
    def needs_help(self) -> bool:
        """Whether a person has to do more than approve or wait."""
        return not self.asks and not self.waits_for


class LeftOut(Struct, frozen=True, kw_only=True):
    """A subplan that its group continued without."""

    group: str
    message: str
    is_culprit: bool
    """Whether this subplan caused the failure; if not, it is based on the work of a subplan that did."""


# Of ten thousand subplans, few have any of these, so that all others share one that is empty.
_NO_NOTES: Mapping[str, str] = MappingProxyType({})
_NO_STEPS: Mapping[int, RunningStep] = MappingProxyType({})
_NO_QUESTIONS: Mapping[str, OpenStepQuestion] = MappingProxyType({})


class RowView(Struct, kw_only=True, eq=False):
    """The view of a subplan; row 0 is the whole plan."""

    number: int = 0
    """The row of the plan; 0 if the view has no plan."""
    state: State = State.PENDING
    reason: str = ""
    message: str = ""
    cause: str = ""
    """The cause of a failure elsewhere: a subplan, or a step as `store/model:check`."""
    failed_by_itself: bool = False
    """Whether neither its contents nor another subplan caused the failure."""
    failure: StepFailure | None = None
    """The own step that caused the failure, if any."""
    trouble: StepFailure | None = None
    """The last step that failed, even if a later attempt succeeded."""
    rejected: Rejection | None = None
    """The last step with a rejected result, until its next end."""
    idle: tuple[str, ...] = ()
    """Agent steps that should have changed files and changed none in their last attempt."""
    notes: Mapping[str, str] = _NO_NOTES
    """Oddities of finished steps, by step: an unreadable result file, processes left behind."""
    steps: Mapping[int, RunningStep] = _NO_STEPS
    """Running steps, by firing."""
    done: frozenset[str] = frozenset()
    """Steps that have ended as done."""
    attempts: int = 0
    """The most attempts that a step of the plan has had in it."""
    has_output: bool = False
    """Whether a step with a process has started."""
    questions: Mapping[str, OpenStepQuestion] = _NO_QUESTIONS
    """Open questions, by step."""
    limited_until: float | None = None
    """The end of the usage limit that the subplan waits for."""
    started_at: float | None = None
    ended_at: float | None = None
    changed_at: float | None = None
    """When its state changed last."""
    cost: int = 0
    """Reported cost of the subplan and its contents, in micro-dollars."""
    unknown_costs: int = 0
    """Number of agent calls in it that did not report their cost."""
    tokens: int = 0
    """Reported tokens of the subplan and its contents."""
    carried: bool = False
    """Whether an earlier run completed it."""
    landing: str = ""
    """The place of its work: `unmerged`, `merged` (into its group or the target), `held` or `conflict`.

    Empty if the subplan has not started or has no branch.
    """
    held: HeldWork | None = None
    held_at: float = 0.0
    left_out: LeftOut | None = None

    def seconds(self, now: float) -> float | None:
        """Returns the seconds since the start, or until the end; None before the start."""
        if self.started_at is None:
            return None
        return max(0.0, (now if self.ended_at is None else self.ended_at) - self.started_at)

    def start(self, event: StepStartedEvent, at: float) -> None:
        if event.command or event.agent:  # joins, questions and merges have no process
            self.has_output = True
        step = RunningStep(
            step=event.step,
            attempt=event.attempt,
            firing=event.firing,
            execution=event.execution,
            started_at=at,
            command=event.command or "",
            agent=event.agent or "",
            reserved=(event.reserved, event.reserved_tokens),
            host=event.host,
        )
        self.steps = {**self.steps, event.firing: step}

    def end(self, event: StepFinishedEvent) -> RunningStep | None:
        """Removes a step from those that run; returns None if it was not among them."""
        step = self.steps.get(event.firing)
        if step is not None:
            self.steps = _without(self.steps, event.firing) or _NO_STEPS
        if event.outcome is StepEnd.DONE:
            self.done = _with(self.done, event.step)
        return step

    def ask(self, step: str, question: OpenStepQuestion) -> None:
        self.questions = {**self.questions, step: question}

    def end_question(self, step: str) -> OpenStepQuestion | None:
        """Removes the question of a step, and returns it."""
        question = self.questions.get(step)
        if question is not None:
            self.questions = _without(self.questions, step) or _NO_QUESTIONS
        return question

    def end_questions(self) -> None:
        self.questions = _NO_QUESTIONS

    def note(self, event: StepFinishedEvent, *, is_execution: bool) -> None:
        """Notes what is odd about a step that is done: it changed nothing, or it has a message."""
        idle = tuple(step for step in self.idle if step != event.step)
        self.idle = (*idle, event.step) if event.changed is False else idle
        notes = _without(self.notes, event.step)
        if event.message and is_execution:
            notes[event.step] = event.message
        self.notes = notes or _NO_NOTES

    def pause(self, seconds: float) -> None:
        """Subtracts idle time: the subplan waited for a person, or the run was stopped."""
        if self.started_at is not None:
            self.started_at += seconds


def _without(items: Mapping[Key, Item], key: Key) -> dict[Key, Item]:
    return {name: item for name, item in items.items() if name != key}


@lru_cache(maxsize=1024)
def _with(done: frozenset[str], step: str) -> frozenset[str]:
    # Cached, so that slices which have done the same steps share the set.
    return done | {step}


class LandedWork(Struct, frozen=True):
    """The branch and commit of work that has landed."""

    branch: str
    commit: str


def step_failure(event: StepFinishedEvent, step: RunningStep | None) -> StepFailure:
    """Returns the failure that the end of a step reports; `step` is None for a step that never started."""
    agent = f"agent {step.agent}" if step is not None and step.agent else ""
    return StepFailure(
        step=event.step,
        attempt=event.attempt,
        command=(step.command if step is not None else "") or agent,
        exit_code=event.exit_code,
        signal=event.signal,
        message=event.message,
        tail=event.tail or "",
        how=event.outcome,
    )
