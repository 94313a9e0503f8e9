"""A slice that waits, for whatever it is, holds no place that others could use; and it is not forgotten."""

import pytest

from engine.run.stories import (
    DONE,
    SLOW,
    Data,
    Story,
    agent,
    ask,
    branch,
    ends,
    group,
    join,
    leaf,
    plan,
    run,
    says,
    tell,
)
from stored_events import StoredEvent
from weft.engine.messages.event_codec import kind_of, outcome_of
from weft.engine.messages.facts import Controlled, ControlState, StepOutcome
from weft.engine.simulate import Interruptions, SimulatedReply

LIMITED = ends(StepOutcome.LIMITED, wait=3600.0)


def begun_before(story: Story, time: float) -> list[str]:
    """The slices that began before that."""
    return [event.subplan for at, event in story.run.events if outcome_of(event) == "running" and at < time]


def most_at_once(story: Story) -> int:
    """How many of the plan's own steps were under way at the same time."""
    count = most = 0
    for event in story.events:
        if "@" not in event.step:
            count += (event.kind == "step_started") - (event.kind == "step_finished")
            most = max(most, count)
    return most


# A usage limit


def test_a_usage_limit_of_one_agent_holds_up_only_those_who_need_it() -> None:
    compiled = plan(
        *[leaf(name, agent("work")) for name in "abcd"],
        leaf("e"),
        leaf("f", agent("work", agent="judge")),
        max_parallel=2,
    )
    story = tell(compiled, {f"{name}:work": [LIMITED, DONE] for name in "abcd"})
    assert story.span("e:work")[1] < 10.0
    assert story.span("f:work")[1] < 10.0
    assert begun_before(story, 3600.0) == ["a", "b", "e", "f"]
    assert set(story.states.values()) == {"completed"}


def test_in_nested_limits_too() -> None:
    compiled = plan(
        group("g", *[leaf(name, agent("work")) for name in "ab"], leaf("c"), max_parallel=1),
        leaf("d"),
        max_parallel=2,
    )
    story = tell(compiled, {f"g/{name}:work": [LIMITED, DONE] for name in "ab"})
    assert story.span("g/c:work")[1] < 10.0
    assert story.span("d:work")[1] < 10.0
    assert not story.overlap("g/a:work", "g/b:work")


def test_what_can_be_done_before_the_limited_step_is_done_meanwhile() -> None:
    slices = [leaf(name, run("first"), agent("work")) for name in "abcd"]
    story = tell(plan(*slices, max_parallel=1), {"a:work": [LIMITED, DONE]})
    assert [story.span(f"{name}:first")[1] < 20.0 for name in "abcd"] == [True] * 4


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_slots_are_taken_again_before_a_slice_continues(slots: int) -> None:
    slices = [leaf(name, agent("work"), run("more")) for name in "abcdef"]
    story = tell(plan(*slices, max_parallel=slots), {f"{name}:work": [LIMITED, DONE] for name in "abcdef"})
    assert most_at_once(story) == slots
    assert set(story.states.values()) == {"completed"}


# A pool


def test_a_slice_that_waits_for_a_pool_lets_others_work() -> None:
    slices = [leaf(name, run("work", pool="db")) for name in "abc"]
    compiled = plan(*slices, leaf("d"), max_parallel=2, pools={"db": 1})
    story = tell(compiled, {f"{name}:work": SLOW for name in "abc"})
    assert story.span("d:work")[1] < 10.0
    assert begun_before(story, 40.0) == ["a", "b", "d"]  # c could not get on


def test_a_slice_with_a_branch_under_way_holds_its_place() -> None:
    two = leaf("a", branch("x"), branch("y", pool="db"), join("all", "x", "y"))
    compiled = plan(leaf("z", run("work", pool="db")), two, leaf("d"), max_parallel=2, pools={"db": 1})
    story = tell(compiled, {"z:work": SLOW, "a:x": says("", seconds=20.0)})
    assert story.span("d:work")[0] == pytest.approx(story.span("a:x")[1] + 1.0)


def test_a_pool_that_is_busy_does_not_make_every_slice_begin() -> None:
    agents = {"coder": {"use": "claude", "pool": 1}}
    slices = [leaf(f"s{number}", agent("work")) for number in range(8)]
    story = tell(plan(*slices, max_parallel=3, agents=agents), {"s0:work": SLOW})
    assert begun_before(story, 40.0) == ["s0", "s1", "s2"]


@pytest.mark.parametrize("slots", [4, 5, 8])
def test_a_wide_claim_is_not_kept_waiting_by_narrow_ones_of_higher_priority(slots: int) -> None:
    narrow = [leaf(name, *[run(f"s{number}", pool="p") for number in range(20)]) for name in "abcd"]
    wide = leaf("w", run("wide", pools={"p": 3}))
    story = tell(plan(*narrow, wide, max_parallel=slots, pools={"p": 3}))
    assert story.started.index("w:wide") < 25
    assert set(story.states.values()) == {"completed"}


# Money


def test_a_slice_that_waits_for_money_lets_others_work() -> None:
    costly = [leaf(name, agent("work", max_cost=0.6)) for name in "abc"]
    compiled = plan(*costly, leaf("d"), max_parallel=2, budget=1.0)
    paid = says("", seconds=50.0, cost=100_000)
    story = tell(compiled, {f"{name}:work": paid for name in "abc"})
    assert story.span("d:work")[1] < 10.0
    assert begun_before(story, 40.0) == ["a", "b", "d"]
    assert set(story.states.values()) == {"completed"}


# People


@pytest.mark.parametrize(
    "asking",
    [
        [ask()],
        [{"id": "in", "pipeline": "q"}],
        [{"id": "in", "pipeline": "q", "async": True}, join("all", "in")],
        [branch("x"), ask(), join("all", "x")],
        [run("x", on_result=[{"when": "true", "action": "ask"}])],
    ],
    ids=["step", "nested", "branch", "beside a branch", "result"],
)
def test_a_slice_that_waits_for_a_person_lets_others_work(asking: list[Data]) -> None:
    compiled = plan(
        group("g", leaf("a", *asking), leaf("b"), max_parallel=1),
        leaf("c"),
        max_parallel=1,
        pipelines={"q": [ask()]},
        isolation="none",
    )
    never = dict.fromkeys(["g/a:sure", "g/a:in.sure", "g/a:x"])
    story = tell(compiled, replies=never)
    assert story.state == "waiting"
    assert story.states == {"g/b": "completed", "c": "completed"}
    later = SimulatedReply(100.0)
    story = tell(compiled, replies=dict.fromkeys(never, later))
    assert set(story.states.values()) == {"completed"}
    assert most_at_once(story) == 1


def test_a_slice_that_was_stopped_by_a_person_lets_others_have_its_place_and_its_pools() -> None:
    compiled = plan(
        leaf("a", run("work", pool="db")), leaf("b", run("work", pool="db")), max_parallel=1, pools={"db": 1}
    )

    def says_(facts: int) -> Controlled | None:
        wanted = {2: ControlState.STOP, 6: ControlState.GO}.get(facts)
        return None if wanted is None else Controlled(at=0.0, subplan="a", wanted=wanted)

    story = tell(compiled, {"a:work": SLOW}, interruptions=Interruptions(says=says_))
    assert story.started == ["a:work", "b:work", "a:work"]
    assert set(story.states.values()) == {"completed"}
    assert most_at_once(story) == 1


# Merges


def workspaces_at_once(story: Story) -> int:
    """How many slices had a workspace and were not merged yet, at the same time."""
    count = most = 0
    for event in story.events:
        count += (event.kind, event.step) == ("step_started", "@workspace")
        count -= (event.kind, event.step) == ("step_finished", "@merge")
        most = max(most, count)
    return most


@pytest.mark.parametrize(("limit", "workspaces"), [(1, 1), (2, 3), (3, 4), (8, 12)])
def test_slices_that_wait_for_their_merge_are_at_most_half_a_limit_more(limit: int, workspaces: int) -> None:
    names = [f"s{number}" for number in range(40)]
    story = tell(
        plan(*map(leaf, names), max_parallel=limit),
        {f"{name}:@merge": says("", seconds=10.0) for name in names},
    )
    assert set(story.states.values()) == {"completed"}
    assert workspaces_at_once(story) == workspaces


def test_slices_start_while_those_before_them_are_merged() -> None:
    """Ten slices end together; the next five do not wait for the merges of the first ten."""
    names = [f"s{number}" for number in range(15)]
    story = tell(
        plan(*[leaf(name, run("work")) for name in names], max_parallel=10),
        {
            **{f"{name}:work": says("", seconds=100.0) for name in names},
            **{f"{name}:@merge": says("", seconds=10.0) for name in names},
        },
    )
    assert len(begun_before(story, story.span("s0:@merge")[1])) == len(names)


def test_in_the_limit_of_a_group_too() -> None:
    names = [f"s{number}" for number in range(6)]
    story = tell(
        plan(group("g", *map(leaf, names), max_parallel=2), *[leaf(f"t{n}", run("work")) for n in range(6)]),
        {f"g/{name}:@merge": says("", seconds=10.0) for name in names},
    )
    inside = Story(story.run)
    inside.events = [event for event in story.events if event.subplan.startswith("g/")]
    assert set(story.states.values()) == {"completed"}
    assert workspaces_at_once(inside) == 3


@pytest.mark.parametrize("part", ["@merge", "@land"])
@pytest.mark.parametrize("how", [StepOutcome.INFRA, StepOutcome.LOST])
def test_what_the_machine_cannot_bring_together_is_held_and_tried_again(part: str, how: StepOutcome) -> None:
    """The work is complete and paid for: a full disk must not make it fail for good."""
    unable = ends(how, message="no space left")
    story = tell(
        plan(leaf("a"), infra_retries=1, merge={"mode": "auto", "when": "slice"}),
        {f"a:{part}": [unable, unable, DONE]},
        replies={f"a:{part}": SimulatedReply(after=1000.0)},
    )
    tries = [(event.kind, event.outcome) for event in story.events if event.step == part]
    assert [outcome for kind, outcome in tries if kind == "step_finished"] == [how, "held", "done"]
    assert story.states["a"] == "completed"
    assert story.run.seconds > 1000.0


def test_a_merge_that_waits_for_a_person_takes_no_place() -> None:
    names = [f"s{number}" for number in range(9)]
    held = [ends(StepOutcome.HELD, message="both changed it", conflict=True), DONE]
    story = tell(
        plan(*map(leaf, names), max_parallel=2),
        {f"{name}:@merge": held for name in names[:4]},
        replies={f"{name}:@merge": SimulatedReply(after=1000.0) for name in names[:4]},
    )
    assert set(story.states.values()) == {"completed"}
    assert len(begun_before(story, 100.0)) == len(names)


def test_a_merge_that_a_person_has_frozen_holds_up_no_new_slice() -> None:
    """Nor do those that wait behind it for the branch."""
    names = [f"s{number}" for number in range(9)]

    def frozen(facts: int) -> Controlled | None:
        freezes = Controlled(at=0.0, subplan="s0", wanted=ControlState.FREEZE)
        return freezes if facts == frozen_after else None

    slow = {"s0:@merge": says("", seconds=30.0)}
    compiled = plan(*map(leaf, names), max_parallel=2)
    undisturbed = tell(compiled, slow)
    frozen_after = 1 + [(e.kind, e.subplan, e.step) for e in facts_of(undisturbed)].index(
        ("step_finished", "s0", "work")
    )
    story = tell(compiled, slow, interruptions=Interruptions(says=frozen))
    assert set(story.states.values()) == {"completed"}
    thawed = next(at for at, event in story.run.events if kind_of(event) == "resumed")
    assert len(begun_before(story, thawed)) == len(names)


def facts_of(story: Story) -> list[StoredEvent]:
    return [event for event in story.events if event.fact is not None]
