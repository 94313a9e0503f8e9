"""Other machines for a project, which are directories here: a command runs a shell with another home."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from e2e.repositories import Repository
from hosts.places import pids, proc

_REACH = """#!/bin/sh
box=$1
shift
if test -e OUTSIDE/cut-$box; then echo "no route to $box" >&2; exit 255; fi
exec env -i HOME="OUTSIDE/$box" PATH="$PATH" "$@"
"""


class Boxes:
    """Machines by name, which can be cut off."""

    def __init__(self, repository: Repository, *names: str) -> None:
        self._outside = repository.outside
        self._repository = repository
        self.names = names
        for name in names:
            (self._outside / name).mkdir()
        self._reach = self._outside / "reach"
        self._reach.write_text(_REACH.replace("OUTSIDE", str(self._outside)))
        self._reach.chmod(0o755)
        # The approval of hosts needs a place of the user's.
        repository.environ = {**repository.environ, "XDG_CONFIG_HOME": str(self._outside / "config")}
        repository.environ["XDG_STATE_HOME"] = repository.environ["XDG_DATA_HOME"] = str(
            self._outside / "state"
        )

    def yaml(self, *, slots: int = 4, lost_after: str = "10m") -> str:
        """The hosts of a plan."""
        lines = (
            f"  {name}: {{use: command, command: [{self._reach}, {name}], slots: {slots}, "
            f"lost_after: {lost_after}, directory: {self._outside / name / 'weft'}}}\n"
            for name in self.names
        )
        return f"hosts:\n{''.join(lines)}host: [{', '.join(self.names)}]\n"

    def approve(self) -> None:
        done = self._repository.weft("config", "approve", "--plan", "weft.yaml", "--yes")
        assert done.returncode == 0, done.stderr

    def cut(self, name: str) -> None:
        """Breaks the connection, and lets no other through."""
        (self._outside / f"cut-{name}").touch()
        for pid in self._pids(name):
            if b"serve" in proc(pid, "cmdline").split(b"\0"):
                _kill(pid)

    def connect(self, name: str) -> None:
        (self._outside / f"cut-{name}").unlink()

    def steps(self, name: str) -> list[int]:
        """The processes of steps there."""
        return [pid for pid in self._pids(name) if b"WEFT_JOB=" in proc(pid, "environ")]

    def _pids(self, name: str) -> list[int]:
        home = b"HOME=" + os.fsencode(self._outside / name)
        return [pid for pid in pids() if home in proc(pid, "environ").split(b"\0")]

    def remove(self) -> None:
        """Ends all processes there, however often they start others."""
        while alive := [pid for name in self.names for pid in self._pids(name)]:
            for pid in alive:
                _kill(pid)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@contextmanager
def boxes_of(repository: Repository, *names: str) -> Iterator[Boxes]:
    boxes = Boxes(repository, *names)
    try:
        yield boxes
    finally:
        boxes.remove()


def home_of(repository: Repository, name: str) -> Path:
    return repository.outside / name
