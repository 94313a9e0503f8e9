"""The first process of a job in a sandbox only keeps the others: those are asked to end, and it ends with them."""

import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

from contracts.host_contract import end_of
from hosts.places import Place, is_alive
from runtime.sandbox.bubblewrap import need_sandboxes
from weft.hosts.local import LocalHost
from weft.ports.host import EndReason, Job

pytestmark = pytest.mark.anyio
KEEPER = """
trap 'echo keeper asked' TERM
sh -c 'trap "echo asked; exit 3" TERM; {ready}; while :; do sleep 0.1; done' &
child=$!
while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
exit $code
"""


def ready(place: Place) -> str:
    """Shows that a process is running, by a fifo that can only then be opened at our end."""
    place.gate("a")
    return f": < {place.root}/a.gate"


def kept(place: Place, script: str) -> Job:
    return replace(place.shell("a", script), sandboxed=True)


async def test_the_keeper_is_not_asked_and_what_it_keeps_is(place: Place, host: LocalHost) -> None:
    host.start(kept(place, KEEPER.format(ready=ready(place))))
    await place.reached("a")
    host.stop("a")
    end = await end_of(host, "a")
    assert (end.why, end.exit_code, end.stdout) == (EndReason.STOPPED, 3, "asked\n")


async def test_a_keeper_that_stands_still_is_woken(place: Place, host: LocalHost) -> None:
    host.start(kept(place, KEEPER.format(ready=ready(place))))
    await place.reached("a")
    host.freeze("a")
    host.stop("a")
    assert (await end_of(host, "a")).stdout == "asked\n"


async def test_without_grace_the_keeper_is_killed_like_all(place: Place, host: LocalHost) -> None:
    host.start(kept(place, KEEPER.format(ready=ready(place))))
    await place.reached("a")
    host.stop("a", grace=0.0)
    end = await end_of(host, "a")
    assert (end.why, end.signal) == (EndReason.STOPPED, signal.SIGKILL)


@pytest.fixture(scope="module")
def bwrap() -> str:
    return need_sandboxes()


def boxed(bwrap: str, place: Place, script: str) -> Job:
    root = str(place.root)
    box = (
        *(bwrap, "--unshare-user", "--unshare-pid", "--die-with-parent", "--cap-drop", "ALL"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", root, root, "--chdir", root),
    )
    return replace(place.argv("a", (*box, "/bin/sh", "-c", script)), sandboxed=True)


async def test_in_a_real_sandbox_a_step_is_asked_and_has_its_grace(
    place: Place, host: LocalHost, bwrap: str
) -> None:
    host.start(
        boxed(bwrap, place, f"trap 'echo asked; exit 3' TERM; {ready(place)}; while :; do sleep 0.1; done")
    )
    await place.reached("a")
    host.stop("a")
    end = await end_of(host, "a")
    assert (end.why, end.exit_code, end.stdout) == (EndReason.STOPPED, 3, "asked\n")


async def test_a_daemon_in_a_real_sandbox_dies_with_it_and_is_not_counted(
    place: Place, host: LocalHost, bwrap: str
) -> None:
    daemon = f"setsid /bin/sh -c '{ready(place)}; while :; do sleep 0.1; done' >/dev/null 2>&1 &"
    host.start(boxed(bwrap, place, f"{daemon} {place.gate('b')}"))
    await place.reached("a")
    await place.reached("b")
    inside = place.processes()
    place.release("b")
    end = await end_of(host, "a")
    assert (end.why, end.exit_code, end.leftovers) == (EndReason.EXITED, 0, 0)
    assert [pid for pid in inside if is_alive(pid)] == []


async def test_the_supervisor_s_death_is_that_of_what_is_in_a_sandbox(
    place: Place, host: LocalHost, bwrap: str
) -> None:
    host.start(
        boxed(bwrap, place, f"echo $$ > {Path(place.root)}/pid; {ready(place)}; while :; do sleep 0.1; done")
    )
    await place.reached("a")
    inside = place.processes()
    place.kill()
    assert (await end_of(host, "a")).why is EndReason.LOST
    assert [pid for pid in inside if is_alive(pid)] == []
