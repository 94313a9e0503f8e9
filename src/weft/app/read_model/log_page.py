"""Pages of the output of a step, by byte offsets. Only what is asked for is read, however long the output is.

Long output is kept in two parts, its beginning and its end, with a gap between. Both count as one stream here: the
end follows the beginning, and `gap_at` says where bytes are missing.
"""

import re
import time
from collections.abc import Iterator
from typing import Literal

from weft.app.project.hosts import records_of
from weft.app.read_model.history import ExecutionRecord, RunHistory
from weft.app.read_model.subplan_shapes import LogLine, LogMatches, LogPage, LogPart
from weft.app.record.journal import RecordedRun
from weft.app.record.output import size
from weft.engine.messages.internal_steps import is_internal
from weft.engine.messages.step_refs import StepRef
from weft.errors import InputError
from weft.ports.host import JobRecords, OutputPart
from weft.runtime.jobs import output_name

Stream = Literal["out", "err"]
_PARTS: dict[Stream, tuple[OutputPart, OutputPart]] = {
    "out": (OutputPart.OUT, OutputPart.OUT_TAIL),
    "err": (OutputPart.ERR, OutputPart.ERR_TAIL),
}
MOST_LINES = 5_000
MOST_BYTES = 1 << 20
"""Bytes that one page has at most."""
_LONGEST = 4_000
"""Characters of a line."""
_CHUNK = 1 << 16
_SEARCH_SECONDS = 5.0
_MOST_MATCHES = 500
_ERROR = re.compile(rb"\b(?:error|failed|failure|fatal|exception|traceback|panic)\b|^E  ", re.IGNORECASE)


class StoredStream:
    """One stream of an output: its beginning and its end, as if they were one."""

    def __init__(self, records: JobRecords, output: str, stream: Stream) -> None:
        self._records = records
        self._output = output
        self._head, self._tail = _PARTS[stream]
        self.head_size = size(records, output, self._head)
        self.tail_size = size(records, output, self._tail)

    @property
    def size(self) -> int:
        return self.head_size + self.tail_size

    def read(self, offset: int, length: int) -> bytes:
        """Returns bytes from an offset on; fewer at the end of a part."""
        if offset < self.head_size:
            return self._records.read(self._output, self._head, offset, min(length, self.head_size - offset))
        return self._records.read(self._output, self._tail, offset - self.head_size, length)

    def read_all(self, start: int, end: int) -> bytes:
        data = b""
        while start < end and (more := self.read(start, end - start)):
            data += more
            start += len(more)
        return data


def lines_from(data: bytes, start: int, stream: Stream, *, is_last: bool) -> Iterator[LogLine]:
    """Yields the complete lines of some bytes; with `is_last`, also an incomplete one at the end."""
    at = start
    for line in data.splitlines(keepends=True) if b"\r" not in data else _split(data):
        if not line.endswith(b"\n") and not is_last:
            return
        text = line.rstrip(b"\r\n").decode("utf-8", "replace")
        yield LogLine(
            at=at,
            text=text[:_LONGEST],
            stream=stream,
            is_error=_ERROR.search(line) is not None,
            is_cut=len(text) > _LONGEST,
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


class LogReader:
    """Reads the outputs of one subplan."""

    def __init__(self, recorded_run: RecordedRun, history: RunHistory, row: int, path: str) -> None:
        self._path = path
        self._records = records_of(recorded_run.places, recorded_run.run.run)
        self._executions = {self._output(record): record for record in history.of(row)}

    def _output(self, record: ExecutionRecord) -> str:
        # Weft's own steps are not retried as attempts, and the name of their output says 1.
        attempt = 1 if is_internal(record.step) else record.attempt
        return output_name(StepRef(self._path, record.step, attempt, record.key))

    def parts(self) -> list[LogPart]:
        """Returns the outputs that there are, the newest last."""
        return [
            self._part(output, record)
            for output, record in self._executions.items()
            if self._has(output, record)
        ]

    def _has(self, output: str, record: ExecutionRecord) -> bool:
        return bool(record.agent or record.command) or self._bytes(output) > 0

    def _bytes(self, output: str) -> int:
        return sum(StoredStream(self._records, output, stream).size for stream in _PARTS)

    def _part(self, output: str, record: ExecutionRecord) -> LogPart:
        return LogPart(
            step=record.step,
            attempt=record.attempt,
            part=f"{record.key.firing}-{record.key.execution}",
            outcome=record.outcome,
            started_at=record.started_at,
            bytes=self._bytes(output),
        )

    def _find(self, part: str) -> tuple[str, ExecutionRecord]:
        for output, record in reversed(self._executions.items()):
            name = f"{record.key.firing}-{record.key.execution}"
            if name == part or (not part and self._has(output, record)):
                return output, record
        raise InputError(
            f"there is no output {part!r} of {self._path}"
            if part
            else f"{self._path or 'the plan'} has no output yet"
        )

    def page(
        self, part: str, stream: Stream, *, start: int | None, before: int | None, lines: int
    ) -> LogPage:
        """Returns lines from a byte on, the lines before a byte, or the last lines."""
        output, record = self._find(part)
        stored = StoredStream(self._records, output, stream)
        is_ended = record.ended_at is not None
        lines = min(lines, MOST_LINES)
        if start is not None:
            found = self._forward(stored, stream, min(start, stored.size), lines, is_ended=is_ended)
        else:
            end = stored.size if before is None else min(before, stored.size)
            found = self._backward(stored, stream, end, lines)
        first = found[0].at if found else (start if start is not None else stored.size)
        return LogPage(
            path=self._path,
            part=f"{record.key.firing}-{record.key.execution}",
            parts=self.parts(),
            stream=stream,
            start=first,
            end=self._end(stored, found, first),
            size=stored.size,
            left_out=0,
            gap_at=stored.head_size if stored.tail_size else None,
            is_ended=is_ended,
            is_raw=True,
            lines=found,
        )

    def _end(self, stored: StoredStream, found: list[LogLine], first: int) -> int:
        if not found:
            return min(first, stored.size)
        # The last line ends at the next line feed, or where the output ends.
        at = found[-1].at
        while data := stored.read(at, _CHUNK):
            position = data.find(b"\n")
            if position >= 0:
                return at + position + 1
            at += len(data)
        return at

    def _forward(
        self, stored: StoredStream, stream: Stream, start: int, lines: int, *, is_ended: bool
    ) -> list[LogLine]:
        end = min(stored.size, start + MOST_BYTES)
        data = stored.read_all(start, end)
        found = list(lines_from(data, start, stream, is_last=is_ended or end < stored.size))
        return found[:lines]

    def _backward(self, stored: StoredStream, stream: Stream, end: int, lines: int) -> list[LogLine]:
        start = max(0, end - _CHUNK)
        while True:
            data = stored.read_all(start, end)
            # The first line is complete only if it starts at the start of the output, or after a line feed.
            skipped = 0 if start == 0 else data.find(b"\n") + 1
            if start == 0 or data.count(b"\n", skipped) > lines or end - start >= MOST_BYTES:
                break
            start = max(0, end - 4 * (end - start))
        found = list(lines_from(data[skipped:], start + skipped, stream, is_last=True))
        return found[-lines:]

    def search(self, part: str, stream: Stream, text: str, start: int) -> LogMatches:
        """Counts the lines that contain a text, in any case, and returns the first of them."""
        output, record = self._find(part)
        stored = StoredStream(self._records, output, stream)
        wanted, total, matches, searched = text.encode("utf-8", "replace").lower(), 0, list[LogLine](), 0
        until = time.monotonic() + _SEARCH_SECONDS
        for at, block in _blocks(stored):
            if time.monotonic() > until:
                break
            searched = at + len(block)
            # Most blocks have no match, and are not split into lines.
            lines = lines_from(block, at, stream, is_last=True) if wanted in block.lower() else ()
            for line in lines:
                if wanted in line.text.encode("utf-8", "replace").lower():
                    total += 1
                    if line.at >= start and len(matches) < _MOST_MATCHES:
                        matches.append(line)
        return LogMatches(
            part=f"{record.key.firing}-{record.key.execution}",
            stream=stream,
            total=total,
            is_whole=searched >= stored.size,
            lines=matches,
        )

    def raw(self, part: str, stream: Stream, most: int) -> bytes:
        """Returns the end of the output as it is."""
        output, _ = self._find(part)
        stored = StoredStream(self._records, output, stream)
        return stored.read_all(max(0, stored.size - most), stored.size)


def _blocks(stored: StoredStream) -> Iterator[tuple[int, bytes]]:
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
