"""The executions of a run as columns: a run of ten thousand slices has fifty thousand of them.

A record is made when it is asked for. What executions share is stored once: how they started, as agent, model and
pools, and how they ended.
"""

from array import array
from collections.abc import Iterator, Mapping
from math import isnan, nan
from typing import NamedTuple

from msgspec import Struct

from weft.engine.messages.events import StepEnd, StepFinishedEvent, StepStartedEvent, execution_of
from weft.engine.messages.facts import Ended
from weft.engine.messages.step_refs import ExecutionKey

RUNNING = "running"
_NONE = -1


class ExecutionRecord(Struct, frozen=True, eq=False):
    """One execution of a step."""

    row: int
    step: str
    attempt: int
    key: ExecutionKey
    action: str
    agent: str
    model: str
    command: str
    started_at: float
    pools: Mapping[str, tuple[str, ...]]
    reserved: int
    ended_at: float | None
    outcome: str
    message: str
    exit_code: int | None
    signal: int | None
    tail: str
    cost: int | None
    tokens: int | None
    session: str
    out_bytes: int
    """What it wrote to each stream, whether it was kept or not; 0 until it has ended."""
    err_bytes: int

    @property
    def is_bad(self) -> bool:
        """Whether it ended without doing its work."""
        return self.outcome not in {RUNNING, StepEnd.DONE, StepEnd.HELD, StepEnd.ASKED}


class _Start(NamedTuple):
    step: str
    action: str
    agent: str
    model: str
    command: str
    pools: tuple[tuple[str, tuple[str, ...]], ...]
    reserved: int


class _End(NamedTuple):
    outcome: str
    message: str = ""
    exit_code: int | None = None
    signal: int | None = None
    tail: str = ""


class ExecutionTable:
    """All executions, in the order of their starts."""

    def __init__(self, rows: int) -> None:
        """The plan has that many rows."""
        self._last = array("i", [_NONE]) * rows
        """For each row of the plan, its last execution."""
        self._before = array("i")
        """For each execution, the one before it of the same row."""
        self._row, self._attempt, self._execution = array("i"), array("i"), array("i")
        self._firing = array("q")
        self._start, self._end = array("i"), array("i")
        """The numbers of the start and the end among the distinct ones."""
        self._started_at, self._ended_at = array("d"), array("d")
        self._cost, self._tokens = array("q"), array("q")
        self._out_bytes, self._err_bytes = array("q"), array("q")
        self._sessions: dict[int, str] = {}
        self._starts: dict[_Start, int] = {}
        self._ends: dict[_End, int] = {_End(RUNNING): 0}
        # A dictionary keeps its order, so these lists have each key at its number.
        self._start_list: list[_Start] = []
        self._end_list: list[_End] = list(self._ends)

    def add(self, row: int, event: StepStartedEvent, at: float) -> None:
        start = _Start(
            event.step,
            event.action,
            event.agent or "",
            event.model or "",
            event.command or "",
            tuple(event.pools.items()) if event.pools else (),
            event.reserved,
        )
        number = self._starts.get(start)
        if number is None:
            number = self._starts[start] = len(self._start_list)
            self._start_list.append(start)
        index, key = len(self._row), execution_of(event)
        if event.session:
            self._sessions[index] = event.session
        self._before.append(self._last[row])
        self._last[row] = index
        self._row.append(row)
        self._attempt.append(event.attempt)
        self._firing.append(key.firing)
        self._execution.append(key.execution)
        self._start.append(number)
        self._end.append(0)
        self._started_at.append(at)
        self._ended_at.append(nan)
        self._cost.append(_NONE)
        self._tokens.append(_NONE)
        self._out_bytes.append(0)
        self._err_bytes.append(0)

    def end(self, row: int, event: StepFinishedEvent, at: float) -> None:
        """Records the end of an execution; nothing if it has not started in that row."""
        index = self._find(row, execution_of(event))
        if index is None:
            return
        end = _End(event.outcome, event.message, event.exit_code, event.signal, event.tail or "")
        number = self._ends.get(end)
        if number is None:
            number = self._ends[end] = len(self._end_list)
            self._end_list.append(end)
        self._end[index] = number
        self._ended_at[index] = at
        self._cost[index] = _NONE if event.cost is None else event.cost
        self._tokens[index] = _NONE if event.tokens is None else event.tokens
        if event.session:
            self._sessions[index] = event.session
        if isinstance(event.fact, Ended):
            self._out_bytes[index] = event.fact.stdout_bytes
            self._err_bytes[index] = event.fact.stderr_bytes

    def __iter__(self) -> Iterator[ExecutionRecord]:
        for index in range(len(self._row)):
            yield self._record(index)

    def find(self, row: int, key: ExecutionKey) -> ExecutionRecord | None:
        index = self._find(row, key)
        return None if index is None else self._record(index)

    def of(self, row: int) -> list[ExecutionRecord]:
        """Returns the executions of a subplan in order."""
        return [self._record(index) for index in self._of(row)][::-1]

    def rows(self) -> Iterator[int]:
        """Yields the rows that have executions."""
        return (row for row, last in enumerate(self._last) if last != _NONE)

    def span(self, row: int) -> tuple[float, float | None]:
        """Returns the start of the first execution of a row and the end of its last; the row has one."""
        *_, first = self._of(row)
        ended_at = self._ended_at[self._last[row]]
        return self._started_at[first], None if isnan(ended_at) else ended_at

    def _find(self, row: int, key: ExecutionKey) -> int | None:
        return next((index for index in self._of(row) if self._key(index) == key), None)

    def _of(self, row: int) -> Iterator[int]:
        """Yields the executions of a row, the last one first."""
        index = self._last[row]
        while index != _NONE:
            yield index
            index = self._before[index]

    def _key(self, index: int) -> ExecutionKey:
        return ExecutionKey(self._firing[index], self._execution[index])

    def _record(self, index: int) -> ExecutionRecord:
        start, end = self._start_list[self._start[index]], self._end_list[self._end[index]]
        ended_at, cost, tokens = self._ended_at[index], self._cost[index], self._tokens[index]
        return ExecutionRecord(
            row=self._row[index],
            step=start.step,
            attempt=self._attempt[index],
            key=self._key(index),
            action=start.action,
            agent=start.agent,
            model=start.model,
            command=start.command,
            started_at=self._started_at[index],
            pools=dict(start.pools),
            reserved=start.reserved,
            ended_at=None if isnan(ended_at) else ended_at,
            outcome=end.outcome,
            message=end.message,
            exit_code=end.exit_code,
            signal=end.signal,
            tail=end.tail,
            cost=None if cost == _NONE else cost,
            tokens=None if tokens == _NONE else tokens,
            session=self._sessions.get(index, ""),
            out_bytes=self._out_bytes[index],
            err_bytes=self._err_bytes[index],
        )
