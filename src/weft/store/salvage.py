"""Recovery of a damaged journal: reads the remaining rows and writes a sound journal.

The events of a run are a sequence, and events after a gap mean nothing. Each run is therefore kept up to its first
missing entry and then counts as abandoned, because no coordinator can resume a run with unknown events. Entries
get new numbers without gaps.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import RunFinishedEvent
from weft.safe_files import remove_file
from weft.store.checksums import event_checksum, row_checksum
from weft.store.database import migrate, open_to_write
from weft.store.pages import Pages, ReadableRows
from weft.store.queries import QUERIES
from weft.store.wal import read_wal
from weft.terms import RunState

Values = tuple[object, ...]
_STATES = frozenset(map(str, RunState))
_ENDS = kinds_of(RunFinishedEvent)


class Salvage(Struct, frozen=True, kw_only=True):
    """The readable part of a journal."""

    runs: tuple[Values, ...]
    """The runs with a readable beginning, in order: the columns of each run and its state."""
    events: tuple[Values, ...]
    """The columns of each entry, without its number and checksum."""
    lost_entries: int
    cut_runs: tuple[str, ...]
    """Runs that have lost their end."""
    lost_runs: tuple[str, ...]
    """Runs that have lost their beginning, and with it everything."""

    @property
    def report(self) -> str:
        """A sentence without its full stop."""
        summary = f"{len(self.events):,} entries of {len(self.runs):,} runs can be kept"
        lost = [f"{self.lost_entries:,} entries"] if self.lost_entries else []
        lost += [f"the end of run {run}" for run in self.cut_runs]
        lost += [f"run {run}" for run in self.lost_runs]
        return (
            f"{summary}; lost: {', '.join(lost)}"
            if lost
            else f"{summary}; as far as is known, nothing else is lost"
        )


def salvage(path: Path) -> Salvage:
    """Returns the readable part of a journal without writing anything. Raises `OSError`."""
    rows_ = ReadableRows(Pages(path, read_wal(path)))
    spoiled = {seq: run for seq, run in rows_.spoiled.items() if seq not in rows_.events}
    missing = sorted({*_missing(sorted(rows_.events)), *spoiled})
    by_run: dict[object, list[int]] = {}
    for seq in sorted(rows_.events):
        by_run.setdefault(rows_.events[seq][1], []).append(seq)
    kept_seqs: list[int] = []
    cut: list[str] = []
    lost: list[str] = []
    runs: list[Values] = []
    for _, values in sorted(rows_.runs.items()):
        name = str(values[0])
        seqs = by_run.pop(name, [])
        # Without its first entry, nothing says which plan the run had.
        if seqs and rows_.events[seqs[0]][2] != "run_started":
            lost.append(name)
            continue
        unbroken = _before_gap(seqs, missing)
        kept_seqs += unbroken
        is_cut = len(unbroken) < len(seqs) or name in spoiled.values()
        cut += [name] if is_cut else []
        runs.append((*values, _state(rows_, name, unbroken, is_cut=is_cut)))
    lost += [str(run) for run in by_run]
    return Salvage(
        runs=tuple(runs),
        events=tuple(rows_.events[seq] for seq in sorted(kept_seqs)),
        lost_entries=len(missing) + len(rows_.events) - len(kept_seqs),
        cut_runs=tuple(cut),
        lost_runs=tuple(lost),
    )


def _missing(seqs: Sequence[int]) -> Iterator[int]:
    for before, after in pairwise([0, *seqs]):
        # A damaged number may be huge; the list of missing ones must not be.
        yield from range(before + 1, min(after, before + 1_000_000))


def _before_gap(seqs: Sequence[int], missing: Sequence[int]) -> Sequence[int]:
    if not seqs:
        return seqs
    gap = bisect_left(missing, seqs[0])
    return seqs if gap == len(missing) else seqs[: bisect_left(seqs, missing[gap])]


def _state(rows_: ReadableRows, run: str, seqs: Sequence[int], *, is_cut: bool) -> str:
    if is_cut:
        return RunState.ABANDONED
    _, _, kind, *_, outcome = rows_.events[seqs[-1]][:7] if seqs else (None,) * 7
    if kind in _ENDS and outcome in _STATES:
        return str(outcome)
    return rows_.states.get(run, RunState.ABANDONED)


# --- a new file ---


def rebuild(path: Path) -> Path:
    """Replaces a damaged journal with a sound one; keeps the damaged one and returns its path.

    No other process may have the journal open for writing.
    """
    salvaged = salvage(path)
    new = path.with_name(f"{path.name}.new")
    for name in _with_companions(new):
        remove_file(name)
    _write(new, salvaged.runs, salvaged.events)
    aside = _free_name(path)
    for old, copy in zip(_with_companions(path), _with_companions(aside), strict=True):
        with suppress(FileNotFoundError):
            # Links, not renames: the damaged journal keeps its name until the new one takes it over, so that a
            # crash in here leaves one of the two in place.
            os.link(old, copy)
    # SQLite applies the log beside a file: the old file's log must be gone before the new file gets its name.
    for old in _with_companions(path)[1:]:
        remove_file(old)
    new.replace(path)
    return aside


def _with_companions(path: Path) -> list[Path]:
    return [path, *(path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm"))]


def _free_name(path: Path) -> Path:
    names = (
        path.with_name(f"{path.name}.damaged{number}") for number in ("", *(f"-{n}" for n in range(2, 1000)))
    )
    return next(name for name in names if not os.path.lexists(name))


def _write(path: Path, runs: Iterable[Values], events: Iterable[Values]) -> None:
    database = open_to_write(path)
    try:
        with database.transaction() as connection:
            migrate(database)
            for *values, state in runs:
                connection.execute(QUERIES["add_run"], (*values, row_checksum(tuple(values))))
                connection.execute(QUERIES["add_run_state"], (state, values[0]))
            connection.executemany(
                QUERIES["add_event"],
                ((seq, *values, event_checksum(seq, values)) for seq, values in enumerate(events, start=1)),
            )
        # Everything into the file itself: its log would not follow the rename.
        database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        database.close()
