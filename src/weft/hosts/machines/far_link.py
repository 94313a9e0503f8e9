"""A supervisor of another machine, whose lines travel in frames."""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from weft.hosts.far.frames import PIECE, Header
from weft.hosts.link import LossHandler, MessageHandler, SupervisorLink
from weft.hosts.machines.session import MachineSession
from weft.ports.host import Job
from weft.ports.machines import MachineLostError, UnreachableError


class FrameTransport(asyncio.Transport):
    """Sends what it is given in frames, in order, beside the event loop's other work."""

    def __init__(self, session: MachineSession, number: int) -> None:
        super().__init__()
        self._session = session
        self._number = number
        self._frames: list[tuple[Header, bytes]] = []
        self._sender: asyncio.Task[None] | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        for start in range(0, len(data), PIECE):
            self.send({"lines": self._number}, bytes(data[start : start + PIECE]))

    def send(self, header: Header, payload: bytes = b"") -> None:
        self._frames.append((header, payload))
        if self._sender is None:
            self._sender = asyncio.get_running_loop().create_task(self._send_all())

    async def _send_all(self) -> None:
        try:
            while self._frames:
                frames, self._frames = self._frames, []
                for header, payload in frames:
                    await self._session.send(header, payload)
        except (UnreachableError, MachineLostError):
            # The session has noticed, too. After the next connection everything is compared and repeated.
            self._frames.clear()
        finally:
            self._sender = None

    async def flush(self) -> None:
        """Waits until everything has been sent, or cannot be."""
        if self._sender is not None:
            await asyncio.wait([self._sender])

    def close(self) -> None:
        """The supervisor notices when the far program closes its connection."""

    def abort(self) -> None:
        self._frames.clear()


class FarLink:
    """The connection to the supervisor of another machine."""

    def __init__(
        self,
        session: MachineSession,
        number: int,
        on_messages: MessageHandler,
        on_lost: Callable[["FarLink"], None],
    ) -> None:
        lost: LossHandler = lambda _: on_lost(self)  # noqa: E731 - it has the other's type
        self.number = number
        self._link = SupervisorLink(on_messages, lost)
        self._transport = FrameTransport(session, number)
        self._inherited: list[tuple[str, ...]] = []
        """The groups of variables that the supervisor has; jobs refer to them by their index."""
        self._link.connection_made(self._transport)
        self.send({"list": True})

    def send(self, message: dict[str, object]) -> None:
        self._link.send(message)

    def start(self, job: Job, folders: list[str]) -> None:
        """Starts a translated job, for which these directories have to exist."""
        if folders:
            self._transport.send({"folders": folders})
        if job.inherits not in self._inherited:
            self._inherited.append(job.inherits)
            self._transport.send({"share": self.number, "names": job.inherits})
        number = self._inherited.index(job.inherits)
        self.send({"start": replace(job, inherits=(), host="", subplan=""), "shared": number})

    def receive(self, lines: bytes) -> None:
        self._link.data_received(lines)

    def lose(self) -> None:
        """The connection has gone."""
        self._transport.abort()
        self._link.connection_lost(None)

    async def flush(self) -> None:
        # The link writes once per turn of the event loop.
        await asyncio.sleep(0)
        await self._transport.flush()
