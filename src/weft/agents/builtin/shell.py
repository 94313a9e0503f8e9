"""Run shell commands of the model, with bounds on time and output, and kill every process they leave behind.

A command ends when its shell does. Processes that it left behind are then killed. They are found by a variable in
their environment, which they keep even in a session of their own or under another parent.
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
_PRIVATE = ("WEFT_RESULT", "WEFT_SESSION")
_HALF = 10_000
"""Bytes of the beginning and of the end of an output that are kept."""
_LAST_READS = 16
_KILL_ROUNDS = 200
_PAUSE = 0.01
_numbers = count(1)


class Output:
    """The beginning and the end of an output."""

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
    """Runs a command and returns its output and the way it ended, as text for the model."""
    mark = f"{os.getpid()}.{next(_numbers)}"
    output = Output()
    process = None
    ended_in_time = False
    try:
        process = subprocess.Popen(  # noqa: S603 - the model may run any command in the step's worktree
            [_SHELL, "-c", command],
            cwd=root,
            env={**_command_environment(environ), MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A session of its own, so that one signal reaches every process that does not leave it.
            start_new_session=True,
        )
        ended_in_time = _collect_output(process, output, monotonic() + seconds)
    except (OSError, ValueError) as error:  # the command is too long, or contains a NUL character
        output.add(f"it could not be started: {error}".encode())
    finally:
        # In any case, also on SIGTERM: a command of the model must not outlive the step.
        code = _end_processes(process, mark)
    ending = f"exit code {code}" if ended_in_time else f"ended, as it took longer than {seconds:g} seconds"
    return f"{output.text()}\n[{ending if process else 'failed'}]"


def _command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Removes keys and Weft's own variables, which a command does not need."""
    return {
        name: value for name, value in environ.items() if not name.endswith(_SECRET) and name not in _PRIVATE
    }


def _collect_output(process: subprocess.Popen[bytes], output: Output, deadline: float) -> bool:
    """Collects output until the shell exits, and returns whether it did so in time."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    exit_fd = os.pidfd_open(process.pid)
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        selector.register(exit_fd, selectors.EVENT_READ)
        try:
            while (remaining := deadline - monotonic()) > 0:
                ready = {key.fd for key, _ in selector.select(remaining)}
                if exit_fd in ready:
                    # A bounded number of reads: a process left behind may write for ever.
                    for _ in range(_LAST_READS):
                        _read_chunk(pipe, output)
                    return True
                # The end of the pipe is not the end of the shell: a command can close its output and go on
                # working.
                if not _read_chunk(pipe, output):
                    selector.unregister(pipe)
            return False
        finally:
            os.close(exit_fd)


def _read_chunk(pipe: int, output: Output) -> bool:
    """Returns whether more output may follow."""
    with suppress(BlockingIOError):
        data = os.read(pipe, 65_536)
        output.add(data)
        return bool(data)
    return True


def _end_processes(process: subprocess.Popen[bytes] | None, mark: str) -> int | None:
    """Kills all processes of the command and returns the exit code of its shell."""
    code = None
    if process is not None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the shell is not reaped yet, so its number is not reused
        code = process.wait()
        assert process.stdout is not None
        process.stdout.close()
    # Repeated until none is found: a marked process may fork while /proc is being read.
    for _ in range(_KILL_ROUNDS):
        if not _kill_marked(f"{MARK}={mark}".encode()):
            break
        sleep(_PAUSE)
    return code


def _kill_marked(mark: bytes) -> bool:
    """Kills all processes with the mark and returns whether there were any."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal() and _has_mark(name, mark)]  # noqa: PTH208
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(pids)


def _has_mark(pid: str, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:  # noqa: PTH123
            return mark in stream.read().split(b"\0")
    except OSError:  # the process has ended, or belongs to another user
        return False
