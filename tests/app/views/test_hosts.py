"""What views show of hosts: where slices and steps are, and what cannot be reached since when."""

from weft.app.views.run_fold import RunFold
from weft.app.views.wording.hosts import host_line
from weft.engine.messages.events import HostChangedEvent, PlacedEvent, RecoveredEvent, StepStartedEvent
from weft.terms import MachineState


def changed(state: MachineState, machine: str = "") -> HostChangedEvent:
    return HostChangedEvent(host="near", machine=machine, outcome=state, message="broken pipe")


def lines(fold: RunFold, now: float) -> list[str]:
    return [host_line(view, now) for view in fold.hosts.out_of_reach()]


def test_the_fold_has_the_host_of_each_slice_and_step() -> None:
    fold = RunFold()
    fold.apply(PlacedEvent(subplan="a", host="near", token="r.1.1"), 1.0)
    fold.apply(StepStartedEvent(subplan="a", step="x", attempt=1, firing=3, host="far"), 2.0)
    assert fold.hosts.placed == {"a": "near"}
    assert [step.host for step in fold.by_path["a"].steps.values()] == ["far"]
    fold.apply(PlacedEvent(subplan="a", host="far", token="r.1.2"), 3.0)
    assert fold.hosts.placed == {"a": "far"}


def test_a_host_is_out_of_reach_since_its_state_changed() -> None:
    fold = RunFold()
    fold.apply(changed(MachineState.REACHABLE), 0.0)
    assert lines(fold, 10.0) == []
    fold.apply(changed(MachineState.UNREACHABLE), 10.0)
    fold.apply(changed(MachineState.UNREACHABLE), 50.0)
    assert lines(fold, 70.0) == ["near cannot be reached, for 1 min: broken pipe"]
    fold.apply(changed(MachineState.LOST), 80.0)
    assert lines(fold, 85.0) == ["near is lost, for 5.0 s: broken pipe"]
    fold.apply(changed(MachineState.REACHABLE), 90.0)
    assert lines(fold, 99.0) == []


def test_a_new_coordinator_has_not_reached_any_machine() -> None:
    fold = RunFold()
    fold.apply(changed(MachineState.REACHABLE), 0.0)
    fold.apply(RecoveredEvent(epoch=2), 20.0)
    assert lines(fold, 21.0) == ["near has not been reached yet, for 1.0 s"]


def test_machines_of_a_host_are_shown_apart_until_the_whole_host_changes() -> None:
    fold = RunFold()
    fold.apply(changed(MachineState.REACHABLE, "one"), 0.0)
    fold.apply(changed(MachineState.LOST, "two"), 1.0)
    assert lines(fold, 3.0) == ["near (two) is lost, for 2.0 s: broken pipe"]
    fold.apply(changed(MachineState.REACHABLE), 4.0)
    assert lines(fold, 5.0) == []
