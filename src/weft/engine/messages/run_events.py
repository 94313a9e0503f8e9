"""Events of a run and its subplans, of money and of usage limits."""

from enum import StrEnum
from typing import Literal

from msgspec import field

from weft.engine.messages.event_base import Event, written
from weft.engine.messages.facts import ControlState
from weft.engine.messages.failures import Failure
from weft.engine.states import FailureReason, SubplanExecutionState
from weft.terms import MachineState

Unit = Literal["usd", "tokens"]
"""The unit of a ceiling; dollars are counted in millionths."""


class RunEnd(StrEnum):
    """How a run ended; a stopped run can be resumed."""

    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"


class RunStartedEvent(Event, frozen=True, kw_only=True, tag="run_started"):
    """Written first in every run."""

    plan: str = written("")
    run: str = written("")
    subplans: int = written(0)
    slices: int = written(0)


class RunFinishedEvent(Event, frozen=True, kw_only=True, tag="run_finished"):
    """Written when nothing is left to do, or when the run has stopped. Cost and tokens are those of this run."""

    outcome: RunEnd = field(default=RunEnd.COMPLETED, name="@outcome")
    counts: dict[str, int] = written(dict[str, int]())
    """Subplans by state."""
    seconds: float = written(0.0)
    message: str | None = None
    """Why the run failed."""
    cause: str | None = None
    reason: FailureReason | None = None
    stuck: tuple[str, ...] = ()
    """What waits for ever, which a proven plan excludes."""
    unknown_costs: int = 0
    """Agent calls that did not report their cost."""


class HostChangedEvent(Event, frozen=True, kw_only=True, tag="host_changed"):
    """Written when a machine of a host has been reached, is out of reach, or counts as lost."""

    outcome: MachineState = field(default=MachineState.CONNECTING, name="@outcome")
    host: str = written("")
    machine: str = ""
    message: str = ""


class StoppingEvent(Event, frozen=True, kw_only=True, tag="stopping"):
    """Written when a person stops the run."""

    now: bool = written(default=False)
    """Without grace."""


class PausedEvent(Event, frozen=True, kw_only=True, tag="paused"):
    """Written when a person pauses, freezes or stops a subplan or, with an empty path, everything."""

    outcome: ControlState = field(default=ControlState.PAUSE, name="@outcome")
    now: bool = False


class ResumedEvent(Event, frozen=True, kw_only=True, tag="resumed"):
    """Written when a person resumes a subplan or, with an empty path, everything."""

    outcome: ControlState = field(default=ControlState.GO, name="@outcome")
    now: bool = False


class RecoveredEvent(Event, frozen=True, kw_only=True, tag="recovered"):
    """Written when a new coordinator has taken the run over."""

    epoch: int = written(0)
    running: tuple[int, ...] = written(())
    """The firings that still run."""


class CoordinatorLeftEvent(Event, frozen=True, kw_only=True, tag="coordinator_left"):
    """Written when the coordinator ends though the run is unfinished, as only people can continue it."""


class WokeEvent(Event, frozen=True, kw_only=True, tag="woke"):
    """Written when a time has come that the engine waited for."""


class IgnoredEvent(Event, frozen=True, kw_only=True, tag="ignored"):
    """Written for a fact that comes too late: about an execution, or an answer to a question."""

    firing: int = 0
    execution: int = 0
    about_subplan: str = field(default="", name="subplan")
    about_step: str = field(default="", name="step")


# Money and usage limits


class SpentEvent(Event, frozen=True, kw_only=True, tag="spent"):
    """Written when a running step reports its spending: cost and tokens are totals of the execution so far."""

    firing: int = written(0)
    execution: int = written(1)


class CostUnknownEvent(Event, frozen=True, kw_only=True, tag="cost_unknown"):
    """Written after an execution of an agent that ended without a report of its cost."""

    firing: int = written(0)
    execution: int = written(1)
    reserved: int = 0
    """The micro-dollars that stay reserved for it."""
    reserved_tokens: int = 0


class BudgetEvent(Event, frozen=True, kw_only=True, tag="budget"):
    """Written when spending passes a share of a ceiling or reaches it, and when a person resets the ceilings.

    A reset has no data: the ceilings count from zero.
    """

    outcome: Literal["alert", "reached", "reset"] = field(default="alert", name="@outcome")
    unit: Unit | None = None
    spent: int | None = None
    reserved: int | None = None
    ceiling: int | None = None
    percent: int | None = None


class LimitedEvent(Event, frozen=True, kw_only=True, tag="limited"):
    """Written when an agent meets a usage limit; its agents are parked until the limit ends."""

    firing: int = written(0)
    agents: tuple[str, ...] = written(())
    until: float = written(0.0)


class LimitsEndedEvent(Event, frozen=True, kw_only=True, tag="limits_ended"):
    """Written when a person ends all usage limits."""


# Subplans


class SubplanStateEvent(Event, frozen=True, kw_only=True, tag="subplan_state"):
    """Written when the state of a subplan changes; the outcome is its new state."""

    outcome: SubplanExecutionState = field(default=SubplanExecutionState.PENDING, name="@outcome")
    before: SubplanExecutionState = written(SubplanExecutionState.PENDING, name="from")
    reason: FailureReason | None = None
    """Of a failure, as are message, cause and failure."""
    message: str | None = None
    cause: str | None = None
    failure: Failure | None = None
    """The failure of its own step, if a step caused it."""
    carried: bool = False
    """Whether an earlier run completed it."""


class FeedbackEvent(Event, frozen=True, kw_only=True, tag="feedback"):
    """Written at the start of a run for each slice whose agent gets the feedback of a person."""

    text: str = written("")


class LeftOutEvent(Event, frozen=True, kw_only=True, tag="left_out"):
    """Written when a group continues without a subplan that breaks its verify, or builds on such a subplan."""

    group: str = written("")
    message: str = written("")
    culprits: tuple[str, ...] = written(())
