"""Subplans that may touch the same files: which they are, and an order that keeps them apart."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan.outlines import Point, apart, flat, has_circle, order, plans, related, sketched
from weft.plan.order.globs import intersects
from weft.plan.order.outline import Outline
from weft.plan.order.overlap import MOST_SHARED, Overlap, SearchLimits, overlaps, serial_predecessors

Files = list[tuple[str, ...]]
PATTERNS = ("a/**", "a/b", "a/*.py", "**/b", "c", "c/d*", "*/e")


@st.composite
def plans_with_files(draw: st.DrawFn) -> tuple[Outline, Files]:
    outline = draw(plans(8))
    some = st.lists(st.sampled_from(PATTERNS), max_size=2).map(tuple)
    return outline, [draw(some) for _ in outline.paths]


def expected_pairs(outline: Outline, files: Files) -> list[tuple[int, int]]:
    return [
        (first, second)
        for first, second in combinations(range(len(files)), 2)
        if not related(outline, first, second)
        and any(intersects(left, right) for left in files[first] for right in files[second])
    ]


def leaves_of(outline: Outline, row: int) -> list[int]:
    return [leaf for leaf in (row, *outline.below(row)) if outline.is_leaf(leaf)]


def arcs(result: list[tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    return {row: before for row, before in enumerate(result) if before}


# Which they are


def test_subplans_with_crossing_patterns_overlap_and_the_patterns_are_reported() -> None:
    result = overlaps(flat((), (), (1,)), [(), ("src/**",), ("docs", "src/a.py"), ("docs/*",)])
    assert result.pairs == (
        Overlap(first=1, second=2, shared=(("src/**", "src/a.py"),), ordered=False),
        Overlap(first=2, second=3, shared=(("docs", "docs/*"),), ordered=False),
    )
    assert not result.more


def test_a_subplan_does_not_overlap_what_is_in_it_nor_with_itself() -> None:
    outline = sketched("g", "g/x", "h")
    result = overlaps(outline, [("**",), ("src", "src"), ("src", "src/a"), ()])
    assert result.pairs == ()


def test_a_pair_is_reported_once_with_the_patterns_that_cross_and_how_many_more_there_are() -> None:
    many = tuple(f"src/f{number}" for number in range(MOST_SHARED + 2))
    (pair,) = overlaps(flat((), ()), [(), many, many]).pairs
    assert (len(pair.shared), pair.more) == (MOST_SHARED, 2)
    assert all(left == right for left, right in pair.shared)


@pytest.mark.parametrize(
    ("lines", "ordered"),
    [
        (("g", "g/x", "h: g", "h/y", "z"), True),
        (("g", "g/x", "h", "h/y: g", "z"), True),
        (("g", "g/x", "h", "h/y: z", "z: g"), True),
        (("g", "g/x: h", "h", "h/y", "z"), True),
        (("g", "g/x", "h", "h/y", "z: g"), False),
    ],
)
def test_a_pair_is_ordered_if_the_plan_keeps_the_two_apart(lines: tuple[str, ...], *, ordered: bool) -> None:
    outline = sketched(*lines)
    (pair,) = overlaps(outline, [(), (), ("a",), (), ("a",), ()]).pairs
    assert (pair.first, pair.second, pair.ordered) == (2, 4, ordered)


def test_further_arcs_keep_a_pair_apart_as_well() -> None:
    (pair,) = overlaps(flat((), ()), [(), ("a",), ("a",)], [(), (2,), ()]).pairs
    assert pair.ordered


@given(plans_with_files())
def test_the_pairs_are_those_of_the_definition(case: tuple[Outline, Files]) -> None:
    outline, files = case
    result = overlaps(outline, files)
    before = order(outline)
    assert [(pair.first, pair.second) for pair in result.pairs] == expected_pairs(outline, files)
    assert [pair.ordered for pair in result.pairs] == [apart(before, p.first, p.second) for p in result.pairs]
    for pair in result.pairs:
        assert all(left in files[pair.first] and right in files[pair.second] for left, right in pair.shared)
        assert all(intersects(left, right) for left, right in pair.shared)
    assert not result.more


def test_at_the_limit_it_says_that_there_are_more_and_only_then() -> None:
    outline, files = flat(*[()] * 4), [(), ("a",), ("a",), ("a", "a/b"), ("a/b",)]
    assert not overlaps(outline, files, limits=SearchLimits(pairs=6)).more
    result = overlaps(outline, files, limits=SearchLimits(pairs=5))
    assert len(result.pairs) == 5
    assert result.more


def test_very_many_pairs_are_cut_off_at_a_thousand() -> None:
    result = overlaps(flat(*[()] * 3_000), [(), *[("src/**",)] * 3_000])
    assert len(result.pairs) == 1_000
    assert result.more


def test_patterns_too_many_to_compare_may_leave_something_out_and_that_is_said() -> None:
    result = overlaps(flat((), (), ()), [(), ("a*",), ("*b",), ("*c*",)], limits=SearchLimits(checks=1))
    assert len(result.pairs) == 1
    assert result.more


def test_the_same_few_pairs_again_and_again_come_to_an_end() -> None:
    files: Files = [(), ("a", "b", "c", "d", "e"), ("a", "b", "c", "d", "e")]
    assert not overlaps(flat((), ()), files, limits=SearchLimits(steps=5)).more
    assert overlaps(flat((), ()), files, limits=SearchLimits(steps=4)).more


# An order that keeps them apart


def all_ask(outline: Outline) -> list[bool]:
    return [True] * len(outline.paths)


def leaves_apart(outline: Outline, precedence: set[tuple[Point, Point]], first: int, second: int) -> bool:
    return all(apart(precedence, a, b) for a in leaves_of(outline, first) for b in leaves_of(outline, second))


def test_leaves_with_the_same_pattern_make_a_chain() -> None:
    outline = flat(*[()] * 5)
    assert arcs(serial_predecessors(outline, [(), *[("a",)] * 5], all_ask(outline))) == {
        2: (1,),
        3: (2,),
        4: (3,),
        5: (4,),
    }


def test_what_can_start_earlier_goes_first() -> None:
    outline = flat((2,), (), ())
    assert arcs(serial_predecessors(outline, [(), ("a",), (), ("a",)], all_ask(outline))) == {1: (3,)}


def test_what_the_plan_keeps_apart_needs_no_arc() -> None:
    outline = sketched("g", "g/x", "m: g", "h: m", "h/y", "z: h/y")
    files: Files = [(), (), ("a",), (), (), ("a",), ("a",)]
    assert arcs(serial_predecessors(outline, files, all_ask(outline))) == {}


def test_further_arcs_are_part_of_the_order() -> None:
    outline, files = flat((), ()), [(), ("a",), ("a",)]
    assert arcs(serial_predecessors(outline, files, all_ask(outline), [(), (2,), ()])) == {}


def test_a_pattern_that_crosses_many_is_put_between_those_next_to_it() -> None:
    outline = flat(*[()] * 5)
    files: Files = [(), ("a/1",), ("a/2",), ("a",), ("a/4",), ("a/5",)]
    assert arcs(serial_predecessors(outline, files, all_ask(outline))) == {3: (1, 2), 4: (3,), 5: (3,)}


def test_a_pair_is_kept_apart_if_one_of_the_two_asks() -> None:
    outline, files = flat(*[()] * 4), [(), *[("a",)] * 4]
    asks = [False, False, False, True, False]
    assert arcs(serial_predecessors(outline, files, asks)) == {3: (1, 2), 4: (3,)}
    assert arcs(serial_predecessors(outline, files, [True, *[False] * 4])) == {}


def test_a_group_with_files_goes_as_a_whole() -> None:
    outline = sketched("g", "g/x", "g/y: g/x", "b", "h", "h/x")
    files: Files = [(), ("a",), (), (), ("a",), ("a",), ()]
    assert arcs(serial_predecessors(outline, files, all_ask(outline))) == {4: (1,), 5: (4,)}


def test_what_is_in_a_group_needs_no_arc_that_the_group_has() -> None:
    outline = sketched("a", "g", "g/x", "g/y")
    files: Files = [(), *[("a",)] * 4]
    assert arcs(serial_predecessors(outline, files, all_ask(outline))) == {2: (1,), 4: (3,)}


def test_a_group_that_waits_in_part_comes_after_what_it_waits_for() -> None:
    outline = sketched("g", "g/x", "g/y: b", "b")
    assert arcs(serial_predecessors(outline, [(), ("a",), (), (), ("a",)], all_ask(outline))) == {1: (4,)}


def test_a_group_between_whose_parts_something_comes_hands_its_files_down() -> None:
    outline = sketched("g", "g/x", "g/y: b", "g/z", "b: g/x")
    result = serial_predecessors(outline, [(), ("a",), (), (), (), ("a",)], all_ask(outline))
    assert arcs(result) == {4: (2,), 5: (4,)}


@pytest.mark.parametrize(("asking", "result"), [(1, {3: (4,), 4: (2,), 5: (4,)}), (5, {5: (4,)}), (2, {})])
def test_a_group_hands_down_with_its_files_that_it_asked(
    asking: int, result: dict[int, tuple[int, ...]]
) -> None:
    outline = sketched("g", "g/x", "g/y: b", "g/z", "b: g/x")
    asks = [row == asking for row in range(6)]
    assert arcs(serial_predecessors(outline, [(), ("a",), (), (), (), ("a",)], asks)) == result


def test_where_arcs_would_be_too_many_all_that_overlap_take_turns() -> None:
    outline = flat(*[()] * 6)
    files: Files = [(), *[("a",)] * 3, ("a/1",), ("a/2",), ("a/3",)]
    asks = [False] * 4 + [True] * 3
    exact = serial_predecessors(outline, files, asks)
    assert arcs(exact) == {4: (1, 2, 3), 5: (1, 2, 3), 6: (1, 2, 3)}
    result = serial_predecessors(outline, files, asks, limits=SearchLimits(arcs=8))
    assert arcs(result) == {2: (1,), 3: (2,), 4: (3,), 5: (3,), 6: (3,)}


def test_patterns_too_many_to_compare_are_taken_for_their_directories() -> None:
    outline = flat(*[()] * 4)
    files: Files = [(), ("a/x*",), ("a/*y",), ("a/*.z",), ("b/*",)]
    result = serial_predecessors(outline, files, all_ask(outline), limits=SearchLimits(checks=1))
    assert arcs(result) == {2: (1,), 3: (2,)}


def test_a_plan_too_large_to_ask_its_order_gets_arcs_that_follow_from_it() -> None:
    outline = flat((), (1,))
    result = serial_predecessors(outline, [(), ("a",), ("a",)], all_ask(outline), limits=SearchLimits(bits=1))
    assert arcs(result) == {2: (1,)}


def test_ten_thousand_with_one_pattern_get_an_arc_less_than_they_are() -> None:
    outline = flat(*[()] * 10_000)
    result = serial_predecessors(outline, [(), *[("src/**",)] * 10_000], all_ask(outline))
    assert sum(map(len, result)) == 9_999


@given(plans_with_files(), st.data())
def test_no_two_that_overlap_can_run_together_and_there_is_no_cycle(
    case: tuple[Outline, Files], data: st.DataObject
) -> None:
    outline, files = case
    size = len(outline.paths)
    asks = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    after = serial_predecessors(outline, files, asks)
    result = order(outline, after)
    assert not has_circle(result)
    for first, second in expected_pairs(outline, files):
        assert leaves_apart(outline, result, first, second) or not (asks[first] or asks[second])


@given(plans_with_files())
def test_leaves_that_overlap_are_kept_apart_and_no_others_if_only_leaves_have_files(
    case: tuple[Outline, Files],
) -> None:
    outline, files = case
    files = [patterns if outline.is_leaf(row) else () for row, patterns in enumerate(files)]
    after = serial_predecessors(outline, files, all_ask(outline))
    pairs = expected_pairs(outline, files)
    assert all(apart(order(outline, after), first, second) for first, second in pairs)
    assert all(
        tuple(sorted((row, earlier))) in pairs for row, before in enumerate(after) for earlier in before
    )


@given(plans_with_files())
def test_groups_without_order_among_parts_are_kept_apart_as_wholes(case: tuple[Outline, Files]) -> None:
    outline, files = case
    outline.depends_on = [()] * len(files)
    after = serial_predecessors(outline, files, all_ask(outline))
    result = order(outline, after)
    assert all(apart(result, first, second) for first, second in expected_pairs(outline, files))
