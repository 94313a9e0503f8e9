"""One stream of the output of a step, as it is stored.

Long output is kept in two parts, its beginning and its end, with a gap between. Both count as one stream here: the
end follows the beginning, and `gap_at` says where bytes are missing.
"""

from typing import Literal

from weft.app.record.output import size
from weft.ports.host import JobRecords, OutputPart

Stream = Literal["out", "err"]
PARTS: dict[Stream, tuple[OutputPart, OutputPart]] = {
    "out": (OutputPart.OUT, OutputPart.OUT_TAIL),
    "err": (OutputPart.ERR, OutputPart.ERR_TAIL),
}
_CHUNK = 1 << 16


class StoredStream:
    """One stream of an output: its beginning and its end, as if they were one."""

    def __init__(self, records: JobRecords, output: str, stream: Stream) -> None:
        self._records = records
        self._output = output
        self._head, self._tail = PARTS[stream]
        self.head_size = size(records, output, self._head)
        self.tail_size = size(records, output, self._tail)

    @property
    def gap_at(self) -> int | None:
        """The byte at which bytes are missing; None if none are."""
        return self.head_size if self.tail_size else None

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

    def line_end(self, offset: int) -> int:
        """Returns the end of the line with the byte before an offset; the offset itself at the start of a line."""
        at = max(0, offset - 1)
        while offset and (data := self.read(at, _CHUNK)):
            position = data.find(b"\n")
            if position >= 0:
                return at + position + 1
            at += len(data)
        return max(at, offset)

    def line_start(self, offset: int) -> int:
        """Returns the start of the line with the byte before an offset."""
        end = max(0, offset - 1)
        while end > 0:
            start = max(0, end - _CHUNK)
            position = self.read_all(start, end).rfind(b"\n")
            if position >= 0:
                return start + position + 1
            end = start
        return 0
