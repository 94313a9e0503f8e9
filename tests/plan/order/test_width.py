"""How many leaves can be under way at once."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan.outlines import apart, around, flat, order, plans, sketched
from weft.plan.order.outline import Outline
from weft.plan.order.width import Peak, peak

Caps = list[int | None]


def most_together(outline: Outline, caps: Caps, after: list[tuple[int, ...]] | None = None) -> int:
    """Tries all sets of leaves, the largest first."""
    precedence = order(outline, after)
    leaves = [row for row in range(len(outline.paths)) if outline.is_leaf(row)]
    return next(
        size
        for size in range(len(leaves), -1, -1)
        for together in combinations(leaves, size)
        if not any(apart(precedence, first, second) for first, second in combinations(together, 2))
        and within(outline, caps, together)
    )


def within(outline: Outline, caps: Caps, together: tuple[int, ...]) -> bool:
    counts = [sum(row in {leaf, *around(outline, leaf)} for leaf in together) for row in range(len(caps))]
    return all(cap is None or count <= cap for count, cap in zip(counts, caps, strict=True))


def exactly(number: int) -> Peak:
    return Peak(at_most=number, reached=number)


def free(outline: Outline) -> Caps:
    return [None] * len(outline.paths)


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ((), 0),
        (("g/",), 0),
        (("a",), 1),
        (("a", "b", "c"), 3),
        (("a", "b: a", "c: b"), 1),
        (("a", "b: a", "c: a", "d: b c"), 2),
        (("g", "g/x", "g/y", "h: g", "h/x", "h/y", "h/z"), 3),
        (("a", "b: a", "c: b", "d", "e: d"), 2),
        (("a", "b", "c: a b", "d: b"), 2),
    ],
)
def test_without_caps_it_is_the_width_of_the_order(lines: tuple[str, ...], number: int) -> None:
    outline = sketched(*lines)
    assert peak(outline, (), free(outline)) == exactly(number)


def test_leaves_on_different_levels_can_be_under_way_together() -> None:
    outline = sketched("a", "b: a", "c: a", "d: c", "e: c", "f: a", "g: f", "h: g", "i: g")
    assert peak(outline, (), free(outline)) == exactly(most_together(outline, free(outline))) == exactly(5)


def test_the_cap_of_the_whole_counts() -> None:
    outline = flat(*[()] * 9)
    assert peak(outline, (), [4, *free(outline)[1:]]) == exactly(4)


def test_further_arcs_count() -> None:
    outline = flat((), (), ())
    assert peak(outline, [(), (), (1,), (2,)], free(outline)) == exactly(1)


def test_caps_of_groups_side_by_side_add_up() -> None:
    outline = sketched("g", "g/x", "g/y", "g/z", "h", "h/x", "h/y", "h/z", "a")
    caps: Caps = [None, 1, None, None, None, 2, None, None, None, None]
    assert peak(outline, (), caps) == exactly(4)


def test_caps_of_groups_one_after_the_other_do_not_add_up() -> None:
    outline = sketched("g", "g/x", "g/y", "g/z", "h: g", "h/x", "h/y", "h/z")
    caps: Caps = [8, 2, None, None, None, 2, None, None, None]
    assert peak(outline, (), caps) == exactly(2)


def test_caps_within_capped_groups_count() -> None:
    outline = sketched(
        "o", "o/g", "o/g/x", "o/g/y", "o/h: o/g", "o/h/x", "o/h/y", "p: o", "p/x", "p/y", "p/z"
    )
    caps: Caps = [None, 3, 1, None, None, 1, None, None, 2, None, None, None]
    assert peak(outline, (), caps) == exactly(2)


def test_a_group_of_leaves_one_after_the_other_never_reaches_its_cap() -> None:
    outline = sketched("g", "g/x", "g/y: g/x", "g/z: g/y", "h", "h/x", "h/y", "i: h")
    caps: Caps = [None, 2, None, None, None, 1, None, None, None]
    assert peak(outline, (), caps) == exactly(2)


def test_where_a_cap_counts_leaves_of_different_levels_are_tried_together() -> None:
    outline = sketched("a: c b", "b: g/y c", "c", "g", "g/x", "g/y")
    assert peak(outline, (), [None, None, None, None, 1, None, None]) == exactly(2)


def test_dependencies_across_the_border_of_a_capped_group_may_leave_a_gap_between_the_numbers() -> None:
    outline = sketched("a: g/x g/y", "g", "g/x", "g/y")
    assert peak(outline, (), [None, None, 1, None, None]) == Peak(at_most=2, reached=1)


def test_a_cap_that_cannot_be_exceeded_does_not_count() -> None:
    outline = sketched("a: g/x g/y", "g", "g/x", "g/y", "h", "h/x", "h/y")
    assert peak(outline, (), [None, None, 2, None, None, 1, None, None]) == exactly(3)


@st.composite
def entangled(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """For each of many leaves, those it depends on: some of the few before it."""
    size = draw(st.integers(20, 40))
    near = st.sets(st.integers(1, 9), max_size=3)
    return [tuple(row - back for back in draw(near) if back < row) for row in range(1, size)]


def width_by_matching(depends_on: list[tuple[int, ...]]) -> int:
    """Dilworth, the plain way: leaves less the most of them that can each be followed by one of their own."""
    before: dict[int, set[int]] = {}
    for row, earlier in enumerate(depends_on, 1):
        before[row] = set(earlier).union(*(before[predecessor] for predecessor in earlier))
    followers: dict[int, int] = {}

    def follows(row: int, tried: set[int]) -> bool:
        for earlier in before[row] - tried:
            tried.add(earlier)
            if earlier not in followers or follows(followers[earlier], tried):
                followers[earlier] = row
                return True
        return False

    return len(before) - sum(follows(row, set()) for row in before)


@given(entangled())
def test_the_number_is_exact_where_chains_must_be_sought(depends_on: list[tuple[int, ...]]) -> None:
    outline = flat(*depends_on)
    assert peak(outline, (), free(outline)) == exactly(width_by_matching(depends_on))


def test_a_token_that_was_sent_another_way_is_not_sent_twice() -> None:
    outline = flat((3, 2), (9, 10), (), (11, 1), (10,), (), (4,), (9,), (), (9, 11), ())
    assert peak(outline, (), free(outline)) == exactly(most_together(outline, free(outline))) == exactly(5)


@given(plans(10), st.data())
def test_with_a_cap_on_the_whole_only_the_number_is_exact(outline: Outline, data: st.DataObject) -> None:
    caps = [data.draw(st.sampled_from([None, 1, 2, 4])), *free(outline)[1:]]
    assert peak(outline, (), caps) == exactly(most_together(outline, caps))


@given(plans(10), st.data())
def test_with_any_caps_the_true_number_is_between_the_two(outline: Outline, data: st.DataObject) -> None:
    caps = [data.draw(st.sampled_from([None, None, 1, 2])) for _ in outline.paths]
    result = peak(outline, (), caps)
    assert result.reached <= most_together(outline, caps) <= result.at_most


def among_siblings(outline: Outline) -> Outline:
    for row, before in enumerate(outline.depends_on):
        outline.depends_on[row] = tuple(e for e in before if outline.parents[e] == outline.parents[row])
    return outline


@given(plans(12).map(among_siblings), st.data())
def test_with_any_caps_the_number_is_exact_if_only_siblings_depend_on_each_other(
    outline: Outline, data: st.DataObject
) -> None:
    caps = [data.draw(st.sampled_from([None, None, 1, 2])) for _ in outline.paths]
    assert peak(outline, (), caps) == exactly(most_together(outline, caps))


def test_a_search_that_takes_too_long_gives_bounds() -> None:
    outline = sketched("a: b c", "b: c", "c")
    assert peak(outline, (), free(outline)) == exactly(1)
    assert peak(outline, (), free(outline), most_steps=0) == Peak(at_most=2, reached=1)


def test_ten_thousand_leaves_in_twenty_chains_are_twenty_at_once() -> None:
    outline = flat(*((row - 20,) if row > 20 else () for row in range(1, 10_001)))
    assert peak(outline, (), [32, *free(outline)[1:]]) == exactly(20)
