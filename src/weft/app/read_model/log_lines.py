"""The lines of a stored stream as they were written, from a byte on or before a byte."""

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from weft.app.read_model.stored_stream import StoredStream, Stream
from weft.app.read_model.subplan_shapes import LogLine

MOST_BYTES = 1 << 20
"""Bytes that one page is made of at most."""
CHUNK = 1 << 16
LONGEST = 4_000
"""Characters of a line."""
ERROR = re.compile(r"\b(?:error|failed|failure|fatal|exception|traceback|panic)\b|^E  ", re.IGNORECASE)


class LinePage(Struct, frozen=True):
    """Lines of a stream, with the bytes at which they start and end."""

    lines: Sequence[LogLine]
    start: int
    end: int
    """Where to continue."""


class LineSource(Protocol):
    """Lines of a stream, in one of the forms in which it can be shown."""

    def forward(self, start: int, most: int) -> LinePage:
        """Returns lines from a byte on, which is the start of a line."""
        ...

    def backward(self, end: int, most: int) -> LinePage:
        """Returns the last lines that start before a byte."""
        ...

    def all_lines(self, text: bytes) -> Iterator[tuple[int, Sequence[LogLine]]]:
        """Yields all lines that may contain a text in lower case, each time with the end of what was read."""
        ...


class WrittenLines:
    """The lines as they were written."""

    def __init__(self, stored: StoredStream, stream: Stream, *, is_ended: bool) -> None:
        self._stored = stored
        self._stream: Stream = stream
        self._is_ended = is_ended

    def forward(self, start: int, most: int) -> LinePage:
        end = min(self._stored.size, start + MOST_BYTES)
        data = self._complete(self._stored.read_all(start, end), end)
        lines = list(lines_from(data, start, self._stream))
        following = lines[most].at if len(lines) > most else start + len(data)
        return LinePage(lines[:most], start, following)

    def backward(self, end: int, most: int) -> LinePage:
        end = self._stored.line_end(end)
        start = max(0, end - CHUNK)
        while True:
            data = self._stored.read_all(start, end)
            # The first line is complete only if it starts at the start of the output, or after a line feed.
            skipped = 0 if start == 0 else data.find(b"\n") + 1
            if start == 0 or data.count(b"\n", skipped) > most or end - start >= MOST_BYTES:
                break
            start = max(0, end - 4 * (end - start))
        if start > 0 and skipped in {0, len(data)}:  # a long line; what is kept of an output is bounded
            skipped, start = 0, self._stored.line_start(end)
            data = self._stored.read_all(start, end)
        start += skipped
        data = self._complete(data[skipped:], end)
        lines = list(lines_from(data, start, self._stream))[-most:]
        return LinePage(lines, lines[0].at if lines else start, start + len(data))

    def _complete(self, data: bytes, end: int) -> bytes:
        """Returns the complete lines of bytes that end there."""
        is_at_end = end >= self._stored.size
        if is_at_end and self._is_ended:
            return data
        complete = data.rfind(b"\n") + 1
        # A line that fills a page is cut; one that is still written is not shown yet.
        return data[:complete] if complete or is_at_end else data

    def all_lines(self, text: bytes) -> Iterator[tuple[int, Sequence[LogLine]]]:
        for at, block in blocks(self._stored):
            # Most blocks do not contain the text, and are not split into lines.
            lines = list(lines_from(block, at, self._stream)) if text in block.lower() else ()
            yield at + len(block), lines


def lines_from(data: bytes, start: int, stream: Stream) -> Iterator[LogLine]:
    """Yields the lines of some bytes, the last of which may be incomplete."""
    at = start
    for line in _split(data):
        text = line.rstrip(b"\r\n").decode("utf-8", "replace")
        yield LogLine(
            at=at,
            text=text[:LONGEST],
            stream=stream,
            is_error=ERROR.search(text) is not None,
            is_cut=len(text) > LONGEST,
        )
        at += len(line)


def _split(data: bytes) -> Iterator[bytes]:
    """Splits at line feeds only: a carriage return overwrites its line, and is no end of it."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start : end + 1]
        start = end + 1
    if start < len(data):
        yield data[start:]


def blocks(stored: StoredStream) -> Iterator[tuple[int, bytes]]:
    """Yields the output in blocks of whole lines, each with its offset; a very long line is cut."""
    at, rest = 0, b""
    while more := stored.read(at + len(rest), MOST_BYTES):
        data = rest + more
        is_end = at + len(data) >= stored.size
        end = len(data) if is_end else data.rfind(b"\n") + 1
        if not end and len(data) < MOST_BYTES:
            rest = data
            continue
        end = end or len(data)
        yield at, data[:end]
        at, rest = at + end, data[end:]
