"""References to executions. Orders, facts, jobs and outputs name the same execution by the same numbers."""

from typing import NamedTuple

from msgspec import Struct


class ExecutionKey(NamedTuple):
    """Identifies an execution within a run, permanently."""

    firing: int
    execution: int


class StepRef(Struct, frozen=True):
    """An execution of a step, with the names that people see."""

    subplan: str
    step: str
    attempt: int
    key: ExecutionKey
