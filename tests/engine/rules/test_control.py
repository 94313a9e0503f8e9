"""Pausing, freezing and stopping a run or parts of it, and letting them go on."""

import pytest

from engine.run.stories import begun, group, leaf, plan, run, tell
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import kind_of, outcome_of
from weft.engine.messages.facts import (
    Controlled,
    ControlState,
    Ended,
    MergeAsked,
    Resumed,
    RunStarted,
    StepOutcome,
    StopAsked,
)
from weft.engine.messages.orders import AnyOrder, Freeze, Halt, Launch, Merge, Prepare
from weft.engine.simulate import Interruptions, SimulatedEnd

TWO = (run("one"), run("two"))


def say(engine: Engine, wanted: ControlState, subplan: str = "", *, now: bool = False) -> list[AnyOrder]:
    engine.apply(Controlled(at=1.0, subplan=subplan, wanted=wanted, now=now))
    return engine.take_messages()[1]


def end(engine: Engine, firing: int, how: StepOutcome = StepOutcome.DONE, execution: int = 1) -> list[str]:
    """What is launched then."""
    engine.apply(Ended(at=2.0, firing=firing, execution=execution, how=how))
    return launched(engine)


def launched(engine: Engine) -> list[str]:
    return steps(engine.take_messages()[1])


def steps(orders: list[AnyOrder]) -> list[str]:
    return [f"{order.path}:{order.step}" for order in orders if isinstance(order, Launch)]


# Pause


def test_when_paused_the_step_comes_to_its_end_and_the_next_one_waits() -> None:
    engine = begun(plan(leaf("a", *TWO), isolation="none"))
    assert say(engine, ControlState.PAUSE) == []
    assert engine.state == "running"
    assert end(engine, 1) == []
    assert engine.state == "paused"
    assert steps(say(engine, ControlState.GO)) == ["a:two"]
    assert engine.state == "running"


def test_a_slice_that_is_paused_leaves_its_place_to_others() -> None:
    engine = begun(plan(leaf("a", *TWO), leaf("b", *TWO), max_parallel=1, isolation="none"))
    say(engine, ControlState.PAUSE, "a")
    assert end(engine, 1) == ["b:one"]
    assert say(engine, ControlState.GO, "a") == []
    assert [end(engine, 2), end(engine, 3)] == [["b:two"], ["a:two"]]


def test_what_has_not_begun_does_not_begin() -> None:
    engine = Engine(plan(leaf("a"), group("g", leaf("b"), leaf("c")), isolation="none"))
    engine.apply(Controlled(at=0.0, subplan="g", wanted=ControlState.PAUSE))
    engine.apply(RunStarted(at=0.0, run="r"))
    assert launched(engine) == ["a:work"]
    assert steps(say(engine, ControlState.GO, "g/c")) == ["g/c:work"]
    assert [end(engine, 1), end(engine, 2)] == [[], []]
    assert engine.state == "paused"
    assert steps(say(engine, ControlState.GO)) == ["g/b:work"]


def test_a_slice_that_is_paused_gets_no_workspace_and_stays_pending() -> None:
    engine = Engine(plan(leaf("a"), leaf("b"), isolation="worktree"))
    engine.apply(Controlled(at=0.0, subplan="b", wanted=ControlState.PAUSE))
    engine.apply(RunStarted(at=0.0, run="r"))
    assert [order.path for order in engine.take_messages()[1] if isinstance(order, Prepare)] == ["a"]
    assert engine.tracker.state("b") == "pending"


def test_what_waits_for_room_does_not_take_it_while_it_is_paused() -> None:
    engine = begun(plan(leaf("a", *TWO), leaf("b"), leaf("c"), max_parallel=1, isolation="none"))
    say(engine, ControlState.PAUSE, "b")
    assert [end(engine, 1), end(engine, 2)] == [["a:two"], ["c:work"]]
    assert [end(engine, 3), engine.state] == [[], "paused"]
    say(engine, ControlState.GO)
    assert end(engine, 4) == []
    assert engine.state == "completed"


def test_a_pause_outlives_the_coordinator() -> None:
    engine = begun(plan(leaf("a", *TWO), isolation="none"))
    say(engine, ControlState.PAUSE)
    engine.apply(Resumed(at=1.0, epoch=2))
    assert [launched(engine), end(engine, 1), engine.state] == [[], [], "paused"]


def test_a_paused_run_can_be_stopped_and_is_still_paused_when_it_goes_on() -> None:
    engine = begun(plan(leaf("a", *TWO), isolation="none"))
    say(engine, ControlState.PAUSE)
    end(engine, 1)
    engine.apply(StopAsked(at=3.0))
    assert engine.state == "stopped"
    engine.apply(Resumed(at=4.0, epoch=2))
    assert [launched(engine), engine.state] == [[], "paused"]
    assert steps(say(engine, ControlState.GO)) == ["a:two"]


def test_what_fails_elsewhere_ends_what_is_paused() -> None:
    engine = begun(plan(leaf("a"), leaf("b", *TWO), leaf("c", *TWO), max_parallel=2, isolation="none"))
    say(engine, ControlState.PAUSE, "b")
    say(engine, ControlState.PAUSE, "c")
    end(engine, 2)
    end(engine, 1, StepOutcome.FAILED)
    assert engine.state == "failed"
    assert {engine.tracker.state(path) for path in "abc"} == {"failed"}


def test_a_merge_that_a_person_asks_for_is_made_though_its_subplan_is_paused() -> None:
    engine = begun(plan(leaf("a"), isolation="worktree"))
    for firing, how in ((1, StepOutcome.DONE), (2, StepOutcome.DONE), (3, StepOutcome.HELD)):
        engine.apply(Ended(at=1.0, firing=firing, execution=1, how=how))
    say(engine, ControlState.PAUSE)
    engine.apply(MergeAsked(at=2.0, subplan="a"))
    assert [type(order) for order in engine.take_messages()[1]] == [Merge]


# Freeze


def test_what_is_frozen_stands_still_and_goes_on_when_it_is_let_go() -> None:
    engine = begun(plan(leaf("a", *TWO), leaf("b"), isolation="none"))
    assert say(engine, ControlState.FREEZE, "a") == [Freeze(firing=1, execution=1)]
    assert say(engine, ControlState.FREEZE, "a") == []
    assert engine.state == "running"
    end(engine, 2)
    assert engine.state == "paused"
    assert say(engine, ControlState.PAUSE, "a") == [Freeze(firing=1, execution=1, thaw=True)]
    assert [end(engine, 1), steps(say(engine, ControlState.GO))] == [[], ["a:two"]]


def test_whoever_takes_over_says_once_more_what_stands_still_and_what_goes_on() -> None:
    engine = begun(plan(leaf("a"), leaf("b"), leaf("c"), isolation="none"))
    say(engine, ControlState.FREEZE, "a")
    say(engine, ControlState.FREEZE, "b")
    say(engine, ControlState.GO, "b")
    engine.apply(Resumed(at=1.0, epoch=2))
    frozen = [order for order in engine.take_messages()[1] if isinstance(order, Freeze)]
    assert frozen == [Freeze(firing=1, execution=1), Freeze(firing=2, execution=1, thaw=True)]


# Stop


@pytest.mark.parametrize("now", [False, True], ids=["gracefully", "at once"])
def test_a_subplan_that_is_stopped_ends_and_is_done_again_when_it_goes_on(now: bool) -> None:
    engine = begun(plan(leaf("a", *TWO), leaf("b"), isolation="none"))
    assert say(engine, ControlState.STOP, "a", now=now) == [
        Halt(firing=1, execution=1, how="stopped", now=now)
    ]
    assert [end(engine, 1, StepOutcome.STOPPED), engine.state] == [[], "running"]
    assert steps(say(engine, ControlState.GO, "a")) == ["a:one"]
    assert end(engine, 1, execution=2) == ["a:two"]


def test_when_all_that_is_left_was_stopped_the_run_is_stopped_and_goes_on_when_it_is_started() -> None:
    engine = begun(plan(leaf("a", *TWO), leaf("b"), isolation="none"))
    say(engine, ControlState.STOP, "a")
    end(engine, 1, StepOutcome.STOPPED)
    assert [end(engine, 2), engine.state] == [[], "stopped"]
    engine.apply(Resumed(at=3.0, epoch=2))
    assert launched(engine) == ["a:one"]


def test_what_is_paused_besides_keeps_the_run_alive() -> None:
    engine = begun(plan(leaf("a", *TWO), leaf("b", *TWO), isolation="none"))
    say(engine, ControlState.STOP, "a")
    say(engine, ControlState.PAUSE, "b")
    assert [end(engine, 1, StepOutcome.STOPPED), end(engine, 2), engine.state] == [[], [], "paused"]


def test_a_stop_that_is_taken_back_before_it_was_heard_is_done_again_at_once() -> None:
    engine = begun(plan(leaf("a"), isolation="none"))
    say(engine, ControlState.STOP, "a")
    assert say(engine, ControlState.GO, "a") == []
    assert end(engine, 1, StepOutcome.STOPPED) == ["a:work"]


def test_a_frozen_step_is_stopped() -> None:
    engine = begun(plan(leaf("a"), isolation="none"))
    say(engine, ControlState.FREEZE)
    assert say(engine, ControlState.STOP, "a") == [Halt(firing=1, execution=1, how="stopped")]
    assert [end(engine, 1, StepOutcome.STOPPED), engine.state] == [[], "stopped"]


# What is told


def test_what_people_want_is_told() -> None:
    engine = begun(plan(leaf("a"), isolation="none"))
    values = []
    for wanted in (ControlState.PAUSE, ControlState.FREEZE, ControlState.STOP, ControlState.GO):
        engine.apply(Controlled(at=1.0, subplan="a", wanted=wanted))
        values += [(kind_of(event), event.subplan, outcome_of(event)) for event in engine.take_messages()[0]]
    assert values == [
        ("paused", "a", "pause"),
        ("paused", "a", "freeze"),
        ("paused", "a", "stop"),
        ("resumed", "a", "go"),
    ]


def test_a_workspace_that_is_being_made_is_no_reason_to_begin_the_steps() -> None:
    engine = Engine(plan(leaf("a"), isolation="worktree"))
    engine.apply(RunStarted(at=0.0, run="r"))
    assert [type(order) for order in engine.take_messages()[1]] == [Prepare]
    say(engine, ControlState.PAUSE)
    assert [end(engine, 1), steps(say(engine, ControlState.GO))] == [[], ["a:work"]]


# In virtual time


def test_what_stands_still_needs_as_long_as_before_when_it_goes_on() -> None:
    def says(facts: int) -> Controlled | None:
        wanted = {1: ControlState.FREEZE, 3: ControlState.GO}.get(facts)
        return None if wanted is None else Controlled(at=0.0, subplan="a", wanted=wanted)

    story = tell(
        plan(leaf("a"), leaf("b"), isolation="none"),
        {"a:work": SimulatedEnd(seconds=5.0), "b:work": SimulatedEnd(seconds=3.0)},
        interruptions=Interruptions(says=says),
    )
    assert story.state == "completed"
    assert story.span("a:work") == (0.0, 8.0)


def test_in_the_end_a_simulated_person_lets_all_go_on() -> None:
    def says(facts: int) -> Controlled | None:
        return Controlled(at=0.0, subplan="", wanted=ControlState.PAUSE) if facts == 1 else None

    story = tell(plan(leaf("a", *TWO), isolation="none"), interruptions=Interruptions(says=says))
    assert (story.state, [event.kind for event in story.of("resumed")]) == ("completed", ["resumed"])
