"""What becomes of commands that exit after their supervisor has died."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hosts.places import Place, is_alive, proc
from weft.hosts.supervisor.reaper import read_exits
from weft.ports.host import EndReason, JobEnded

pytestmark = pytest.mark.anyio


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(tmp_path)
    yield place
    await place.leave()


async def exited_alone(place: Place, *scripts: str, head: int = 1 << 16) -> JobEnded:
    """Returns the end of a job from the next supervisor: the first died while a command was at the gate x."""
    commands = 1 + next(number for number, script in enumerate(scripts) if "GATE" in script)
    host = place.host(head=head)
    await host.open()
    gate = place.gate("x")
    host.start(place.shell("j", *(script.replace("GATE", gate) for script in scripts)))
    await place.reached("x")
    await_record(place, commands)
    await host.close()
    return await end_alone(place, "x")


def await_record(place: Place, commands: int = 1) -> None:
    """Until the supervisor has recorded the pids of so many commands, which it does after it has started them."""
    while sum("run" in record for record in place.log()) < commands:
        os.sched_yield()


async def end_alone(place: Place, gate: str) -> JobEnded:
    """Kills the supervisor, and opens the gate when the reaper has seen that."""
    (reaper,), (supervisor,) = place.reapers(), place.supervisors()
    place.kill()
    place.wait()
    while proc(supervisor, "stat"):
        os.sched_yield()
    place.release(gate)
    while is_alive(reaper):
        os.sched_yield()
    end = (await place.host().open())["j"]
    assert isinstance(end, JobEnded)
    return end


async def test_one_that_exits_with_0_is_done(place: Place) -> None:
    end = await exited_alone(place, "echo before; GATE; echo > done")
    assert (end.why, end.exit_code, end.command) == (EndReason.EXITED, 0, 0)
    assert end.started_at <= end.ended_at
    assert (place.root / "done").exists()
    assert (place.root / "j.out").read_text() == "before\n"


async def test_of_several_commands_the_last_one_has_to_exit_with_0(place: Place) -> None:
    end = await exited_alone(place, "true", "GATE")
    assert (end.why, end.exit_code, end.command) == (EndReason.EXITED, 0, 1)


@pytest.mark.parametrize(
    "scripts",
    [
        ("GATE; exit 3",),
        ("GATE; kill -KILL $$",),
        ("GATE", "true"),
        ("exec > other; GATE",),
        ("GATE; head --bytes 70000 /dev/zero",),
    ],
    ids=[
        "it fails",
        "it is killed",
        "another command was to follow",
        "it writes elsewhere",
        "it writes more than is kept of the beginning",
    ],
)
async def test_any_other_end_is_not_known(place: Place, scripts: tuple[str, ...]) -> None:
    end = await exited_alone(place, *scripts)
    assert (end.why, end.exit_code) == (EndReason.LOST, None)


async def test_what_one_writes_after_the_death_of_the_supervisor_is_stored(place: Place) -> None:
    end = await exited_alone(place, "echo before; echo trouble >&2; GATE; echo after; echo more >&2")
    assert (end.why, end.exit_code) == (EndReason.EXITED, 0)
    assert (place.root / "j.out").read_text() == "before\nafter\n"
    assert (place.root / "j.err").read_text() == "trouble\nmore\n"


async def test_one_that_writes_more_than_a_pipe_holds_does_not_wait_for_the_next_supervisor(
    place: Place,
) -> None:
    end = await exited_alone(place, "GATE; seq 100000", head=1 << 20)
    assert (end.why, end.exit_code) == (EndReason.EXITED, 0)
    assert (place.root / "j.out").read_text() == "".join(f"{number}\n" for number in range(1, 100001))


@pytest.mark.parametrize("output", ["out", "err"])
async def test_what_the_supervisor_had_not_read_is_stored(place: Place, output: str) -> None:
    host = place.host()
    await host.open()
    redirection = {"out": "", "err": ">&2"}[output]
    host.start(place.shell("j", f"{place.gate('x')}; echo unread {redirection}; {place.gate('y')}"))
    await place.reached("x")
    await_record(place)
    await host.close()
    (supervisor,) = place.supervisors()
    os.kill(supervisor, signal.SIGSTOP)
    place.release("x")
    await place.reached("y")
    end = await end_alone(place, "y")
    assert (end.why, end.exit_code) == (EndReason.EXITED, 0)
    assert (place.root / f"j.{output}").read_text() == "unread\n"


async def test_one_whose_output_cannot_be_stored_is_lost(place: Place) -> None:
    (place.root / "j.out").mkdir()
    end = await exited_alone(place, "GATE; echo after")
    assert (end.why, end.exit_code) == (EndReason.LOST, None)


async def test_one_that_is_asked_to_end_by_the_next_supervisor_is_lost_however_it_exits(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("j", f"trap 'exit 0' TERM; {place.gate('x')}; {place.gate('y')}"))
    await place.reached("x")
    await host.close()
    place.kill()
    place.wait()
    end = (await place.host().open())["j"]
    assert isinstance(end, JobEnded)
    assert end.why is EndReason.LOST


async def test_a_reaper_goes_with_its_supervisor(place: Place) -> None:
    host = place.host()
    await host.open()
    (reaper,) = place.reapers()
    await host.close()
    place.wait()
    while is_alive(reaper):
        os.sched_yield()
    assert read_exits(str(place.directory)) == {}


def test_a_line_that_was_cut_short_is_passed_over(tmp_path: Path) -> None:
    good = '{"pid":7,"started":1,"boot":"b","status":0,"at":2.5}'
    (tmp_path / "exits").write_text(f"{good}\n{good[:-9]}\n[]\n")
    assert read_exits(str(tmp_path)) == {7: [(1, "b", 0, 2.5)]}
