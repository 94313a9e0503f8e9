"""The process of the server, and the talk with it: bytes from and to pipes, until the client is at an end.

Nothing here waits for one thing alone: a server may write before it reads, die, fall silent for ever, or be alive
with its pipes closed; and somebody may want an end to it all.
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

from weft.agents.acp.client import Client, Log, Out
from weft.agents.acp.ends import CouldNot, End, Failed, Stopped, Trouble
from weft.agents.acp.messages import LONGEST_LINE, Lines, Noise, TooLong, packed
from weft.agents.command import signal_name
from weft.agents.words import one_line, plain

PATIENCE = 1.0
"""Seconds: for the end of a turn that is cancelled, and for the end of a server after each way to ask for it."""
_CANNOT_RUN = {126: "cannot be executed", 127: "was not found"}
_BLOCK = 65_536
_LAST_READS = 32
_TAIL = 4_000
_LAST_LINES = 5
_MOST_NOISE = 20
_NOT_FOR_IT = ("WEFT_RESULT", "WEFT_SESSION", "WEFT_FORK")
"""They are ours; what an agent starts might take them for its own."""


def tell(line: str) -> None:
    """For whoever reads the log."""
    _write(f"{one_line(line)}\n".encode(errors="replace"))


def _write(data: bytes) -> None:
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()


class Server:
    def __init__(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        """Raises `OSError` if it cannot be started."""
        self._process = subprocess.Popen(  # noqa: S603 - what the plan says
            argv,
            env={name: value for name, value in environ.items() if name not in _NOT_FOR_IT},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        self._end = os.pidfd_open(self._process.pid)

    def pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for pipe in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(pipe.fileno(), False)
        return process.stdin, process.stdout, process.stderr

    @property
    def has_ended(self) -> int:
        """What becomes readable when it has."""
        return self._end

    def close(self) -> int | None:
        """See that it ends; its exit code, or None if it had to be made to."""
        process = self._process
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        ends_itself = self._ends_soon()
        if not ends_itself:
            self._signal(signal.SIGTERM)
            self._ends_soon()
        self._signal(signal.SIGKILL)  # not waited for yet: the number is still its own
        os.close(self._end)
        code = process.wait()
        return code if ends_itself else None

    def _ends_soon(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._end, selectors.EVENT_READ)
            return bool(selector.select(PATIENCE))

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


class Talk:
    """Of a client with a server."""

    def __init__(self, client: Client, server: Server, stop: int) -> None:
        """`stop` becomes readable when somebody wants an end."""
        self._client = client
        self._server = server
        self._stop = stop
        self._stdin, self._stdout, self._stderr = server.pipes()
        self._lines = Lines()
        self._to_send = bytearray()
        self._tail = b""
        self._noise: list[str] = []
        self._is_over = False
        self._until: float | None = None
        self._selector = selectors.DefaultSelector()

    def hold(self, changed: Callable[[], None]) -> None:
        """Until the client is at an end or the server is; `changed` is called whenever something was said."""
        with self._selector as selector:
            selector.register(self._stdout, selectors.EVENT_READ, self._hear)
            selector.register(self._stderr, selectors.EVENT_READ, self._overhear)
            selector.register(self._server.has_ended, selectors.EVENT_READ, self._gone)
            selector.register(self._stop, selectors.EVENT_READ, self._cancel)
            self._do(self._client.start())
            while self._client.end is None and not self._is_over:
                ready = selector.select(None if self._until is None else self._until - monotonic())
                if not ready:
                    break
                for key, _ in ready:
                    key.data()
                changed()
            self._hear_the_rest()
            changed()

    # --- what happens ---

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._stdout.fileno(), _BLOCK)
            self._is_over = self._is_over or not data
            for line in self._lines.feed(data):
                match line:
                    case Noise(text):
                        self._hear_noise(text)
                    case TooLong(is_update):
                        self._hear_too_long(is_update=is_update)
                    case message:
                        self._do(self._client.hear(message))

    def _hear_noise(self, text: str) -> None:
        if len(self._noise) < _MOST_NOISE:
            self._noise.append(text)
            tell(f"no message: {text}")

    def _hear_too_long(self, *, is_update: bool) -> None:
        said = f"{self._client.name} wrote a line that is longer than {LONGEST_LINE:,} bytes"
        if is_update:
            tell(f"{said}; it was passed over")
        elif self._client.end is None:
            self._client.end = Failed(f"{said}, and so no message that can be read")

    def _overhear(self) -> None:
        """What it writes for people is for our log."""
        with suppress(BlockingIOError):
            data = os.read(self._stderr.fileno(), _BLOCK)
            if not data and self._stderr in self._selector.get_map():
                self._selector.unregister(self._stderr)
            _write(data)
            self._tail = (self._tail + data)[-_TAIL:]

    def _gone(self) -> None:
        self._is_over = True

    def _hear_the_rest(self) -> None:
        # Not to the end: what a server left behind may write on and on.
        for _ in range(_LAST_READS):
            self._hear()
            self._overhear()

    def _cancel(self) -> None:
        self._selector.unregister(self._stop)
        self._until = monotonic() + PATIENCE
        self._do(self._client.stop())

    # --- what is done ---

    def _do(self, outs: list[Out]) -> None:
        for out in outs:
            if isinstance(out, Log):
                tell(out.line)
            else:
                self._to_send += packed(out.message)
        self._send()

    def _send(self) -> None:
        is_waiting = self._stdin in self._selector.get_map()
        try:
            while self._to_send:
                del self._to_send[: os.write(self._stdin.fileno(), self._to_send[:_BLOCK])]
        except BlockingIOError:
            if not is_waiting:
                self._selector.register(self._stdin, selectors.EVENT_WRITE, self._send)
            return
        except BrokenPipeError:  # it is dead or deaf, which shows elsewhere
            self._to_send.clear()
        if is_waiting:
            self._selector.unregister(self._stdin)

    # --- what became of it ---

    def end(self, code: int | None) -> End:
        """Once the server is gone, with this exit code; None if it had not ended by itself."""
        client = self._client
        if client.end is not None:
            return client.end
        if self._until is not None:
            return Stopped()
        said = self._last_words()
        if code in _CANNOT_RUN and client.waits_for == "initialize":
            return CouldNot(f"{client.name} {_CANNOT_RUN[code]} (exit code {code}): {said}; {INSTALL}")
        missing = f"{client.name} {_how(code)} and owed an answer to `{client.waits_for}`"
        if code is not None and code > 0 and said:
            return Trouble(said, more=f" ({missing})")
        return Failed(f"{missing}: its work may be half done" + (f"; it said: {said}" if said else ""))

    def _last_words(self) -> str:
        lines = [line for line in plain(self._tail.decode(errors="replace")).splitlines() if line.strip()]
        return one_line(" ".join((lines or self._noise)[-_LAST_LINES:]))


def _how(code: int | None) -> str:
    if code is None:
        return "closed its standard output"
    return f"ended (exit code {code})" if code >= 0 else f"ended (killed by {signal_name(-code)})"


INSTALL = "install it, or mend `command` of the agent"
