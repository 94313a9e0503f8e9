"""This machine and others as one host."""

from collections.abc import AsyncIterator
from functools import partial

import anyio
import pytest
from anyio.to_thread import run_sync
from msgspec.structs import replace

from contracts.host_contract import HostContract, Stage, end_of, ends
from hosts.far.boxes import Box
from hosts.far.stages import FarStage
from hosts.places import Place
from weft.hosts.local import LocalHost
from weft.hosts.machines.several_hosts import SeveralHosts
from weft.hosts.records import RunRecords
from weft.ports.host import EndReason, JobEnded, OutputPart, Running
from weft.ports.machines import ByteStream, MachineJobs, MachineStatus, UnreachableError
from weft.terms import MachineState

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class SeveralStage(FarStage):
    """The local host has its files where the copies of those of the other one are."""

    def host(self, **settings: float) -> SeveralHosts:  # type: ignore[override]
        return SeveralHosts(self.local(), {"box": super().host(**settings)})

    def local(self) -> LocalHost:
        host = LocalHost(self.place.directory, self.logs, linger=0.0)
        self.place.add(host)
        return host

    def records(self) -> RunRecords:
        return RunRecords(self.place.directory, self.logs, self.place.root / "hosts")

    async def crash(self) -> None:
        self.place.kill()


class TestSeveralHosts(HostContract):
    @pytest.fixture
    async def stage(self, place: Place, box: Box) -> AsyncIterator[Stage]:
        stage = SeveralStage(place, box)
        yield stage
        for host in stage.hosts:
            await host.close()


@pytest.fixture
async def stage(place: Place, box: Box) -> AsyncIterator[SeveralStage]:
    stage = SeveralStage(place, box)
    yield stage
    for host in stage.hosts:
        await host.close()


async def _state(host: SeveralHosts, state: MachineState) -> MachineStatus:
    with anyio.fail_after(60):
        async for news in host.news():
            if isinstance(news, MachineStatus) and news.state is state:
                return news
    raise AssertionError


async def _answer(host: SeveralHosts) -> MachineJobs:
    with anyio.fail_after(60):
        async for news in host.news():
            if isinstance(news, MachineJobs):
                return news
    raise AssertionError


async def test_each_job_runs_where_it_says(stage: SeveralStage) -> None:
    host = stage.host()
    assert await host.open() == {}
    command = ["/bin/sh", "-c", "echo $HOME"]
    here = replace(stage.place.argv("here", tuple(command)), env={"PATH": "/usr/bin:/bin", "HOME": "/here"})
    there = replace(here, id="there", output="there", env={}, host="box", inherits=("HOME", "PATH"))
    host.start(here)
    host.start(there)
    ended = await ends(host, 2)
    assert (ended["here"].stdout, ended["there"].stdout) == ("/here\n", f"{stage.box.home}\n")
    assert await run_sync(host.read, "there", OutputPart.OUT, 0, 100) == f"{stage.box.home}\n".encode()
    await host.close()


async def test_the_next_coordinator_learns_of_jobs_there_when_the_machine_has_answered(
    stage: SeveralStage,
) -> None:
    first = stage.host()
    await first.open()
    for name in ("runs", "ends"):
        first.start(replace(stage.job(name, ["say one", "wait", "say two"]), host="box", subplan=""))
        await stage.reached(name)
    await first.close()
    stage.release("ends")
    second = stage.host()
    assert await second.open() == {}
    known = (await _answer(second)).jobs
    assert {type(job) for job in known.values()} <= {Running, JobEnded}
    assert known.keys() == {"runs", "ends"}
    stage.release("runs")
    running = [name for name, job in known.items() if isinstance(job, Running)]
    late = await ends(second, len(running))
    texts = {name: job.stdout for name, job in {**known, **late}.items() if isinstance(job, JobEnded)}
    assert texts == {"runs": "one\ntwo\n", "ends": "one\ntwo\n"}
    for name in ("runs", "ends"):
        assert await run_sync(second.read, name, OutputPart.OUT, 0, 100) == b"one\ntwo\n"
    await second.close()


async def test_opening_waits_for_no_machine(stage: SeveralStage) -> None:
    stage.box.place = replace(stage.box.place, python="python9")
    host = stage.host()
    assert await host.open() == {}
    assert "there is no python9 on box" in (await _state(host, MachineState.UNREACHABLE)).message
    with pytest.raises(UnreachableError, match="python9"):
        await run_sync(partial(host.call, "box", "a", "hello", {}))
    with pytest.raises(UnreachableError, match="no host nowhere"):
        await run_sync(partial(host.call, "nowhere", "a", "hello", {}))
    assert [status.state for status in host.statuses()] == [MachineState.UNREACHABLE]
    await host.close()


async def test_a_job_of_a_lost_machine_is_lost_and_is_stopped_when_it_returns(stage: SeveralStage) -> None:
    host = stage.host(lost_after=0.5)
    await host.open()
    await _state(host, MachineState.REACHABLE)
    host.start(replace(stage.job("a", ["mark", "wait", "mark"]), host="box"))
    await stage.reached("a")
    stage.cut_off()
    end = await end_of(host, "a")
    assert (end.why, end.message[:12]) == (EndReason.LOST, "box is lost:")
    assert len(await run_sync(stage.processes)) > 0  # the machine is well
    stage.come_back()
    await _state(host, MachineState.REACHABLE)
    with anyio.fail_after(60):
        while await run_sync(stage.processes):  # noqa: ASYNC110 - no event tells it
            await anyio.sleep(0.01)
    host.start(replace(stage.job("b", ["exit 0"]), host="box"))
    assert (await end_of(host, "b")).why is EndReason.EXITED
    assert stage.marks("a") == 1
    await host.close()


async def test_an_end_that_happens_out_of_reach_is_reported_once_with_its_output(stage: SeveralStage) -> None:
    host = stage.host()
    await host.open()
    await _state(host, MachineState.REACHABLE)
    host.start(replace(stage.job("a", ["say one", "wait", "say two", "exit 3"]), host="box"))
    await stage.reached("a")
    stage.cut_off()
    await _state(host, MachineState.UNREACHABLE)
    stage.release("a")
    stage.come_back()
    end = await end_of(host, "a")
    assert (end.exit_code, end.stdout) == (3, "one\ntwo\n")
    assert await run_sync(host.read, "a", OutputPart.OUT, 0, 100) == b"one\ntwo\n"
    await host.close()


@pytest.mark.parametrize("victim", ["far program", "supervisor", "carrier"])
async def test_jobs_survive_or_are_lost_but_run_once(stage: SeveralStage, victim: str) -> None:
    host = stage.host()
    await host.open()
    await _state(host, MachineState.REACHABLE)
    for name in ("a", "b"):
        host.start(replace(stage.job(name, ["mark", "wait"]), host="box"))
        await stage.reached(name)
    await run_sync(stage.kill, victim)
    if victim != "supervisor":
        for name in ("a", "b"):
            stage.release(name)
    ended = await ends(host, 2)
    expected = EndReason.LOST if victim == "supervisor" else EndReason.EXITED
    assert {end.why for end in ended.values()} == {expected}
    host.start(replace(stage.job("c", ["exit 0"]), host="box"))
    assert (await end_of(host, "c")).exit_code == 0
    assert (stage.marks("a"), stage.marks("b")) == (1, 1)
    await host.close()


async def test_a_run_whose_files_have_gone_starts_nothing_again(stage: SeveralStage) -> None:
    host = stage.host()
    await host.open()
    await _state(host, MachineState.REACHABLE)
    host.start(replace(stage.job("a", ["mark", "wait"]), host="box"))
    await stage.reached("a")
    stage.cut_off()
    await _state(host, MachineState.UNREACHABLE)
    await run_sync(stage.lose_everything)
    stage.come_back()
    end = await end_of(host, "a")
    assert (end.why, end.message) == (EndReason.LOST, "the files of the run on box have gone")
    assert stage.marks("a") == 1
    await host.close()


async def test_the_next_reader_gets_the_ends_that_came_after_the_last_one_stopped(
    stage: SeveralStage,
) -> None:
    host = stage.host()
    await host.open()
    host.start(stage.job("a", ["exit 0"]))
    first = host.ended()
    assert [end.id for end in await anext(first)] == ["a"]
    host.start(stage.job("b", ["mark", "wait"]))
    await stage.reached("b")
    stage.release("b")
    with anyio.fail_after(60):
        assert (await end_of(host, "b")).exit_code == 0
    await host.close()


class BrokenCarrier:
    """A carrier with a bug."""

    async def machines(self) -> list[str]:
        return ["box"]

    async def connect(self, *_: object) -> ByteStream:
        raise ZeroDivisionError

    async def has_gone(self, machine: str) -> bool:
        return False

    async def close(self) -> None:
        pass


async def test_a_bug_ends_the_run_and_is_not_waited_for(
    stage: SeveralStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "carrier", BrokenCarrier)
    host = stage.host()
    await host.open()
    with pytest.raises(ZeroDivisionError), anyio.fail_after(60):
        async for _ in host.ended():
            pass
    await host.close()
