"""The ways in which a notice gets to somebody: a command, the desktop, a webhook.

Each takes a bounded time and ends soon when it is told to: a receiver that hangs is left. What goes wrong is an
error with a sentence. Nothing here knows of runs, and nothing of what receivers answer is kept.
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
"""A command that takes longer is killed."""
ANSWER_SECONDS = 5.0
"""So long a webhook may be silent."""
PAUSE_SECONDS = 1.0
"""Before a webhook is tried once more."""
_POLL_SECONDS = 0.05
_BUSY = 429
_SERVER_ERROR = 500
_SCRIPT = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"


class NotSentError(WeftError):
    """A notice did not get to where it was to go."""


class Channel(Protocol):
    name: str
    """For people, without anything that might be secret."""

    def send(self, notice: Notice, stop: Event) -> None:
        """Raises `NotSentError` or `OSError`. Ends soon when `stop` is set."""
        ...

    def hurry(self) -> None:
        """Ends what waits for an answer; by another thread than the one that sends."""
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
        self._argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        self._folder = folder
        self._environ = environ
        self._seconds = seconds
        shown = command if isinstance(command, str) else Path(command[0]).name
        self.name = f"`{one_line(shown)}`"

    def send(self, notice: Notice, stop: Event) -> None:
        self._run(self._argv, notice, stop)

    def hurry(self) -> None:
        """It looks at `stop`, often."""

    def _run(self, argv: Sequence[str], notice: Notice, stop: Event) -> None:
        # What it says goes to a file: a pipe would be held open by whatever it leaves running.
        with tempfile.TemporaryFile() as said:
            started = subprocess.Popen(  # noqa: S603 - the command is the user's own
                argv, cwd=self._folder, env=_environment(self._environ, notice), start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said,
            )  # fmt: skip
            try:
                _hand_over(started, body(notice))
                code = _ended(started, stop, self._seconds)
            finally:
                _kill(started)
            if code is None:
                raise NotSentError("it took too long, and was ended")
            if code:
                said.seek(0)
                why = last_line(said.read(65_536).decode(errors="replace"))
                raise NotSentError(f"exit code {code}" + (f": {why}" if why else ""))


def _environment(environ: Mapping[str, str], notice: Notice) -> dict[str, str]:
    return {
        **environ,
        "WEFT_NOTIFY_EVENT": notice.event,
        "WEFT_NOTIFY_TITLE": notice.title,
        "WEFT_NOTIFY_TEXT": notice.text,
        "WEFT_RUN": notice.run,
    }


def _hand_over(started: subprocess.Popen[bytes], data: bytes) -> None:
    """A pipe takes all of it at once, read or not."""
    assert started.stdin is not None
    try:
        with started.stdin as stream:
            stream.write(data)
    except BrokenPipeError:  # it does not want it
        pass


def _ended(started: subprocess.Popen[bytes], stop: Event, seconds: float) -> int | None:
    """Its exit code; None if it takes too long, or there is no time left."""
    until = time.monotonic() + seconds
    while (code := started.poll()) is None:
        if time.monotonic() >= until or stop.wait(_POLL_SECONDS):
            return None
    return code


def _kill(started: subprocess.Popen[bytes]) -> None:
    if started.poll() is None:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


# The desktop


class OnDesktop(ByCommand):
    """Shows it with the program that this desktop has for that."""

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
    """Nobody was there, or it could not answer just now."""


class ToWebhook:
    """Posts it as JSON; once more if nobody answered, or not just now. No redirect is followed."""

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
            with suppress(OSError):  # it may have gone meanwhile
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
            where = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            headers = {"Content-Type": "application/json", "User-Agent": "weft"}
            connection.request("POST", where, data, headers)
            with connection.getresponse() as response:
                return response.status
        finally:
            self._connection = None
            connection.close()
