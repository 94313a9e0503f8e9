"""A connection to a supervisor: lines of JSON in both directions, batched per turn of the event loop."""

import asyncio
import json
import socket
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from weft.ports.host import Job, JobEnded, Running

_CLOSE_SECONDS = 10.0
"""Seconds that a supervisor has to read the last messages."""


class HostMessages(Struct, frozen=True):
    """A message from a supervisor."""

    ended: tuple[JobEnded, ...] = ()
    running: tuple[Running, ...] | None = None
    """If present, the message lists all known jobs."""
    replaced: bool = False


_decode = msgspec.json.Decoder(HostMessages).decode


class SupervisorLink(asyncio.Protocol):
    """The coordinator's end of the connection."""

    def __init__(self, on_messages: "MessageHandler", on_lost: "LossHandler") -> None:
        self._on_messages = on_messages
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._known: asyncio.Future[HostMessages | None] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.Transport
        self._incoming = bytearray()
        self._outgoing: list[bytes] = []
        self._shared: list[Mapping[str, str]] = []
        """The variables that the supervisor has; jobs refer to them by their index."""

    @classmethod
    async def over(
        cls, connection: socket.socket, on_messages: "MessageHandler", on_lost: "LossHandler"
    ) -> "SupervisorLink":
        try:
            _, link = await asyncio.get_running_loop().create_unix_connection(
                lambda: cls(on_messages, on_lost), sock=connection
            )
        except BaseException:
            connection.close()
            raise
        return link

    async def ask(self) -> HostMessages | None:
        """Requests all known jobs and later ends; None if the supervisor has gone."""
        self.send({"list": True})
        try:
            return await self._known
        except asyncio.CancelledError:
            self._transport.abort()
            raise

    def start(self, job: Job) -> None:
        # Jobs of a run share most of their environment; sending it once saves some kilobytes for each job.
        if job.shared not in self._shared:
            self._shared.append(job.shared)
            self.send({"share": job.shared})
        self.send({"start": replace(job, shared={}), "shared": self._shared.index(job.shared)})

    def send(self, message: dict[str, object]) -> None:
        # All messages of one turn of the loop go out in one write. A wave of hundreds of starts would otherwise
        # cost as many system calls here, and wake-ups in the supervisor.
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(_encode(message))

    def _flush(self) -> None:
        lines, self._outgoing = self._outgoing, []
        self._transport.write(b"".join(lines))

    async def close(self) -> None:
        """Closes the connection after everything was sent, unless that takes too long."""
        self._flush()
        # close() of asyncio first sends what is buffered; abort() drops it, for a supervisor that does not
        # read.
        self._transport.close()
        await asyncio.wait([self._gone], timeout=_CLOSE_SECONDS)
        self._transport.abort()

    # --- called by asyncio ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._incoming += data
        if b"\n" in data:
            *lines, self._incoming = self._incoming.split(b"\n")
            for line in lines:
                self._take(_decode(line))

    def _take(self, messages: HostMessages) -> None:
        if messages.running is not None:
            self._known.set_result(messages)
        self._on_messages(self, messages)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - it has gone, one way or the other
        if not self._known.done():
            self._known.set_result(None)
        self._gone.set_result(None)
        self._on_lost(self)


MessageHandler = Callable[[SupervisorLink, HostMessages], None]
LossHandler = Callable[[SupervisorLink], None]


def _encode(message: dict[str, object]) -> bytes:
    try:
        return msgspec.json.encode(message, enc_hook=_plain) + b"\n"
    except UnicodeEncodeError:  # names of files and variables may hold bytes that are not UTF-8
        plain = msgspec.to_builtins(message, enc_hook=_plain)
        return json.dumps(plain).encode() + b"\n"


def _plain(value: object) -> object:
    """Converts a mapping that is no dict."""
    return dict[object, object](value)  # type: ignore[call-overload]
