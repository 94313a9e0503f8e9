"""Signals of a run beyond the states of subplans: usage limits, failed verifies, changes outside.

`weft status` shows them below the table of subplans.
"""

from collections.abc import Sequence

from msgspec import Struct

from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.landing_events import MergeEvent, VerifyEvent, VerifyOutcome
from weft.engine.messages.run_events import LimitedEvent
from weft.engine.messages.step_events import (
    OutsideChangedEvent,
    StepFinishedEvent,
    StepStartedEvent,
)

VERIFY, LAND = InternalStep.VERIFY, InternalStep.LAND
_NO_VERDICT = frozenset({"done", "cancelled", "stopped", "lost", "held"})
"""Outcomes of a verify that do not blame the verified work."""
_QUOTED = "  | "
"""The prefix of a line of output in a message."""


class UsageLimit(Struct, frozen=True, kw_only=True):
    agents: tuple[str, ...]
    until: float
    """Seconds since 1970."""


class FailedVerify(Struct, frozen=True, kw_only=True):
    """A verify that failed in its last execution, or that keeps results from landing."""

    subplan: str
    """The path of the group; empty for the plan."""
    command: str
    message: str
    tail: str
    """The end of its output."""
    entries: tuple[str, ...] = ()
    """The results that it keeps from landing."""
    fix: str = ""
    """Advice for the user."""
    step: str = VERIFY
    """`@verify`; `@land` where the landing queue ran it."""


class ConflictAhead(Struct, frozen=True, kw_only=True):
    subplan: str
    other: str
    files: tuple[str, ...]


class OutsideWarning(Struct, frozen=True, kw_only=True):
    """Files that changed in a checkout in which no step works; see `OutsideChange` among the facts."""

    place: str
    directory: str
    files: tuple[str, ...]
    more: int
    during: tuple[str, ...]


def outside_warning(event: OutsideChangedEvent) -> OutsideWarning:
    return OutsideWarning(
        place=event.place,
        directory=event.directory,
        files=event.files,
        more=event.more,
        during=event.during,
    )


class FailedVerifies:
    """The verifies of the landing queue that failed, and the results that are held for that."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}
        """The reason of each hold, by subplan."""
        self._commands: dict[str, None] = {}
        self._last: FailedVerify | None = None
        """The last verify, if it failed."""

    def verify(self, event: VerifyEvent) -> None:
        self._commands |= dict.fromkeys(event.commands)
        if event.outcome is VerifyOutcome.STARTED:
            return
        self._last = None
        if event.outcome not in _NO_VERDICT | {VerifyOutcome.PASSED}:
            message = event.message or event.outcome
            self._last = FailedVerify(
                subplan="",
                command=self._command_in(message),
                message=message,
                tail=event.tail,
                entries=event.entries,
                step=LAND,
            )

    def hold(self, path: str, message: str) -> None:
        """Records that a failed verify holds the landing of a subplan; without a message, ends that hold."""
        # Removed first, so that a subplan that is held again moves to the end.
        self._held.pop(path, None)
        if message:
            self._held[path] = message

    def failed(self) -> Sequence[FailedVerify]:
        """Returns the verifies that keep results from landing; without any, the last verify if it failed."""
        if not self._held:
            return () if self._last is None else (self._last,)
        paths: dict[str, list[str]] = {}
        for path, message in self._held.items():
            # One failed verify can hold several results; they have the same message and are shown together.
            paths.setdefault(message, []).append(path)
        return [self._hold(message, entries) for message, entries in paths.items()]

    def _hold(self, text: str, entries: Sequence[str]) -> FailedVerify:
        """Parses the message of a hold: the failure, then the end of the output, then the advice."""
        message, *lines = text.splitlines()
        output = [line for line in lines if line.startswith(_QUOTED)]
        return FailedVerify(
            subplan="",
            command=self._command_in(message),
            message=message,
            tail="\n".join(line.removeprefix(_QUOTED) for line in output),
            entries=tuple(entries),
            fix=" ".join(line for line in lines if not line.startswith(_QUOTED)),
            step=LAND,
        )

    def _command_in(self, message: str) -> str:
        return next((command for command in self._commands if f"({command})" in message), "")


class RunSignals:
    def __init__(self) -> None:
        self._limits: dict[tuple[str, ...], float] = {}
        self._commands: dict[str, str] = {}
        self._verifies: dict[str, FailedVerify] = {}
        self._outside: list[OutsideWarning] = []
        self._landings = FailedVerifies()

    # Updates

    def limited(self, event: LimitedEvent) -> None:
        self._limits[event.agents] = event.until

    def limits_ended(self) -> None:
        self._limits.clear()

    def outside_changed(self, event: OutsideChangedEvent) -> None:
        self._outside.append(outside_warning(event))

    def verify(self, event: VerifyEvent) -> None:
        """Records the start or end of a verify of the landing queue."""
        self._landings.verify(event)

    def land(self, event: MergeEvent) -> None:
        """Records the end of a landing: whether a failed verify holds it."""
        self._landings.hold(event.subplan, event.message if event.red else "")

    def verify_started(self, event: StepStartedEvent) -> None:
        """Records the start of a `@verify` of a group."""
        self._commands[event.subplan] = event.command or ""

    def verify_finished(self, event: StepFinishedEvent) -> None:
        """Records the end of a `@verify` of a group."""
        self._verifies.pop(event.subplan, None)
        if event.outcome not in _NO_VERDICT:
            self._verifies[event.subplan] = FailedVerify(
                subplan=event.subplan,
                command=self._commands.get(event.subplan, ""),
                message=event.message or event.outcome,
                tail=event.tail or "",
            )

    # Queries

    def limits(self, now: float) -> tuple[UsageLimit, ...]:
        """Returns the usage limits that have not ended, in the order of their ends."""
        limits = [UsageLimit(agents=agents, until=until) for agents, until in self._limits.items()]
        return tuple(
            sorted(
                (usage_limit for usage_limit in limits if usage_limit.until > now),
                key=lambda limit: limit.until,
            )
        )

    def verifies(self) -> tuple[FailedVerify, ...]:
        return (*self._verifies.values(), *self._landings.failed())

    def outside(self) -> tuple[OutsideWarning, ...]:
        return tuple(self._outside)
