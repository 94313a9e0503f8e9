"""The rows of a journal, read from the pages of its file and its log without SQLite.

The rows verify themselves: each has a checksum of its whole content, including its number. They therefore need no
page tree or index to be found. Every page is examined by itself, and everything that parses as a row and matches
its checksum is a row of the journal, wherever and however often it occurs. Rows are only ever added, so an older
version of a page holds nothing wrong.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from weft.errors import WeftError
from weft.safe_files import read_file
from weft.store import rows
from weft.store.checksums import event_checksum, row_checksum
from weft.store.wal import MOST, Wal
from weft.terms import RunState

Values = tuple[object, ...]
_PAGE = 4096
_PAGE_SIZES = frozenset(1 << bits for bits in range(9, 16))
_TABLE_LEAF, _INDEX_LEAF = 0x0D, 0x0A
_EVENT_COLUMNS, _RUN_COLUMNS, _STATE_COLUMNS = 13, 9, 2
_STATES = frozenset(map(str, RunState))
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""The integer types of a column in a record, with their sizes in bytes."""
_FLOAT, _BLOB = 7, 12
"""From `_BLOB` on, even types are blobs and odd ones texts; the type includes the length."""
_LONGEST = 1 << 28
"""The most bytes of a plausible row."""


class Page(Struct, frozen=True):
    """A version of a page."""

    number: int
    data: bytes
    transaction: int
    """0 if SQLite reads it; otherwise the number of the transaction that SQLite would drop."""


class Pages:
    """All versions of all pages, oldest first. Raises `OSError`."""

    def __init__(self, path: Path, wal: Wal) -> None:
        file = _bytes_of(path)
        self.size = _page_size(file)
        self.versions: list[Page] = [
            Page(number, file[start : start + self.size], transaction=0)
            for number, start in enumerate(range(0, len(file), self.size), start=1)
        ]
        if wal.page_size == self.size:
            self.versions += _logged_pages(wal, _bytes_of(Path(f"{path}-wal")))
        # Overflow pages are taken in their newest version. If that is the wrong one, the checksum of the row
        # fails.
        self._newest = {page.number: page.data for page in self.versions}

    def overflow(self, number: int, length: int) -> bytes:
        """Returns the part of a row that is on further pages."""
        parts: list[bytes] = []
        while length > 0 and number in self._newest:
            page = self._newest[number]
            parts.append(page[4 : 4 + length])
            length -= len(parts[-1])
            (number,) = struct.unpack_from(">I", page)
            # A damaged pointer can make the chain a circle.
            if not parts[-1] or len(parts) * self.size > _LONGEST:
                break
        return b"".join(parts)


def _logged_pages(wal: Wal, log: bytes) -> Iterator[Page]:
    dropped = 1
    for frame in wal.frames:
        data = log[frame.offset : frame.offset + wal.page_size]
        yield Page(frame.page, data, transaction=0 if frame.is_sound else dropped)
        dropped += frame.is_commit and not frame.is_sound


def _bytes_of(path: Path) -> bytes:
    try:
        return read_file(path, most=MOST)
    except FileNotFoundError:
        return b""


def _page_size(file: bytes) -> int:
    size = int.from_bytes(file[16:18], "big") if file.startswith(b"SQLite format 3\0") else 0
    return size if size in _PAGE_SIZES else _PAGE


def _records(pages: Pages) -> Iterator[tuple[int, Values, int]]:
    """Yields everything that parses as a row: its number (0 in an index), columns, and transaction of the page."""
    for version in pages.versions:
        page = version.data
        # The first page starts with the header of the file. A b-tree page has its kind in the first byte, the
        # number of cells in bytes 3 and 4, and the offsets of the cells from byte 8 on.
        head = 100 if version.number == 1 else 0
        kind = page[head] if len(page) > head + 8 else 0
        if kind not in {_TABLE_LEAF, _INDEX_LEAF}:
            continue
        (count,) = struct.unpack_from(">H", page, head + 3)
        for place in range(head + 8, min(head + 8 + 2 * count, len(page) - 1), 2):
            # Anything may be in a damaged page. A cell that does not parse is no row, and the next one may be.
            with suppress(IndexError, ValueError, struct.error):
                (cell,) = struct.unpack_from(">H", page, place)
                yield (*_cell(pages, page, cell, is_table=kind == _TABLE_LEAF), version.transaction)


def _cell(pages: Pages, page: bytes, at: int, *, is_table: bool) -> tuple[int, Values]:
    length, at = _varint(page, at)
    rowid = 0
    if is_table:
        rowid, at = _varint(page, at)
    if length > _LONGEST:
        raise ValueError(length)
    # The formulas are those of SQLite's file format for the part of a row that stays on its page.
    most = pages.size - 35 if is_table else (pages.size - 12) * 64 // 255 - 23
    if length <= most:
        return rowid, _columns(page[at : at + length])
    least = (pages.size - 12) * 32 // 255 - 23
    local = least + (length - least) % (pages.size - 4)
    local = local if local <= most else least
    (overflow,) = struct.unpack_from(">I", page, at + local)
    return rowid, _columns(page[at : at + local] + pages.overflow(overflow, length - local))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 0x7F
        if not data[place] & 0x80:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9


def _columns(record: bytes) -> Values:
    size, at = _varint(record, 0)
    types: list[int] = []
    while at < size:
        kind, at = _varint(record, at)
        types.append(kind)
    values: list[object] = []
    at = size
    for kind in types:
        length = _length(kind)
        part = record[at : at + length]
        if len(part) < length:
            raise IndexError(at)
        values.append(_value(kind, part))
        at += length
    return tuple(values)


def _length(kind: int) -> int:
    if kind >= _BLOB:
        return (kind - _BLOB) // 2
    return _INTEGERS.get(kind, 0) if kind != _FLOAT else 8


def _value(kind: int, part: bytes) -> object:
    if kind == 0:
        return None
    if kind in {8, 9}:
        return kind - 8
    if kind in _INTEGERS:
        return int.from_bytes(part, "big", signed=True)
    if kind == _FLOAT:
        return struct.unpack(">d", part)[0]
    return part.decode() if kind % 2 else part  # a UnicodeDecodeError is a ValueError


# --- rows ---


def _as_float(value: object) -> object:
    """Converts a whole number, because SQLite stores a float without a fraction as one."""
    return float(value) if isinstance(value, int) else value


class ReadableRows:
    """The readable rows of a journal."""

    def __init__(self, pages: Pages) -> None:
        self.seen: set[int] = set()
        """The numbers of the entries that SQLite reads."""
        self.dropped: dict[int, set[int]] = {}
        """The numbers of the entries in each transaction that SQLite would drop."""
        self.runs: dict[int, Values] = {}
        self.events: dict[int, Values] = {}
        self.states: dict[str, str] = {}
        self.spoiled: dict[int, object] = {}
        """Entries that do not match their checksums, with the runs that they seem to belong to."""
        for rowid, columns, transaction in _records(pages):
            # The number of columns shows the table; the smaller number is that of a version without checksums.
            match len(columns):
                case 2:
                    self._take_state(columns)
                case 8 | 9:
                    self._take_run(rowid, columns)
                case 12 | 13:
                    self._take_event(rowid, columns, transaction)
                case _:
                    pass

    def _take_state(self, columns: Values) -> None:
        run, state = columns
        if isinstance(run, str) and isinstance(state, str) and state in _STATES:
            self.states[run] = state

    def _take_run(self, number: int, columns: Values) -> None:
        values = (*columns[1:7], _as_float(columns[7]))
        if not all(isinstance(value, str) for value in values[:6]) or not isinstance(values[6], float):
            return
        if len(columns) < _RUN_COLUMNS or columns[8] == row_checksum(values):
            self.runs[number] = values

    def _take_event(self, seq: int, columns: Values, transaction: int) -> None:
        values = (_as_float(columns[1]), *columns[2:12])
        has_checksum = len(columns) == _EVENT_COLUMNS
        if columns[12] == event_checksum(seq, values) if has_checksum else _is_readable(seq, values):
            self.events[seq] = values
            (self.dropped.setdefault(transaction, set()) if transaction else self.seen).add(seq)
        else:
            self.spoiled[seq] = values[1]


def _is_readable(seq: int, values: Values) -> bool:
    """Returns whether a row of an older version, without a checksum, can be decoded."""
    with suppress(WeftError, msgspec.MsgspecError, TypeError, ValueError):
        at, _, *rest = values
        rows.to_recorded("", (seq, at, *rest))  # type: ignore[arg-type]
        return True
    return False


def lost_with_log(path: Path, wal: Wal) -> int:
    """Returns how many transactions with entries that exist nowhere else SQLite would drop.

    0 if a power loss explains it: it leaves the last transaction incomplete, or remains of an earlier log.
    """
    rows_ = ReadableRows(Pages(path, wal))
    last = max(rows_.seen, default=0)
    lost = sum(any(seq > last for seq in seqs) for seqs in rows_.dropped.values())
    # A power loss in the middle of a commit leaves one dropped transaction, which was never reported as
    # durable. Without a header, none of the log counts for SQLite, so every transaction in it is lost.
    return max(lost, wal.is_foreign) if wal.is_headless else max(0, lost - 1)
