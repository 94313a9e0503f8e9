"""The output of a run: an event for each change of state, a result for each subplan, errors at the end.

Events and results are named tuples, because there are many of them, and a class would take four times as long.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from weft.engine.states import FailureReason, SubplanExecutionState
from weft.errors import WeftError
from weft.ids import SubplanPath


class SubplanEvent(NamedTuple):
    """A change of a subplan's state."""

    seq: int
    """1, 2, 3 … without a gap within a run."""
    at: float
    """Seconds since the run began, by the clock of its driver."""
    path: SubplanPath
    before: SubplanExecutionState
    after: SubplanExecutionState
    reason: FailureReason | None = None
    cause: SubplanPath | None = None
    """The subplan that made this one be cancelled, be blocked or, for a group, fail."""
    error: BaseException | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the event as JSON data, with the error as text."""
        return {
            "event": "subplan_state",
            "seq": self.seq,
            "at": round(self.at, 6),
            "subplan": self.path,
            "from": self.before,
            "to": self.after,
            "reason": self.reason,
            "cause": self.cause,
            "error": None if self.error is None else f"{type(self.error).__name__}: {self.error}",
        }


class SubplanResult(NamedTuple):
    """The end of a subplan."""

    path: SubplanPath
    state: SubplanExecutionState
    value: Any
    """The return value of its work."""
    reason: FailureReason | None
    cause: SubplanPath | None
    error: BaseException | None
    started_at: float | None
    """None if it never ran."""
    ended_at: float

    @property
    def ok(self) -> bool:
        """Whether the subplan completed."""
        return self.state is SubplanExecutionState.COMPLETED


Results = Mapping[str, SubplanResult]


class SubplanExecutionError(WeftError):
    """A subplan failed. `__cause__` is the exception that it raised; `results` has the ends of all subplans."""

    def __init__(self, result: SubplanResult, cause: BaseException | None, results: Results) -> None:
        self.path = result.path
        self.reason = result.reason
        self.results = results
        self.__cause__ = cause
        detail = f"{type(cause).__name__}: {cause}" if cause is not None else str(result.reason)
        by = f" by {result.cause!r}" if result.cause is not None and cause is None else ""
        super().__init__(f"subplan {result.path!r} failed: {detail}{by}")


class AggregateSubplanError(ExceptionGroup[SubplanExecutionError]):
    """Subplans failed while the others continued: a `SubplanExecutionError` for each failure."""

    results: Results
    """The ends of all subplans, by path."""

    @property
    def failures(self) -> tuple[SubplanExecutionError, ...]:
        """The failures, each with its path, its reason and the exception of the work."""
        return tuple(error for error in self.exceptions if isinstance(error, SubplanExecutionError))

    def __new__(cls, message: str, failures: Sequence[SubplanExecutionError], results: Results) -> Self:
        self = super().__new__(cls, message, failures)
        self.results = results
        return self

    def __init__(self, message: str, failures: Sequence[SubplanExecutionError], results: Results) -> None:
        """Everything is done in `__new__`, as an exception group must."""

    def derive(self, excs: Sequence[Exception]) -> ExceptionGroup[Exception]:  # type: ignore[override]
        """Returns a group of these failures with the same results, for `except*` and `split`."""
        failures = [error for error in excs if isinstance(error, SubplanExecutionError)]
        return AggregateSubplanError(self.message, failures, self.results)
