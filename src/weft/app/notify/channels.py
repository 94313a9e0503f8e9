"""The channels that deliver a notice: a command, the desktop, a webhook.

Each takes a bounded time and ends soon after a stop is requested, even if the receiver hangs. A failure raises an
error with a message. Channels know nothing about runs and do not store the answers of receivers.
"""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from threading import Event
from typing import Protocol
from urllib.parse import urlsplit

from weft.agents.shared.text import last_line, one_line
from weft.app.notify.notices import Notice
from weft.errors import WeftError
from weft.search_path import find_program

COMMAND_SECONDS = 30.0
"""Seconds after which a command is killed."""
ANSWER_SECONDS = 5.0
"""Seconds to wait for the answer of a webhook."""
PAUSE_SECONDS = 1.0
"""Seconds before a webhook is retried."""
_POLL_SECONDS = 0.05
_BUSY = 429
_SERVER_ERROR = 500
_SCRIPT = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"


class NotSentError(WeftError):
    """A notice could not be delivered."""


class Channel(Protocol):
    name: str
    """The name in messages, without any part that may be secret."""

    def send(self, notice: Notice, stop: Event) -> None:
        """Raises `NotSentError` or `OSError`. Ends soon when `stop` is set."""
        ...

    def hurry(self) -> None:
        """Ends a wait for an answer. A thread other than the sending one calls this."""
        ...


def body(notice: Notice) -> bytes:
    return json.dumps(notice.to_json()).encode()


# Commands


class ByCommand:
    """Runs a command, which gets the notice on its standard input and in its environment."""

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        folder: Path,
        environ: Mapping[str, str],
        seconds: float = COMMAND_SECONDS,
    ) -> None:
        # As in the rest of the plan language: a string is shell text, a list runs without a shell.
        self._argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        self._folder = folder
        self._environ = environ
        self._seconds = seconds
        # The arguments of a list often hold a token; a message must not print it.
        shown = command if isinstance(command, str) else Path(command[0]).name
        self.name = f"`{one_line(shown)}`"

    def send(self, notice: Notice, stop: Event) -> None:
        self._run(self._argv, notice, stop)

    def hurry(self) -> None:
        """Does nothing: `send` checks `stop` often."""

    def _run(self, argv: Sequence[str], notice: Notice, stop: Event) -> None:
        # Errors go to a file: processes that the command leaves running would hold a pipe open.
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(  # noqa: S603 - the command is the user's own
                argv, cwd=self._folder, env=_environment(self._environ, notice), start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors,
            )  # fmt: skip
            try:
                _write_input(process, body(notice))
                code = _wait_for_exit(process, stop, self._seconds)
            finally:
                _kill(process)
            if code is None:
                raise NotSentError("it took too long, and was ended")
            if code:
                errors.seek(0)
                reason = last_line(errors.read(65_536).decode(errors="replace"))
                raise NotSentError(f"exit code {code}" + (f": {reason}" if reason else ""))


def _environment(environ: Mapping[str, str], notice: Notice) -> dict[str, str]:
    return {
        **environ,
        "WEFT_NOTIFY_EVENT": notice.event,
        "WEFT_NOTIFY_TITLE": notice.title,
        "WEFT_NOTIFY_TEXT": notice.text,
        "WEFT_RUN": notice.run,
    }


def _write_input(process: subprocess.Popen[bytes], data: bytes) -> None:
    """Writes the notice to the command's input. It fits into the pipe, so this does not block."""
    assert process.stdin is not None
    try:
        with process.stdin as stream:
            stream.write(data)
    except BrokenPipeError:  # the command does not read its input
        pass


def _wait_for_exit(process: subprocess.Popen[bytes], stop: Event, seconds: float) -> int | None:
    """Waits for the command and returns its exit code; None if it takes too long or `stop` is set."""
    until = time.monotonic() + seconds
    while (code := process.poll()) is None:
        if time.monotonic() >= until or stop.wait(_POLL_SECONDS):
            return None
    return code


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        # The command leads a session of its own, so its children die with it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# The desktop


class OnDesktop(ByCommand):
    """Shows the notice with the notification program of the desktop."""

    def __init__(self, program: str, *, folder: Path, environ: Mapping[str, str]) -> None:
        super().__init__([program], folder=folder, environ=environ)
        self.name = "the desktop"

    def send(self, notice: Notice, stop: Event) -> None:
        (program,) = self._argv
        before = ["-e", _SCRIPT] if Path(program).name == "osascript" else ["--app-name=Weft", "--"]
        self._run([program, *before, notice.title, notice.text], notice, stop)


def desktop_program(environ: Mapping[str, str]) -> str | None:
    return find_program("notify-send", environ) or find_program("osascript", environ)


# Webhooks


class _TryAgainError(NotSentError):
    """The receiver was unreachable or busy."""


class ToWebhook:
    """Posts the notice as JSON; retries once if the receiver was unreachable or busy. Follows no redirects."""

    def __init__(self, url: str, *, seconds: float = ANSWER_SECONDS, pause: float = PAUSE_SECONDS) -> None:
        parts = urlsplit(url)
        self.name = f"{parts.scheme}://{parts.netloc}"  # the path of a webhook is often its key
        self._parts = parts
        self._seconds = seconds
        self._pause = pause
        self._connection: HTTPConnection | None = None

    def send(self, notice: Notice, stop: Event) -> None:
        data = body(notice)
        try:
            self._post(data)
        except _TryAgainError:
            if stop.wait(self._pause):
                raise
            self._post(data)

    def hurry(self) -> None:
        connection = self._connection
        sock: socket.socket | None = None if connection is None else connection.sock
        if sock is not None:
            with suppress(OSError):  # the connection may be closed by now
                # Closing a socket does not wake a thread that waits in `recv` on it; shutting it down does.
                sock.shutdown(socket.SHUT_RDWR)

    def _post(self, data: bytes) -> None:
        try:
            status = self._status(data)
        except (OSError, HTTPException, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise _TryAgainError(one_line(reason.lower()) or type(error).__name__) from None
        if status >= _SERVER_ERROR or status == _BUSY:
            raise _TryAgainError(f"it answered {status}")
        if not 200 <= status < 300:  # noqa: PLR2004
            raise NotSentError(f"it answered {status}")

    def _status(self, data: bytes) -> int:
        parts = self._parts
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self._seconds)
        self._connection = connection
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            headers = {"Content-Type": "application/json", "User-Agent": "weft"}
            connection.request("POST", target, data, headers)
            with connection.getresponse() as response:
                return response.status
        finally:
            self._connection = None
            connection.close()
