"""A shortage of the machine around a step: it is waited for, and the step neither fails nor runs again."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from runtime.test_effects_merging import merging
from runtime.test_effects_merging import plan as plan_of_merge
from runtime.test_effects_resolving import plan, resolving
from runtime.theatre import NoWorkspaces, Theatre
from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import (
    Breach,
    ClosedConflict,
    MergeRequest,
    MergeResult,
    StepWork,
    WorkspaceRequest,
)
from weft.runtime.patience import PAUSES

pytestmark = pytest.mark.anyio

PLAN = """
infra_retries: 0
retries: 0
merge: {mode: auto}
agents: {good: {use: command, command: [mark]}}
agent: good
subplans:
  - id: a
    prompt: x
    steps: [{id: x, run: [mark]}, {id: look, prompt: look, read_only: true}]
"""
METHODS = {"prepare": "@workspace", "record": "x", "restore": "look", "merge": "@merge"}
"""What is done with a workspace, and the step whose end it is part of."""
CODES = [errno.ENOSPC, errno.EAGAIN, errno.EMFILE]
LASTING = len(PAUSES) + 1
"""So many failures end the coordinator."""


@pytest.fixture(autouse=True)
def no_blocking() -> None:
    """Where an agent is started, the folder for its report is made."""


class ShortWorkspaces(NoWorkspaces):
    """A method of theirs fails that many times."""

    def __init__(self, root: Path, method: str, code: int, times: int) -> None:
        super().__init__(root, history=True)
        self._method = method
        self._code = code
        self.times = times

    def _fail(self, method: str) -> None:
        if method == self._method and self.times:
            self.times -= 1
            raise OSError(self._code, os.strerror(self._code))

    def prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        self._fail("prepare")
        return super().prepare(request)

    def merge(self, request: MergeRequest) -> MergeResult:
        self._fail("merge")
        return super().merge(request)

    def record(self, work: StepWork) -> Sequence[RefMove]:
        self._fail("record")
        return super().record(work)

    def restore(self, path: str, job: str) -> Breach | None:
        self._fail("restore")
        return super().restore(path, job)


def short(root: Path, method: str, code: int, times: int) -> tuple[Theatre, ShortWorkspaces]:
    workspaces = ShortWorkspaces(root, method, code, times)
    return Theatre(root, PLAN, workspaces=workspaces), workspaces


def runs(theatre: Theatre) -> list[str]:
    """The steps of the plan that have been started."""
    return [job.env["WEFT_STEP"] for job in theatre.machine.started.values()]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("method", METHODS)
async def test_a_shortage_that_passes_is_waited_for(tmp_path: Path, method: str, code: int) -> None:
    theatre, workspaces = short(tmp_path, method, code, len(PAUSES))
    before = theatre.clock.now()
    assert await theatre.run() == "completed"
    assert theatre.clock.now() == pytest.approx(before + sum(PAUSES))
    assert (runs(theatre), workspaces.times) == (["x", "look"], 0)
    assert [theatre.outcomes(step) for step in METHODS.values()] == [["done"]] * len(METHODS)
    assert not any(theatre.ends(step)[0].get("message") for step in METHODS.values())


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("method", METHODS)
async def test_a_shortage_that_lasts_ends_the_coordinator_and_the_next_one_repeats_the_work(
    tmp_path: Path, method: str, code: int
) -> None:
    theatre, workspaces = short(tmp_path, method, code, LASTING)
    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match=os.strerror(code)), flatten_subgroups=True):
        await theatre.run()
    assert theatre.outcomes(METHODS[method]) == []
    assert await theatre.run() == "completed"
    assert (runs(theatre), workspaces.times) == (["x", "look"], 0)


async def test_a_resolved_conflict_is_kept_when_there_is_room_again(tmp_path: Path) -> None:
    theatre, workspaces = resolving(tmp_path, plan("[mark]"))
    left = [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))] * LASTING
    close = workspaces.close_conflict

    def fail_first(work: StepWork, *, failed: str = "") -> ClosedConflict:
        if left:
            raise left.pop()
        return close(work, failed=failed)

    workspaces.close_conflict = fail_first  # type: ignore[method-assign]
    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="No space"), flatten_subgroups=True):
        await theatre.run()
    assert theatre.outcomes("@resolve") == []
    assert await theatre.run() == "completed"
    assert theatre.outcomes("@resolve") == ["done"]
    assert runs(theatre).count("@resolve") == 1


async def test_a_verified_merge_moves_when_there_is_room_again(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    theatre, workspaces = merging(tmp_path, plan_of_merge(), "merge a", failures={"publish": full})
    assert await theatre.run() == "completed"
    assert theatre.outcomes("@merge") == ["done"]
    assert workspaces.published == {"merge a": 1}
