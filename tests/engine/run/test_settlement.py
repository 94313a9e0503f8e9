"""A run that another one replaces comes to rest: nothing begins, and steps in progress come to their end."""

import pytest

from engine.run.stories import begun, leaf, plan, run
from weft.engine.run.engine import Engine
from weft.engine.run.events import Event
from weft.engine.run.facts import Controlled, Ended, How, Resumed, RunStarted, Wanted
from weft.engine.run.orders import AnyOrder, Freeze, Halt, Launch, Merge

TWO = (run("one"), run("two"))


def settle(engine: Engine, *ends: str) -> list[AnyOrder]:
    engine.apply(Resumed(at=1.0, epoch=2, settles=True, ends=ends))
    return engine.taken()[1]


def end(engine: Engine, firing: int, how: How = How.DONE) -> tuple[list[Event], list[AnyOrder]]:
    engine.apply(Ended(at=2.0, firing=firing, execution=1, how=how))
    return engine.taken()


def steps(orders: list[AnyOrder]) -> list[str]:
    return [f"{order.path}:{order.step}" for order in orders if isinstance(order, Launch)]


def test_a_step_comes_to_its_end_and_nothing_follows() -> None:
    engine = begun(plan(leaf("a", *TWO), leaf("b", *TWO), max_parallel=1, isolation="none"))
    assert settle(engine) == []
    assert engine.state == "running"
    events, orders = end(engine, 1)
    assert [event.outcome for event in events if event.kind == "step_finished"] == ["done"]
    assert (orders, engine.state) == ([], "stopped")


def test_steps_of_what_has_changed_are_ended() -> None:
    engine = begun(plan(leaf("a", *TWO), leaf("b", *TWO), isolation="none"))
    assert settle(engine, "b") == [Halt(firing=2, execution=1, how="stopped")]
    assert end(engine, 2, How.STOPPED)[1] == []
    assert engine.state == "running"
    assert end(engine, 1)[1] == []
    assert engine.state == "stopped"


def test_with_nothing_in_progress_it_is_at_rest_at_once() -> None:
    engine = begun(plan(leaf("a", *TWO), isolation="none"))
    engine.apply(Controlled(at=0.5, subplan="", wanted=Wanted.PAUSE))
    end(engine, 1)
    assert (settle(engine), engine.state) == ([], "stopped")


def test_a_merge_is_ended_as_it_is_not_the_work_of_a_step() -> None:
    engine = begun(plan(leaf("a"), isolation="worktree"))
    end(engine, 1)
    (merge,) = end(engine, 2)[1]
    assert isinstance(merge, Merge)
    assert settle(engine) == [Halt(firing=merge.firing, execution=1, how="stopped")]
    assert end(engine, merge.firing, How.STOPPED)[1] == []
    assert engine.state == "stopped"


@pytest.mark.parametrize("how", [How.STOPPED, How.LOST, How.FAILED])
def test_a_step_that_does_not_come_to_a_good_end_is_not_launched_again(how: How) -> None:
    engine = begun(plan(leaf("a", *TWO), leaf("b", *TWO), isolation="none"))
    settle(engine)
    assert steps(end(engine, 1, how)[1]) == []


def test_what_stands_still_continues_to_the_end_of_its_step_and_is_paused_then() -> None:
    engine = begun(plan(leaf("a", *TWO), isolation="none"))
    engine.apply(Controlled(at=0.5, subplan="a", wanted=Wanted.FREEZE))
    engine.taken()
    engine.apply(Resumed(at=1.0, epoch=2, settles=True))
    events, orders = engine.taken()
    assert orders == [Freeze(firing=1, execution=1, thaw=True)]
    assert [(event.kind, event.subplan, event.outcome) for event in events] == [
        ("recovered", "", ""),
        ("paused", "a", "pause"),
    ]


def test_what_was_paused_before_stays_paused_in_the_run_that_replaces_it() -> None:
    engine = Engine(plan(leaf("a"), leaf("b"), isolation="none"))
    engine.apply(RunStarted(at=0.0, run="r", paused=("b",)))
    events, orders = engine.taken()
    assert steps(orders) == ["a:work"]
    assert [event.subplan for event in events if event.kind == "paused"] == ["b"]
    engine.apply(Controlled(at=1.0, subplan="", wanted=Wanted.GO))
    assert steps(engine.taken()[1]) == ["b:work"]
