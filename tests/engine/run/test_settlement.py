"""A run that another one replaces comes to rest: nothing begins, and agents come to their end."""

import pytest

from engine.run.stories import agent, begun, leaf, plan, run
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import kind_of, outcome_of
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import Controlled, ControlState, Ended, Resumed, RunStarted, StepOutcome
from weft.engine.messages.orders import AnyOrder, Freeze, Halt, Launch, Merge, Prepare

TWO = (agent("one"), agent("two"))


def working(*leaves: dict[str, object]) -> tuple[Engine, dict[str, int]]:
    """An engine whose slices have their workspaces, and the firings of their first steps."""
    engine = begun(plan(*leaves, isolation="dir"))
    for order in engine.in_flight:
        assert isinstance(order, Prepare)
        end(engine, order.firing)
    return engine, {order.path: order.firing for order in engine.in_flight}


def settle(engine: Engine, *ends: str) -> list[AnyOrder]:
    engine.apply(Resumed(at=1.0, epoch=2, settles=True, ends=ends))
    return engine.take_messages()[1]


def end(
    engine: Engine, firing: int, how: StepOutcome = StepOutcome.DONE
) -> tuple[list[AnyEvent], list[AnyOrder]]:
    engine.apply(Ended(at=2.0, firing=firing, execution=1, how=how))
    return engine.take_messages()


def steps(orders: list[AnyOrder]) -> list[str]:
    return [f"{order.path}:{order.step}" for order in orders if isinstance(order, Launch)]


def test_an_agent_comes_to_its_end_and_nothing_follows() -> None:
    engine, firings = working(leaf("a", *TWO))
    assert settle(engine) == []
    assert engine.state == "running"
    events, orders = end(engine, firings["a"])
    assert [outcome_of(event) for event in events if kind_of(event) == "step_finished"] == ["done"]
    assert (orders, engine.state) == ([], "stopped")


def test_agents_of_what_has_changed_are_ended() -> None:
    engine, firings = working(leaf("a", *TWO), leaf("b", *TWO))
    assert settle(engine, "b") == [Halt(firing=firings["b"], execution=1, how="stopped")]
    assert end(engine, firings["b"], StepOutcome.STOPPED)[1] == []
    assert engine.state == "running"
    assert end(engine, firings["a"])[1] == []
    assert engine.state == "stopped"


def test_a_command_is_ended_as_it_is_not_paid_for() -> None:
    engine, firings = working(leaf("a", run("one"), run("two")))
    assert settle(engine) == [Halt(firing=firings["a"], execution=1, how="stopped")]
    assert end(engine, firings["a"], StepOutcome.STOPPED)[1] == []
    assert engine.state == "stopped"


def test_with_nothing_in_progress_it_is_at_rest_at_once() -> None:
    engine, firings = working(leaf("a", *TWO))
    engine.apply(Controlled(at=0.5, subplan="", wanted=ControlState.PAUSE))
    end(engine, firings["a"])
    assert (settle(engine), engine.state) == ([], "stopped")


def test_a_merge_is_ended() -> None:
    engine, firings = working(leaf("a"))
    (merge,) = end(engine, firings["a"])[1]
    assert isinstance(merge, Merge)
    assert settle(engine) == [Halt(firing=merge.firing, execution=1, how="stopped")]
    assert end(engine, merge.firing, StepOutcome.STOPPED)[1] == []
    assert engine.state == "stopped"


@pytest.mark.parametrize("how", [StepOutcome.STOPPED, StepOutcome.LOST, StepOutcome.FAILED])
def test_an_agent_that_does_not_come_to_a_good_end_is_not_launched_again(how: StepOutcome) -> None:
    engine, firings = working(leaf("a", *TWO), leaf("b", *TWO))
    settle(engine)
    assert steps(end(engine, firings["a"], how)[1]) == []


def test_what_stands_still_continues_to_the_end_of_its_step_and_is_paused_then() -> None:
    engine, firings = working(leaf("a", *TWO))
    engine.apply(Controlled(at=0.5, subplan="a", wanted=ControlState.FREEZE))
    engine.take_messages()
    engine.apply(Resumed(at=1.0, epoch=2, settles=True))
    events, orders = engine.take_messages()
    assert orders == [Freeze(firing=firings["a"], execution=1, thaw=True)]
    assert [(kind_of(event), event.subplan, outcome_of(event)) for event in events] == [
        ("recovered", "", ""),
        ("paused", "a", "pause"),
    ]


def test_what_was_paused_before_stays_paused_in_the_run_that_replaces_it() -> None:
    engine = Engine(plan(leaf("a"), leaf("b"), isolation="none"))
    engine.apply(RunStarted(at=0.0, run="r", paused=("b",)))
    events, orders = engine.take_messages()
    assert steps(orders) == ["a:work"]
    assert [event.subplan for event in events if kind_of(event) == "paused"] == ["b"]
    engine.apply(Controlled(at=1.0, subplan="", wanted=ControlState.GO))
    assert steps(engine.take_messages()[1]) == ["b:work"]
