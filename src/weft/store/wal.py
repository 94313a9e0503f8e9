"""SQLite's write-ahead log, read as a file.

SQLite accepts a log up to the first frame with a wrong checksum and silently drops the rest. That is how it
recovers from a power loss in the middle of a transaction. If a byte changes later, however, SQLite drops committed
transactions, and the first process that closes the database removes them from the disk. Weft therefore verifies
the log before it opens the database. Only the last transaction may be incomplete: a power loss has then kept it
from being committed.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from weft.safe_files import read_file

_HEADER, _FRAME_HEADER = 32, 24
_LITTLE, _BIG = 0x377F0682, 0x377F0683
"""The first word of a log, by the byte order of its checksums."""
_PAGE_SIZES = frozenset(1 << bits for bits in range(9, 17))
_USUAL_PAGE = 4096
_WORD = 0xFFFFFFFF
MOST = 1 << 40
"""The most bytes of a journal; only the disk limits it."""

Sums = tuple[int, int]


class WalFrame(Struct, frozen=True):
    """A frame of the log: one version of a page."""

    page: int
    is_commit: bool
    offset: int
    """The offset of its page in the file."""
    is_sound: bool
    """Whether SQLite reads it: its checksum and those of all frames before it match."""


class Wal(Struct, frozen=True):
    """The frames of a log."""

    page_size: int = _USUAL_PAGE
    frames: tuple[WalFrame, ...] = ()
    """The frames of the present generation up to the last commit, sound or not."""
    is_headless: bool = False
    """Whether its header is damaged, so that SQLite reads nothing of it."""
    is_foreign: bool = False
    """Whether it does not even start like a log."""

    @property
    def is_whole(self) -> bool:
        """Whether SQLite reads all of it."""
        return all(frame.is_sound for frame in self.frames) and not self.is_foreign


def read_wal(path: Path) -> Wal:
    """Returns the log of a database, empty if there is none. Raises `OSError`."""
    try:
        data = read_file(f"{path}-wal", most=MOST)
    except FileNotFoundError:
        return Wal()
    if len(data) < _HEADER + _FRAME_HEADER:
        return Wal()
    magic, _, size, _, *salts, sum1, sum2 = struct.unpack_from(">8I", data)
    order = ">" if magic == _BIG else "<"
    is_foreign = magic not in {_LITTLE, _BIG} and any(data)
    is_sound = not is_foreign and _sums(data[:24], order, (0, 0)) == (sum1, sum2)
    if not is_sound:
        size = size if size in _PAGE_SIZES else _USUAL_PAGE
        # Each generation of the log has new salts. If the header is damaged, those of the first frame tell
        # which frames belong to the present one.
        salts = list(struct.unpack_from(">2I", data, _HEADER + 8))
    frames = list(_frames(data, size, tuple(salts), (order, (sum1, sum2)) if is_sound else None))
    # Frames after the last commit belong to a transaction that was never finished.
    while frames and not frames[-1].is_commit:
        frames.pop()
    return Wal(size, tuple(frames), is_headless=not is_sound, is_foreign=is_foreign)


def _frames(
    data: bytes, size: int, salts: tuple[int, ...], check: tuple[str, Sums] | None
) -> Iterator[WalFrame]:
    """Yields the frames; `check` has the byte order and the checksum so far, or None after a mismatch."""
    step = _FRAME_HEADER + size
    for start in range(_HEADER, len(data) - step + 1, step):
        page, commit, salt1, salt2, *sums = struct.unpack_from(">6I", data, start)
        is_ours = (salt1, salt2) == salts
        if check is not None:
            order, before = check
            after = _sums(data[start : start + 8], order, before)
            after = _sums(data[start + _FRAME_HEADER : start + step], order, after)
            check = (order, after) if is_ours and after == tuple(sums) else None
        # Frames behind the present generation are remains of an earlier one, which the file keeps after a
        # checkpoint.
        if is_ours:
            yield WalFrame(page, bool(commit), start + _FRAME_HEADER, is_sound=check is not None)


def _sums(data: bytes, order: str, sums: Sums) -> Sums:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for word, next_word in zip(words[::2], words[1::2], strict=True):
        first = first + word + second & _WORD
        second = second + next_word + first & _WORD
    return first, second
