"""What has to be known of a host after a crash of the coordinator, in a file of the run.

Where each slice is placed, on which machine each job runs and what its outputs are called, and which jobs count as
lost. It is written before the first job of a slice starts, so the next coordinator finds each job where it is.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field

from weft.safe_files import read_file, replace_file

_LARGEST = 1 << 26


class _Contents(Struct):
    placements: dict[str, str] = field(default_factory=dict[str, str])
    """For each slice, its machine."""
    jobs: dict[str, tuple[str, str, str]] = field(default_factory=dict[str, tuple[str, str, str]])
    """For each job that is not forgotten: machine, output, output of the report."""
    identities: dict[str, str] = field(default_factory=dict[str, str])
    """For each machine, the identity of the directory of the run there."""
    lost: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """For each machine, the jobs that count as lost."""


class JobTable:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._contents = _Contents()
        self.has_changed = False

    def load(self) -> None:
        """Reads the file of an earlier coordinator, if there is one."""
        try:
            self._contents = msgspec.json.decode(read_file(self._file, most=_LARGEST), type=_Contents)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            # Without it, jobs are found all the same: each machine lists its own. Only output that has ended
            # unseen is not.
            self._contents = _Contents()

    def content(self) -> bytes:
        """Returns what is to be written."""
        self.has_changed = False
        return msgspec.json.encode(self._contents)

    def save(self, content: bytes) -> None:
        replace_file(self._file, content)

    def placement(self, subplan: str) -> str | None:
        return self._contents.placements.get(subplan)

    def place(self, subplan: str, machine: str) -> None:
        if self._contents.placements.get(subplan) != machine:
            self._contents.placements[subplan] = machine
            self.has_changed = True

    def placed_on(self, machine: str) -> int:
        """Returns how many slices are placed on a machine."""
        return sum(each == machine for each in self._contents.placements.values())

    def add(self, job: str, machine: str, output: str, report: str) -> None:
        self._contents.jobs[job] = (machine, output, report)
        self.has_changed = True

    def machine_of(self, job: str) -> str | None:
        row = self._contents.jobs.get(job)
        return None if row is None else row[0]

    def outputs(self, jobs: Iterable[str]) -> list[tuple[str, str]]:
        """Returns the output of each job, with that of its report."""
        rows = (self._contents.jobs.get(job) for job in jobs)
        return [row[1:] for row in rows if row is not None]

    def forget(self, jobs: Sequence[str]) -> None:
        for job in jobs:
            self.has_changed |= self._contents.jobs.pop(job, None) is not None

    def identity(self, machine: str) -> str:
        return self._contents.identities.get(machine, "")

    def set_identity(self, machine: str, identity: str) -> None:
        self.has_changed |= self.identity(machine) != identity
        self._contents.identities[machine] = identity

    def lost_on(self, machine: str) -> set[str]:
        return {*self._contents.lost.get(machine, ())}

    def lose(self, machine: str, jobs: Iterable[str]) -> None:
        """Records that jobs of a machine count as lost, and that its slices may move."""
        lost_jobs = self._contents.lost.setdefault(machine, [])
        lost_jobs.extend(job for job in jobs if job not in lost_jobs)
        placements = self._contents.placements
        self._contents.placements = {path: each for path, each in placements.items() if each != machine}
        self.has_changed = True
