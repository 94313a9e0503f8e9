"""Signals of a run beyond the states of subplans: usage limits, failed verifies, conflicts ahead, rejections.

`weft status` shows them below the table of subplans. They are folded from glimpses, in the order of the journal:
first the rare events of the whole run (`hear`), then the steps of the subplans that are shown (`hear_step`).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from weft.app.views.push import PushState, push_state
from weft.engine.messages.failures import REJECTED
from weft.ports.journal import Glimpse

VERIFY, LAND = "@verify", "@land"
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


def outside_warning(data: Mapping[str, Any]) -> OutsideWarning:
    """Returns the warning that the data of an `outside_changed` event describes."""
    return OutsideWarning(
        place=str(data.get("place", "")),
        directory=str(data.get("directory", "")),
        files=tuple(data.get("files", ())),
        more=int(data.get("more", 0)),
        during=tuple(data.get("during", ())),
    )


class FailedVerifies:
    """The verifies of the landing queue that failed, and the results that are held for that."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}
        """The reason of each hold, by subplan."""
        self._commands: dict[str, None] = {}
        self._last: FailedVerify | None = None
        """The last verify, if it failed."""

    def hear(self, outcome: str, data: Mapping[str, Any]) -> None:
        """Folds a `verify` event."""
        self._commands |= dict.fromkeys(data.get("commands", ()))
        if outcome == "started":
            return
        self._last = None
        if outcome not in _NO_VERDICT | {"passed"}:
            message = str(data.get("message") or outcome)
            self._last = FailedVerify(
                subplan="",
                command=self._command_in(message),
                message=message,
                tail=str(data.get("tail", "")),
                entries=tuple(data.get("entries", ())),
                step=LAND,
            )

    def hold(self, path: str, message: str) -> None:
        """Records that a failed verify holds the landing of a subplan; without a message, ends that hold."""
        self._held.pop(path, None)
        if message:
            self._held[path] = message

    def failed(self) -> Sequence[FailedVerify]:
        """Returns the verifies that keep results from landing; without any, the last verify if it failed."""
        if not self._held:
            return () if self._last is None else (self._last,)
        paths: dict[str, list[str]] = {}
        for path, message in self._held.items():
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


class Rejection(Struct, frozen=True, kw_only=True):
    """A step that ran without error and had its result rejected."""

    step: str
    attempt: int
    reason: str


class RunSignals:
    def __init__(self) -> None:
        self._limits: dict[tuple[str, ...], float] = {}
        self._ahead: dict[tuple[str, str], tuple[str, ...]] = {}
        self._commands: dict[str, str] = {}
        self._verifies: dict[str, FailedVerify] = {}
        self._rejections: dict[str, Rejection] = {}
        self._outside: list[OutsideWarning] = []
        self.push: PushState | None = None
        """The last push; None if there was none since the last landing."""
        self.pushed = 0
        """The sequence number of that push."""
        self._landings = FailedVerifies()

    # Updates

    def hear(self, glimpse: Glimpse) -> None:
        """Folds one of the rare events of the run."""
        if glimpse.kind == "limited":
            data = _data(glimpse)
            self._limits[tuple(data.get("agents", ()))] = float(data.get("until", 0.0))
        elif glimpse.kind == "limits_ended":
            self._limits.clear()
        elif glimpse.kind == "conflict_ahead":
            data = _data(glimpse)
            first, second = sorted((glimpse.subplan, str(data.get("other", ""))))
            self._ahead[first, second] = tuple(data.get("files", ()))
        elif glimpse.kind == "push":
            self.push, self.pushed = push_state(_data(glimpse)), glimpse.seq
        elif glimpse.kind == "outside_changed":
            self._outside.append(outside_warning(_data(glimpse)))
        elif glimpse.kind == "verify":
            self._landings.hear(glimpse.outcome, _data(glimpse))

    def is_pushed_before(self, seq: int) -> bool:
        """Returns whether the last push came before the event with this number."""
        return self.push is not None and self.pushed < seq

    def land(self, seq: int) -> None:
        """Records that the target has moved with this event; an earlier push does not include it."""
        if self.is_pushed_before(seq):
            self.push = None

    def hold(self, path: str, message: str, *, red: bool) -> None:
        """Records that a landing is held or, unless `red`, that no failed verify holds it."""
        self._landings.hold(path, message if red else "")

    def hear_step(self, glimpse: Glimpse) -> None:
        """Folds the start or the end of a step."""
        if glimpse.kind == "step_started":
            if glimpse.step == VERIFY:
                self._commands[glimpse.subplan] = str(_data(glimpse).get("command", ""))
            return
        if glimpse.step == VERIFY:
            self._hear_verify(glimpse)
        rejection = self._rejections.get(glimpse.subplan)
        if glimpse.outcome == REJECTED:
            reason = str(_data(glimpse).get("message", ""))
            self._rejections[glimpse.subplan] = Rejection(
                step=glimpse.step, attempt=glimpse.attempt, reason=reason
            )
        elif rejection is not None and rejection.step == glimpse.step:
            del self._rejections[glimpse.subplan]

    def _hear_verify(self, glimpse: Glimpse) -> None:
        self._verifies.pop(glimpse.subplan, None)
        if glimpse.outcome in _NO_VERDICT:
            return
        data = _data(glimpse)
        self._verifies[glimpse.subplan] = FailedVerify(
            subplan=glimpse.subplan,
            command=self._commands.get(glimpse.subplan, ""),
            message=str(data.get("message") or glimpse.outcome),
            tail=str(data.get("tail", "")),
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

    def rejection(self, path: str) -> Rejection | None:
        return self._rejections.get(path)

    def ahead(self, states: Mapping[str, str], held: Collection[str]) -> tuple[ConflictAhead, ...]:
        """Returns the conflicts that can still happen; held subplans are left out, as theirs has happened."""
        return tuple(
            ConflictAhead(subplan=first, other=second, files=files)
            for (first, second), files in self._ahead.items()
            if files
            and "failed" not in (pair := {states.get(first), states.get(second)})
            and pair != {"completed"}
            and not {first, second} & {*held}
        )


def _data(glimpse: Glimpse) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(glimpse.data)
    return data
