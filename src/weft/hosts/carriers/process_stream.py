"""The standard input and output of a process of this machine, such as ssh, as a stream to a far program."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from weft.ports.machines import UnreachableError
from weft.system_errors import describe

_MOST_UNREAD = 1 << 20
_LONGEST_MESSAGE = 4096
_PATIENCE = 2.0
"""Seconds for a process to end after its input was closed, and to say why it has ended."""


class ProcessStream(asyncio.SubprocessProtocol):
    """A running process.

    It may leave a process behind that holds its pipes, as ssh does when it shares a connection. So nothing here
    waits for the end of a pipe once the process has ended.
    """

    def __init__(self) -> None:
        self._errors = bytearray()
        self._unread = bytearray()
        self._news = asyncio.Event()
        """Something has arrived, or the output has ended."""
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._has_ended = False
        self._has_exited = asyncio.Event()
        self._errors_end = asyncio.Event()
        self._transport: asyncio.SubprocessTransport

    @classmethod
    async def start(cls, argv: Sequence[str], environ: Mapping[str, str]) -> "ProcessStream":
        try:
            _, stream = await asyncio.get_running_loop().subprocess_exec(
                cls,
                *argv,
                env=dict(environ),
                # A Ctrl-C is for the coordinator, which decides about the connections itself.
                start_new_session=True,
            )
        except OSError as error:
            raise UnreachableError(f"cannot run {argv[0]}: {describe(error)}") from None
        return stream

    @property
    def pid(self) -> int:
        return self._transport.get_pid()

    @property
    def message(self) -> str:
        """What the process has printed about its end."""
        return self._errors.decode(errors="replace").strip()

    @property
    def exit_code(self) -> int | None:
        return self._transport.get_returncode()

    # --- the stream ---

    async def send(self, data: bytes) -> None:
        if self._input.is_closing() or self._has_exited.is_set():
            raise UnreachableError(await self._last_words())
        self._input.write(data)
        await self._has_room.wait()

    async def receive(self) -> bytes:
        while not self._unread:
            if self._has_ended:
                raise UnreachableError(await self._last_words())
            self._news.clear()
            await self._news.wait()
        data = bytes(self._unread)
        self._unread.clear()
        self._output.resume_reading()
        return data

    async def close(self) -> None:
        self._input.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self._has_exited.wait()
        self._transport.close()  # kills it if it still runs
        await self._has_exited.wait()

    async def _last_words(self) -> str:
        """Returns why the stream has ended, in the words of the process."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self._has_exited.wait()
                await self._errors_end.wait()
        return self.message or f"the connection has ended (exit code {self.exit_code})"

    @property
    def _input(self) -> asyncio.WriteTransport:
        return cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    @property
    def _output(self) -> asyncio.ReadTransport:
        return cast("asyncio.ReadTransport", self._transport.get_pipe_transport(1))

    # --- called by asyncio ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._unread += data
            self._news.set()
            if len(self._unread) > _MOST_UNREAD:
                self._output.pause_reading()
        else:
            self._errors += data
            del self._errors[:-_LONGEST_MESSAGE]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - gone is gone
        if fd == 0:
            self._has_room.set()
        elif fd == 1:
            self._has_ended = True
            self._news.set()
        else:
            self._errors_end.set()

    def process_exited(self) -> None:
        self._has_exited.set()
        self._has_room.set()

    def pause_writing(self) -> None:
        self._has_room.clear()

    def resume_writing(self) -> None:
        self._has_room.set()
