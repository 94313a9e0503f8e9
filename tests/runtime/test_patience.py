"""A shortage of the machine after a step: its work is recorded later, and it neither fails nor runs again."""

import errno
import os
from pathlib import Path

import pytest

from runtime.test_effects_resolving import plan, resolving
from runtime.theatre import NoWorkspaces, Theatre
from weft.ports.workspaces import Breach, ClosedConflict, StepWork
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

    def record(self, work: StepWork):
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
@pytest.mark.parametrize("method", ["record", "restore"])
async def test_a_shortage_that_passes_is_waited_for(tmp_path: Path, method: str, code: int) -> None:
    theatre, workspaces = short(tmp_path, method, code, len(PAUSES))
    before = theatre.clock.now()
    assert await theatre.run() == "completed"
    assert theatre.clock.now() == pytest.approx(before + sum(PAUSES))
    assert (runs(theatre), workspaces.times) == (["x", "look"], 0)
    assert "message" not in theatre.ends("x")[0] | theatre.ends("look")[0]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("method", ["record", "restore"])
async def test_a_shortage_that_lasts_ends_the_coordinator_and_the_next_one_records_the_step(
    tmp_path: Path, method: str, code: int
) -> None:
    theatre, workspaces = short(tmp_path, method, code, LASTING)
    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match=os.strerror(code)), flatten_subgroups=True):
        await theatre.run()
    assert theatre.outcomes("x" if method == "record" else "look") == []
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
