"""Which workspaces are removed when their slices have ended, and which stay."""

from pathlib import Path

import anyio
import pytest

from runtime.theatre import NoWorkspaces
from weft.engine.states import FailureReason, SubplanTracker
from weft.engine.states import SubplanExecutionState as State
from weft.errors import WeftError
from weft.plan.loader.load import load_plan
from weft.runtime.lineage import Lineage
from weft.runtime.precedence import Precedence
from weft.runtime.upkeep import Upkeep

PLAN = """
weft: 1
plan: p
pipelines: {work: [{id: t, run: "true"}]}
subplans:
  - {id: g, subplans: [{id: merged, pipeline: work}, {id: failed, pipeline: work}]}
  - {id: kept, keep_worktrees: always, pipeline: work}
  - {id: gone, keep_worktrees: never, subplans: [{id: merged, pipeline: work}, {id: failed, pipeline: work}]}
  - {id: poor, keep_worktrees: never, pipeline: work}
  - {id: late, keep_worktrees: never, pipeline: work}
"""
ENDS = {
    "g/merged": None,
    "g/failed": FailureReason.ERROR,
    "kept": None,
    "gone/merged": None,
    "gone/failed": FailureReason.TIMEOUT,
    "poor": FailureReason.BUDGET,
}


@pytest.fixture
def workspaces(tmp_path: Path) -> NoWorkspaces:
    result = NoWorkspaces(tmp_path, history=True)
    for path in (*ENDS, "late"):
        result.place(path).mkdir(parents=True)
    return result


def upkeep(workspaces: NoWorkspaces) -> Upkeep:
    plan = load_plan(PLAN)
    tracker = SubplanTracker(plan.outline.paths[1:])
    for path in (*ENDS, "late"):
        tracker.advance(path, State.RUNNING)
    for path, reason in ENDS.items():
        tracker.advance(path, State.COMPLETED if reason is None else State.FAILED, reason)
    return Upkeep(workspaces, Lineage(plan, tracker), Precedence(1))


def test_at_rest_the_workspaces_go_that_the_plan_does_not_keep(workspaces: NoWorkspaces) -> None:
    anyio.run(upkeep(workspaces).sweep)
    assert workspaces.removed == ["release g/merged", "release gone/merged", "put away gone/failed"]


def test_a_release_that_a_crash_may_have_interrupted_is_asked_for_again(workspaces: NoWorkspaces) -> None:
    for path in ("g/merged", "gone/failed"):
        workspaces.place(path).rmdir()
    anyio.run(upkeep(workspaces).sweep)
    assert workspaces.removed == ["release g/merged", "release gone/merged"]


def test_a_workspace_that_cannot_be_removed_stays_and_the_others_go(workspaces: NoWorkspaces) -> None:
    class Stubborn(NoWorkspaces):
        def release(self, path: str) -> bool:
            super().release(path)
            raise WeftError("something is in the way")

    stubborn = Stubborn(workspaces._root, history=True)
    anyio.run(upkeep(stubborn).sweep)
    assert stubborn.removed == ["release g/merged", "release gone/merged", "put away gone/failed"]
    anyio.run(upkeep(stubborn).release, "g/merged")


def test_without_a_history_what_was_done_is_nowhere_else(workspaces: NoWorkspaces) -> None:
    bare = NoWorkspaces(workspaces._root, history=False)
    anyio.run(upkeep(bare).sweep)
    assert bare.removed == []


def test_only_slices_have_workspaces_that_can_go(workspaces: NoWorkspaces) -> None:
    rows = {path: row for row, path in enumerate(load_plan(PLAN).outline.paths)}
    item = upkeep(workspaces)
    wanted = [path for path, row in rows.items() if item.is_to_remove(row)]
    assert wanted == ["g/merged", "g/failed", "gone/merged", "gone/failed", "poor", "late"]
