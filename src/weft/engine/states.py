"""States of subplans, and the tracker that holds them and refuses invalid transitions.

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
    """The state of a subplan."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def terminal(self) -> bool:
        """Whether a subplan stays in this state."""
        return self is SubplanExecutionState.COMPLETED or self is SubplanExecutionState.FAILED


class FailureReason(StrEnum):
    """Why a subplan failed."""

    ERROR = "error"
    """Its work raised, or something in it failed."""
    CANCELLED = "cancelled"
    """It was stopped, or kept from starting, because of another failure."""
    BLOCKED = "blocked"
    """Something it depends on failed."""
    TIMEOUT = "timeout"
    """It took longer than its timeout."""
    EXHAUSTED = "exhausted"
    """All its attempts failed."""
    BUDGET = "budget"
    """It would have exceeded a ceiling."""
    CONFLICT = "conflict"
    """Its changes conflict with those of another subplan."""
    LOST = "lost"
    """Its executions were lost, more often than they are repeated."""
    INFRA = "infra"
    """It could not be executed, for a reason unrelated to the work."""


_STATES: tuple[SubplanExecutionState, ...] = tuple(SubplanExecutionState)
PENDING, RUNNING, COMPLETED, FAILED = range(4)
"""The states as the tracker keeps them: their positions in the enumeration."""
_ARROWS = ((RUNNING, FAILED), (COMPLETED, FAILED), (), ())
"""The states that may follow each state."""


class SubplanTracker:
    """The state of every subplan, one byte each. It can be read at any time from any task."""

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
        """The state of the subplan; raises `StateError` for an unknown path."""
        return _STATES[self._states[self.row(path)]]

    def counts(self) -> dict[SubplanExecutionState, int]:
        """The number of subplans in each state."""
        return dict(zip(_STATES, self._counts, strict=True))

    def running(self) -> tuple[SubplanPath, ...]:
        """Returns the running subplans in the order of their start."""
        return tuple(self._paths[row] for row in tuple(self._running))

    def failures(self) -> Mapping[str, FailureReason]:
        """Returns the failed subplans with their reasons, in the order of failure."""
        return MappingProxyType({str(self._paths[row]): why for row, why in tuple(self._failures.items())})

    @property
    def finished(self) -> bool:
        """Whether every subplan has completed or failed."""
        return not self._counts[PENDING] and not self._counts[RUNNING]

    def row(self, path: str) -> int:
        """The number of the subplan; raises `StateError` for an unknown path."""
        if self._rows is None:
            self._rows = {path: row for row, path in enumerate(self._paths)}
        if path not in self._rows:
            raise StateError(f"no subplan has the path {path!r}")
        return self._rows[path]

    def advance(
        self, path: str, to: SubplanExecutionState, reason: FailureReason | None = None
    ) -> SubplanExecutionState:
        """Moves a subplan on; returns the state it was in. Anything but an arrow above raises."""
        return self.move(self.row(path), _STATES.index(to), reason)

    # By number, for callers that do this often

    def is_pending(self, row: int) -> bool:
        """Whether the subplan of that number has not started."""
        return self._states[row] == PENDING

    def is_completed(self, row: int) -> bool:
        """Whether the subplan of that number is completed."""
        return self._states[row] == COMPLETED

    def is_failed(self, row: int) -> bool:
        """Whether the subplan of that number has failed."""
        return self._states[row] == FAILED

    def move(self, row: int, after: int, reason: FailureReason | None = None) -> SubplanExecutionState:
        """`advance` by the numbers of the subplan and of the state."""
        before = self._states[row]
        if after not in _ARROWS[before]:
            raise StateError(f"{self._paths[row]!r} cannot change from {_STATES[before]} to {_STATES[after]}")
        if (after == FAILED) is (reason is None):
            raise StateError(
                f"{self._paths[row]!r} → {_STATES[after]}: a failure has a reason, and nothing else has"
            )
        self._states[row] = after
        counts = self._counts
        counts[before] -= 1
        counts[after] += 1
        if after == RUNNING:
            self._running[row] = None
        elif before == RUNNING:
            del self._running[row]
        if reason is not None:
            self._failures[row] = reason
        return _STATES[before]
