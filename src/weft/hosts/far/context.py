"""The files of a run on this far machine, for operations.

<directory>/
  far/<digest>.pyz          far programs
  runs/<run>.<node>/.weft/  one run; several machines may share the directory
    identity                a random name: it changes if the directory was lost and made again
    host/                   files of the supervisor
    logs/                   output of jobs
    homes/                  homes of steps
    work/, git/             workspaces, see `workspaces.py`
    spool/                  payloads that are on their way
    locks/                  one file for each lock

Steps can write to some of these directories. The name `.weft` makes `safe_files` follow no links below it.
"""

import fcntl
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from weft.safe_files import locate, open_file, open_folder, read_file

from .errors import FarProblemError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")
NO_RUN = "-"
"""Stands for no run, when a machine is only examined."""


class FarContext:
    """The directories of a run on this machine."""

    def __init__(self, directory: Path, run: str) -> None:
        """`directory` is that of all far programs of the user."""
        self.directory = directory
        self.run = run
        self.node = node_name()
        self.run_directory = self.directory_of(run) / ".weft"

    @property
    def supervisor_directory(self) -> Path:
        return self.run_directory / "host"

    @property
    def outputs(self) -> Path:
        return self.run_directory / "logs"

    def directory_of(self, run: str) -> Path:
        """Returns the directory of a run on this machine."""
        if not _NAME.fullmatch(run) and run != NO_RUN:
            raise FarProblemError(f"{run!r} is not the id of a run", kind="protocol")
        return self.directory / "runs" / f"{run}.{self.node}"

    def make(self) -> str:
        """Creates the directories of the run; returns the identity of its directory."""
        open_folder(self.run_directory.parent, make=True).close()
        open_folder(self.run_directory / "spool", make=True).close()
        tree, file = locate(self.run_directory / "identity")
        if not tree.exists(file):
            tree.replace(file, os.urandom(8).hex().encode())
        return read_file(self.run_directory / "identity", most=64).decode()

    def new_file(self) -> Path:
        """Returns the name of a file for the payload of a reply. It is removed after it has been sent."""
        return self.run_directory / "spool" / os.urandom(8).hex()

    @contextmanager
    def lock(self, name: str) -> Generator[int]:
        """Lets one operation at a time use what has this name, such as a workspace; yields a descriptor.

        The lock holds for all far programs of the run: after the carrier broke, an operation of the last one may
        still run. A process that has inherited the descriptor keeps the lock until it ends, too.
        """
        if not _NAME.fullmatch(name):
            raise FarProblemError(f"{name!r} is not the name of a lock", kind="protocol")
        descriptor = open_file(self.run_directory / "locks" / name, os.O_RDWR | os.O_CREAT, make=True)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)


def node_name() -> str:
    """Returns the name of this machine, as far as it can stand in the name of a file."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", os.uname().nodename) or "unnamed"


def program_file() -> Path:
    """Returns the zip file that runs."""
    return Path(sys.argv[0])
