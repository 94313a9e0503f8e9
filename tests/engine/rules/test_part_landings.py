"""Landings of completed parts, on request, beside the one landing of the whole."""

import json

import pytest

from engine.run.stories import group, leaf, run
from stored_events import StoredEvent, all_stored
from weft.engine.engine import Engine
from weft.engine.messages.facts import (
    AnyFact,
    Ended,
    MergeAsked,
    RefMove,
    Resumed,
    RunStarted,
    StepOutcome,
    StopAsked,
)
from weft.engine.messages.orders import AnyOrder, Freeze, Halt, Land, Launch, WakeAt
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import load_plan

NOW = MergeAsked(at=2.0, subplan="g", now=True)
MOVE = RefMove(ref="refs/heads/main", before="1", after="2")


class Driver:
    """Does at once what is ordered, except the steps of these slices and the landings; some steps fail."""

    def __init__(self, *subplans: object, waits: str = "", fails: str = "", **merge: object) -> None:
        settings = {"mode": "auto", "when": "milestone", **merge}
        head = {"weft": 1, "plan": "p", "isolation": "worktree", "failure_mode": "continue_on_error"}
        self.engine = Engine(
            compile_plan(load_plan(json.dumps(head | {"merge": settings, "subplans": subplans})))
        )
        self.waits, self.fails = waits.split(), fails.split()
        self.events: list[StoredEvent] = []
        self.orders: list[AnyOrder] = []
        self.open: dict[str, Launch] = {}
        self.tell(RunStarted(at=0.0, run="r"))

    def tell(self, *facts: AnyFact) -> None:
        waiting = list(facts)
        while waiting:
            self.engine.apply(waiting.pop(0))
            events, orders = self.engine.take_messages()
            self.events += all_stored(events)
            self.orders += orders
            waiting += [fact for order in orders if (fact := self.end(order)) is not None]

    def end(self, order: AnyOrder) -> Ended | None:
        if isinstance(order, Launch) and order.path in self.waits:
            self.open[order.path] = order
            return None
        if isinstance(order, Land | Halt | Freeze | WakeAt):
            return None
        how = (
            StepOutcome.FAILED if isinstance(order, Launch) and order.path in self.fails else StepOutcome.DONE
        )
        return Ended(at=1.0, firing=order.firing, execution=order.execution, how=how)

    def finish(self, path: str) -> None:
        order = self.open.pop(path)
        self.tell(Ended(at=3.0, firing=order.firing, execution=order.execution, how=StepOutcome.DONE))

    def lands(self) -> list[Land]:
        return [order for order in self.orders if isinstance(order, Land)]

    def parts(self) -> list[str]:
        return [order.path for order in self.lands() if order.within]

    def land(self, *parts: str, how: StepOutcome = StepOutcome.DONE, number: int = -1) -> None:
        order = [each for each in self.lands() if each.within][number]
        moves = (MOVE,) if how is StepOutcome.DONE else ()
        self.tell(
            Ended(at=4.0, firing=order.firing, execution=1, how=how, moves=moves, parts=parts, message="why")
        )

    def told(self, kind: str) -> list[tuple[str, str]]:
        return [(event.subplan, event.outcome) for event in self.events if event.kind == kind]


NESTED = group("g", leaf("a"), leaf("b"), group("h", leaf("x"), leaf("y")), group("k", leaf("z")))


def test_the_branches_that_hold_completed_work_land_each_by_itself() -> None:
    driver = Driver(NESTED, leaf("other"), waits="g/b g/h/y")
    driver.tell(NOW)
    assert driver.parts() == ["g", "g/h"]
    first = driver.lands()[-2]
    assert (first.within, first.agreed) == ("g", True)
    assert driver.events[-3].data == {"subplan": "g", "joins": [], "parts": ["g", "g/h"]}


@pytest.mark.parametrize(
    ("name", "parts"), [("g/a", ["g/a"]), ("g/h", ["g/h"]), ("g/k", ["g/k"]), ("g/b", []), ("other", [])]
)
def test_a_part_may_be_named_and_what_is_not_completed_does_not_land(name: str, parts: list[str]) -> None:
    driver = Driver(NESTED, leaf("other"), waits="g/b g/h/y other")
    driver.tell(MergeAsked(at=2.0, subplan=name, now=True))
    assert driver.parts() == parts


@pytest.mark.parametrize("mode", ["auto", "confirm", "manual"])
def test_the_request_is_the_agreement_to_the_parts_alone(mode: str) -> None:
    driver = Driver(group("g", leaf("a"), leaf("b")), waits="g/b", mode=mode)
    driver.tell(NOW)
    driver.land("g/a")
    assert driver.parts() == ["g"]
    driver.finish("g/b")
    assert [order.within for order in driver.lands()] == ["g", ""]


def test_what_has_landed_in_part_is_on_the_target_and_lands_as_a_whole_later() -> None:
    driver = Driver(group("g", leaf("a"), leaf("b")), waits="g/b")
    driver.tell(NOW)
    assert driver.engine.on_target == set()
    driver.land("g/a")
    assert driver.engine.on_target == {2}
    assert driver.told("parts") == [("g", "started"), ("g", "landed")]
    driver.finish("g/b")
    whole = driver.lands()[-1]
    assert (whole.path, whole.within) == ("g", "")


def test_a_completed_group_lands_as_a_whole_only() -> None:
    driver = Driver(group("g", leaf("a")))
    driver.tell(NOW)
    assert [order.within for order in driver.lands()] == [""]


def test_parts_of_a_run_that_has_failed_land_and_it_has_failed_still() -> None:
    driver = Driver(group("g", leaf("a"), leaf("b")), fails="g/b")
    assert driver.engine.state == "failed"
    driver.tell(Resumed(at=2.0, epoch=2, merges_only=True), NOW)
    assert (driver.parts(), driver.engine.state) == (["g"], "running")
    driver.land("g/a")
    assert driver.engine.state == "failed"
    assert driver.told("run_finished") == [("", "failed"), ("", "failed")]


@pytest.mark.parametrize("how", [StepOutcome.HELD, StepOutcome.FAILED, StepOutcome.STOPPED])
def test_parts_that_cannot_land_are_not_held_and_may_be_asked_for_again(how: StepOutcome) -> None:
    driver = Driver(group("g", leaf("a"), leaf("b")), waits="g/b")
    driver.tell(NOW)
    driver.land(how=how)
    assert (driver.told("parts")[-1], driver.engine.held()) == (("g", how), [])
    assert driver.engine.on_target == set()
    driver.tell(NOW)
    assert driver.parts() == ["g", "g"]


def test_two_requests_at_once_land_the_parts_once() -> None:
    driver = Driver(group("g", leaf("a"), leaf("b")), waits="g/b")
    driver.tell(NOW, NOW)
    assert driver.parts() == ["g"]
    asked = [event.data["parts"] for event in driver.events if event.kind == "merge_asked"]
    assert asked == [["g"], ["g"]], "both wait for it"


def test_what_was_under_way_when_the_coordinator_died_is_in_flight() -> None:
    driver = Driver(group("g", leaf("a"), leaf("b")), waits="g/b")
    driver.tell(NOW)
    facts = [event.fact for event in driver.events if event.fact is not None]
    successor = Engine(driver.engine._state.compiled, quiet=True)
    for fact in facts:
        successor.apply(fact)
    assert [order.path for order in successor.in_flight if isinstance(order, Land)] == ["g"]
    assert successor.state == "running"


def test_a_stop_ends_the_landing_of_parts_before_the_run_is_stopped() -> None:
    driver = Driver(group("g", leaf("a"), leaf("b")), fails="g/b")
    driver.tell(Resumed(at=2.0, epoch=2, merges_only=True), NOW, StopAsked(at=3.0))
    halts = [order for order in driver.orders if isinstance(order, Halt)]
    assert [halt.firing for halt in halts] == [driver.lands()[-1].firing]
    driver.land(how=StepOutcome.STOPPED)
    assert driver.engine.state == "failed"


def test_a_result_that_waits_for_its_turn_joins_the_queue_now() -> None:
    slow = leaf("a", run("one"))
    driver = Driver(group("g", slow, leaf("b")), leaf("c"), waits="g/a", when="slice")
    assert driver.lands() == []
    driver.tell(NOW)
    assert [order.path for order in driver.lands()] == ["g/b"]
    assert driver.events[0].kind == "run_started"
    (asked,) = [event for event in driver.events if event.kind == "merge_asked"]
    assert (asked.data["joins"], asked.data["parts"]) == (["g/b"], [])
