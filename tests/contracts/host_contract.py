"""What every host does. A subclass gives a fixture `stage`: a place for jobs, and hosts that know it.

Jobs are told what to do in words, as a host need not have real processes:
  say TEXT        write a line to standard output
  mark            leave a mark that can be counted
  wait            stand at the gate of the job until it is opened
  exit CODE       end with this code
  die SIGNAL      end by this signal
  run NAME        be that program, which may not exist; the only word of its command
"""

from collections.abc import Sequence
from typing import Protocol

import anyio
import pytest
from anyio.to_thread import run_sync
from msgspec.structs import replace

from weft.ports.host import EndReason, Host, Job, JobEnded, JobRecords, OutputPart, Running, Sighting

pytestmark = pytest.mark.anyio


class Stage(Protocol):
    def host(self) -> Host:
        """Another coordinator's access to the same host."""
        ...

    def job(
        self, name: str, *commands: Sequence[str], timeout: float = 3600.0, grace: float = 3600.0
    ) -> Job: ...

    def marks(self, name: str) -> int:
        """How many the job has left."""
        ...

    async def reached(self, name: str) -> None:
        """The job stands at its gate."""
        ...

    def release(self, name: str) -> None:
        """Open its gate."""
        ...

    async def crash(self) -> None:
        """Whoever watches the jobs dies."""
        ...

    def records(self) -> JobRecords:
        """What is read by who is no coordinator."""
        ...


async def ends(host: Host, count: int) -> dict[str, JobEnded]:
    """The next ends, of this many jobs."""
    table: dict[str, JobEnded] = {}
    async for batch in host.ended():
        for end in batch:
            assert end.id not in table
            table[end.id] = end
        if len(table) >= count:
            break
    return table


async def end_of(host: Host, name: str) -> JobEnded:
    """The next end, which is that of this job."""
    return (await ends(host, 1))[name]


class HostContract:
    pytestmark = pytest.mark.anyio

    async def test_a_new_place_knows_no_jobs(self, stage: Stage) -> None:
        host = stage.host()
        assert await host.open() == {}
        await host.close()

    async def test_a_job_that_succeeds_is_told_with_its_output(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["say hello"]))
        end = await end_of(host, "a")
        assert (end.why, end.exit_code, end.signal) == (EndReason.EXITED, 0, None)
        assert (end.stdout, end.stderr) == ("hello\n", "")
        assert (end.stdout_bytes, end.leftovers) == (6, 0)
        assert 0 < end.started_at <= end.ended_at
        await host.close()

    async def test_the_exit_code_is_told(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["exit 3"]))
        end = await end_of(host, "a")
        assert (end.why, end.exit_code, end.signal) == (EndReason.EXITED, 3, None)
        await host.close()

    async def test_a_job_that_is_killed_tells_the_signal(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["die 9"]))
        end = await end_of(host, "a")
        assert (end.why, end.exit_code, end.signal) == (EndReason.EXITED, None, 9)
        await host.close()

    async def test_commands_run_one_after_the_other(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["say one"], ["say two"], ["say three"]))
        end = await end_of(host, "a")
        assert (end.exit_code, end.command, end.stdout) == (0, 2, "one\ntwo\nthree\n")
        await host.close()

    async def test_the_first_command_that_fails_is_the_last(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["say one"], ["exit 5"], ["mark"]))
        end = await end_of(host, "a")
        assert (end.exit_code, end.command, end.stdout) == (5, 1, "one\n")
        assert stage.marks("a") == 0
        await host.close()

    async def test_a_job_that_cannot_be_started_is_told_as_an_end(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["run no-such-program"]))
        end = await end_of(host, "a")
        assert (end.why, end.exit_code) == (EndReason.NOT_STARTED, None)
        assert "no-such-program" in end.message
        await host.close()

    async def test_fifteen_jobs_run_at_the_same_time(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        names = [f"j{number}" for number in range(15)]
        for name in names:
            host.start(stage.job(name, ["wait"]))
        for name in names:
            await stage.reached(name)
        for name in names:
            stage.release(name)
        assert {end.exit_code for end in (await ends(host, 15)).values()} == {0}
        await host.close()

    async def test_to_start_a_running_job_again_does_nothing(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["mark", "wait"]))
        await stage.reached("a")
        host.start(stage.job("a", ["mark", "wait"]))
        stage.release("a")
        await end_of(host, "a")
        host.start(stage.job("fence", ["exit 0"]))
        await end_of(host, "fence")
        assert stage.marks("a") == 1
        await host.close()

    async def test_to_start_a_job_again_that_has_ended_tells_its_end_again(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["mark", "say once"]))
        first = await end_of(host, "a")
        host.start(stage.job("a", ["mark", "say twice"]))
        assert await end_of(host, "a") == first
        assert stage.marks("a") == 1
        await host.close()

    async def test_a_forgotten_job_is_not_known_and_not_run_again(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["mark"]))
        await end_of(host, "a")
        host.forget(["a"])
        host.start(stage.job("a", ["mark"]))
        host.start(stage.job("fence", ["exit 0"]))
        await end_of(host, "fence")
        await host.close()
        other = stage.host()
        assert set(await other.open()) == {"fence"}
        assert stage.marks("a") == 1
        await other.close()

    async def test_a_job_is_stopped(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["wait"], ["mark"]))
        await stage.reached("a")
        host.stop("a")
        end = await end_of(host, "a")
        assert (end.why, end.signal, stage.marks("a")) == (EndReason.STOPPED, 15, 0)
        await host.close()

    async def test_a_job_is_stopped_without_grace(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["wait"]))
        await stage.reached("a")
        host.stop("a", grace=0.0)
        end = await end_of(host, "a")
        assert (end.why, end.signal) == (EndReason.STOPPED, 9)
        await host.close()

    async def test_a_job_is_stopped_before_it_could_begin(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["mark"]))
        host.stop("a")
        assert (await end_of(host, "a")).why == EndReason.STOPPED
        await host.close()

    async def test_to_stop_a_job_that_nobody_knows_does_nothing(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.stop("nobody")
        host.start(stage.job("a", ["exit 0"]))
        assert (await end_of(host, "a")).why == EndReason.EXITED
        await host.close()

    async def test_a_frozen_job_stands_still_until_it_is_thawed(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["wait", "mark"], ["mark"]))
        await stage.reached("a")
        host.freeze("a")
        await self._another_ends(stage, host, "b")
        stage.release("a")
        await self._another_ends(stage, host, "c")
        assert stage.marks("a") == 0
        host.thaw("a")
        assert ((await end_of(host, "a")).exit_code, stage.marks("a")) == (0, 2)
        await host.close()

    async def _another_ends(self, stage: Stage, host: Host, name: str) -> None:
        """So all that was asked for before has been done."""
        host.start(stage.job(name, ["exit 0"]))
        assert (await end_of(host, name)).exit_code == 0

    async def test_a_job_that_is_frozen_before_it_could_begin_begins_when_it_is_thawed(
        self, stage: Stage
    ) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["mark"]))
        host.freeze("a")
        await self._another_ends(stage, host, "b")
        assert stage.marks("a") == 0
        host.thaw("a")
        assert ((await end_of(host, "a")).exit_code, stage.marks("a")) == (0, 1)
        await host.close()

    async def test_a_frozen_job_is_stopped_all_the_same(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["wait"]))
        await stage.reached("a")
        host.freeze("a")
        host.freeze("a")
        host.stop("a")
        end = await end_of(host, "a")
        assert (end.why, end.signal) == (EndReason.STOPPED, 15)
        host.thaw("a")
        host.freeze("nobody")
        await host.close()

    async def test_a_job_beyond_its_time_is_ended(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["wait"], timeout=0.05))
        assert (await end_of(host, "a")).why == EndReason.TIMEOUT
        await host.close()

    async def test_a_silent_job_is_ended(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(replace(stage.job("a", ["say hello", "wait"]), idle_timeout=0.05))
        assert (await end_of(host, "a")).why == EndReason.IDLE
        await host.close()

    async def test_who_comes_later_takes_over_what_runs(self, stage: Stage) -> None:
        first = stage.host()
        await first.open()
        first.start(stage.job("a", ["wait", "say done"]))
        await stage.reached("a")
        await first.close()
        second = stage.host()
        file = await second.open()
        assert [type(job) for job in file.values()] == [Running]
        stage.release("a")
        assert (await end_of(second, "a")).stdout == "done\n"
        await second.close()

    async def test_what_ended_is_known_later_and_not_told_again(self, stage: Stage) -> None:
        first = stage.host()
        await first.open()
        first.start(stage.job("a", ["say done"]))
        end = await end_of(first, "a")
        await first.close()
        second = stage.host()
        assert await second.open() == {"a": end}
        second.start(stage.job("fence", ["exit 0"]))
        await end_of(second, "fence")
        await second.close()

    async def test_when_the_watcher_dies_what_ran_is_lost_and_the_host_goes_on(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["mark", "wait"]))
        await stage.reached("a")
        await stage.crash()
        assert (await end_of(host, "a")).why == EndReason.LOST
        host.start(stage.job("b", ["exit 0"]))
        assert (await end_of(host, "b")).why == EndReason.EXITED
        assert stage.marks("a") == 1
        await host.close()

    async def test_a_lost_job_is_lost_for_who_comes_later_too(self, stage: Stage) -> None:
        first = stage.host()
        await first.open()
        first.start(stage.job("a", ["wait"]))
        await stage.reached("a")
        await first.close()
        await stage.crash()
        second = stage.host()
        file = await second.open()
        assert [job.why for job in file.values() if isinstance(job, JobEnded)] == [EndReason.LOST]
        await second.close()

    async def test_a_host_may_be_prepared_before_it_is_opened(self, stage: Stage) -> None:
        host = stage.host()
        await run_sync(host.prepare)
        assert await host.open() == {}
        host.start(stage.job("a", ["exit 0"]))
        assert (await end_of(host, "a")).exit_code == 0
        await host.close()

    async def test_records_exist_once_a_host_was_opened(self, stage: Stage) -> None:
        assert not await run_sync(stage.records().exists)
        host = stage.host()
        await host.open()
        assert await run_sync(host.exists)
        await host.close()
        assert await run_sync(stage.records().exists)

    async def test_output_is_read_while_its_job_runs_and_later(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["say one", "wait", "say two"]))
        await stage.reached("a")
        await self._await_output(stage, "a", b"one\n")
        assert await self._read(host, "a") == b"one\n"
        stage.release("a")
        await end_of(host, "a")
        host.forget(["a"])
        await host.close()
        assert await self._read(stage.records(), "a") == b"one\ntwo\n"

    async def _await_output(self, stage: Stage, output: str, text: bytes) -> None:
        with anyio.fail_after(60):
            while await self._read(stage.records(), output) != text:  # noqa: ASYNC110 - no event tells it
                await anyio.sleep(0.01)

    async def _read(
        self,
        records: JobRecords,
        output: str,
        *,
        part: OutputPart = OutputPart.OUT,
        offset: int = 0,
        length: int = 1000,
    ) -> bytes:
        return await run_sync(records.read, output, part, offset, length)

    async def test_output_is_read_from_an_offset(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["say hello"]))
        await end_of(host, "a")
        assert await self._read(host, "a", offset=1, length=3) == b"ell"
        assert await self._read(host, "a", offset=-5, length=2) == b"he"
        assert await self._read(host, "a", offset=6) == b""
        await host.close()

    async def test_the_state_of_an_output_changes_with_it(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["say one", "wait", "say two"]))
        await stage.reached("a")
        await self._await_output(stage, "a", b"one\n")
        first = await run_sync(host.state, "a", OutputPart.OUT)
        assert first is not None
        assert first.size == 4
        assert await run_sync(host.state, "a", OutputPart.OUT) == first
        stage.release("a")
        await end_of(host, "a")
        second = await run_sync(host.state, "a", OutputPart.OUT)
        assert second is not None
        assert (second.size, second == first) == (8, False)
        await host.close()

    async def test_output_that_nobody_wrote_is_empty(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["say hello"]))
        await end_of(host, "a")
        parts = {"a": {*OutputPart} - {OutputPart.OUT}, "nobody": {*OutputPart}}
        for output, absent in parts.items():
            for part in absent:
                assert await self._read(host, output, part=part) == b""
                assert await run_sync(host.state, output, part) is None
        assert list(await run_sync(host.outputs, "nobody")) == []
        await host.close()

    async def test_outputs_are_found_by_what_their_names_begin_with(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        for name in ("a", "a.1", "a.12", "ab", "b.a"):
            host.start(stage.job(name, ["say x"]))
        await ends(host, 5)
        assert list(await run_sync(host.outputs, "a")) == ["a", "a.1", "a.12"]
        assert list(await run_sync(host.outputs, "a.1")) == ["a.1"]
        await host.close()

    async def test_jobs_that_run_are_seen_from_outside(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["wait"]))
        await stage.reached("a")
        await self._await_running(stage, {"a"})
        (sighting,) = (await run_sync(stage.records().running)).values()
        assert isinstance(sighting, Sighting)
        assert (sighting.pid > 0, sighting.at > 0) == (True, True)
        stage.release("a")
        await end_of(host, "a")
        await self._await_running(stage, set())
        await host.close()

    async def _await_running(self, stage: Stage, names: set[str]) -> None:
        """A report may be a few seconds old."""
        with anyio.fail_after(60):
            while {*await run_sync(stage.records().running)} != names:  # noqa: ASYNC110 - no event tells it
                await anyio.sleep(0.01)

    async def test_a_host_that_is_idle_and_closed_ends(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        host.start(stage.job("a", ["exit 0"]))
        await end_of(host, "a")
        await host.close()
        await run_sync(host.wait_until_gone)
        assert await run_sync(stage.records().running) == {}

    async def test_nothing_is_told_after_the_end(self, stage: Stage) -> None:
        host = stage.host()
        await host.open()
        await host.close()
        assert [batch async for batch in host.ended()] == []
