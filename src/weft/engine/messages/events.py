"""Events: what a run reports, and what its journal stores. One class for each kind.

Each fact makes exactly one event that carries it, and then those that follow from it. The journal therefore needs
no second record: its facts, in order, give the state, and the events between them result again when the facts are
applied.

A step that is not part of the plan has a name with @: `@workspace`, `@merge`, `@resolve`, `@land`, `@verify` of
a group. A `@merge` with a conflict that an agent resolves ends as `conflict`; one that waits for a person, as
`held`.

`event_codec` converts events to their stored form and back. A reader matches on classes and passes the others to
`overlook`; the fold (`app.views.run_fold`) ends with `assert_never`. So the type checker reports every reader that
a new class concerns.
"""

from typing import Any

from msgspec import Struct, field

from weft.engine.messages.event_base import Event
from weft.engine.messages.landing_events import (
    ConflictAheadEvent,
    MergeAskedEvent,
    MergeEvent,
    PartsEvent,
    PartsOutcome,
    PushEvent,
    VerifyEvent,
    VerifyOutcome,
)
from weft.engine.messages.run_events import (
    BudgetEvent,
    CoordinatorLeftEvent,
    CostUnknownEvent,
    FeedbackEvent,
    HostChangedEvent,
    IgnoredEvent,
    LeftOutEvent,
    LimitedEvent,
    LimitsEndedEvent,
    PausedEvent,
    RecoveredEvent,
    ResumedEvent,
    RunEnd,
    RunFinishedEvent,
    RunStartedEvent,
    SpentEvent,
    StoppingEvent,
    SubplanStateEvent,
    WokeEvent,
)
from weft.engine.messages.step_events import (
    AnsweredEvent,
    AskEvent,
    OutsideChangedEvent,
    PlacedEvent,
    StepCancelledEvent,
    StepEnd,
    StepFinishedEvent,
    StepSkippedEvent,
    StepStartedEvent,
)
from weft.engine.messages.step_refs import ExecutionKey

__all__ = [
    "AnsweredEvent",
    "AnyEvent",
    "AskEvent",
    "BudgetEvent",
    "ConflictAheadEvent",
    "CoordinatorLeftEvent",
    "CostUnknownEvent",
    "FeedbackEvent",
    "HostChangedEvent",
    "IgnoredEvent",
    "LeftOutEvent",
    "LimitedEvent",
    "LimitsEndedEvent",
    "MergeAskedEvent",
    "MergeEvent",
    "OptionalEvent",
    "OutsideChangedEvent",
    "PartsEvent",
    "PartsOutcome",
    "PausedEvent",
    "PlacedEvent",
    "PushEvent",
    "Recorded",
    "RecoveredEvent",
    "ResumedEvent",
    "RunEnd",
    "RunFinishedEvent",
    "RunStartedEvent",
    "SpentEvent",
    "StepCancelledEvent",
    "StepEnd",
    "StepFinishedEvent",
    "StepSkippedEvent",
    "StepStartedEvent",
    "StoppingEvent",
    "SubplanStateEvent",
    "UnknownEvent",
    "VerifyEvent",
    "VerifyOutcome",
    "WokeEvent",
    "execution_of",
    "overlook",
]


class UnknownEvent(Event, frozen=True, kw_only=True, tag="unknown"):
    """An event that this version cannot read: of a kind or with an outcome that only another version has."""

    kind: str
    outcome: str = ""
    data: dict[str, Any] = field(default_factory=dict[str, Any])


OptionalEvent = (
    StepStartedEvent
    | StepFinishedEvent
    | StepSkippedEvent
    | StepCancelledEvent
    | SubplanStateEvent
    | SpentEvent
    | MergeEvent
    | RunStartedEvent
    | RunFinishedEvent
    | StoppingEvent
    | PausedEvent
    | ResumedEvent
    | RecoveredEvent
    | CoordinatorLeftEvent
    | WokeEvent
    | IgnoredEvent
    | CostUnknownEvent
    | BudgetEvent
    | LimitedEvent
    | LimitsEndedEvent
    | LeftOutEvent
    | FeedbackEvent
    | AskEvent
    | AnsweredEvent
    | OutsideChangedEvent
    | MergeAskedEvent
    | PartsEvent
    | VerifyEvent
    | PushEvent
    | ConflictAheadEvent
    | PlacedEvent
    | HostChangedEvent
    | UnknownEvent
)
"""The classes that a reader may overlook. A new class belongs here once every reader has an answer to it."""
AnyEvent = OptionalEvent
"""All classes. A new class starts here: `OptionalEvent | NewEvent`."""


class Recorded(Struct, frozen=True, kw_only=True):
    """An event in the journal."""

    seq: int
    """1, 2, 3 … over all runs, without a gap within one."""
    at: float
    run: str
    event: AnyEvent
    data: str = ""
    """The data as it is stored, a JSON object; empty if the event was not read from the journal."""


def overlook(_event: OptionalEvent) -> None:
    """Does nothing: the reader that calls it has no use for the event."""


def execution_of(
    event: StepStartedEvent
    | StepFinishedEvent
    | StepCancelledEvent
    | SpentEvent
    | CostUnknownEvent
    | PartsEvent,
) -> ExecutionKey:
    """Returns the execution that the event is about; the first execution where the event names none."""
    return ExecutionKey(event.firing, event.execution or 1)
