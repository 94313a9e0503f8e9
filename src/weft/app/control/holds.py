"""What a run holds until a person has helped, and how it is asked to try that again."""

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
"""What is tried again on request, even if its subplan is paused."""

Key = tuple[str, str]
"""The path of a subplan, and what of it is held."""


def key_of(one: HeldWork) -> Key:
    return one.subplan, one.step


class Holds(Struct):
    """What is held, as the events tell it."""

    found: dict[Key, HeldWork] = field(default_factory=dict[Key, HeldWork])
    trying: set[Key] = field(default_factory=set[Key])
    """What of that is being tried again."""
    merged: set[Key] = field(default_factory=set[Key])
    """What is done of merges and landings."""
    wishes: ControlRequests = field(default_factory=ControlRequests)
    frozen: set[Key] = field(default_factory=set[Key])
    """What of the tries under way stands still with its processes."""
    seq: int = 0
    at: float = 0.0
    """The number and the time of the last event."""

    def hear(self, one: Recorded) -> None:
        self.seq, self.at = one.seq, one.at
        self._note(one.event)

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
            case "subplan_state" if event.outcome in _ENDS:  # what is to land has ended before
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
        """What is being tried when people freeze its subplan stands still; a landing does not."""
        if event.kind == "recovered":
            self.wishes.forget_stops()
        else:
            self.wishes.says(event.subplan, ControlState(event.outcome))
        self.frozen = {
            (path, step)
            for path, step in self.trying
            if step != "@land" and self.wishes.of(path) is ControlState.FREEZE
        }

    def is_paused(self, key: Key) -> bool:
        """Whether something that is held is not tried before people let its subplan continue."""
        path, step = key
        if key in self.trying:
            return key in self.frozen
        return step not in MERGES and self.wishes.of(path) is not ControlState.GO


def look(book: RecordedRun) -> Holds:
    holds = Holds()
    for one in book.events():
        holds.hear(one)
    return holds


def held(book: RecordedRun) -> list[HeldWork]:
    """In the order in which it came to that. What somebody tries again at this moment is not held."""
    return list_held(book, look(book), tried=False)


def list_held(book: RecordedRun, holds: Holds, *, tried: bool = True) -> list[HeldWork]:
    if book.state() in FINISHED:
        return []
    # Whoever was at it and has died left it as it was, or done; to try it again finds out.
    left_out = holds.trying if not tried and is_run(book, holds) else ()
    return [one for key, one in holds.found.items() if key not in left_out]


def paused(book: RecordedRun, wanted: Iterable[HeldWork]) -> list[str]:
    """The subplans among them that must continue before they are tried again."""
    holds = look(book)
    keys = (key_of(hold) for hold in wanted)
    return list(dict.fromkeys(key[0] for key in keys if key in holds.found and holds.is_paused(key)))


def is_run(book: RecordedRun, holds: Holds) -> bool:
    """Whether somebody else is at this run: the first thing that whoever takes over does is to write to it."""
    holder = book.journal.holder()
    if holder is None or holder.pid == os.getpid():  # what we have run before, and do not any more
        return False
    return book.is_run_by_somebody() and holds.at >= holder.since


def chosen(book: RecordedRun, names: Sequence[str]) -> list[HeldWork]:
    """Of what is held, what is meant: by the path of a subplan, or of a group around it; all without a name.

    What is where it should be already is not held, and may be named all the same.
    """
    holds = look(book)
    found = list_held(book, holds)
    if not names:
        return found
    wanted: set[Key] = set()
    for name in names:
        inside = {key_of(one) for one in found if f"{one.subplan}/".startswith(f"{name}/")}
        if not inside and not _is_merged(plan_of(book), name, holds):
            raise InputError(_unknown(book, name, found))
        wanted |= inside
    return [one for one in found if key_of(one) in wanted]


def _is_merged(plan: Plan, name: str, holds: Holds) -> bool:
    paths = [str(path) for path in plan.outline.paths]
    if name not in paths:
        return False
    lands = LandingCourse(plan).landing(paths.index(name), State.COMPLETED) == "unmerged"
    return (name, "@land" if lands else "@merge") in holds.merged


def _unknown(book: RecordedRun, name: str, found: Sequence[HeldWork]) -> str:
    paths = [path for path in plan_of(book).outline.paths if path]
    if name not in paths:
        return f"there is no subplan {name!r}{suggestion(name, paths)}"
    if not found:
        return f"{name} is not held, nor is anything else; to see what became of it, type: weft events"
    return f"{name} is not held; what is held: {', '.join(subplans(found))}"


def subplans(found: Iterable[HeldWork]) -> list[str]:
    return list(dict.fromkeys(one.subplan for one in found))


def ask(book: RecordedRun, wanted: Iterable[HeldWork], now: Iterable[str] = ()) -> None:
    """Asks the coordinator, or the next one, to try them again, and to land the completed parts of `now`."""
    for path in subplans(wanted):
        book.journal.ask(book.run.run, "merge", subplan=path, step="", data={}, at=time.time())
    for path in now:
        book.journal.ask(book.run.run, "merge", subplan=path, step="", data={"now": True}, at=time.time())


def chosen_now(book: RecordedRun, names: Sequence[str]) -> tuple[list[HeldWork], tuple[str, ...]]:
    """What is held in these subplans, and the subplans whose completed parts may land at once."""
    if not names:
        raise InputError("say which group is to land its completed parts, as in: weft merge ID --now")
    if book.state() == RunState.ABANDONED:
        raise InputError(f"run {book.run.run} was replaced by a newer run; leave out --run")
    plan, holds = plan_of(book), list_held(book, look(book))
    paths = [str(path) for path in plan.outline.paths]
    for name in names:
        if name not in paths[1:]:
            raise InputError(f"there is no subplan {name!r}{suggestion(name, paths[1:])}")
        if plan.scopes[paths.index(name)].settings.isolation != "worktree":
            raise InputError(f"{name} has no branch that could land: its isolation is not `worktree`")
    return [
        hold for hold in holds if any(f"{hold.subplan}/".startswith(f"{name}/") for name in names)
    ], tuple(names)
