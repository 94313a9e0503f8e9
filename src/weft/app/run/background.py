"""A coordinator in the background: how it is started, how it says that it is ready, and where it writes.

Whoever starts it waits for a word: that work is running, or why not. Until then the child shares the terminal of
its parent, so that all it has to say is seen; then it lets go of it, and what it says goes into a file that does
not grow without end.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.interpreter import isolated_python
from weft.safe_files import locate

LOG_MOST = 1 << 20
"""Bytes of a log; then it is put aside and another one begun."""
LOGS_KEPT = 3


class RotatingLog:
    """Where all goes that a process says that has no terminal."""

    def __init__(self, path: Path, *, most: int = LOG_MOST, kept: int = LOGS_KEPT) -> None:
        self._path = path
        self._most = most
        self._older = [path.with_name(f"{path.name}.{number}") for number in range(1, kept + 1)]

    def take_over(self) -> None:
        """From now on the standard outputs of the process lead here."""
        tree, name = locate(self._path)
        file = tree.append(name)
        for number in (1, 2):
            os.dup2(file, number)
        os.close(file)

    def look(self) -> None:
        """To be called after something was said: what has grown too long is put aside."""
        if os.fstat(2).st_size <= self._most:
            return
        with suppress(OSError):  # then this one goes on growing, which is better than to lose a line
            for newer, old in zip(reversed(self._older[:-1]), reversed(self._older[1:]), strict=True):
                with suppress(FileNotFoundError):
                    _rename(newer, old)
            _rename(self._path, self._older[0])
            self.take_over()


def _rename(old: Path, new: Path) -> None:
    tree, name = locate(old)
    tree.rename(name, locate(new)[1])


class ReadyMessage:
    """What the child says to whoever started it: once, or never, if it ends before."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def say(self, **data: object) -> None:
        if self._descriptor is not None:
            with suppress(OSError):  # nobody waits for it any more
                os.write(self._descriptor, json.dumps(data).encode())
            os.close(self._descriptor)
            self._descriptor = None


def start(
    arguments: Sequence[str], *, directory: Path, environ: Mapping[str, str]
) -> tuple[dict[str, Any], int]:
    """What the child has said once it is ready; or nothing, and what it ended with."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        child = subprocess.Popen(  # noqa: S603 - ourselves
            [
                *isolated_python("weft"),
                "-C",
                str(directory),
                "coordinate",
                f"--ready-to={writer}",
                *arguments,
            ],
            stdin=subprocess.DEVNULL,
            env=dict(environ),
            pass_fds=[writer],
            start_new_session=True,  # the end of a terminal is none of its business
        )
    finally:
        os.close(writer)
    with open(reader, "rb") as pipe:  # noqa: PTH123 - a descriptor
        said = pipe.read()
    if said:
        return json.loads(said), 0
    code = child.wait()
    if code < 0:
        raise WeftError(
            f"the coordinator was killed by signal {-code} before any work ran; "
            "see that the machine has memory left, then type: weft start"
        )
    return {}, code
