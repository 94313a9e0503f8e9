"""The stage of the contract of hosts, on a host that is another machine."""

import os
import shutil
import signal
from pathlib import Path

from hosts.far.boxes import Box
from hosts.places import Place, is_alive, pids, proc
from hosts.stage import ProcessStage
from weft.hosts.far_program import far_program
from weft.hosts.machines.far_host import FarHost
from weft.hosts.machines.paths import LocalPaths
from weft.hosts.machines.settings import FarSettings
from weft.hosts.records import LocalRecords
from weft.ports.machines import Carrier


class FarStage(ProcessStage):
    """Jobs in a box; their files are made here, as it is a directory of this machine."""

    def __init__(self, place: Place, box: Box) -> None:
        super().__init__(place)
        self.box = box
        self.logs = place.root / "logs"
        self.logs.mkdir()
        self.hosts: list[FarHost] = []

    def carrier(self) -> Carrier:
        return self.box.carrier()

    def host(self, **settings: float) -> FarHost:
        self.hosts.append(
            FarHost(
                self.carrier(),
                far_program(),
                run="run-1",
                settings=FarSettings(name="box", linger=0.0, **settings),  # type: ignore[arg-type]
                directory=self.place.root / "hosts" / "box",
                paths=LocalPaths(logs=str(self.logs), homes=str(self.place.root / "homes")),
            )
        )
        return self.hosts[-1]

    def records(self) -> LocalRecords:
        return LocalRecords(self.place.root / "hosts" / "box", self.logs)

    async def crash(self) -> None:
        self.kill_supervisor()

    def kill_supervisor(self) -> None:
        for pid in self.box.supervisors():
            os.kill(pid, signal.SIGKILL)

    # --- faults ---

    def kill(self, victim: str) -> None:
        """`victim` is the far program, the supervisor or the carrier, as its process here."""
        if victim == "supervisor":
            self.kill_supervisor()
            return
        for pid in self.box.far_programs("run-1") if victim == "far program" else self.box.carriers():
            os.kill(pid, signal.SIGKILL)

    def cut_off(self) -> None:
        """Nothing reaches the box from now on."""
        self.box.gate.unlink()
        self.kill("far program")

    def come_back(self) -> None:
        self.box.gate.touch()

    def lose_everything(self) -> None:
        """The machine comes back with an empty disk and no process."""
        self.box.clean()
        shutil.rmtree(self.box.directory)

    def far_file(self, name: str) -> Path:
        """A file of the run there."""
        (run,) = (self.box.directory / "runs").iterdir()
        return run / ".weft" / name

    def processes(self) -> list[int]:
        """Those of jobs."""
        return [
            pid
            for pid in pids()
            if is_alive(pid) and f"WEFT_HOST={self.far_file('host')}".encode() in proc(pid, "environ")
        ]
