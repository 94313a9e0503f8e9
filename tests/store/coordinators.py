"""Processes that write to a journal, to be killed."""

import subprocess
import sys
from pathlib import Path
from typing import Self

_SCRIPT = Path(__file__).with_name("coordinator_script.py")


class Coordinator:
    """One process; see the script for what it does. It is gone when the `with` ends."""

    def __init__(self, what: str, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, _SCRIPT, what, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self.pid = self._process.pid

    def go(self) -> None:
        self._stdin.write("go\n")
        self._stdin.flush()

    def says(self) -> str:
        return self._stdout.readline().removesuffix("\n")

    def kill(self) -> None:
        """With SIGKILL; it is dead when this returns."""
        self._process.kill()
        self._process.wait()

    def rest(self) -> list[str]:
        """All that it, and whoever has its output, says until the end. A line that was cut off is not said."""
        return [line.removesuffix("\n") for line in self._stdout if line.endswith("\n")]

    def hang_up(self) -> None:
        """Closes its standard input, which ends it and every process that shares the input."""
        self._stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._stdin.close()
        self._stdout.close()
