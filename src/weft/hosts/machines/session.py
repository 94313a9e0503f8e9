"""A machine as the coordinator sees it: connected again and again, until it counts as lost and beyond.

A connection that breaks says nothing about the machine. So the session tries again, with growing pauses, and calls
fail with `UnreachableError` meanwhile. After `lost_after` seconds, or when the carrier says that the machine has
gone, it counts as lost; the session still tries, because a machine that comes back has to learn that.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from msgspec import Struct

from weft.hosts.far.frames import PIECE, Header
from weft.hosts.machines.connection import FarConnection
from weft.ports.machines import (
    Carrier,
    FarError,
    FarProgram,
    MachineLostError,
    MachineStatus,
    Reply,
    UnreachableError,
)
from weft.terms import MachineState

_Result = TypeVar("_Result")

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
_WAKE = 1.0
"""Seconds after which a thread that waits for an answer looks whether the session was closed."""
_LOST_CHECK = 0.5
_LONGEST_CONNECT = 60.0


class SessionEvents(Struct, frozen=True, kw_only=True):
    """What a session calls, on the event loop."""

    on_connected: Callable[["MachineSession"], None]
    """The machine has answered; `facts` are new."""
    on_frame: Callable[["MachineSession", Header, bytes], None]
    """A frame that is no answer to a call."""
    on_status: Callable[["MachineSession"], None]
    """The state has changed."""
    on_failure: Callable[[BaseException], None] | None = None
    """A bug has ended the session."""


class MachineSession:
    """The connection to one machine of a host."""

    def __init__(  # noqa: PLR0913 - by name, all of them
        self,
        carrier: Carrier,
        program: FarProgram,
        *,
        host: str,
        machine: str,
        run: str,
        events: SessionEvents,
        lost_after: float,
        programs: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`programs`: the names of agents to look for there."""
        self.host = host
        self.machine = machine
        self._carrier = carrier
        self._program = program
        self._run_id = run
        self._events = events
        self._lost_after = lost_after
        self._programs = programs
        self._clock = clock
        self.state = MachineState.CONNECTING
        self.since = clock()
        self.message = ""
        self.facts: Mapping[str, Any] = {}
        self.tries = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: FarConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._out_since = 0.0
        """Since when it has been out of reach, by the clock of the event loop."""
        self._retry = asyncio.Event()
        self._closed = False

    # --- its life ---

    def start(self) -> None:
        """Connects in the background."""
        self._loop = asyncio.get_running_loop()
        self._out_since = self._loop.time()
        self._task = self._loop.create_task(self._keep_connected())
        self._watch = self._loop.create_task(self._watch_for_loss())
        if self._events.on_failure is not None:
            for task in (self._task, self._watch):
                task.add_done_callback(failure_to(self._events.on_failure))

    async def close(self) -> None:
        self._closed = True
        tasks = [task for task in (self._task, self._watch) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _is_closed(self) -> bool:
        return self._closed

    def hurry(self) -> None:
        """Tries to connect now, and not after the pause."""
        self._retry.set()

    def note(self, message: str) -> None:
        """Notes what is wrong there although it can be reached; empty if nothing is."""
        if self.is_reachable and message != self.message:
            self._set(self.state, message)

    def interrupt(self) -> None:
        """Breaks the connection; the session connects again."""
        if self._connection is not None:
            self._connection.interrupt()

    def status(self, running: int = 0) -> MachineStatus:
        facts = dict(self.facts)
        if self._connection is not None and self._connection.round_trip is not None:
            facts["round_trip"] = self._connection.round_trip
        return MachineStatus(
            host=self.host,
            machine=self.machine,
            state=self.state,
            since=self.since,
            message=self.message,
            running=running,
            facts=facts,
        )

    @property
    def is_reachable(self) -> bool:
        return self.state is MachineState.REACHABLE

    @property
    def clock_offset(self) -> float:
        """The seconds that its clock is ahead of ours."""
        return self._connection.clock_offset if self._connection is not None else 0.0

    async def _keep_connected(self) -> None:
        pause = FIRST_PAUSE
        while True:
            self.tries += 1
            try:
                await self._connect_once()
            except (UnreachableError, FarError) as error:
                if self.is_reachable or self.tries == 1:
                    pause = FIRST_PAUSE
                self._leave(str(error))
            if await self._carrier_says_gone():
                self._set(MachineState.LOST, f"{self.machine} has gone")
            self._retry.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._retry.wait(), pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _connect_once(self) -> None:
        try:
            async with asyncio.timeout(_LONGEST_CONNECT):
                stream = await self._carrier.connect(self.machine, self._program, ("serve", self._run_id))
        except TimeoutError:
            raise UnreachableError(f"no connection within {_LONGEST_CONNECT:.0f} s") from None
        connection = FarConnection(
            stream, lambda header, payload: self._events.on_frame(self, header, payload)
        )
        greeting = asyncio.get_running_loop().create_task(self._greet(connection))
        try:
            await connection.run(self._clock)
        finally:
            self._connection = None
            greeting.cancel()
            await asyncio.wait([greeting])
            if not greeting.cancelled() and isinstance(error := greeting.exception(), FarError):
                raise error

    async def _greet(self, connection: FarConnection) -> None:
        with suppress(UnreachableError):  # `run` raises it, too
            try:
                reply = await connection.call("hello", {"programs": list(self._programs)})
            except FarError:
                connection.interrupt()
                raise
            self.facts = reply.data
            self._connection = connection
            self._set(MachineState.REACHABLE, "")
            self._events.on_connected(self)

    async def _carrier_says_gone(self) -> bool:
        with suppress(UnreachableError, FarError):
            return await self._carrier.has_gone(self.machine)
        return False

    def _leave(self, message: str) -> None:
        """The connection has broken, or could not be made."""
        assert self._loop is not None
        if self.is_reachable:
            self._out_since = self._loop.time()
        if self.state is MachineState.LOST:
            self.message = message
        else:
            self._set(MachineState.UNREACHABLE, message)

    async def _watch_for_loss(self) -> None:
        assert self._loop is not None
        while True:
            # A monotonic clock: a clock that was set says nothing about the machine.
            await asyncio.sleep(min(_LOST_CHECK, self._lost_after))
            is_out = self.state in {MachineState.CONNECTING, MachineState.UNREACHABLE}
            if is_out and self._loop.time() - self._out_since >= self._lost_after:
                self._set(MachineState.LOST, self.message)

    def _set(self, state: MachineState, message: str) -> None:
        if (state, message) == (self.state, self.message):
            return
        if state is not self.state:
            self.since = self._clock()
        self.state, self.message = state, message
        self._events.on_status(self)

    # --- frames and calls ---

    async def send(self, header: Header, payload: bytes = b"") -> None:
        """Raises `UnreachableError`."""
        await self._reached().send(header, payload)

    async def send_all(self, header: Header, data: bytes) -> None:
        """Sends data of any length in frames with this header."""
        for start in range(0, len(data), PIECE):
            await self.send(header, data[start : start + PIECE])

    async def call(
        self,
        operation: str,
        arguments: Mapping[str, object],
        payload: Path | bytes = b"",
        *,
        sink: BinaryIO | None = None,
    ) -> Reply:
        """Raises `UnreachableError`, `MachineLostError` or `FarError`."""
        try:
            return await self._reached().call(operation, arguments, payload, sink=sink)
        except UnreachableError as error:
            raise UnreachableError(f"{self.machine} cannot be reached: {error}") from None

    def _reached(self) -> FarConnection:
        if self.state is MachineState.LOST:
            raise MachineLostError(f"{self.machine} is lost: {self.message}")
        if self._connection is None:
            raise UnreachableError(self.message or "it has not answered yet")
        return self._connection

    def call_from_thread(
        self,
        operation: str,
        arguments: Mapping[str, object],
        payload: Path | bytes = b"",
        *,
        into: Path | None = None,
    ) -> Reply:
        """The same, for threads. `into`: the file for the payload of the answer."""
        if into is None:
            return self._wait_for(operation, arguments, payload, None)
        with into.open("wb") as sink:
            return self._wait_for(operation, arguments, payload, sink)

    def _wait_for(
        self, operation: str, arguments: Mapping[str, object], payload: Path | bytes, sink: BinaryIO | None
    ) -> Reply:
        if self._loop is None or self._closed:
            raise UnreachableError(f"the connection to {self.machine} has been closed")
        return wait_for(self.call(operation, arguments, payload, sink=sink), self._loop, self._is_closed)


def failure_to(report: Callable[[BaseException], None]) -> Callable[[asyncio.Task[None]], None]:
    """Returns a callback of tasks that reports an error, which would otherwise show only when the program ends."""

    def check(task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            report(error)

    return check


def wait_for(
    work: Coroutine[Any, Any, _Result], loop: asyncio.AbstractEventLoop, is_closed: Callable[[], bool]
) -> _Result:
    """Blocks a thread until the event loop has done the work; raises `UnreachableError` if it has ended."""
    try:
        future = asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError:  # the event loop has ended
        work.close()
        raise UnreachableError("the connection has been closed") from None
    while True:
        try:
            return future.result(_WAKE)
        except TimeoutError:
            if is_closed():
                future.cancel()
                raise UnreachableError("the connection has been closed") from None
