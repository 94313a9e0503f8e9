"""Events of steps: their executions, and their questions to people."""

from enum import StrEnum
from typing import Literal

from msgspec import field

from weft.engine.messages.event_base import Event, written
from weft.engine.messages.facts import RefMove

SkipReason = Literal["condition", "dependency", "cancelled"]


class StepEnd(StrEnum):
    """The outcome of a step: a `StepOutcome`, or what the engine concluded from it."""

    DONE = "done"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    STOPPED = "stopped"
    LOST = "lost"
    INFRA = "infra"
    LIMITED = "limited"
    CONFLICT = "conflict"
    HELD = "held"
    REJECTED = "rejected"
    """The step ran without error, and its result was rejected."""
    ASKED = "asked"
    """Of a step without a process: a person is asked about its result."""
    ABORTED = "aborted"
    """Of a step without a process: its result ends the pipeline."""


class StepStartedEvent(Event, frozen=True, kw_only=True, tag="step_started"):
    """Written before an execution of a step starts."""

    firing: int = written(0)
    execution: int = written(1)
    transition: str = written("")
    action: str = written("", name="kind")
    """The action of the transition, as `agent`, `run` or `merge`."""
    agent: str | None = None
    model: str | None = None
    """The model, if the plan or the step names one."""
    session: str | None = None
    """The conversation that the agent continues."""
    fork: bool = False
    """Whether it continues a copy of that conversation."""
    interruption: str = ""
    """The notice to an agent about its execution that was cut off."""
    reserved: int = 0
    reserved_tokens: int = 0
    command: str | None = None
    inputs: str = ""
    """A digest of the rendered templates of the step."""
    pools: dict[str, tuple[str, ...]] | None = None
    """The things leased from pools, by pool."""
    concurrent_group: str = ""
    """Of an async step: the steps that were launched with it."""
    launched_at: float | None = None
    host: str = ""
    """The host on which it runs; empty for this machine."""


class PlacedEvent(Event, frozen=True, kw_only=True, tag="placed"):
    """Written when a slice that may work on another machine is placed on a host."""

    host: str = written("")
    token: str = written("")
    """What the far side knows the placement by."""


class StepFinishedEvent(Event, frozen=True, kw_only=True, tag="step_finished"):
    """Written when an execution of a step ends, or a step without a process.

    A step without a process, such as a join, has only a message and times. A step that ended in an earlier run,
    and was not launched in this one, has `earlier_run`.
    """

    outcome: StepEnd = field(default=StepEnd.DONE, name="@outcome")
    earlier_run: str = ""
    firing: int = 0
    execution: int = 0
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    """What went wrong, or for a rejected result the schema error or the rule."""
    files: tuple[str, ...] = ()
    conflict: bool = False
    kept: bool = False
    """Of `@workspace`: whether an earlier run left it."""
    waits_for: tuple[str, ...] = ()
    asks: bool = False
    red: bool = False
    culprits: tuple[str, ...] = ()
    moves: tuple[RefMove, ...] = ()
    session: str | None = None
    until: float | None = None
    seconds: float | None = None
    changed: bool | None = None
    """Whether an agent that was to change files has changed any in this attempt so far."""
    rejected_by: str = ""
    """`output_schema` or `on_result`, for a rejected result."""
    tail: str | None = None
    """The end of the output, if the step did not succeed."""
    cost_at_least: bool = False
    tokens_at_least: bool = False
    concurrent_group: str = ""
    launched_at: float | None = None
    completed_at: float | None = None


class StepSkippedEvent(Event, frozen=True, kw_only=True, tag="step_skipped"):
    """Written when a step is passed over without an execution."""

    outcome: str = field(default="", name="@outcome")
    """A `SkipReason`, or the reason of another version, such as `failed`: the pipeline had failed before."""
    message: str = ""


class StepCancelledEvent(Event, frozen=True, kw_only=True, tag="step_cancelled"):
    """Written when the engine ends an execution, a question or a hold because of something else."""

    firing: int = written(0)
    execution: int = written(1)
    cause: str = written("")


class AskEvent(Event, frozen=True, kw_only=True, tag="ask"):
    """Written when a step asks a person."""

    firing: int = written(0)
    question: str = written("")
    transition: str = written("")


class AnsweredEvent(Event, frozen=True, kw_only=True, tag="answered"):
    """Written when a person has answered, or has answered in an earlier run."""

    outcome: Literal["yes", "no"] = field(default="yes", name="@outcome")
    text: str = written("")
    earlier_run: str = ""


class OutsideChangedEvent(Event, frozen=True, kw_only=True, tag="outside_changed"):
    """Written after a step during which files changed where no step works; see `OutsideChange` among the facts."""

    place: str = written("")
    directory: str = written("")
    files: tuple[str, ...] = written(())
    during: tuple[str, ...] = written(())
    more: int = 0
