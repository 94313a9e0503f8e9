"""Commands of the model: bounded in time and in what is kept of their output, and with an end to all they start.

A command ends when its shell does. Whatever it has left behind is killed then: it has a mark in its environment,
which no program removes by accident, so that a session of its own or another parent does not hide it.
"""

import os
import selectors
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from time import monotonic, sleep

MARK = "WEFT_BUILTIN_COMMAND"
_SHELL = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"  # noqa: PTH110
_SECRET = ("_API_KEY", "_AUTH_TOKEN")
_OURS = ("WEFT_RESULT", "WEFT_SESSION")
_HALF = 10_000
"""Bytes that are kept of the beginning of an output, and of its end."""
_LAST_READS = 16
_CHASES = 200
_PAUSE = 0.01
_numbers = count(1)


class Output:
    """The beginning and the end of what was written."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def add(self, data: bytes) -> None:
        room = _HALF - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        surplus = max(len(self._tail) - _HALF, 0)
        del self._tail[:surplus]
        self._left_out += surplus

    def text(self) -> str:
        gap = f"\n[… {self._left_out:,} bytes left out …]\n".encode() if self._left_out else b""
        return (self._head + gap + self._tail).decode(errors="replace")


def run(command: str, *, root: str, environ: Mapping[str, str], seconds: float) -> str:
    """What it wrote, and how it ended, for the model."""
    mark = f"{os.getpid()}.{next(_numbers)}"
    output = Output()
    process = None
    is_in_time = False
    try:
        process = subprocess.Popen(  # noqa: S603 - whatever the model says, within the step's worktree
            [_SHELL, "-c", command],
            cwd=root,
            env={**_given(environ), MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        is_in_time = _watch(process, output, monotonic() + seconds)
    except (OSError, ValueError) as error:  # too long for the system, or with a sign that it cannot hold
        output.add(f"it could not be started: {error}".encode())
    finally:
        code = _end(process, mark)
    how = f"exit code {code}" if is_in_time else f"ended, as it took longer than {seconds:g} seconds"
    return f"{output.text()}\n[{how if process else 'failed'}]"


def _given(environ: Mapping[str, str]) -> dict[str, str]:
    """Keys are for the agent, and nothing that a command needs."""
    return {
        name: value for name, value in environ.items() if not name.endswith(_SECRET) and name not in _OURS
    }


def _watch(process: subprocess.Popen[bytes], output: Output, until: float) -> bool:
    """Whether its shell has ended in time."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    end = os.pidfd_open(process.pid)
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        selector.register(end, selectors.EVENT_READ)
        try:
            while (left := until - monotonic()) > 0:
                ready = {key.fd for key, _ in selector.select(left)}
                if end in ready:
                    # What it left behind may write on and on.
                    for _ in range(_LAST_READS):
                        _read(pipe, output)
                    return True
                if not _read(pipe, output):
                    selector.unregister(pipe)
            return False
        finally:
            os.close(end)


def _read(pipe: int, output: Output) -> bool:
    """Whether there may be more."""
    with suppress(BlockingIOError):
        data = os.read(pipe, 65_536)
        output.add(data)
        return bool(data)
    return True


def _end(process: subprocess.Popen[bytes] | None, mark: str) -> int | None:
    """Its exit code; nothing of it is alive then."""
    code = None
    if process is not None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # not waited for yet: the number is still its own
        code = process.wait()
        assert process.stdout is not None
        process.stdout.close()
    for _ in range(_CHASES):
        if not _kill(f"{MARK}={mark}".encode()):
            break
        sleep(_PAUSE)
    return code


def _kill(mark: bytes) -> bool:
    """Whether there was anybody."""
    found = [int(name) for name in os.listdir("/proc") if name.isdecimal() and _has(name, mark)]  # noqa: PTH208
    for pid in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def _has(pid: str, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:  # noqa: PTH123
            return mark in stream.read().split(b"\0")
    except OSError:  # gone, or somebody else's
        return False
