"""The holds of a run, and requests to retry them."""

import os
import time
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.app.views.landing import LandingCourse, held_of
from weft.app.views.rows import HeldWork
from weft.engine.messages.events import Event, Recorded
from weft.engine.messages.facts import ControlState
from weft.engine.messages.run_status import FINISHED, RunState
from weft.engine.state.control_requests import ControlRequests
from weft.engine.states import SubplanExecutionState as State
from weft.errors import InputError
from weft.plan.model import Plan
from weft.plan.text.problems import suggestion

_ENDS = frozenset({"completed", "failed"})
MERGES = frozenset({"@merge", "@land"})
"""Steps that can be retried on request even if their subplan is paused."""

Key = tuple[str, str]
"""The path of a subplan, and its step that is held."""


def key_of(hold: HeldWork) -> Key:
    return hold.subplan, hold.step


class Holds(Struct):
    """The holds of a run, as its events report them."""

    found: dict[Key, HeldWork] = field(default_factory=dict[Key, HeldWork])
    trying: set[Key] = field(default_factory=set[Key])
    """The holds that are being retried."""
    merged: set[Key] = field(default_factory=set[Key])
    """The merges and landings that are done."""
    requests: ControlRequests = field(default_factory=ControlRequests)
    frozen: set[Key] = field(default_factory=set[Key])
    """The retries in flight that are frozen."""
    seq: int = 0
    at: float = 0.0
    """The number and the time of the last event."""

    def hear(self, recorded: Recorded) -> None:
        self.seq, self.at = recorded.seq, recorded.at
        self._note(recorded.event)

    def _note(self, event: Event) -> None:
        key = (event.subplan, event.step)
        match event.kind:
            case "step_started" if key in self.found:
                self.trying.add(key)
            case "step_finished" | "step_cancelled":
                self._forget(key)
                if event.outcome == "held":
                    self.found[key] = held_of(event)
                elif event.outcome == "done" and event.step in MERGES:
                    self.merged.add(key)
            case "subplan_state" if event.outcome in _ENDS:  # a landing can still be held after this end
                for step in ("@workspace", "@verify", "@merge"):
                    self._forget((event.subplan, step))
            case "paused" | "resumed" | "recovered":
                self._steer(event)
            case _:
                pass

    def _forget(self, key: Key) -> None:
        self.found.pop(key, None)
        self.trying.discard(key)
        self.frozen.discard(key)

    def _steer(self, event: Event) -> None:
        """Updates the frozen retries: freezing a subplan freezes its retries, except landings."""
        if event.kind == "recovered":
            self.requests.forget_stops()
        else:
            self.requests.says(event.subplan, ControlState(event.outcome))
        self.frozen = {
            (path, step)
            for path, step in self.trying
            if step != "@land" and self.requests.of(path) is ControlState.FREEZE
        }

    def is_paused(self, key: Key) -> bool:
        """Returns whether a hold is not retried until people resume its subplan."""
        path, step = key
        if key in self.trying:
            return key in self.frozen
        return step not in MERGES and self.requests.of(path) is not ControlState.GO


def look(recorded_run: RecordedRun) -> Holds:
    holds = Holds()
    for recorded in recorded_run.events():
        holds.hear(recorded)
    return holds


def held(recorded_run: RecordedRun) -> list[HeldWork]:
    """Returns the holds, the oldest first, without those that the coordinator is retrying."""
    return list_held(recorded_run, look(recorded_run), tried=False)


def list_held(recorded_run: RecordedRun, holds: Holds, *, tried: bool = True) -> list[HeldWork]:
    if recorded_run.state() in FINISHED:
        return []
    # A coordinator that died during a retry has left the work held, or done; another retry finds out which.
    left_out = holds.trying if not tried and is_run(recorded_run, holds) else ()
    return [hold for key, hold in holds.found.items() if key not in left_out]


def paused(recorded_run: RecordedRun, requested: Iterable[HeldWork]) -> list[str]:
    """Returns the subplans of these holds that must be resumed before they are retried."""
    holds = look(recorded_run)
    keys = (key_of(hold) for hold in requested)
    return list(dict.fromkeys(key[0] for key in keys if key in holds.found and holds.is_paused(key)))


def is_run(recorded_run: RecordedRun, holds: Holds) -> bool:
    """Returns whether another process works on this run. A coordinator writes to its run as soon as it starts."""
    holder = recorded_run.journal.holder()
    if holder is None or holder.pid == os.getpid():  # this process ran it before, and no longer does
        return False
    return recorded_run.has_coordinator() and holds.at >= holder.since


def chosen(recorded_run: RecordedRun, names: Sequence[str]) -> list[HeldWork]:
    """Returns the holds of the named subplans and groups; without a name, all holds.

    A subplan that has merged already has no hold; naming it is no error.
    """
    holds = look(recorded_run)
    held_work = list_held(recorded_run, holds)
    if not names:
        return held_work
    selected: set[Key] = set()
    for name in names:
        inside = {key_of(hold) for hold in held_work if f"{hold.subplan}/".startswith(f"{name}/")}
        if not inside and not _is_merged(plan_of(recorded_run), name, holds):
            raise InputError(_unknown(recorded_run, name, held_work))
        selected |= inside
    return [hold for hold in held_work if key_of(hold) in selected]


def _is_merged(plan: Plan, name: str, holds: Holds) -> bool:
    paths = [str(path) for path in plan.outline.paths]
    if name not in paths:
        return False
    lands = LandingCourse(plan).landing(paths.index(name), State.COMPLETED) == "unmerged"
    return (name, "@land" if lands else "@merge") in holds.merged


def _unknown(recorded_run: RecordedRun, name: str, held_work: Sequence[HeldWork]) -> str:
    paths = [path for path in plan_of(recorded_run).outline.paths if path]
    if name not in paths:
        return f"there is no subplan {name!r}{suggestion(name, paths)}"
    if not held_work:
        return f"{name} is not held, and nothing else is; to see its events, type: weft events"
    return f"{name} is not held; held: {', '.join(subplans(held_work))}"


def subplans(holds: Iterable[HeldWork]) -> list[str]:
    return list(dict.fromkeys(hold.subplan for hold in holds))


def ask(recorded_run: RecordedRun, requested: Iterable[HeldWork], now: Iterable[str] = ()) -> None:
    """Requests a retry of these holds and the landing of the completed parts of `now`.

    The coordinator takes the request up; without one, the next coordinator does.
    """
    for path in subplans(requested):
        recorded_run.journal.ask(
            recorded_run.run.run, "merge", subplan=path, step="", data={}, at=time.time()
        )
    for path in now:
        recorded_run.journal.ask(
            recorded_run.run.run, "merge", subplan=path, step="", data={"now": True}, at=time.time()
        )


def chosen_now(recorded_run: RecordedRun, names: Sequence[str]) -> tuple[list[HeldWork], tuple[str, ...]]:
    """Returns the holds in these subplans, and the subplans whose completed parts may land at once."""
    if not names:
        raise InputError("name the group that lands its completed parts, as in: weft merge ID --now")
    if recorded_run.state() == RunState.ABANDONED:
        raise InputError(f"run {recorded_run.run.run} was replaced by a newer run; leave out --run")
    plan, holds = plan_of(recorded_run), list_held(recorded_run, look(recorded_run))
    paths = [str(path) for path in plan.outline.paths]
    for name in names:
        if name not in paths[1:]:
            raise InputError(f"there is no subplan {name!r}{suggestion(name, paths[1:])}")
        if plan.scopes[paths.index(name)].settings.isolation != "worktree":
            raise InputError(f"{name} has no branch that could land: its isolation is not `worktree`")
    return [
        hold for hold in holds if any(f"{hold.subplan}/".startswith(f"{name}/") for name in names)
    ], tuple(names)
