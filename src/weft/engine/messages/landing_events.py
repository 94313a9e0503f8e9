"""Events on the way of results to the target: merges, verifies, landings and pushes."""

from enum import StrEnum
from typing import Literal

from msgspec import field

from weft.engine.messages.event_base import Event, written
from weft.engine.messages.facts import RefMove

MergeOutcome = Literal["merged", "held", "conflict"]


class VerifyOutcome(StrEnum):
    """The start of a verify, or its outcome: `passed`, or a `StepOutcome`."""

    STARTED = "started"
    PASSED = "passed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    STOPPED = "stopped"
    LOST = "lost"
    INFRA = "infra"
    LIMITED = "limited"
    CONFLICT = "conflict"
    HELD = "held"


class PartsOutcome(StrEnum):
    """The start of a landing of completed parts, or its outcome: `landed`, or a `StepOutcome`."""

    STARTED = "started"
    LANDED = "landed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    STOPPED = "stopped"
    LOST = "lost"
    INFRA = "infra"
    LIMITED = "limited"
    CONFLICT = "conflict"
    HELD = "held"


class MergeEvent(Event, frozen=True, kw_only=True, tag="merge"):
    """Written after the end of a `@merge` or `@land` that moved refs, is held or met a conflict."""

    outcome: MergeOutcome = field(default="merged", name="@outcome")
    message: str = ""
    files: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    red: bool = False
    """Whether it is held because a verify failed."""
    moves: tuple[RefMove, ...] = ()


class MergeAskedEvent(Event, frozen=True, kw_only=True, tag="merge_asked"):
    """Written when a person asks for held work to be merged or to land."""

    about: str = written("", name="subplan")
    """The path of the subplan; empty for all."""
    joins: tuple[str, ...] | None = None
    """With `--now`: the results that no longer wait for their turn."""
    parts: tuple[str, ...] | None = None
    """With `--now`: the subplans whose completed parts land."""


class PartsEvent(Event, frozen=True, kw_only=True, tag="parts"):
    """Written when a landing of completed parts starts and ends."""

    outcome: PartsOutcome = field(default=PartsOutcome.STARTED, name="@outcome")
    firing: int = written(0)
    execution: int = written(1)
    parts: tuple[str, ...] | None = None
    """At the end: the slices that the target has now."""
    moves: tuple[RefMove, ...] | None = None
    message: str = ""
    red: bool = False


class VerifyEvent(Event, frozen=True, kw_only=True, tag="verify"):
    """Written when a verify of the landing queue starts and ends."""

    outcome: VerifyOutcome = field(default=VerifyOutcome.STARTED, name="@outcome")
    tree: str = written("")
    commit: str = written("")
    entries: tuple[str, ...] = written(())
    """The subplans that would land; none if the target itself is verified."""
    commands: tuple[str, ...] = written(())
    log: str = ""
    """The start of the names of its log files."""
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    tail: str = ""
    seconds: float | None = None


class PushEvent(Event, frozen=True, kw_only=True, tag="push"):
    """Written when the target was pushed, or could not be."""

    outcome: Literal["pushed", "failed"] = field(default="pushed", name="@outcome")
    remote: str = written("")
    commit: str = written("")
    message: str = ""
    final: bool | None = None
    """Of a failure: whether the run does not try it again."""
    command: str = ""
    """The command that pushes it later."""


class ConflictAheadEvent(Event, frozen=True, kw_only=True, tag="conflict_ahead"):
    """Written when two subplans under way change the same files in different ways, and when that is over."""

    outcome: Literal["ahead", "over"] = field(default="ahead", name="@outcome")
    other: str = written("")
    files: tuple[str, ...] = written(())
