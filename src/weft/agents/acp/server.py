"""The process of the server, and the exchange of bytes with it until the conversation ends.

All waiting goes through one selector, because a server may write before it reads, die, fall silent, or stay
alive with closed pipes, and because SIGTERM may arrive at any time.
"""

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import IO

from weft.agents.acp.client import Client, Log, Out, Show
from weft.agents.acp.messages import LONGEST_LINE, LineDecoder, Noise, TooLong, encode
from weft.agents.acp.outcomes import End, ServerError, TurnCancellation, TurnFailure, Unavailable
from weft.agents.command import signal_name
from weft.agents.shared.activity_lines import activity_line
from weft.agents.shared.text import one_line, strip_control_codes

PATIENCE = 1.0
"""Seconds to wait for a cancelled turn to end, and for the server to exit after each request to do so."""
_CANNOT_RUN = {126: "cannot be executed", 127: "was not found"}
_BLOCK = 65_536
_LAST_READS = 32
_TAIL = 4_000
_LAST_LINES = 5
_MOST_NOISE = 20
_PRIVATE_VARIABLES = ("WEFT_RESULT", "WEFT_SESSION", "WEFT_FORK")
"""Variables for the client. A program that the server starts could mistake them for its own."""


def log_line(line: str) -> None:
    """Writes a line to the log of the step."""
    _write(f"{one_line(line)}\n".encode(errors="replace"))


def _write(data: bytes) -> None:
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()


class Server:
    """The server's process, in a process group of its own."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        """Raises `OSError` if it cannot be started."""
        self._process = subprocess.Popen(  # noqa: S603 - the command comes from the plan
            argv,
            env={name: value for name, value in environ.items() if name not in _PRIVATE_VARIABLES},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A group of its own, so that `close` also ends the processes that the server started.
            process_group=0,
        )
        # A pidfd becomes readable at exit, so the selector can wait for the exit and for the pipes at once.
        self._end = os.pidfd_open(self._process.pid)

    def pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        """Returns standard input, output and error, all non-blocking."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for pipe in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(pipe.fileno(), False)
        return process.stdin, process.stdout, process.stderr

    @property
    def exit_fd(self) -> int:
        """A descriptor that becomes readable when the process has exited."""
        return self._end

    def close(self) -> int | None:
        """Ends the process with its whole group and returns the exit code; None if it had to be killed."""
        process = self._process
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            # The pipe may hold unsent data for a server that no longer reads it.
            with suppress(OSError):
                pipe.close()
        ends_itself = self._wait_for_exit()
        if not ends_itself:
            self._signal(signal.SIGTERM)
            self._wait_for_exit()
        # Even a server that has exited may have left children in its group.
        self._signal(signal.SIGKILL)  # the process is not reaped yet, so its number is not reused
        os.close(self._end)
        code = process.wait()
        return code if ends_itself else None

    def _wait_for_exit(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._end, selectors.EVENT_READ)
            return bool(selector.select(PATIENCE))

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


class Exchange:
    """Passes messages between a client and a server."""

    def __init__(self, client: Client, server: Server, stop: int) -> None:
        """`stop` is a descriptor that becomes readable when the step is to be stopped."""
        self._client = client
        self._server = server
        self._stop = stop
        self._stdin, self._stdout, self._stderr = server.pipes()
        self._lines = LineDecoder()
        self._to_send = bytearray()
        self._tail = b""
        self._noise: list[str] = []
        self._is_over = False
        self._deadline: float | None = None
        self._selector = selectors.DefaultSelector()

    def run(self, changed: Callable[[], None]) -> None:
        """Runs until the conversation or the server has ended. Calls `changed` after each batch of messages."""
        with self._selector as selector:
            selector.register(self._stdout, selectors.EVENT_READ, self._read_stdout)
            selector.register(self._stderr, selectors.EVENT_READ, self._read_stderr)
            selector.register(self._server.exit_fd, selectors.EVENT_READ, self._note_exit)
            selector.register(self._stop, selectors.EVENT_READ, self._cancel)
            self._perform(self._client.start())
            while self._client.end is None and not self._is_over:
                ready = selector.select(None if self._deadline is None else self._deadline - monotonic())
                # Only with a deadline can `select` return nothing: the server has not confirmed the cancellation
                # in time.
                if not ready:
                    break
                for key, _ in ready:
                    key.data()
                changed()
            self._drain()
            changed()

    # --- input ---

    def _read_stdout(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._stdout.fileno(), _BLOCK)
            self._is_over = self._is_over or not data
            for line in self._lines.feed(data):
                match line:
                    case Noise(text):
                        self._note_noise(text)
                    case TooLong(is_update):
                        self._note_long_line(is_update=is_update)
                    case message:
                        self._perform(self._client.receive(message))

    def _note_noise(self, text: str) -> None:
        if len(self._noise) < _MOST_NOISE:
            self._noise.append(text)
            log_line(f"no message: {text}")

    def _note_long_line(self, *, is_update: bool) -> None:
        message = f"{self._client.name} wrote a line that is longer than {LONGEST_LINE:,} bytes"
        if is_update:
            log_line(f"{message}; it was skipped")
        elif self._client.end is None:
            self._client.end = TurnFailure(f"{message}, and so no message that can be read")

    def _read_stderr(self) -> None:
        """Copies standard error to the log of the step."""
        with suppress(BlockingIOError):
            data = os.read(self._stderr.fileno(), _BLOCK)
            # A pipe at its end is always readable and would make the loop spin.
            if not data and self._stderr in self._selector.get_map():
                self._selector.unregister(self._stderr)
            _write(data)
            self._tail = (self._tail + data)[-_TAIL:]

    def _note_exit(self) -> None:
        self._is_over = True

    def _drain(self) -> None:
        # A bounded number of reads: a process that the server left behind may write for ever.
        for _ in range(_LAST_READS):
            self._read_stdout()
            self._read_stderr()

    def _cancel(self) -> None:
        self._selector.unregister(self._stop)
        self._deadline = monotonic() + PATIENCE
        self._perform(self._client.stop())

    # --- output ---

    def _perform(self, outs: list[Out]) -> None:
        for out in outs:
            if isinstance(out, Log):
                log_line(out.line)
            elif isinstance(out, Show):
                _write(f"{activity_line(out.activity)}\n".encode(errors="replace"))
            else:
                self._to_send += encode(out.message)
        self._send()

    def _send(self) -> None:
        is_waiting = self._stdin in self._selector.get_map()
        try:
            while self._to_send:
                del self._to_send[: os.write(self._stdin.fileno(), self._to_send[:_BLOCK])]
        except BlockingIOError:
            # The pipe is full: the selector calls `_send` again when there is room.
            if not is_waiting:
                self._selector.register(self._stdin, selectors.EVENT_WRITE, self._send)
            return
        except BrokenPipeError:  # the server has exited or closed its input; the selector reports that
            self._to_send.clear()
        if is_waiting:
            self._selector.unregister(self._stdin)

    # --- end ---

    def end(self, code: int | None) -> End:
        """Returns the end of the conversation. `code` is the server's exit code; None if it had to be killed."""
        client = self._client
        if client.end is not None:
            return client.end
        # Weft asked for the stop, so whatever the server did afterwards is not its fault.
        if self._deadline is not None:
            return TurnCancellation()
        last_words = self._last_words()
        if code in _CANNOT_RUN and client.waits_for == "initialize":
            return Unavailable(
                f"{client.name} {_CANNOT_RUN[code]} (exit code {code}): {last_words}; {INSTALL}"
            )
        unfinished = f"{client.name} {_describe_exit(code)} before it answered `{client.waits_for}`"
        # A server that exits with an error usually says why on standard error, and that can be a limit or a bad
        # key.
        if code is not None and code > 0 and last_words:
            return ServerError(last_words, more=f" ({unfinished})")
        return TurnFailure(
            f"{unfinished}: its work may be half done" + (f"; it said: {last_words}" if last_words else "")
        )

    def _last_words(self) -> str:
        lines = [
            line
            for line in strip_control_codes(self._tail.decode(errors="replace")).splitlines()
            if line.strip()
        ]
        return one_line(" ".join((lines or self._noise)[-_LAST_LINES:]))


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "closed its standard output"
    return f"ended (exit code {code})" if code >= 0 else f"ended (killed by {signal_name(-code)})"


INSTALL = "install it, or fix `command` of the agent"
