"""The end of one part of a stored output as entries: lines of text, or activities of an agent.

A part is read from near its end on, and then what was added. An entry has a key, and an entry with the key of an
earlier one replaces it: the result of a tool call has arrived.
"""

from codecs import getincrementaldecoder
from collections.abc import Sequence
from typing import Protocol

from weft.agents.shared.activity_reader import ActivityReader
from weft.app.record.activity import AgentOutput
from weft.app.views.wording.activities import activity_lines
from weft.ports.activity import Activity, DescribeLine
from weft.ports.host import JobRecords, OutputPart

FIRST_BYTES = 1 << 17
"""How much of the end of an output is read at first."""
MOST_AT_ONCE = 1 << 18
"""Bytes read in one update, so that a chatty step does not keep a program from answering keys."""
LONGEST_LINE = 4_000

EntryKey = tuple[OutputPart, int, int]
Entry = tuple[EntryKey, Sequence[str]]


class PartTail(Protocol):
    @property
    def is_cut(self) -> bool:
        """Whether the beginning was not read."""
        ...

    def read(self, records: JobRecords, output: str) -> Sequence[Entry]:
        """Returns the entries that were added or have changed."""
        ...

    def unfinished(self) -> Sequence[str]:
        """Returns the lines of an entry that is not complete."""
        ...

    def rest(self) -> Sequence[Entry]:
        """Returns the last entry, which was not complete, when nothing will be added any more."""
        ...


def part_tail(part: OutputPart, agent: AgentOutput | None) -> PartTail:
    """Returns the reader of a part; `agent` is the output that it belongs to if an agent has written it."""
    describe = None if agent is None else agent.describe(part)
    if agent is None or describe is None:
        return TextTail(part)
    return ActivityTail(part, describe, agent.roots)


class _Position:
    """How far a part has been read."""

    def __init__(self, part: OutputPart) -> None:
        self._part = part
        self.offset = -1
        self.is_cut = False
        self.starts_inside = False
        """Whether the next line has lost its beginning."""

    def read(self, records: JobRecords, output: str) -> tuple[bytes, bool]:
        """Returns the bytes that were added, and whether bytes before them were skipped."""
        state = records.state(output, self._part)
        if state is None or state.size == self.offset:
            return b"", False
        is_jump = self.offset < 0 or state.size - self.offset > MOST_AT_ONCE
        if is_jump:
            self.offset = max(0, state.size - FIRST_BYTES)
            self.is_cut = self.starts_inside = self.offset > 0
        data = records.read(output, self._part, self.offset, MOST_AT_ONCE)
        self.offset += len(data)
        if self.starts_inside:
            _, end, data = data.partition(b"\n")
            self.starts_inside = not end
        return data, is_jump


class TextTail:
    """The lines of a part that people can read."""

    def __init__(self, part: OutputPart) -> None:
        self._part = part
        self._position = _Position(part)
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._partial = ""
        self._number = 0

    @property
    def is_cut(self) -> bool:
        return self._position.is_cut

    def read(self, records: JobRecords, output: str) -> Sequence[Entry]:
        data, is_jump = self._position.read(records, output)
        if is_jump:
            self._decoder.reset()
            self._partial = ""
        *lines, partial = (self._partial + self._decoder.decode(data)).split("\n")
        self._partial = partial[-LONGEST_LINE:]
        return [self._entry(line) for line in lines]

    def _entry(self, line: str) -> Entry:
        self._number += 1
        return (self._part, self._number, 0), [line[:LONGEST_LINE]]

    def unfinished(self) -> Sequence[str]:
        return [self._partial] if self._partial else []

    def rest(self) -> Sequence[Entry]:
        line, self._partial = self._partial, ""
        return [self._entry(line)] if line else []


class ActivityTail:
    """The activities in a part that an agent writes for programs."""

    def __init__(self, part: OutputPart, describe: DescribeLine, roots: Sequence[str]) -> None:
        self._part = part
        self._describe = describe
        self._roots = roots
        self._position = _Position(part)
        self._reader = ActivityReader(describe, roots)

    @property
    def is_cut(self) -> bool:
        return self._position.is_cut

    def read(self, records: JobRecords, output: str) -> Sequence[Entry]:
        data, is_jump = self._position.read(records, output)
        if is_jump:
            start = self._position.offset - len(data)
            self._reader = ActivityReader(self._describe, self._roots, offset=start)
        return self._entries(self._reader.feed(data))

    def _entries(self, activities: Sequence[Activity]) -> list[Entry]:
        return [
            ((self._part, activity.start, activity.index), activity_lines(activity))
            for activity in activities
        ]

    def unfinished(self) -> Sequence[str]:
        text = self._reader.unfinished
        return [] if text is None else activity_lines(text)

    def rest(self) -> Sequence[Entry]:
        return self._entries(self._reader.flush())
