"""The files of jobs on this machine: their output, and the supervisor's heartbeat."""

import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any, cast

from weft.ports.host import OutputPart, PartState, Sighting
from weft.safe_files import locate, open_file, read_file

_LARGEST_BEAT = 1 << 24
_STREAMS = (OutputPart.OUT, OutputPart.ERR)


class LocalRecords:
    """The stored output of jobs of this machine, and the last report about them."""

    def __init__(self, directory: Path, outputs: Path) -> None:
        """`directory` holds the supervisor's files, `outputs` those of the jobs."""
        self._directory = directory.absolute()
        self._outputs = outputs

    def exists(self) -> bool:
        return self._directory.is_dir()

    def running(self) -> Mapping[str, Sighting]:
        try:
            heartbeat = json.loads(read_file(self._directory / "heartbeat.json", most=_LARGEST_BEAT))
            jobs = cast("dict[str, Any]", heartbeat["running"])
            return {job: Sighting(pid=pid, at=heartbeat["at"]) for job, pid in jobs.items()}
        except (
            OSError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
        ):  # a damaged heartbeat counts as none
            return {}

    def state(self, output: str, part: OutputPart) -> PartState | None:
        with self._open_output(output, part) as descriptor:
            if descriptor is None:
                return None
            status = os.fstat(descriptor)
        return PartState(size=status.st_size, changed_at=status.st_mtime_ns, version=status.st_ino)

    def read(self, output: str, part: OutputPart, offset: int, length: int) -> bytes:
        with self._open_output(output, part) as descriptor:
            return b"" if descriptor is None else os.pread(descriptor, length, max(offset, 0))

    def outputs(self, prefix: str) -> Sequence[str]:
        folder, slash, name = prefix.rpartition("/")
        tree, below = locate(f"{self._outputs}/{folder}")
        try:
            files = tree.names(below)
        except OSError:
            return ()
        names = {
            file.removesuffix(f".{part}")
            for file in files
            for part in _STREAMS
            if file.endswith(f".{part}") and file.startswith(f"{name}.")
        }
        return [f"{folder}{slash}{each}" for each in sorted(names)]

    def prefix(self, output: str) -> str:
        """Returns the start of the names of the files of an output."""
        return f"{self._outputs}/{output}"

    @contextmanager
    def _open_output(self, output: str, part: OutputPart) -> Generator[int | None]:
        """Opens a file and yields its descriptor; None if it is missing or not a regular file."""
        try:
            # Steps may write in these directories, so links are not followed.
            descriptor = open_file(f"{self.prefix(output)}.{part}")
        except OSError:
            yield None
            return
        try:
            yield descriptor if S_ISREG(os.fstat(descriptor).st_mode) else None
        finally:
            os.close(descriptor)


class RunRecords(LocalRecords):
    """The records of a run on this machine and on others, whose copies are in the same files."""

    def __init__(self, directory: Path, outputs: Path, others: Path) -> None:
        """`others` holds a directory for each host that is other machines."""
        super().__init__(directory, outputs)
        self._others = others

    def exists(self) -> bool:
        return super().exists() or self._others.is_dir()

    def running(self) -> Mapping[str, Sighting]:
        running = dict(super().running())
        tree, folder = locate(self._others)
        try:
            names = tree.names(folder)
        except OSError:
            names = []
        for name in names:
            running |= LocalRecords(self._others / name, self._outputs).running()
        return running
