"""Start a coordinator in the background.

The parent waits for one message from the child: the run has started, or the reason why it has not. Until then the
child shares the parent's terminal, so that the user sees its errors. Afterwards its output goes to a rotated log.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from weft.errors import WeftError
from weft.interpreter import isolated_python
from weft.safe_files import locate

LOG_MOST = 1 << 20
"""Bytes after which a log is rotated."""
LOGS_KEPT = 3


class RotatingLog:
    """The log file of a process that has no terminal, with its older copies."""

    def __init__(self, path: Path, *, most: int = LOG_MOST, kept: int = LOGS_KEPT) -> None:
        self._path = path
        self._most = most
        self._older = [path.with_name(f"{path.name}.{number}") for number in range(1, kept + 1)]

    def take_over(self) -> None:
        """Redirects the standard output and standard error of this process to the log."""
        # Steps of the plan can write below the project, so a link may lie in the place of the log. `locate` and
        # the tree open it without following links.
        tree, name = locate(self._path)
        file = tree.append(name)
        for number in (1, 2):
            # On the level of descriptors, so that tracebacks of the interpreter and output of child processes land
            # in the log too.
            os.dup2(file, number)
        os.close(file)

    def rotate_if_long(self) -> None:
        """Rotates the log if it has grown too long. The caller invokes this after it has written."""
        # Descriptor 2 is the log itself, so this also counts the bytes that other libraries wrote.
        if os.fstat(2).st_size <= self._most:
            return
        with suppress(OSError):  # a log that keeps growing is better than a lost line
            for newer, old in zip(reversed(self._older[:-1]), reversed(self._older[1:]), strict=True):
                with suppress(FileNotFoundError):
                    _rename(newer, old)
            _rename(self._path, self._older[0])
            self.take_over()


def _rename(old: Path, new: Path) -> None:
    tree, name = locate(old)
    tree.move(name, locate(new)[1])


class ReadyMessage:
    """The message that the child sends to its parent: once, or never if the child ends first."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def send(self, **data: object) -> None:
        if self._descriptor is not None:
            with suppress(OSError):  # the parent no longer waits for it
                os.write(self._descriptor, json.dumps(data).encode())
            os.close(self._descriptor)
            self._descriptor = None


def start(
    arguments: Sequence[str], *, directory: Path, environ: Mapping[str, str], data: bytes = b""
) -> tuple[dict[str, Any], int]:
    """Starts the coordinator and returns its message with 0, or an empty message with its exit code.

    The coordinator can read the data from its standard input.
    """
    # A pipe rather than a file: its end-of-file also arrives when the child dies without any message.
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        with _input_file(data) as stdin:
            child = _spawn(arguments, writer, stdin, directory=directory, environ=environ)
    finally:
        # Without this the parent itself would hold the pipe open, and the read below would never end.
        os.close(writer)
    # The read ends when the child has sent its message and closed the pipe, or has died.
    with open(reader, "rb") as pipe:  # noqa: PTH123 - a descriptor
        message = pipe.read()
    if message:
        return json.loads(message), 0
    code = child.wait()
    if code < 0:
        raise WeftError(
            f"the coordinator was killed by signal {-code} before any work ran; check that the machine has free "
            f"memory, then type: weft start"
        )
    return {}, code


def _spawn(
    arguments: Sequence[str],
    writer: int,
    stdin: BinaryIO,
    *,
    directory: Path,
    environ: Mapping[str, str],
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - ourselves
        [*isolated_python("weft"), "-C", str(directory), "coordinate", f"--ready-to={writer}", *arguments],
        stdin=stdin,
        env=dict(environ),
        pass_fds=[writer],
        start_new_session=True,  # the coordinator must survive the end of the terminal
    )


def _input_file(data: bytes) -> BinaryIO:
    """Returns a file without a name that has the data. A pipe could be too small for them."""
    if not data:
        return open(os.devnull, "rb")  # noqa: PTH123 - the caller closes it
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(data)
    file.seek(0)
    return cast("BinaryIO", file)
