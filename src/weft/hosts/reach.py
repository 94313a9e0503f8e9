"""Connecting to the supervisor of a directory, or starting one. These functions block and run in a thread.

There is no check whether a supervisor is alive: if no one answers, another is started. It exits at once if one is
alive already, so two coordinators that start one at the same time get the same supervisor.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from weft.errors import WeftError
from weft.hosts.supervisor import BUSY
from weft.hosts.supervisor.processes import find_process
from weft.safe_files import UnsafeFileError, locate, open_file, open_folder
from weft.system_errors import advice

PROGRAM = (
    sys.executable,
    # -I and -S: neither the user's PYTHON* variables nor site-packages may change the supervisor, and it starts
    # faster without them.
    "-I",
    "-S",
    "-X",
    "utf8",
    str(Path(__file__).parent / "supervisor" / "__main__.py"),
)
_PATIENCE = 60.0
_PAUSE = 0.02
_TRIES = 4
_LARGE_LOG = 1 << 20


_INHERITED = ("LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "TZ")
"""The variables that the supervisor needs to start and to write its log.

A step can read the environment of its ancestors, so the supervisor's holds nothing else. A job's own environment
arrives over the socket.
"""

Start = subprocess.Popen[bytes]
"""A starting supervisor. When its process returns, it listens, or another one does, or the start failed."""


def reach(directory: Path, program: Sequence[str], under_way: Start | None = None) -> socket.socket:
    """Returns a connection to the supervisor from which only the greeting has been read.

    Waits first for a supervisor that is being started.
    """
    _make(directory)
    until = time.monotonic() + _PATIENCE
    tries = 0
    if under_way is not None:
        under_way.wait()
    while (connection := _try_connect(directory)) is None:
        # The program opens its socket and then forks; the parent exits at once. So when the wait ends, there is a
        # socket to connect to.
        code = start(directory, program).wait()
        tries += code not in {0, BUSY}
        if tries == _TRIES or time.monotonic() > until:
            raise WeftError(f"cannot start the supervisor in {directory}: {_last_log_line(directory, code)}")
        time.sleep(_PAUSE if code else 0.0)
    return connection


def _make(directory: Path) -> None:
    try:
        open_folder(directory, make=True).close()
    except OSError as error:
        raise WeftError(f"cannot make the directory {directory}: {_reason(error)}") from None


def _reason(error: OSError) -> str:
    return str(error) if isinstance(error, UnsafeFileError) else f"{error.strerror or error}{advice(error)}"


def _try_connect(directory: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(_PATIENCE)
        _connect(connection, directory)
        with connection.makefile("rb") as stream:
            _check(stream.readline(), connection, directory)
    except (FileNotFoundError, ConnectionError, EOFError):
        connection.close()
        return None
    except TimeoutError:
        connection.close()
        raise WeftError(
            f"the supervisor in {directory} is running but does not answer; try again later"
        ) from None
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(connection: socket.socket, directory: Path) -> None:
    with open_folder(directory) as folder:
        # The path of a socket has at most 107 bytes, so the directory is named by its descriptor.
        connection.connect(f"/proc/self/fd/{folder.descriptor}/socket")


def _check(greeting: bytes, connection: socket.socket, directory: Path) -> None:
    """Checks that the greeting comes from a process of this machine."""
    if not greeting.endswith(b"\n"):
        raise EOFError
    hello = json.loads(greeting)
    process = find_process(hello["hello"])
    # The directory may be on a disk that another machine or container shares. Its pids mean nothing here, and
    # its processes could not be ended.
    if process is None or process.started != hello["started"]:
        if _has_gone(connection):
            raise EOFError
        raise WeftError(f"the supervisor in {directory} runs on another machine or in another container")


def _has_gone(connection: socket.socket) -> bool:
    """Returns whether the process at the other end has died; all it sent has been read."""
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False


def start(directory: Path, program: Sequence[str]) -> Start:
    """Starts a supervisor without waiting for it."""
    _make(directory)
    tree, log = locate(directory / "supervisor.log")
    with os.fdopen(tree.append(log), "ab") as stream:
        # Only messages for people; the journal of jobs is another file.
        if os.fstat(stream.fileno()).st_size > _LARGE_LOG:
            os.ftruncate(stream.fileno(), 0)
        return subprocess.Popen(  # noqa: S603 - our own program
            program,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            # The supervisor outlives the command, and must not keep a directory of the user busy.
            cwd="/",
            env={name: os.environ[name] for name in _INHERITED if name in os.environ},
            start_new_session=True,
        )


def _last_log_line(directory: Path, code: int) -> str:
    with os.fdopen(open_file(directory / "supervisor.log"), errors="replace") as log:
        lines = log.read(_LARGE_LOG).split("\n")
    return next((line for line in reversed(lines) if line), f"exit code {code}")
