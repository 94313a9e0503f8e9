"""Above the slices: a subplan begins only after what it waits for, and waits for nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from plan.compile.compiled_plans import compiled, firings, group, leaf, plan
from plan.outlines import order, plans
from plan.plan_strategies import SMALL, plan_texts
from weft.net.explore import explore
from weft.net.game import TokenGame
from weft.plan.compile.parts import Role
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.compile.wait_graph import Wiring, wiring_of
from weft.plan.order.outline import ROOT, Outline


def begun_while_held(compiled_plan: CompiledPlan, held: int) -> set[int]:
    """The rows that begin when all goes on as far as it can, but one row does not end."""
    rows, acts = compiled_plan.assembled.rows, compiled_plan.assembled.acts
    is_leaf = compiled_plan.plan.outline.is_leaf(held)
    blocked = {
        number
        for number, row in enumerate(rows)
        if row == held and (is_leaf or acts[number].role is Role.CLOSE)
    }
    fired = firings(TokenGame(compiled_plan.net), blocked)
    return {rows[number] for number in fired if acts[number].role is not Role.WAIT}


@settings(max_examples=60)
@given(plan_texts(SMALL), st.data())
def test_a_row_begins_while_another_is_held_back_unless_the_plan_says_it_comes_after(text, data):
    compiled_plan = compiled(text)
    outline = compiled_plan.plan.outline
    before = order(outline, compiled_plan.after)
    held = data.draw(st.sampled_from(range(len(outline.paths))))
    expected = {row for row in range(len(outline.paths)) if (("end", held), ("start", row)) not in before}
    assert begun_while_held(compiled_plan, held) | {held} == expected


@settings(max_examples=40)
@given(plan_texts(SMALL))
def test_without_holding_anything_back_every_row_begins_and_the_plan_ends(text):
    compiled_plan = compiled(text)
    game = TokenGame(compiled_plan.net)
    begun = {compiled_plan.assembled.rows[number] for number in firings(game)}
    assert begun == set(range(len(compiled_plan.plan.outline.paths)))
    assert game.marking()["end"] == 1


def reach(wires: Wiring, outline: Outline) -> set[tuple[tuple[str, int], tuple[str, int]]]:
    """The order that the wires make, with that of landings left out."""
    rows = len(outline.paths)
    arcs = {(("start", row), ("end", row)) for row in range(rows)}
    arcs |= {(("start", group_), ("start", row)) for group_ in range(rows) for row in wires.opens[group_]}
    arcs |= {(("end", row), ("start", later)) for row in range(rows) for later in wires.followers[row]}
    arcs |= {
        (("end", row), ("end", group_))
        for group_ in range(rows)
        for row in wires.closes[group_]
        if row < rows
    }
    landed = [wires.landings[end - rows] for end in wires.closes[ROOT] if end >= rows]
    arcs |= {(("end", row), ("end", ROOT)) for row in landed}
    points = [(moment, row) for moment in ("start", "end") for row in range(rows)]
    for middle in points:
        arcs |= {(a, b) for a in points for b in points if (a, middle) in arcs and (middle, b) in arcs}
    return arcs


@settings(max_examples=60)
@given(plans(7).filter(lambda outline: len(outline.paths) > 1), st.data())
def test_the_wires_make_exactly_the_order_of_the_plan(outline, data):
    rows = range(1, len(outline.paths))
    landings = data.draw(st.lists(st.sampled_from(rows), unique=True)) if rows else []
    groups = [row for row in rows if not outline.is_leaf(row) and outline.sizes[row] == 1]
    for empty in groups:  # the language has none
        outline.leaves[empty] = True
    wires = wiring_of(outline, [()] * len(outline.paths), sorted(landings))
    assert reach(wires, outline) == order(outline)


def test_a_row_that_is_to_come_after_what_it_depends_on_hears_of_it_once():
    outline = plan(leaf("a"), leaf("b", "a")).plan.outline
    assert wiring_of(outline, [(), (), (1,)], []).followers == [[], [2], []]


def test_a_child_that_waits_for_another_does_not_wait_for_the_group_as_well():
    inner = group("h", leaf("d"), leaf("e", "/g/x"))
    compiled_plan = plan(group("g", leaf("a"), leaf("b", "a"), leaf("c", "/g/h/d"), inner, leaf("x")))
    g, a, b, c, h, d, e, x = range(1, 9)
    assert compiled_plan.wiring.opens[g] == [a, h, x]
    assert compiled_plan.wiring.followers[a] == [b]
    assert compiled_plan.wiring.followers[d] == [c]
    assert compiled_plan.wiring.followers[x] == [e]
    assert compiled_plan.wiring.closes[g] == [b, c, h]
    assert compiled_plan.wiring.opens[h] == compiled_plan.wiring.closes[h] == [d, e]


def test_a_child_that_waits_for_something_outside_waits_for_its_group_too():
    compiled_plan = plan(leaf("x"), group("g", leaf("a", "/x")))
    assert compiled_plan.wiring.opens[2] == [3]
    assert compiled_plan.wiring.followers[1] == [3]


def test_two_that_wait_for_the_same_third_both_hear_of_it():
    compiled_plan = plan(leaf("a"), leaf("b", "a"), leaf("c", "a"))
    assert compiled_plan.wiring.followers[1] == [2, 3]
    assert begun_while_held(compiled_plan, 2) == {0, 1, 3}
    assert begun_while_held(compiled_plan, 3) == {0, 1, 2}


def test_overlapping_slices_take_turns_where_they_are_serialized():
    compiled_plan = plan(leaf("a", files=["src/**"]), leaf("b", files=["src/x"]), overlap="serialize")
    assert compiled_plan.after == [(), (), (1,)]
    assert begun_while_held(compiled_plan, 1) == {0}
    free = plan(leaf("a", files=["src/**"]), leaf("b", files=["src/x"]))
    assert begun_while_held(free, 1) == {0, 2}


# Landings


def landed(compiled_plan: CompiledPlan) -> list[str]:
    return [compiled_plan.plan.outline.paths[row] for row in compiled_plan.wiring.landings]


def test_top_level_subplans_land_as_a_whole():
    assert landed(plan(group("g", leaf("a"), leaf("b")), leaf("c"))) == ["g", "c"]


def test_with_merge_when_slice_each_slice_lands_by_itself():
    compiled_plan = plan(group("g", leaf("a"), leaf("b")), leaf("c"), merge={"when": "slice"})
    assert landed(compiled_plan) == ["g/a", "g/b", "c"]


def test_what_has_no_branch_does_not_land():
    assert landed(plan(leaf("a"), leaf("b", isolation="none"))) == ["a"]
    assert landed(plan(leaf("a"), leaf("b"), isolation="none")) == []


def test_a_landing_holds_up_nothing_but_the_end():
    compiled_plan = plan(leaf("a"), leaf("b", "a"))
    acts = compiled_plan.assembled.acts
    landing = {
        n
        for n, act in enumerate(acts)
        if act.role in {Role.LAND, Role.DROP} and "landing" in name(compiled_plan, n)
    }
    game = TokenGame(compiled_plan.net)
    assert len(list(firings(game, landing))) > 2
    left = {place for place in game.marking().tokens if place not in pools(compiled_plan)}
    assert left == {"a to land", "b to land"}


def name(compiled_plan: CompiledPlan, number: int) -> str:
    return compiled_plan.net.transition_ids[number]


def pools(compiled_plan: CompiledPlan) -> set[str]:
    return {place.id for place in compiled_plan.net.places if place.kind == "pool"}


def test_results_are_merged_one_at_a_time_into_each_branch():
    compiled_plan = plan(group("g", leaf("a"), leaf("b")), leaf("c"))
    branches = {place for place in pools(compiled_plan) if place.startswith("branch")}
    assert branches == {"branch", "branch g"}


def both_run(compiled_plan: CompiledPlan, first: str, second: str) -> bool:
    return (
        explore(
            compiled_plan.net, find=lambda m: bool(m[f"{first}.running"] and m[f"{second}.running"])
        ).found
        is not None
    )


def test_no_two_results_are_merged_into_one_branch_at_once_and_any_number_waits_to_land():
    compiled_plan = plan(leaf("a"), leaf("b"))
    assert not both_run(compiled_plan, "a: merge", "b: merge")
    assert both_run(compiled_plan, "a landing: land", "b landing: land")
    assert both_run(compiled_plan, "a landing: land", "b: merge")
