"""The standard output of the far program, on which its threads send frames."""

import os
from threading import Lock

from .frames import Header, encode_frame, encode_pieces


class FrameOutput:
    """Sends frames. A frame that cannot be sent is dropped: the coordinator has gone, and asks again later."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = Lock()
        self._broken = False

    def send(self, header: Header, payload: bytes = b"") -> None:
        self._write(encode_frame(header, payload))

    def send_all(self, header: Header, data: bytes) -> None:
        """Sends data of any length in frames with this header."""
        for frame in encode_pieces(header, data):
            self._write(frame)

    def _write(self, frame: bytes) -> None:
        with self._lock:
            rest = memoryview(frame)
            try:
                while rest and not self._broken:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                # A partial frame may have been sent, so nothing may follow it.
                self._broken = True
