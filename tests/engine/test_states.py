import itertools

import pytest

from weft.engine.states import FailureReason, SubplanExecutionState, SubplanTracker
from weft.errors import StateError

PENDING, RUNNING, COMPLETED, FAILED = SubplanExecutionState
ALLOWED = {(PENDING, RUNNING), (PENDING, FAILED), (RUNNING, COMPLETED), (RUNNING, FAILED)}
WAYS: dict[SubplanExecutionState, tuple[SubplanExecutionState, ...]] = {
    PENDING: (),
    RUNNING: (RUNNING,),
    COMPLETED: (RUNNING, COMPLETED),
    FAILED: (RUNNING, FAILED),
}


def reason(state: SubplanExecutionState) -> FailureReason | None:
    return FailureReason.ERROR if state is FAILED else None


@pytest.mark.parametrize(("before", "after"), [*itertools.product(SubplanExecutionState, repeat=2)])
def test_only_the_declared_changes_of_state_are_allowed(
    before: SubplanExecutionState, after: SubplanExecutionState
) -> None:
    tracker = SubplanTracker(["a"])
    for state in WAYS[before]:
        tracker.advance("a", state, reason(state))
    counts = tracker.counts()
    if (before, after) in ALLOWED:
        assert tracker.advance("a", after, reason(after)) is before
        assert tracker.state("a") is after
    else:
        with pytest.raises(StateError, match=f"'a' cannot change from {before} to {after}"):
            tracker.advance("a", after, reason(after))
        assert tracker.state("a") is before
        assert tracker.counts() == counts


def test_counts_running_set_and_failures_are_there_at_any_time() -> None:
    tracker = SubplanTracker(["a", "b", "c", "d"])
    assert tracker.counts() == {PENDING: 4, RUNNING: 0, COMPLETED: 0, FAILED: 0}
    tracker.advance("c", RUNNING)
    tracker.advance("a", RUNNING)
    assert tracker.running() == ("c", "a")
    tracker.advance("c", FAILED, FailureReason.ERROR)
    tracker.advance("b", FAILED, FailureReason.BLOCKED)
    tracker.advance("a", COMPLETED)
    assert tracker.running() == ()
    assert dict(tracker.failures()) == {"c": FailureReason.ERROR, "b": FailureReason.BLOCKED}
    assert tracker.counts() == {PENDING: 1, RUNNING: 0, COMPLETED: 1, FAILED: 2}
    assert not tracker.finished
    tracker.advance("d", FAILED, FailureReason.CANCELLED)
    assert tracker.finished
    assert len(tracker) == 4


def test_a_failure_needs_a_reason_and_nothing_else_may_have_one() -> None:
    tracker = SubplanTracker(["a"])
    with pytest.raises(StateError, match="a failure has a reason"):
        tracker.advance("a", FAILED)
    with pytest.raises(StateError, match="a failure has a reason"):
        tracker.advance("a", RUNNING, FailureReason.ERROR)
    assert tracker.state("a") is PENDING


def test_an_unknown_path_is_said() -> None:
    with pytest.raises(StateError, match="no subplan has the path 'x'"):
        SubplanTracker(["a"]).state("x")


def test_ended_states_are_terminal() -> None:
    assert [state.terminal for state in SubplanExecutionState] == [False, False, True, True]
