"""The dispatcher's mind by itself: orders out, ends in, and what it refuses."""

import pytest

from weft import FailureReason, ParallelExecutionConfig, Subplan, SubplanGroup, SubplanTreeError
from weft.errors import StateError
from weft.subplans.compile import CANCELLED, COMPLETED, FAILED
from weft.subplans.dispatch import Dispatch
from weft.subplans.order import longest_paths
from weft.subplans.tree import read_tree


async def work() -> None: ...


def dispatch(*subplans: Subplan | SubplanGroup, max_parallel: int = 4) -> Dispatch:
    return Dispatch(read_tree(subplans, ParallelExecutionConfig(max_parallel=max_parallel)))


def paths(mind: Dispatch, rows: list[int]) -> list[str]:
    return [mind.path(row) for row in rows]


def test_the_end_of_one_orders_what_may_begin_after_it() -> None:
    mind = dispatch(Subplan("a", work), Subplan("b", work, ("a",)), Subplan("c", work, ("a",)))
    first = mind.start(0.0)
    assert paths(mind, first.start) == ["a"]
    then = mind.settle(first.start[0], COMPLETED, 1.5, value=7)
    assert paths(mind, then.start) == ["b", "c"]
    assert mind.in_flight == tuple(then.start)
    assert mind.results()["a"].value == 7
    assert mind.failure() is None


def test_a_failure_orders_the_end_of_what_runs_once() -> None:
    mind = dispatch(Subplan("a", work), Subplan("b", work), Subplan("c", work))
    a, b, c = mind.start(0.0).start
    assert mind.settle(a, FAILED, 1.0, error=ValueError("no")).cancel == [b, c]
    assert mind.cancel(1.5).cancel == []
    assert mind.settle(b, FAILED, 2.0, error=ValueError("me too")).cancel == []
    assert mind.settle(c, CANCELLED, 3.0).start == []
    assert mind.tracker.finished


def test_what_is_not_in_flight_cannot_end() -> None:
    mind = dispatch(Subplan("a", work))
    (a,) = mind.start(0.0).start
    mind.settle(a, COMPLETED, 1.0)
    with pytest.raises(StateError, match="'a' is not in flight"):
        mind.settle(a, COMPLETED, 1.0)


def test_work_that_a_driver_cancelled_of_its_own_accord_has_no_cause() -> None:
    mind = dispatch(Subplan("a", work))
    (a,) = mind.start(0.0).start
    mind.settle(a, CANCELLED, 1.0)
    result = mind.results()["a"]
    assert (result.reason, result.cause) == (FailureReason.CANCELLED, None)


def test_a_cycle_of_groups_is_named_by_the_groups() -> None:
    tree = read_tree(
        [
            SubplanGroup("g", (Subplan("x", work),), ("h",)),
            SubplanGroup("h", (Subplan("y", work),), ("g",)),
        ],
        ParallelExecutionConfig(),
    )
    with pytest.raises(SubplanTreeError, match=r"each waits for the one before it: g → h → g$"):
        longest_paths(tree)
