"""A host of machines that Dask reaches, with a real scheduler and a real worker."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from anyio.to_thread import run_sync

from contracts.host_contract import HostContract, Stage, end_of
from hosts.far.boxes import PROGRAMS, Box
from hosts.far.stages import FarStage
from hosts.places import Place
from weft.hosts.carriers.dask import DaskCarrier
from weft.plan.hosts import HostSpec
from weft.ports.host import EndReason

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class DaskCluster:
    """A scheduler, and a worker in a box."""

    def __init__(self, root: Path, box: Box) -> None:
        self._root = root
        self._box = box
        self._file = root / "scheduler.json"
        self._started = [
            self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(self._file))
        ]
        while not self._file.exists():
            assert self._started[0].poll() is None, (root / "dask.log").read_text()
            os.sched_yield()
        self.start_worker()

    def start_worker(self) -> None:
        arguments = ("--no-nanny", "--no-dashboard", "--scheduler-file", str(self._file), "--nthreads", "2")
        self._started.append(self._start("worker", *arguments, "--local-directory", str(self._root / "dask")))

    def _start(self, *command: str) -> "subprocess.Popen[bytes]":
        environ = {"PATH": PROGRAMS, "HOME": str(self._box.home)}
        with (self._root / "dask.log").open("ab") as log:
            return subprocess.Popen(
                [
                    str(Path(sys.executable).with_name("dask")),
                    command[0],
                    "--host",
                    "127.0.0.1",
                    *command[1:],
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environ,
                start_new_session=True,
            )

    @property
    def address(self) -> str:
        return str(json.loads(self._file.read_text())["address"])

    def kill_worker(self) -> None:
        self._started[-1].kill()
        self._started[-1].wait()

    def clean(self) -> None:
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class DaskStage(FarStage):
    cluster: DaskCluster

    def carrier(self) -> DaskCarrier:
        return DaskCarrier(HostSpec(name="box", use="dask", address=self.cluster.address), self.box.place)


@pytest.fixture
def cluster(tmp_path: Path, box: Box) -> Iterator[DaskCluster]:
    cluster = DaskCluster(tmp_path, box)
    yield cluster
    cluster.clean()


@pytest.fixture
async def stage(place: Place, box: Box, cluster: DaskCluster) -> AsyncIterator[DaskStage]:
    stage = DaskStage(place, box)
    stage.cluster = cluster
    yield stage
    for host in stage.hosts:
        await host.close()


class TestFarHostOverDask(HostContract):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    async def stage(self, place: Place, box: Box, cluster: DaskCluster) -> AsyncIterator[Stage]:
        stage = DaskStage(place, box)
        stage.cluster = cluster
        yield stage
        for host in stage.hosts:
            await host.close()


async def test_a_job_survives_its_worker_and_is_found_by_the_next_one(stage: DaskStage) -> None:
    host = stage.host()
    await host.open()
    host.start(stage.job("a", ["mark", "wait", "say done"]))
    await stage.reached("a")
    await run_sync(stage.cluster.kill_worker)
    await run_sync(stage.cluster.start_worker)
    stage.release("a")
    end = await end_of(host, "a")
    assert (end.why, end.stdout, stage.marks("a")) == (EndReason.EXITED, "done\n", 1)
