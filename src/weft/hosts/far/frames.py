"""Frames: a header in JSON, and bytes.

A frame is the length of its header (4 bytes, big-endian), the header, and as many bytes as the field `payload` of
the header says. Payloads are small, so that a frame never holds up another one for long.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any, cast

PIECE = 1 << 16
"""The most bytes that are sent in one payload."""
_LARGEST_HEADER = 1 << 24
_LARGEST_PAYLOAD = 1 << 20
_LENGTH = struct.Struct(">I")

Header = dict[str, Any]
Frame = tuple[Header, bytes]


class FrameError(ValueError):
    """The bytes are no frames."""


def encode_frame(header: Header, payload: bytes = b"") -> bytes:
    if payload:
        header = {**header, "payload": len(payload)}
    text = json.dumps(header, separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(text)), text, payload))


def encode_pieces(header: Header, data: bytes) -> Iterator[bytes]:
    """Yields frames with this header that carry the data."""
    for start in range(0, len(data), PIECE):
        yield encode_frame(header, data[start : start + PIECE])


class FrameDecoder:
    """Frames out of the bytes of a stream, however they arrive."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._header: Header | None = None
        """The header of a frame whose payload is not complete."""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yields the frames that are complete now. Raises `FrameError`."""
        self._data += data
        while (frame := self._next()) is not None:
            yield frame

    def _next(self) -> Frame | None:
        if self._header is None:
            self._header = self._next_header()
        if self._header is None:
            return None
        payload = self._take(_size_of(self._header))
        if payload is None:
            return None
        header, self._header = self._header, None
        header.pop("payload", None)
        return header, payload

    def _next_header(self) -> Header | None:
        if len(self._data) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._data)
        if length > _LARGEST_HEADER:
            raise FrameError(f"a header of {length:,} bytes is too long")
        text = self._take(length, after=_LENGTH.size)
        if text is None:
            return None
        header = json.loads(text)  # raises a ValueError
        if not isinstance(header, dict):
            raise FrameError("a header is not an object")
        return cast("Header", header)

    def _take(self, length: int, *, after: int = 0) -> bytes | None:
        """Removes the next bytes, and those before them; None if they have not arrived."""
        if len(self._data) < after + length:
            return None
        taken = bytes(self._data[after : after + length])
        del self._data[: after + length]
        return taken


def _size_of(header: Header) -> int:
    size = header.get("payload", 0)
    if not isinstance(size, int) or not 0 <= size <= _LARGEST_PAYLOAD:
        raise FrameError(f"a payload of {size!r} bytes is not allowed")
    return size
