"""One connection to a far program, from its first frame until it breaks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from anyio import CapacityLimiter

from weft.hosts.far import WINDOW
from weft.hosts.far.frames import PIECE, FrameDecoder, FrameError, Header, encode_frame
from weft.ports.machines import ByteStream, FarError, Reply, StaleTokenError, UnreachableError
from weft.threads import run_sync

PING_EVERY = 5.0
SILENCE = 15.0
"""Seconds without any byte, after which a connection counts as broken, as a cut network is silent."""

FrameHandler = Callable[[Header, bytes], None]


class _Call:
    """A call that has not been answered."""

    def __init__(self, sink: BinaryIO | None) -> None:
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.sink = sink
        """Where the payload of the reply goes; None for the reply itself."""
        self.confirmed = 0
        self.is_confirmed = asyncio.Event()
        self.data: Mapping[str, Any] = {}
        self.missing = 0
        self.arrived = 0
        self.payload = bytearray()


class FarConnection:
    """Frames over a stream: calls with their answers, pings, and all others for a handler."""

    def __init__(self, stream: ByteStream, handler: FrameHandler) -> None:
        self._stream = stream
        self._handler = handler
        self._loop = asyncio.get_running_loop()
        self._calls: dict[int, _Call] = {}
        self._numbers = count(1)
        self._heard_at = self._loop.time()
        self._sending = asyncio.Lock()
        self._pings: dict[int, float] = {}
        self._later = set[asyncio.Task[None]]()
        """Frames that are being sent beside everything else."""
        self._failure: UnreachableError | None = None
        self._interrupted = asyncio.Event()
        self._disk = CapacityLimiter(2)
        self.round_trip: float | None = None
        """Seconds of the last ping."""
        self.clock_offset = 0.0
        """Seconds that the far clock is ahead of ours."""

    async def run(self, clock: Callable[[], float]) -> None:
        """Takes frames until the connection breaks; raises `UnreachableError`."""
        tasks = [
            self._loop.create_task(work)
            for work in (self._read(clock), self._ping(clock), self._await_interrupt())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except UnreachableError as error:
            self._fail(error)
            raise
        finally:
            self._fail(UnreachableError("the connection has been closed"))
            for task in (rest := [*tasks, *self._later]):
                task.cancel()
            await asyncio.wait(rest)
            await self._stream.close()

    def interrupt(self) -> None:
        """Makes `run` end."""
        self._interrupted.set()

    async def _await_interrupt(self) -> None:
        await self._interrupted.wait()
        raise UnreachableError("the connection has been closed")

    def _fail(self, error: UnreachableError) -> None:
        self._failure = self._failure or error
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.is_confirmed.set()
            if not call.reply.done():
                call.reply.set_exception(self._failure)
                call.reply.exception()  # a caller that was cancelled does not fetch it

    # --- liveness ---

    async def _ping(self, clock: Callable[[], float]) -> None:
        for number in count(1):
            self._pings = {number: clock()}
            # Not awaited: a stream that takes nothing must not keep this loop from noticing the silence.
            self._send_soon({"ping": number})
            await asyncio.sleep(PING_EVERY)
            if self._loop.time() - self._heard_at > SILENCE:
                raise UnreachableError(f"nothing has arrived from there for {SILENCE:.0f} s")

    def _take_pong(self, number: int, at: float, now: float) -> None:
        sent_at = self._pings.pop(number, None)
        if sent_at is not None:
            self.round_trip = now - sent_at
            self.clock_offset = at - (sent_at + now) / 2

    # --- frames ---

    async def send(self, header: Header, payload: bytes = b"") -> None:
        """Raises `UnreachableError`."""
        if self._failure is not None:
            raise self._failure
        frame = encode_frame(header, payload)
        async with self._sending:
            await self._stream.send(frame)

    def _send_soon(self, header: Header) -> None:
        # The reader must not wait for a stream that takes nothing: the far program may wait for the reader.
        sending = self._loop.create_task(self.send(header))
        self._later.add(sending)
        sending.add_done_callback(self._sent)

    def _sent(self, sending: asyncio.Task[None]) -> None:
        self._later.discard(sending)
        if not sending.cancelled():
            sending.exception()  # the reader meets the same one

    async def _read(self, clock: Callable[[], float]) -> None:
        decoder = FrameDecoder()
        while True:
            data = await self._stream.receive()
            self._heard_at = self._loop.time()
            try:
                for header, payload in decoder.feed(data):
                    await self._take(header, payload, clock)
            except FrameError as error:
                raise UnreachableError(f"what arrives from there is damaged: {error}") from None

    async def _take(self, header: Header, payload: bytes, clock: Callable[[], float]) -> None:
        match header:
            case {"pong": number, "at": at}:
                self._take_pong(number, at, clock())
            case {"reply": number, **answer}:
                self._take_reply(number, answer)
            case {"piece": number}:
                await self._take_piece(number, payload)
            case {"got": number, "bytes": total}:
                if number in self._calls:
                    self._calls[number].confirmed = total
                    self._calls[number].is_confirmed.set()
            case _:
                self._handler(header, payload)

    # --- calls ---

    async def call(
        self,
        operation: str,
        arguments: Mapping[str, object],
        payload: Path | bytes = b"",
        *,
        sink: BinaryIO | None = None,
    ) -> Reply:
        """Calls an operation there. Raises `UnreachableError` or `FarError`."""
        if self._failure is not None:
            raise self._failure
        number = next(self._numbers)
        call = self._calls[number] = _Call(sink)
        try:
            size = len(payload) if isinstance(payload, bytes) else await self._on_disk(_size, payload)
            await self.send({"call": operation, "id": number, "arguments": dict(arguments), "size": size})
            if size:
                await self._send_payload(number, call, payload)
            return await call.reply
        finally:
            self._calls.pop(number, None)

    async def _send_payload(self, number: int, call: _Call, payload: Path | bytes) -> None:
        sent = 0
        async for piece in self._pieces(payload):
            while sent - call.confirmed >= WINDOW and not call.reply.done():
                call.is_confirmed.clear()
                await call.is_confirmed.wait()
            if call.reply.done():  # it has failed already, such as for a full disk
                return
            await self.send({"piece": number}, piece)
            sent += len(piece)

    async def _pieces(self, payload: Path | bytes) -> AsyncIterator[bytes]:
        if isinstance(payload, bytes):
            for start in range(0, len(payload), PIECE):
                yield payload[start : start + PIECE]
            return
        stream = await self._on_disk(payload.open, "rb")
        try:
            while piece := await self._on_disk(stream.read, PIECE):
                yield piece
        finally:
            stream.close()

    async def _on_disk(self, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - of the function
        # With threads of its own: those of the event loop may all wait for calls.
        return await run_sync(function, *arguments, limiter=self._disk)

    def _take_reply(self, number: int, answer: Mapping[str, Any]) -> None:
        call = self._calls.get(number)
        if call is None or call.reply.done():
            return
        if "error" in answer:
            call.reply.set_exception(_error(answer["error"]))
            call.is_confirmed.set()
            return
        call.data, call.missing = answer["data"], answer.get("size", 0)
        if not call.missing:
            call.reply.set_result(Reply(call.data))

    async def _take_piece(self, number: int, piece: bytes) -> None:
        call = self._calls.get(number)
        if call is None:  # its caller was cancelled; the rest may come, and goes nowhere
            self._send_soon({"got": number, "bytes": 1 << 62})
            return
        if call.sink is None:
            call.payload += piece
        else:
            await self._on_disk(call.sink.write, piece)
        call.arrived += len(piece)
        call.missing -= len(piece)
        self._send_soon({"got": number, "bytes": call.arrived})
        if call.missing <= 0 and not call.reply.done():
            call.reply.set_result(Reply(call.data, bytes(call.payload)))


def _size(file: Path) -> int:
    return file.stat().st_size


def _error(error: Mapping[str, str]) -> FarError:
    kind = StaleTokenError if error["kind"] == "stale" else FarError
    return kind(error["message"])
