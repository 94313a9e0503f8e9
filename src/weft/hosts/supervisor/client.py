"""The one who is connected: lines of JSON, to it and from it."""

import os
from contextlib import suppress
from socket import socket

_MOST = 64 * 1024
"""Bytes to take at once. For a buffer that is larger the kernel is asked each time."""


class SupervisorClient:
    def __init__(self, connection: socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self.descriptor = connection.fileno()
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self.shared: list[dict[str, str]] = []
        """Variables that it has told once for many jobs."""
        self.listens = False
        """Whether it has asked for what is known, and hears of all that comes after."""
        self.broken = False
        """Whether something could not be sent: then it must hear all of it anew."""
        self.watched = False
        """Whether somebody waits until it takes more."""

    def read(self) -> list[bytearray] | None:
        """The lines that are complete; None if it has gone."""
        try:
            data = os.read(self.descriptor, _MOST)
        except BlockingIOError:
            return []
        except OSError:
            return None
        self._incoming += data
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
        """Whether there is more to send than it takes."""
        return bool(self._outgoing)

    def close(self, *last: str) -> None:
        """After all that it is still to be told, if it takes that within a moment."""
        self.send(*last)
        with suppress(OSError):
            self._connection.settimeout(1.0)
            self._connection.sendall(self._outgoing)
        self._connection.close()
