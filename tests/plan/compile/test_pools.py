"""What is taken comes back, nobody holds one thing while waiting for another, and limits hold."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings

from plan.compile.compiled_plans import compiled, group, leaf, plan, rendered, run, shape_of, state_graph
from plan.plan_strategies import LARGE, SMALL, TINY, plan_texts
from weft.ids import PlaceId
from weft.net.explore import explore
from weft.net.invariants import check_invariant
from weft.net.model import Arcs, Marking, Net, PlaceKind
from weft.net.plain import unfold
from weft.net.verdict import Answer
from weft.plan.compile.parts import SLOT, Role, Shape
from weft.plan.compile.plan_net import CompiledPlan

ASK = {"action": "ask", "question": "Well?"}


def pools(net: Net) -> list[int]:
    return [place for place, kind in enumerate(net.place_kinds) if kind is PlaceKind.POOL]


def running_weights(net: Net, weights: dict[PlaceId, int]) -> dict[PlaceId, int]:
    """The weights of places, and of what is under way: that of what it took."""
    result = dict(weights)
    for number, action in enumerate(net.actions):
        if action is not None:
            inputs = ((net.place_ids[place], weight) for place, weight in net.inputs[number])
            total = sum(weights.get(place, 0) * weight for place, weight in inputs)
            result |= {PlaceId(f"{net.transition_ids[number]}.running"): total}
    return result


def assert_invariant(net: Net, weights: dict[PlaceId, int]) -> None:
    verdict = check_invariant(unfold(net), running_weights(net, weights))
    assert verdict.answer is Answer.PROVED, verdict.why


def slots_of(compiled_plan: CompiledPlan) -> Iterator[tuple[int, dict[PlaceId, int]]]:
    """For each limit, its size and the places whose tokens hold one of its slots."""
    paths = compiled_plan.plan.outline.paths
    for row, subplan in enumerate(compiled_plan.plan.subplans):
        if not row or ("max_parallel" in subplan.settings and not compiled_plan.plan.outline.is_leaf(row)):
            below = [
                r for r in compiled_plan.plan.outline.below(row) if compiled_plan.plan.outline.is_leaf(r)
            ]
            shapes = [(paths[r], compiled_plan.shapes[compiled_plan.shape_of[r]]) for r in below]
            held = {
                PlaceId(f"{path}: {shape.net.place_ids[place]}"): 1
                for path, shape in shapes
                for place in shape.carriers
            }
            size = compiled_plan.plan.scopes[row].settings.max_parallel
            yield size, held | {PlaceId(f"slots {paths[row]}".rstrip()): 1}


@settings(max_examples=40)
@given(plan_texts(SMALL))
def test_in_every_shape_a_slot_is_free_or_held_by_one_place(text):
    for shape in compiled(text).shapes:
        held = {shape.net.place_ids[place]: 1 for place in (SLOT, *shape.carriers)}
        assert_invariant(shape.net, held)


@settings(max_examples=30)
@given(plan_texts(LARGE))
def test_in_the_whole_net_each_limit_counts_the_slices_below_it(text):
    compiled_plan = compiled(text)
    for size, held in slots_of(compiled_plan):
        assert_invariant(compiled_plan.net, held)
        assert sum(compiled_plan.net.initial[compiled_plan.net.place_number(place)] for place in held) == size


@settings(max_examples=40)
@given(plan_texts(SMALL))
def test_every_outcome_gives_back_what_was_claimed_of_each_pool_but_the_slots(text):
    compiled_plan = compiled(text)
    for net in (compiled_plan.net, *(shape.net for shape in compiled_plan.shapes)):
        slots = {place for place in pools(net) if net.place_ids[place].split()[0] in {"slot", "slots"}}
        others = set(pools(net)) - slots
        for inputs, outcomes in zip(net.inputs, net.outputs, strict=True):
            claims = only(inputs, others)
            assert all(only(given_, others) == claims for given_ in outcomes)
            assert all(weight <= net.initial[place] for place, weight in claims.items())


def only(arcs: Arcs, places: set[int]) -> dict[int, int]:
    return {place: weight for place, weight in arcs if place in places}


@settings(max_examples=40)
@given(plan_texts(SMALL))
def test_a_slot_is_taken_only_by_a_slice_that_holds_none(text):
    for shape in compiled(text).shapes:
        for act, inputs in zip(shape.acts, shape.net.inputs, strict=True):
            takes = only(inputs, {SLOT})
            assert bool(takes) == (act.role is Role.RETURN or (act.role is Role.BEGIN and act.attempt < 2))
            assert not takes or not only(inputs, set(shape.carriers))


@settings(max_examples=40)
@given(plan_texts(SMALL))
def test_where_steps_wait_for_each_other_no_pool_is_claimed(text):
    """Only what runs claims, and what runs waits for nothing but its claims."""
    net = compiled(text).net
    claimed = set(pools(net))
    for inputs in net.inputs:
        control = [place for place, _ in inputs if place not in claimed]
        assert len(control) == 1 or len(control) == len(inputs)


@settings(max_examples=30)
@given(plan_texts(TINY))
def test_never_are_more_slices_under_way_than_a_limit_allows(text):
    compiled_plan = compiled(text)
    for size, held in slots_of(compiled_plan):
        under_way = running_weights(compiled_plan.net, held)
        del under_way[next(reversed(held))]  # the free ones
        assert explore(compiled_plan.net, find=partial(holds_more, under_way, size)).found is None


def holds_more(weights: dict[PlaceId, int], size: int, marking: Marking) -> bool:
    return sum(weights.get(place, 0) * count for place, count in marking.tokens.items()) > size


def peak(compiled_plan: CompiledPlan, *paths: str) -> int:
    """The most of these slices that are at a step at once."""
    return peak_of(compiled_plan, [f"{path}: run x#1.running" for path in paths])


def peak_of(compiled_plan: CompiledPlan, places: list[str]) -> int:
    explored = {sum(state[p] for p in places) for state in all_markings(compiled_plan)}
    return max(explored)


def all_markings(compiled_plan: CompiledPlan) -> Iterator[Marking]:
    plain = unfold(compiled_plan.net)
    return (plain.marking(state) for state in state_graph(plain))


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_as_many_slices_are_under_way_as_max_parallel_says(limit, most):
    compiled_plan = plan(leaf("a"), leaf("b"), leaf("c"), max_parallel=limit, isolation="dir")
    assert peak(compiled_plan, "a", "b", "c") == most


def test_a_limit_of_a_group_holds_within_those_around_it():
    compiled_plan = plan(group("g", leaf("a"), leaf("b"), max_parallel=1), leaf("c"), max_parallel=2)
    assert peak(compiled_plan, "g/a", "g/b") == 1
    assert peak(compiled_plan, "g/a", "c") == 2
    assert peak(compiled_plan, "g/a", "g/b", "c") == 2


def test_a_max_parallel_on_a_slice_limits_nothing():
    compiled_plan = plan(leaf("a", max_parallel=1), leaf("b", max_parallel=1), max_parallel=2)
    assert [id_ for id_ in compiled_plan.net.place_ids if id_.startswith("slots")] == ["slots"]
    assert peak(compiled_plan, "a", "b") == 2


def test_in_a_serial_plan_one_action_is_under_way_at_a_time():
    compiled_plan = plan(leaf("a"), group("g", leaf("b"), verify="true"), policy="serial", verify="true")
    plain = unfold(compiled_plan.net)
    running = [id_ for id_, kind in zip(plain.place_ids, plain.place_kinds, strict=True) if kind == "running"]
    assert explore(compiled_plan.net, find=lambda m: sum(m[place] for place in running) > 1).found is None
    assert explore(compiled_plan.net, find=lambda m: sum(m[place] for place in running) > 0).found is not None


def test_a_serial_group_takes_turns_for_itself():
    serial = group("g", leaf("a"), leaf("b"), policy="serial")
    compiled_plan = plan(serial, leaf("c"), max_parallel=3)
    assert peak(compiled_plan, "g/a", "g/b") == 1
    assert peak(compiled_plan, "g/a", "c") == 2


def test_a_step_takes_its_pools_and_its_agents_pool_at_once():
    work = {"id": "w", "prompt": "do", "agent": "coder", "pools": {"port": 2, "disk": 1}}
    lines = rendered(shape_of(work).net)
    assert "run w#1: started + agent:coder + pool:disk + 2·pool:port → " in "\n".join(lines)


def test_an_agent_without_a_pool_of_its_own_takes_none():
    shape = shape_of({"id": "w", "prompt": "do", "agent": "tester"})
    assert shape.pools == ()


def concurrent(steps: list[dict[str, Any]], names: tuple[str, ...], **more: Any) -> int:
    compiled_plan = plan(leaf("a", steps=steps), isolation="dir", **more)
    return peak_of(compiled_plan, [f"a: run {name}.running" for name in names])


BRANCHES: list[dict[str, Any]] = [
    run("b", **{"async": True}),
    run("c", **{"async": True}),
    run("d", **{"async": True}),
    {"id": "j", "action": "join", "depends_on": ["b", "c", "d"]},
]


@pytest.mark.parametrize(
    ("limit", "most"), [({}, 3), ({"max_concurrency": 2}, 2), ({"max_concurrency": 1}, 1)]
)
def test_as_many_async_steps_are_under_way_as_max_concurrency_says(limit, most):
    assert concurrent(BRANCHES, ("b#1", "c#1", "d#1"), **limit) == most


def test_max_concurrency_holds_in_nested_pipelines_and_for_steps_of_an_async_one():
    inner: list[dict[str, Any]] = [{"id": "n", "pipeline": "way"}, run("z")]
    names = ("n#1.b#1", "n#1.c#1", "n#1.d#1")
    assert concurrent(inner, names, max_concurrency=2, pipelines={"way": BRANCHES}) == 2
    beside: list[dict[str, Any]] = [
        {"id": "m", "pipeline": "way", "async": True},
        {"id": "n", "pipeline": "way", "async": True},
    ]
    both = [*beside, {"id": "j", "action": "join", "depends_on": ["m", "n"]}]
    way = {"way": [run("x")]}
    assert concurrent(both, ("m#1.x#1", "n#1.x#1"), max_concurrency=1, pipelines=way) == 1
    assert concurrent(both, ("m#1.x#1", "n#1.x#1"), pipelines=way) == 2


def test_the_cursors_own_steps_do_not_count_as_async_ones():
    steps = [run("b", **{"async": True}), run("c"), {"id": "j", "action": "join", "depends_on": ["b"]}]
    assert concurrent(steps, ("b#1", "c#1"), max_concurrency=1) == 2


# Questions


def roles(shape: Shape) -> set[Role]:
    return {act.role for act in shape.acts}


def test_while_a_person_is_asked_the_slots_are_free_and_then_taken_again():
    compiled_plan = plan(leaf("a", steps=[{"id": "q", **ASK}]), leaf("b"), max_parallel=1)
    waiting = "a: ask q#1.running"
    assert (
        explore(compiled_plan.net, find=lambda m: bool(m[waiting] and m["b: run x#1.running"])).found
        is not None
    )
    assert explore(compiled_plan.net, find=lambda m: bool(m[waiting] and m["slots"] == 0)).found is not None
    assert explore(compiled_plan.net, find=lambda m: bool(m[waiting] and m["slots"] == 1)).found is not None


def test_a_question_keeps_the_slots_while_other_steps_of_the_slice_are_under_way():
    branch = run("x", **{"async": True})
    join = {"id": "j", "action": "join", "depends_on": ["x"]}
    assert Role.LEAVE not in roles(shape_of(branch, {"id": "q", **ASK}, join))
    assert Role.LEAVE in roles(shape_of(branch, join, {"id": "q", **ASK}))
    assert Role.LEAVE in roles(shape_of(branch, {"id": "q", **ASK, "depends_on": ["x"]}))
    assert Role.LEAVE not in roles(shape_of({"id": "q", **ASK, "async": True}, {**join, "depends_on": ["q"]}))


def test_a_question_in_a_nested_pipeline_gives_the_slots_back_if_nothing_around_it_is_under_way():
    way = {"way": [{"id": "q", **ASK}]}
    nested = {"id": "n", "pipeline": "way"}
    branch = run("x", **{"async": True})
    join = {"id": "j", "action": "join", "depends_on": ["x"]}
    assert Role.LEAVE in roles(shape_of(nested, pipelines=way))
    assert Role.LEAVE not in roles(shape_of(branch, nested, join, pipelines=way))
    beside = {**nested, "async": True}
    assert Role.LEAVE not in roles(shape_of(beside, {**join, "depends_on": ["n"]}, pipelines=way))


def test_a_slice_that_is_cancelled_while_it_asks_ends_without_taking_its_slots_again():
    shape = shape_of(run("x"), {"id": "q", **ASK}, run("y"))
    lines = rendered(shape.net)
    assert "stop q#1 done: q#1 done → over" in lines
    assert next(line for line in lines if line.startswith("ask q#1:")).endswith("cancelled: over")
