"""What is held while its subplan is paused: requests for it are taken up, and it is never hidden."""

import pytest

from engine.run.stories import group, leaf, plan, run
from weft.engine.engine import Engine
from weft.engine.messages.facts import (
    AnyFact,
    Controlled,
    ControlState,
    Ended,
    MergeAsked,
    Resumed,
    RunStarted,
    StepOutcome,
)
from weft.engine.messages.orders import AnyOrder, Freeze, Halt, Land, Merge, Ordered, Prepare, WakeAt
from weft.plan.compile.plan_net import CompiledPlan

RESTRAINTS = [ControlState.PAUSE, ControlState.FREEZE, ControlState.STOP]
OTHER = leaf("z", run("slow"))
"""Is never reported as ended, so the run stays under way."""


def start(kind: type[Ordered], compiled: CompiledPlan | None = None, path: str = "a") -> Engine:
    """All that is ordered is done, except the slow step; the first order of this kind is held."""
    engine = Engine(compiled or plan(leaf("a"), OTHER))
    engine.apply(RunStarted(at=0.0, run="r"))
    orders = engine.take_messages()[1]
    is_held = False
    while orders:
        order = orders.pop(0)
        if isinstance(order, Freeze | Halt | WakeAt) or (
            order.path == "z" and not isinstance(order, Prepare)
        ):
            continue
        how = (
            StepOutcome.HELD
            if type(order) is kind and order.path == path and not is_held
            else StepOutcome.DONE
        )
        is_held = is_held or how is StepOutcome.HELD
        engine.apply(Ended(at=1.0, firing=order.firing, execution=order.execution, how=how))
        orders += engine.take_messages()[1]
    assert is_held
    return engine


def say(engine: Engine, *facts: AnyFact) -> list[AnyOrder]:
    for fact in facts:
        engine.apply(fact)
    return engine.take_messages()[1]


def control(wanted: ControlState, subplan: str = "a") -> Controlled:
    return Controlled(at=2.0, subplan=subplan, wanted=wanted)


def kinds(orders: list[AnyOrder], path: str = "a") -> list[str]:
    return [type(order).__name__ for order in orders if getattr(order, "path", "") == path]


ASKED = MergeAsked(at=3.0, subplan="a")
GO = control(ControlState.GO)
DIED = Resumed(at=3.0, epoch=2)


@pytest.mark.parametrize("wanted", RESTRAINTS)
def test_a_workspace_of_a_paused_slice_is_not_made_on_request_but_when_the_slice_continues(
    wanted: ControlState,
) -> None:
    engine = start(Prepare)
    assert kinds(say(engine, control(wanted), ASKED)) == []
    assert [firing.subplan.path for firing in engine.held()] == ["a"]
    assert kinds(say(engine, GO)) == ["Prepare"]
    assert engine.held() == []


def test_a_workspace_that_no_person_asked_for_stays_held_when_its_slice_continues() -> None:
    engine = start(Prepare)
    assert kinds(say(engine, control(ControlState.PAUSE), GO)) == []
    assert [firing.subplan.path for firing in engine.held()] == ["a"]


@pytest.mark.parametrize("kind", [Merge, Land])
@pytest.mark.parametrize("wanted", RESTRAINTS)
def test_a_merge_of_a_paused_slice_is_tried_on_request(wanted: ControlState, kind: type[Ordered]) -> None:
    engine = start(kind)
    assert kinds(say(engine, control(wanted), ASKED)) == [kind.__name__]


@pytest.mark.parametrize("kind", [Merge, Land])
def test_after_a_death_a_merge_of_a_paused_slice_waits_for_the_request_and_is_tried_then(
    kind: type[Ordered],
) -> None:
    engine = start(kind)
    assert kinds(say(engine, control(ControlState.PAUSE), DIED)) == []
    assert [firing.subplan.path for firing in engine.held()] == ["a"]
    assert kinds(say(engine, ASKED)) == [kind.__name__]


@pytest.mark.parametrize("kind", [Prepare, Merge, Land])
def test_after_a_death_what_is_held_in_a_paused_slice_is_tried_when_the_slice_continues(
    kind: type[Ordered],
) -> None:
    engine = start(kind)
    say(engine, control(ControlState.PAUSE), DIED)
    assert kinds(say(engine, GO)) == [kind.__name__]


@pytest.mark.parametrize("kind", [Prepare, Merge])
def test_a_stop_of_a_slice_ends_with_the_coordinator_and_what_is_held_in_it_is_tried(
    kind: type[Ordered],
) -> None:
    engine = start(kind)
    assert kinds(say(engine, control(ControlState.STOP), DIED)) == [kind.__name__]


def test_a_workspace_that_waits_for_room_is_held_again_when_its_slice_is_paused() -> None:
    engine = start(Prepare, plan(leaf("a"), OTHER, max_parallel=1))
    assert kinds(say(engine, ASKED)) == [], "the other slice has the only slot"
    assert engine.held() == []
    say(engine, control(ControlState.PAUSE))
    assert [firing.subplan.path for firing in engine.held()] == ["a"]
    assert kinds(say(engine, ASKED, GO)) == []
    assert engine.held() == []


def test_a_coordinator_that_only_merges_leaves_workspaces_held() -> None:
    engine = start(Prepare)
    assert kinds(say(engine, Resumed(at=3.0, epoch=2, merges_only=True), ASKED)) == []
    assert [firing.subplan.path for firing in engine.held()] == ["a"]
    assert kinds(say(engine, Resumed(at=4.0, epoch=3))) == ["Prepare"]


def test_a_landing_is_not_frozen_for_its_verify_is_shared() -> None:
    engine = start(Land)
    say(engine, ASKED)
    orders = say(engine, control(ControlState.FREEZE, ""))
    under_way = {order.firing: type(order) for order in engine.in_flight}
    assert [under_way[order.firing].__name__ for order in orders if isinstance(order, Freeze)] == ["Launch"]
    assert engine.state == "running"


@pytest.mark.parametrize(
    "facts", [(), (DIED,), (ASKED, DIED), (DIED, ASKED), (control(ControlState.PAUSE, "g"),)]
)
def test_whatever_is_said_a_paused_group_begins_no_workspace_and_hides_none(
    facts: tuple[AnyFact, ...],
) -> None:
    engine = start(Prepare, plan(group("g", leaf("a")), OTHER), "g/a")
    orders = say(engine, control(ControlState.PAUSE, "g"), *facts)
    assert kinds(orders, "g/a") == []
    assert [firing.subplan.path for firing in engine.held()] == ["g/a"]
