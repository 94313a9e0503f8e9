"""The holds of a run, and requests to retry them."""

import os
import time
from collections.abc import Iterable, Sequence

from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.app.views.holds import Holds, Key, key_of
from weft.app.views.landing_view import LandingCourse
from weft.app.views.rows import HeldWork
from weft.app.views.run_fold import RunFold
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.states import SubplanExecutionState as State
from weft.errors import InputError
from weft.plan.model import Plan
from weft.plan.text.problems import suggestion
from weft.terms import FINISHED, RunState


def fold_of(recorded_run: RecordedRun) -> RunFold:
    """Returns the state of the run, folded from all its events."""
    fold = RunFold()
    fold.apply_all(recorded_run.events())
    return fold


def held(recorded_run: RecordedRun) -> list[HeldWork]:
    """Returns the holds, the oldest first, without those that the coordinator is retrying."""
    return list_held(recorded_run, fold_of(recorded_run), tried=False)


def list_held(recorded_run: RecordedRun, fold: RunFold, *, tried: bool = True) -> list[HeldWork]:
    if recorded_run.state() in FINISHED:
        return []
    # A coordinator that died during a retry has left the work held, or done; another retry finds out which.
    left_out = fold.holds.trying if not tried and is_run(recorded_run, fold) else ()
    return [hold for key, hold in fold.holds.known.items() if key not in left_out]


def paused_subplans(recorded_run: RecordedRun, requested: Iterable[HeldWork]) -> list[str]:
    """Returns the subplans of these holds that must be resumed before they are retried."""
    fold = fold_of(recorded_run)
    keys = (key_of(hold) for hold in requested)
    return list(
        dict.fromkeys(
            key[0]
            for key in keys
            if key in fold.holds.known and fold.holds.is_paused(key, fold.control_requests)
        )
    )


def is_run(recorded_run: RecordedRun, fold: RunFold) -> bool:
    """Returns whether another process works on this run. A coordinator writes to its run as soon as it starts."""
    holder = recorded_run.journal.holder()
    if holder is None or holder.pid == os.getpid():  # this process ran it before, and no longer does
        return False
    # The lease is one for the whole project. An event of this run that is not older than the lease proves that its
    # holder works on this run and not on another one.
    return recorded_run.has_coordinator() and fold.at >= holder.since


def chosen(recorded_run: RecordedRun, names: Sequence[str]) -> list[HeldWork]:
    """Returns the holds of the named subplans and groups; without a name, all holds.

    A subplan that has merged already has no hold; naming it is no error.
    """
    fold = fold_of(recorded_run)
    held_work = list_held(recorded_run, fold)
    if not names:
        return held_work
    selected: set[Key] = set()
    for name in names:
        # With the slash: `store` selects `store` and `store/model`, but not `storefront`.
        inside = {key_of(hold) for hold in held_work if f"{hold.subplan}/".startswith(f"{name}/")}
        if not inside and not _is_merged(plan_of(recorded_run), name, fold.holds):
            raise InputError(_unknown(recorded_run, name, held_work))
        selected |= inside
    return [hold for hold in held_work if key_of(hold) in selected]


def _is_merged(plan: Plan, name: str, holds: Holds) -> bool:
    paths = [str(path) for path in plan.outline.paths]
    if name not in paths:
        return False
    lands = LandingCourse(plan).landing(paths.index(name), State.COMPLETED) == "unmerged"
    return name in holds.merged.get(InternalStep.LAND if lands else InternalStep.MERGE, ())


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
    """Returns the holds in these subplans, and the subplans with completed parts that may land at once."""
    if not names:
        raise InputError("name the group that lands its completed parts, as in: weft merge ID --now")
    if recorded_run.state() == RunState.ABANDONED:
        raise InputError(f"run {recorded_run.run.run} was replaced by a newer run; leave out --run")
    plan, holds = plan_of(recorded_run), list_held(recorded_run, fold_of(recorded_run))
    paths = [str(path) for path in plan.outline.paths]
    for name in names:
        if name not in paths[1:]:
            raise InputError(f"there is no subplan {name!r}{suggestion(name, paths[1:])}")
        if plan.scopes[paths.index(name)].settings.isolation != "worktree":
            raise InputError(f"{name} has no branch that could land: its isolation is not `worktree`")
    return [
        hold for hold in holds if any(f"{hold.subplan}/".startswith(f"{name}/") for name in names)
    ], tuple(names)
