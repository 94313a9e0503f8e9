"""What a person has to help with, what is tried again when, and in which order results land."""

import json
from collections.abc import Callable

import pytest

from engine.run.stories import DONE, Story, agent, ends, fails, group, leaf, plan, run, tell
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import kind_of, outcome_of
from weft.engine.messages.facts import Ended, Foreseen, MergeAsked, RefMove, Resumed, RunStarted, StepOutcome
from weft.engine.messages.orders import AnyOrder, Freeze, Halt, Land, Merge, Ordered, WakeAt
from weft.engine.simulate import SimulatedReply
from weft.engine.state.landing_order import LandingOrder
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import load_plan

Holds = list[Callable[[Ordered], Ended]]
HELD = ends(StepOutcome.HELD, message="main has it, too")


def landed(story: Story) -> list[str]:
    return [event.subplan for event in story.of("step_finished") if event.step == "@land"]


class Driver:
    """An engine in which all that is ordered is done at once, but what `how` says of it."""

    def __init__(
        self, compiled: CompiledPlan, how: Callable[[Ordered], Ended | None] = lambda _: None
    ) -> None:
        self.engine = Engine(compiled)
        self.how = how
        self.orders: list[AnyOrder] = []
        self.kinds: list[tuple[str, str, str]] = []
        self.tell(RunStarted(at=0.0, run="r"))

    def tell(self, *facts: RunStarted | MergeAsked | Resumed | Foreseen | Ended) -> None:
        waiting = list(facts)
        while waiting:
            self.engine.apply(waiting.pop(0))
            events, orders = self.engine.take_messages()
            self.kinds += [(kind_of(event), event.subplan, outcome_of(event)) for event in events]
            self.orders += orders
            waiting += [
                self.ended(order) for order in orders if not isinstance(order, Freeze | Halt | WakeAt)
            ]

    def ended(self, order: Ordered) -> Ended:
        text = self.how(order)
        return text or Ended(at=1.0, firing=order.firing, execution=order.execution, how=StepOutcome.DONE)

    def lands(self) -> list[Land]:
        return [order for order in self.orders if isinstance(order, Land)]


def held(order: Ordered, **more: object) -> Ended:
    return Ended(at=1.0, firing=order.firing, execution=order.execution, how=StepOutcome.HELD, **more)  # type: ignore[arg-type]


def _once(first: Holds, order: Ordered) -> Ended | None:
    """A merge is held the first time."""
    return first.pop()(order) if first and isinstance(order, Merge) else None


def worktrees(*subplans: dict[str, object], **head: object) -> CompiledPlan:
    data = {"weft": 1, "plan": "p", "isolation": "worktree", **head, "subplans": subplans}
    return compile_plan(load_plan(json.dumps(data)))


# Held


def test_a_merge_that_is_held_is_tried_again_when_somebody_asks() -> None:
    story = tell(plan(leaf("a")), {"a:@merge": [HELD, DONE]}, replies={"a:@merge": SimulatedReply(after=9.0)})
    assert story.state == "completed"
    assert [event.data["execution"] for event in story.of("step_started", "a", "@merge")] == [1, 2]
    assert story.span("a:@merge")[1] >= 10.0


def test_while_something_is_held_the_run_waits_and_has_not_ended() -> None:
    story = tell(plan(leaf("a")), {"a:@merge": HELD})
    assert story.state == "waiting"
    assert story.states == {}


def test_what_does_not_depend_on_what_is_held_goes_on_and_what_does_waits() -> None:
    story = tell(plan(leaf("a"), leaf("b"), leaf("c", depends_on=["a"])), {"a:@merge": HELD})
    assert story.states == {"b": "completed"}
    assert story.started == ["a:work", "b:work"]


def test_others_are_merged_into_the_branch_that_something_is_held_before() -> None:
    slow = leaf("b", run("one"), run("two"), run("three"))
    story = tell(plan(group("g", leaf("a"), slow)), {"g/a:@merge": HELD})
    assert story.states == {"g/b": "completed"}


def test_a_workspace_that_is_held_gives_its_slot_to_others() -> None:
    story = tell(plan(leaf("a"), leaf("b"), max_parallel=1), {"a:@prepare": HELD})
    assert story.states == {"b": "completed"}


def test_a_step_cannot_be_held_so_it_has_failed() -> None:
    story = tell(plan(leaf("a")), {"a:work": HELD})
    assert story.states == {"a": "error"}


def test_what_is_held_when_its_subplan_is_cancelled_stays_held_as_it_has_passed() -> None:
    slow = leaf("b", run("one"), run("two"))
    story = tell(plan(leaf("a"), slow), {"a:@merge": HELD, "b:two": fails()})
    assert story.state == "waiting"
    assert story.states == {"b": "error"}


def test_what_was_cancelled_is_not_held_any_more() -> None:
    story = tell(
        plan(leaf("a"), leaf("b")),
        {"a:@prepare": ends(StepOutcome.HELD, seconds=5.0), "b:work": fails()},
    )
    assert story.state == "failed"
    assert story.states == {"a": "cancelled", "b": "error"}


def test_a_held_merge_is_told_with_its_files_and_a_conflict_as_such() -> None:
    def how(order: Ordered) -> Ended | None:
        conflict = held(order, conflict=True, files=("one",), message="both changed it")
        return conflict if isinstance(order, Merge) else None

    driver = Driver(plan(leaf("a")), how)
    assert ("merge", "a", "conflict") in driver.kinds
    assert ("merge", "a", "held") not in driver.kinds


def test_what_moved_in_git_is_told_with_the_merge() -> None:
    move = RefMove(ref="refs/heads/main", before="1", after="2")

    def how(order: Ordered) -> Ended | None:
        done = Ended(
            at=1.0, firing=order.firing, execution=order.execution, how=StepOutcome.DONE, moves=(move,)
        )
        return done if isinstance(order, Land) else None

    driver = Driver(plan(leaf("a")), how)
    assert ("merge", "a", "merged") in driver.kinds
    assert [kind for kind in driver.kinds if kind[0] == "merge"] == [("merge", "a", "merged")]


def test_a_new_coordinator_tries_again_what_is_held() -> None:
    first: Holds = [held]
    driver = Driver(plan(leaf("a")), lambda order: _once(first, order))
    assert driver.engine.state == "waiting"
    driver.tell(Resumed(at=2.0, epoch=2))
    assert driver.engine.state == "completed"


def test_asking_for_a_group_is_asking_for_all_in_it_and_for_nothing_else() -> None:
    tried: list[str] = []

    def how(order: Ordered) -> Ended | None:
        if not isinstance(order, Merge) or "/" not in order.path:
            return None
        tried.append(order.path)
        return held(order)

    driver = Driver(plan(group("g", leaf("a")), group("gg", leaf("b"))), how)
    tried.clear()
    driver.tell(MergeAsked(at=2.0, subplan="g"))
    assert tried == ["g/a"]
    driver.tell(MergeAsked(at=3.0, subplan=""))
    assert sorted(tried[1:]) == ["g/a", "gg/b"]


# Only merges


def test_a_coordinator_that_only_merges_starts_nothing_else() -> None:
    first: Holds = [held]

    def how(order: Ordered) -> Ended | None:
        return _once(first, order) if order.path == "a" else None

    driver = Driver(plan(leaf("a"), leaf("b", depends_on=["a"])), how)
    driver.orders.clear()
    driver.tell(Resumed(at=2.0, epoch=2, merges_only=True))
    assert driver.orders == []
    driver.tell(MergeAsked(at=3.0, subplan="a"))
    assert [type(order).__name__ for order in driver.orders] == ["Merge", "Land"]
    assert driver.engine.state == "stopped"
    driver.tell(Resumed(at=4.0, epoch=3))
    assert driver.engine.state == "completed"


def test_a_coordinator_that_only_merges_and_is_held_again_leaves_the_run_waiting() -> None:
    driver = Driver(plan(leaf("a")), lambda order: held(order) if isinstance(order, Merge) else None)
    driver.tell(Resumed(at=2.0, epoch=2, merges_only=True), MergeAsked(at=3.0, subplan="a"))
    assert driver.engine.state == "waiting"


def test_a_step_that_waits_for_room_does_not_take_it_where_only_merges_may_begin() -> None:
    def how(order: Ordered) -> Ended | None:
        if isinstance(order, Merge):
            return held(order)
        return (
            Ended(at=1.0, firing=order.firing, execution=1, how=StepOutcome.STOPPED)
            if order.path == "b"
            else None
        )

    table = {"agents": {"coder": {"use": "claude", "pool": 1}}}
    driver = Driver(plan(leaf("a"), leaf("b", agent("one"), agent("two")), **table), how)
    driver.orders.clear()
    driver.tell(Resumed(at=2.0, epoch=2, merges_only=True), MergeAsked(at=3.0, subplan=""))
    assert {type(order).__name__ for order in driver.orders} <= {"Merge", "Land"}


# Landing


@pytest.mark.parametrize(("mode", "agreed"), [("auto", True), ("confirm", False), ("manual", False)])
def test_what_lands_is_agreed_to_by_the_plan_or_by_a_person(mode: str, agreed: bool) -> None:
    def how(order: Ordered) -> Ended | None:
        return held(order) if isinstance(order, Land) and not order.agreed else None

    driver = Driver(worktrees(leaf("a"), merge={"mode": mode}), how)
    assert [order.agreed for order in driver.lands()] == [agreed]
    driver.tell(MergeAsked(at=2.0, subplan="a"))
    assert driver.lands()[-1].agreed
    assert driver.engine.state == "completed"


def test_without_a_branch_nobody_needs_to_agree() -> None:
    assert [order.agreed for order in Driver(plan(leaf("a"))).lands()] == [True]


def test_a_result_is_to_land_until_it_has() -> None:
    def how(order: Ordered) -> Ended | None:
        return held(order) if isinstance(order, Land) and not order.agreed else None

    driver = Driver(worktrees(leaf("a"), leaf("b"), merge={"mode": "manual"}), how)
    assert [row for row in range(3) if driver.engine.landing_record.is_to_land(row)] == [1, 2]
    driver.tell(MergeAsked(at=2.0, subplan="a"))
    assert [row for row in range(3) if driver.engine.landing_record.is_to_land(row)] == [2]


def test_what_waits_for_another_to_land_is_tried_again_when_that_has() -> None:
    def how(order: Ordered) -> Ended | None:
        waits = isinstance(order, Land) and order.path == "b" and not tries
        tries.extend([order.path] if waits else [])
        return held(order, waits_for=("a",)) if waits else None

    tries: list[str] = []
    slow = leaf("a", run("one"), run("two"))
    driver = Driver(worktrees(slow, leaf("b"), merge={"mode": "auto", "order": "completion"}), how)
    assert [order.path for order in driver.lands()] == ["b", "a", "b"]
    assert driver.engine.state == "completed"


def test_results_that_wait_for_each_other_are_tried_together_once() -> None:
    others, tried = {"a": "b", "b": "a"}, list[str]()

    def how(order: Ordered) -> Ended | None:
        if not isinstance(order, Land):
            return None
        tried.append(order.path)
        waits = len(tried) <= len(others)
        return held(order, waits_for=(others[order.path],)) if waits else None

    driver = Driver(worktrees(leaf("a"), leaf("b"), merge={"mode": "auto"}), how)
    assert sorted(order.path for order in driver.lands()) == ["a", "a", "b", "b"]
    assert driver.engine.state == "completed"


def test_a_result_does_not_make_another_land_for_which_nobody_has_agreed() -> None:
    def how(order: Ordered) -> Ended | None:
        other = {"a": "b", "b": "a"}[order.path]
        return held(order, waits_for=(other,)) if isinstance(order, Land) else None

    driver = Driver(worktrees(leaf("a"), leaf("b"), merge={"mode": "manual"}), how)
    before = len(driver.lands())
    driver.tell(MergeAsked(at=9.0, subplan="a"))
    assert [order.path for order in driver.lands()[before:]] == ["a"]
    assert driver.engine.state == "waiting"


def test_what_an_earlier_run_completed_may_still_have_to_land() -> None:
    driver = Engine(worktrees(leaf("a"), merge={"mode": "auto"}))
    driver.apply(RunStarted(at=0.0, run="r", carried=("a",)))
    assert [type(order).__name__ for order in driver.take_messages()[1]] == ["Land"]


def test_what_an_earlier_run_has_landed_does_not_land_again() -> None:
    engine = Engine(worktrees(leaf("a"), leaf("b"), merge={"mode": "auto"}))
    engine.apply(RunStarted(at=0.0, run="r", carried=("a", "b"), landed=("a",)))
    orders = engine.take_messages()[1]
    assert [(type(order).__name__, order.path) for order in orders] == [("Land", "b")]  # type: ignore[union-attr]
    assert [row for row in range(3) if engine.landing_record.is_to_land(row)] == [2]


LATE_FIRST = (leaf("a", run("one"), run("two"), run("three")), leaf("b"))


def test_results_land_in_the_order_of_the_plan() -> None:
    story = tell(plan(*LATE_FIRST))
    assert landed(story) == ["a", "b"]


def test_results_land_as_they_come_where_the_plan_says_so() -> None:
    story = tell(plan(*LATE_FIRST, merge={"order": "completion"}))
    assert landed(story) == ["b", "a"]


def test_a_result_does_not_wait_for_one_that_failed_or_is_held() -> None:
    failed = tell(plan(*LATE_FIRST, failure_mode="continue_on_error"), {"a:two": fails()})
    assert landed(failed) == ["b"]
    story = tell(plan(*LATE_FIRST), {"a:@land": HELD})
    assert landed(story) == ["a", "b"]


def test_a_result_does_not_wait_for_ever_for_one_that_waits_for_a_person() -> None:
    story = tell(plan(*LATE_FIRST), {"a:@merge": HELD})
    assert landed(story) == ["b"]
    assert story.state == "waiting"


def test_results_join_the_queue_in_order_once_those_before_them_have() -> None:
    landings = LandingOrder([True, True, False, True])
    assert not landings.ready(3)
    assert landings.ready(2), "it does not care for the order"
    assert not landings.ready(1)
    assert list(landings.passed(2)) == []
    assert landings.ready(0)
    assert list(landings.passed(0)) == [1]
    assert list(landings.passed(1)) == [3]
    assert landings.take() == []


def test_results_that_wait_for_their_turn_may_join_before() -> None:
    landings = LandingOrder([True] * 6)
    assert [landings.ready(number) for number in (5, 2, 4, 3)] == [False] * 4
    assert landings.take({4, 0, 5}) == [4, 5]
    assert landings.take() == [2]
    assert landings.take() == [3]
    assert landings.take() == []


# Merges among each other


@pytest.mark.parametrize(("order", "merged"), [("sequential", ["a", "b"]), ("completion", ["b", "a"])])
def test_of_those_that_wait_for_a_branch_the_plan_or_their_end_says_who_is_first(
    order: str, merged: list[str]
) -> None:
    first = leaf("c")
    both = (leaf("a", run("one"), run("two"), run("three")), leaf("b", run("one"), run("two")))
    long = ends(StepOutcome.DONE, seconds=50.0)
    story = tell(plan(group("g", *both, first), merge={"order": order}), {"g/c:@merge": long})
    ended = [event.subplan for event in story.of("step_finished") if event.step == "@merge"]
    assert [path.removeprefix("g/") for path in ended if path in {"g/a", "g/b"}] == merged


def test_a_conflict_ahead_is_told_and_that_it_is_over() -> None:
    driver = Driver(
        plan(leaf("a"), leaf("b")), lambda order: held(order) if isinstance(order, Merge) else None
    )
    driver.tell(
        Foreseen(at=1.0, subplan="a", other="b", files=("one",)),
        Foreseen(at=2.0, subplan="a", other="b", files=()),
    )
    messages = [kind for kind in driver.kinds if kind[0] == "conflict_ahead"]
    assert messages == [("conflict_ahead", "a", "ahead"), ("conflict_ahead", "a", "over")]
