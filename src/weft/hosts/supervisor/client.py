"""The connected client: lines of JSON in both directions."""

import os
from contextlib import suppress
from socket import socket

_MOST = 64 * 1024
"""Bytes per read. The allocator would request a larger buffer from the kernel each time."""


class SupervisorClient:
    """The connection to a coordinator."""

    def __init__(self, connection: socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self.descriptor = connection.fileno()
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self.shared: list[dict[str, str]] = []
        """Variables that it has sent once for many jobs."""
        self.listens = False
        """Whether it has requested the known jobs, and receives later ends."""
        self.broken = False
        """Whether sending failed; the client must then reconnect and request everything again."""
        self.watched = False
        """Whether the event loop waits until it is writable."""

    def read(self) -> list[bytearray] | None:
        """Returns the complete lines; None if the client has gone."""
        try:
            data = os.read(self.descriptor, _MOST)
        except BlockingIOError:
            return []
        except OSError:
            return None
        self._incoming += data
        # The whole buffer is searched only if the new data has the end of a line; a long line that arrives in
        # pieces would otherwise be searched again for each.
        *lines, rest = self._incoming.split(b"\n") if b"\n" in data else [self._incoming]
        self._incoming = rest
        return lines if data else None

    def send(self, *lines: str) -> None:
        self._outgoing += "".join(f"{line}\n" for line in lines).encode()
        self.flush()

    def flush(self) -> None:
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self.descriptor, self._outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            self.broken = True

    @property
    def waits(self) -> bool:
        """Whether there is unsent data."""
        return bool(self._outgoing)

    def close(self, *last: str) -> None:
        """Closes the connection after the unsent data, if the client reads that within a second."""
        self.send(*last)
        with suppress(OSError):
            # A client that hangs must not hold up the end of the supervisor.
            self._connection.settimeout(1.0)
            self._connection.sendall(self._outgoing)
        self._connection.close()
