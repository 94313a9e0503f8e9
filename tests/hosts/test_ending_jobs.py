"""When the end of a job is reported, none of its processes is alive, whatever they did to survive."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from contracts.host_contract import end_of, ends
from hosts.places import Place, is_alive
from weft.hosts.local import LocalHost
from weft.ports.host import EndReason

pytestmark = pytest.mark.anyio


def waits(place: Place, name: str) -> str:
    """A script that leaves its pid and waits for ever."""
    return f"echo $$ > {place.root}/{name}.pid; {place.gate(name)}"


def daemon(place: Place, name: str, *, through: str = "") -> str:
    """A command that leaves such a process behind: with no parent, in a session of its own, with no output."""
    return f"({through} setsid /bin/sh -c '{waits(place, name)}' </dev/null >/dev/null 2>&1 &)"


def pid_of(place: Place, name: str) -> int:
    return int(Path(place.root / f"{name}.pid").read_text())


async def test_a_daemon_is_ended_when_its_job_is_stopped(place: Place, host: LocalHost) -> None:
    host.start(place.shell("a", f"{daemon(place, 'd')}; {place.gate('a')}"))
    await place.reached("d")
    await place.reached("a")
    host.stop("a")
    end = await end_of(host, "a")
    assert (end.why, end.leftovers, is_alive(pid_of(place, "d"))) == (EndReason.STOPPED, 0, False)


async def test_a_daemon_is_ended_when_its_job_ends_by_itself(place: Place, host: LocalHost) -> None:
    host.start(place.shell("a", f"{daemon(place, 'd')}; {place.gate('a')}"))
    await place.reached("d")
    await place.reached("a")
    place.release("a")
    end = await end_of(host, "a")
    assert (end.why, end.exit_code, end.leftovers) == (EndReason.EXITED, 0, 1)
    assert not is_alive(pid_of(place, "d"))


async def test_a_daemon_that_cleared_its_environment_is_ended_and_that_of_another_job_is_not(
    place: Place, host: LocalHost
) -> None:
    for name in ("a", "b"):
        script = f"{daemon(place, name + '-d', through='env -i')}; {place.gate(name)}"
        host.start(place.shell(name, script))
        await place.reached(f"{name}-d")
        await place.reached(name)
    place.release("a")
    assert (await end_of(host, "a")).leftovers == 1
    assert [is_alive(pid_of(place, name)) for name in ("a-d", "b-d")] == [False, True]
    host.stop("b")
    await end_of(host, "b")
    assert not is_alive(pid_of(place, "b-d"))


async def test_of_two_jobs_that_end_at_once_only_one_left_something(place: Place, host: LocalHost) -> None:
    host.start(place.shell("a", f"{daemon(place, 'd')}; {waits(place, 'a')}"))
    host.start(place.shell("b", waits(place, "b")))
    for name in ("a", "b", "d"):
        await place.reached(name)
    (supervisor,) = place.supervisors()
    os.kill(supervisor, signal.SIGSTOP)
    for name in ("a", "b"):
        place.release(name)
        has_ended = f"until grep -q '^State:.Z' /proc/{pid_of(place, name)}/status; do sleep 0.01; done"
        await anyio.run_process(["sh", "-c", has_ended])
    os.kill(supervisor, signal.SIGCONT)
    end_events = await ends(host, 2)
    assert (end_events["a"].leftovers, end_events["b"].leftovers) == (1, 0)
    assert not is_alive(pid_of(place, "d"))


async def test_a_process_without_any_mark_is_ended_with_the_only_job_there_is(
    place: Place, host: LocalHost
) -> None:
    unmark = "env -i prlimit --locks=unlimited:unlimited"
    host.start(place.shell("a", f"{daemon(place, 'd', through=unmark)}; {place.gate('a')}"))
    await place.reached("d")
    await place.reached("a")
    place.release("a")
    assert (await end_of(host, "a")).leftovers == 1
    assert not is_alive(pid_of(place, "d"))


async def test_the_daemon_of_an_earlier_command_serves_the_later_ones(place: Place, host: LocalHost) -> None:
    host.start(place.shell("a", daemon(place, "d"), place.gate("a"), "echo done"))
    await place.reached("d")
    await place.reached("a")
    place.release("a")
    end = await end_of(host, "a")
    assert (end.stdout, end.leftovers, is_alive(pid_of(place, "d"))) == ("done\n", 1, False)


async def test_who_does_not_listen_is_killed(place: Place, host: LocalHost) -> None:
    host.start(place.shell("a", f"trap '' TERM; {place.gate('a')}", grace=0.05))
    await place.reached("a")
    host.stop("a")
    end = await end_of(host, "a")
    assert (end.why, end.signal) == (EndReason.STOPPED, 9)


async def test_a_daemon_that_does_not_listen_is_killed(place: Place, host: LocalHost) -> None:
    script = f"trap '' TERM; {daemon(place, 'd')}; {place.gate('a')}"
    host.start(place.shell("a", script, grace=0.05))
    await place.reached("d")
    await place.reached("a")
    place.release("a")
    assert (await end_of(host, "a")).leftovers == 1
    assert not is_alive(pid_of(place, "d"))


async def test_a_second_stop_may_shorten_the_grace(place: Place, host: LocalHost) -> None:
    host.start(place.shell("a", f"trap 'echo asked' TERM; while :; do {place.gate('a')}; done"))
    await place.reached("a")
    host.stop("a")
    host.stop("a", grace=0.0)
    end = await end_of(host, "a")
    assert (end.why, end.signal) == (EndReason.STOPPED, 9)


async def test_a_halted_process_hears_that_it_is_asked(place: Place, host: LocalHost) -> None:
    host.start(place.shell("a", f"trap 'echo asked; exit 7' TERM; {daemon(place, 'd')}; kill -STOP $$"))
    await place.reached("d")
    host.stop("a")
    end = await end_of(host, "a")
    assert (end.why, end.exit_code, end.stdout) == (EndReason.STOPPED, 7, "asked\n")


async def test_beyond_its_time_all_of_it_is_ended(place: Place, host: LocalHost) -> None:
    script = f"/bin/sh -c '{waits(place, 'b')}' & {daemon(place, 'd')}; {waits(place, 'a')}"
    host.start(place.shell("a", script, timeout=1.0))
    for name in ("a", "b", "d"):
        await place.reached(name)
    end = await end_of(host, "a")
    assert end.why == EndReason.TIMEOUT
    assert [is_alive(pid_of(place, name)) for name in ("a", "b", "d")] == [False, False, False]


async def test_the_time_limit_is_for_all_commands_together(place: Place, host: LocalHost) -> None:
    host.start(place.shell("a", "exit 0", place.gate("a"), timeout=0.2))
    end = await end_of(host, "a")
    assert (end.why, end.command) == (EndReason.TIMEOUT, 1)


async def test_a_process_that_runs_from_the_signal_is_caught(place: Place, host: LocalHost) -> None:
    """It starts the next one, in a session of its own, and goes: no pid of it is good for long."""
    runner = place.root / "runner"
    runner.write_text('trap "" TERM\n(setsid /bin/sh "$0" </dev/null >/dev/null 2>&1 &)\n')
    host.start(place.shell("a", f"{place.gate('a')}; /bin/sh runner; {place.gate('b')}"))
    await place.reached("a")
    place.release("a")
    await place.reached("b")
    host.stop("a", grace=0.0)
    assert (await end_of(host, "a")).why == EndReason.STOPPED
    assert place.processes() == []


async def test_a_step_that_is_killed_from_outside_is_reported_as_such(place: Place, host: LocalHost) -> None:
    host.start(place.shell("a", f"{waits(place, 'a')}"))
    host.start(place.shell("b", place.gate("b")))
    await place.reached("a")
    await place.reached("b")
    host.start(place.shell("c", f"kill -9 {pid_of(place, 'a')}"))
    end_events = await ends(host, 2)
    assert (end_events["a"].why, end_events["a"].signal) == (EndReason.EXITED, 9)
    place.release("b")
    assert (await end_of(host, "b")).exit_code == 0


async def test_to_stop_a_job_whose_remains_are_being_ended_hurries_that(
    place: Place, host: LocalHost
) -> None:
    script = f"trap '' TERM; {daemon(place, 'd')}; {place.gate('a')}"
    host.start(place.shell("a", script))
    await place.reached("d")
    await place.reached("a")
    place.release("a")
    host.stop("a", grace=0.0)
    assert (await end_of(host, "a")).id == "a"
    assert not is_alive(pid_of(place, "d"))
