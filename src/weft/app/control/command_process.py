"""Commands of Weft that another program starts for its user: the live view, `weft top`.

A key does exactly what its command does, because it runs the command, in a process of its own. So a slow command,
or one that fails, never holds up the program that shows the run, and the user can type the same words.
"""

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from weft.interpreter import isolated_python

_MOST_LINES = 20


class CommandResult(Struct, frozen=True, kw_only=True):
    command: str
    exit_code: int
    lines: tuple[str, ...]
    """What it printed, on both streams."""

    @property
    def summary(self) -> str:
        """The most telling line: an error, or else the first."""
        errors = [line for line in self.lines if line.startswith(("error:", "Error:"))]
        return next(iter([*errors, *self.lines]), f"{self.command}: done")


def run_command(command: str, directory: Path, *, environ: Mapping[str, str] = os.environ) -> CommandResult:
    """Runs a command line such as `weft pause store` in the directory of a project, and waits for its end."""
    _, *words = shlex.split(command)
    done = subprocess.run(  # noqa: S603 - ourselves
        [*isolated_python("weft"), "-C", str(directory), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**environ, "NO_COLOR": "1", "COLUMNS": "120"},
        check=False,
        start_new_session=True,  # Ctrl-C on the terminal is for the program that shows the run
    )
    lines = done.stdout.decode(errors="replace").splitlines()
    return CommandResult(
        command=command,
        exit_code=done.returncode,
        lines=tuple(line for line in lines if line.strip())[:_MOST_LINES],
    )
