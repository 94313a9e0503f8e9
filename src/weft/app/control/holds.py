"""The holds of a run, and requests to retry them."""

import os
import time
from collections.abc import Iterable, Sequence

from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.app.views.holds import Holds, Key, key_of
from weft.app.views.landing import LandingCourse
from weft.app.views.rows import HeldWork
from weft.app.views.run_fold import RunFold
from weft.engine.states import SubplanExecutionState as State
from weft.errors import InputError
from weft.plan.model import Plan
from weft.plan.text.problems import suggestion
from weft.terms import FINISHED, RunState


def look(book: RecordedRun) -> RunFold:
    """Returns the state of the run, folded from all its events."""
    fold = RunFold()
    fold.apply_all(book.events())
    return fold


def held(book: RecordedRun) -> list[HeldWork]:
    """Returns the holds, the oldest first, without those that the coordinator is retrying."""
    return list_held(book, look(book), tried=False)


def list_held(book: RecordedRun, fold: RunFold, *, tried: bool = True) -> list[HeldWork]:
    if book.state() in FINISHED:
        return []
    # A coordinator that died during a retry has left the work held, or done; another retry finds out which.
    left_out = fold.holds.trying if not tried and is_run(book, fold) else ()
    return [hold for key, hold in fold.holds.known.items() if key not in left_out]


def paused(book: RecordedRun, requested: Iterable[HeldWork]) -> list[str]:
    """Returns the subplans of these holds that must be resumed before they are retried."""
    fold = look(book)
    keys = (key_of(hold) for hold in requested)
    return list(
        dict.fromkeys(
            key[0] for key in keys if key in fold.holds.known and fold.holds.is_paused(key, fold.wishes)
        )
    )


def is_run(book: RecordedRun, fold: RunFold) -> bool:
    """Returns whether another process works on this run. A coordinator writes to its run as soon as it starts."""
    holder = book.journal.holder()
    if holder is None or holder.pid == os.getpid():  # this process ran it before, and no longer does
        return False
    return book.is_run_by_somebody() and fold.at >= holder.since


def chosen(book: RecordedRun, names: Sequence[str]) -> list[HeldWork]:
    """Returns the holds of the named subplans and groups; without a name, all holds.

    A subplan that has merged already has no hold; naming it is no error.
    """
    fold = look(book)
    held_work = list_held(book, fold)
    if not names:
        return held_work
    selected: set[Key] = set()
    for name in names:
        inside = {key_of(hold) for hold in held_work if f"{hold.subplan}/".startswith(f"{name}/")}
        if not inside and not _is_merged(plan_of(book), name, fold.holds):
            raise InputError(_unknown(book, name, held_work))
        selected |= inside
    return [hold for hold in held_work if key_of(hold) in selected]


def _is_merged(plan: Plan, name: str, holds: Holds) -> bool:
    paths = [str(path) for path in plan.outline.paths]
    if name not in paths:
        return False
    lands = LandingCourse(plan).landing(paths.index(name), State.COMPLETED) == "unmerged"
    return (name, "@land" if lands else "@merge") in holds.merged


def _unknown(book: RecordedRun, name: str, held_work: Sequence[HeldWork]) -> str:
    paths = [path for path in plan_of(book).outline.paths if path]
    if name not in paths:
        return f"there is no subplan {name!r}{suggestion(name, paths)}"
    if not held_work:
        return f"{name} is not held, nor is anything else; to see what became of it, type: weft events"
    return f"{name} is not held; what is held: {', '.join(subplans(held_work))}"


def subplans(holds: Iterable[HeldWork]) -> list[str]:
    return list(dict.fromkeys(hold.subplan for hold in holds))


def ask(book: RecordedRun, requested: Iterable[HeldWork], now: Iterable[str] = ()) -> None:
    """Requests a retry of these holds and the landing of the completed parts of `now`.

    The coordinator takes the request up; without one, the next coordinator does.
    """
    for path in subplans(requested):
        book.journal.ask(book.run.run, "merge", subplan=path, step="", data={}, at=time.time())
    for path in now:
        book.journal.ask(book.run.run, "merge", subplan=path, step="", data={"now": True}, at=time.time())


def chosen_now(book: RecordedRun, names: Sequence[str]) -> tuple[list[HeldWork], tuple[str, ...]]:
    """Returns the holds in these subplans, and the subplans whose completed parts may land at once."""
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
