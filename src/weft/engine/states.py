"""States of subplans, and the tracker that holds them and refuses what cannot be.

pending ──▶ running ──▶ completed
   │           └──────▶ failed (with a reason)
   └──────────────────▶ failed (cancelled or blocked: it never ran)
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from weft.errors import StateError
from weft.ids import SubplanPath


class SubplanExecutionState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def terminal(self) -> bool:
        return self in {SubplanExecutionState.COMPLETED, SubplanExecutionState.FAILED}


class FailureReason(StrEnum):
    ERROR = "error"
    """Its work raised, or something in it failed."""
    CANCELLED = "cancelled"
    """It was stopped, or kept from starting, because of something else."""
    BLOCKED = "blocked"
    """Something it depends on failed."""


_STATES: tuple[SubplanExecutionState, ...] = tuple(SubplanExecutionState)
_CODES: Mapping[SubplanExecutionState, int] = {state: code for code, state in enumerate(_STATES)}
_PENDING, _RUNNING, _COMPLETED, _FAILED = range(4)
_FOLLOWING: Mapping[SubplanExecutionState, tuple[SubplanExecutionState, ...]] = {
    SubplanExecutionState.PENDING: (SubplanExecutionState.RUNNING, SubplanExecutionState.FAILED),
    SubplanExecutionState.RUNNING: (SubplanExecutionState.COMPLETED, SubplanExecutionState.FAILED),
    SubplanExecutionState.COMPLETED: (),
    SubplanExecutionState.FAILED: (),
}


class SubplanTracker:
    """Where every subplan stands. Answers at any time, from any task; a byte for each subplan."""

    __slots__ = ("_counts", "_failures", "_paths", "_rows", "_running", "_states")

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths: Sequence[SubplanPath] = [SubplanPath(path) for path in paths]
        self._rows: dict[str, int] | None = None  # made when first asked by path
        self._states = bytearray(len(self._paths))
        self._counts = [len(self._paths), 0, 0, 0]
        self._running: dict[int, None] = {}
        self._failures: dict[int, FailureReason] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def state(self, path: str) -> SubplanExecutionState:
        return _STATES[self._states[self.row(path)]]

    def counts(self) -> dict[SubplanExecutionState, int]:
        return dict(zip(_STATES, self._counts, strict=True))

    def running(self) -> tuple[SubplanPath, ...]:
        """In the order they started."""
        return tuple(self._paths[row] for row in tuple(self._running))

    def failures(self) -> Mapping[str, FailureReason]:
        """In the order they failed."""
        return MappingProxyType({str(self._paths[row]): why for row, why in tuple(self._failures.items())})

    @property
    def finished(self) -> bool:
        return not self._counts[_PENDING] and not self._counts[_RUNNING]

    def row(self, path: str) -> int:
        if self._rows is None:
            self._rows = {known: row for row, known in enumerate(self._paths)}
        if path not in self._rows:
            raise StateError(f"no subplan has the path {path!r}")
        return self._rows[path]

    def advance(
        self, path: str, to: SubplanExecutionState, reason: FailureReason | None = None
    ) -> SubplanExecutionState:
        """Moves a subplan on; returns the state it was in. Anything but an arrow above raises."""
        return self.advance_row(self.row(path), to, reason)

    def state_of_row(self, row: int) -> SubplanExecutionState:
        return _STATES[self._states[row]]

    def advance_row(
        self, row: int, to: SubplanExecutionState, reason: FailureReason | None = None
    ) -> SubplanExecutionState:
        code, after = self._states[row], _CODES[to]
        before = _STATES[code]
        if to not in _FOLLOWING[before]:
            raise StateError(f"{self._paths[row]!r} cannot go from {before} to {to}")
        if (after == _FAILED) is (reason is None):
            raise StateError(f"{self._paths[row]!r} → {to}: a failure has a reason, and nothing else has")
        self._states[row] = after
        self._counts[code] -= 1
        self._counts[after] += 1
        if after == _RUNNING:
            self._running[row] = None
        else:
            self._running.pop(row, None)
        if reason is not None:
            self._failures[row] = reason
        return before
