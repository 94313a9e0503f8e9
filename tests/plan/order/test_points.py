"""The order of an outline: circles, the longest path, levels, and lines in which groups stand in one piece."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan.outlines import around, flat, has_circle, order, plans, sketched, tangles
from weft.plan.order.outline import Outline
from weft.plan.order.points import Points, PointSequence, ended_before, find_cycle, levels, longest_path


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        ((), None),
        (("a", "b: a"), None),
        (("a: b", "b: a"), ["a", "b"]),
        (("a: c", "b: a", "c: b", "d: c"), ["a", "b", "c"]),
        (("g: h", "g/x", "h: g", "h/y"), ["g", "h"]),
        (("g: h", "g/x", "h", "h/y: g/x"), ["g", "g/x", "h/y", "h"]),
        (("g", "g/x: a", "a: g"), ["g", "a", "g/x"]),
        (("a: a",), ["a"]),
        (("g/: g",), ["g"]),
        (("g", "g/x: g"), ["g", "g/x"]),
    ],
)
def test_a_cycle_is_reported_by_its_rows_each_waiting_for_the_one_before(
    lines: tuple[str, ...], rows: list[str] | None
) -> None:
    outline = sketched(*lines)
    cycle = find_cycle(outline)
    assert (None if cycle is None else [str(outline.paths[row]) for row in cycle]) == rows


def test_arcs_beside_the_dependencies_can_make_a_cycle_too() -> None:
    outline = flat((), (1,))
    assert find_cycle(outline, [(), (), ()]) is None
    assert find_cycle(outline, [(), (2,), ()]) == [1, 2]


@given(tangles())
def test_there_is_a_cycle_exactly_if_a_point_comes_before_itself(outline: Outline) -> None:
    assert (find_cycle(outline) is not None) == has_circle(order(outline))


@given(tangles())
def test_each_row_of_a_cycle_waits_for_the_one_before(outline: Outline) -> None:
    precedence = order(outline)
    rows = find_cycle(outline) or []
    for row, following in zip(rows, [*rows[1:], *rows[:1]], strict=True):
        assert (("start", row), ("end", following)) in precedence
        assert (("start", following), ("end", row)) in precedence


@given(plans(), st.data())
def test_the_longest_path_is_as_long_as_the_longest_chain_of_leaves(
    outline: Outline, data: st.DataObject
) -> None:
    size = len(outline.paths)
    weights = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    precedence = order(outline)
    longest = [0] * size
    leaves = [row for row in range(size) if outline.is_leaf(row)]
    for _ in leaves:
        for row in leaves:
            before = [
                longest[earlier] for earlier in leaves if (("end", earlier), ("start", row)) in precedence
            ]
            longest[row] = max(before, default=0) + weights[row]
    length, path = longest_path(outline, weights)
    assert length == max(longest, default=0)
    assert sum(weights[row] for row in path) == length
    assert all((("end", a), ("start", b)) in precedence for a, b in pairwise(path))
    assert all(outline.is_leaf(row) for row in path)


def test_of_two_longest_paths_the_first_in_plan_order_is_reported() -> None:
    outline = sketched("a", "b", "g", "g/x: b", "g/y: a", "z: g")
    assert longest_path(outline, [1.0] * 7) == (3.0, [1, 5, 6])


def test_a_leaf_that_takes_no_time_is_on_the_path_as_well() -> None:
    assert longest_path(sketched("a", "b: a", "c: b", "d: c"), [9, 2, 0, 3, 0]) == (5, [1, 2, 3, 4])


def test_the_weight_of_a_group_does_not_count() -> None:
    assert longest_path(sketched("g", "g/x"), [7, 7, 1]) == (1, [2])


def test_the_longest_path_goes_along_further_arcs() -> None:
    assert longest_path(flat((), ()), [0, 1, 1], [(), (2,), ()]) == (2, [2, 1])


def test_an_outline_may_be_a_very_long_chain() -> None:
    outline = flat((), *((row,) for row in range(1, 20_000)))
    length, path = longest_path(outline, [1.0] * 20_001)
    assert length == len(path) == 20_000


@given(plans())
def test_the_level_of_a_leaf_is_how_many_leaves_come_before_it_in_the_longest_chain(outline: Outline) -> None:
    precedence = order(outline)
    level = levels(Points(outline), outline.leaves)
    leaves = [row for row in range(len(outline.paths)) if outline.is_leaf(row)]
    for row in leaves:
        before = [
            level[2 * earlier] + 1 for earlier in leaves if (("end", earlier), ("start", row)) in precedence
        ]
        assert level[2 * row] == max(before, default=0)


@given(plans())
def test_what_has_ended_before_a_start_is_what_the_order_says(outline: Outline) -> None:
    precedence = order(outline)
    rows = range(1, len(outline.paths))
    ended = ended_before(Points(outline), rows)
    for row in rows:
        others = [earlier for earlier in rows if earlier != row]
        assert [ended[2 * row] >> (earlier - 1) & 1 for earlier in others] == [
            (("end", earlier), ("start", row)) in precedence for earlier in others
        ]


# Lines


def line_of(outline: Outline, *pieces: int) -> PointSequence:
    return PointSequence(outline, Points(outline), set(pieces))


def starts(outline: Outline, line: PointSequence) -> list[str]:
    return [outline.paths[point // 2] for point in line.order if outline.is_leaf(point // 2)]


def test_in_a_line_what_can_start_earliest_comes_first_then_what_is_first_in_the_plan() -> None:
    outline = sketched("g", "g/x", "g/y: g/x", "b", "c: b", "d")
    assert starts(outline, line_of(outline)) == ["g/x", "b", "d", "g/y", "c"]


def test_a_group_can_stand_in_a_line_in_one_piece() -> None:
    outline = sketched("g", "g/x", "g/y: g/x", "b", "c: b", "d")
    assert starts(outline, line_of(outline, 1)) == ["g/x", "g/y", "b", "d", "c"]


def test_a_piece_comes_after_what_any_part_of_it_waits_for() -> None:
    outline = sketched("g", "g/x", "g/y: b", "b")
    assert starts(outline, line_of(outline, 1)) == ["b", "g/x", "g/y"]


def test_groups_that_wait_for_parts_of_each_other_are_stuck_and_what_waits_for_them_is_not() -> None:
    outline = sketched("g", "g/x", "g/y: h/x", "h", "h/x", "h/y: g/x", "i: g", "i/z")
    assert line_of(outline, 1, 4, 7).stuck() == {1, 4}
    assert line_of(outline, 1, 7).stuck() == set()


def test_a_group_between_whose_parts_something_comes_is_stuck() -> None:
    outline = sketched("g", "g/x", "g/y: b", "b: g/x", "h: g", "h/x")
    assert line_of(outline, 1, 5).stuck() == {1}


def test_groups_that_are_stuck_within_a_group_are_found() -> None:
    outline = sketched("o", "o/g", "o/g/x", "o/g/y: o/b", "o/b: o/g/x")
    assert line_of(outline, 1, 2).stuck() == {2}


@given(plans(), st.data())
def test_a_line_agrees_with_the_order_and_pieces_are_in_one_piece(
    outline: Outline, data: st.DataObject
) -> None:
    groups = [row for row in range(1, len(outline.paths)) if not outline.is_leaf(row)]
    pieces = data.draw(st.sets(st.sampled_from(groups))) if groups else set[int]()
    line = PointSequence(outline, Points(outline), pieces)
    while stuck := line.stuck():
        pieces -= stuck
        line = PointSequence(outline, Points(outline), pieces)
    assert len(line.order) == len(set(line.order)) == Points(outline).count
    places = {point: place for place, point in enumerate(line.order)}
    ends = Points(outline).ends
    for (what, row), (other_what, earlier) in order(outline):
        one_place = places[2 * row if what == "start" else ends[row]]
        assert one_place <= places[2 * earlier if other_what == "start" else ends[earlier]]
    for piece in pieces:
        within = line.order[places[2 * piece] : places[2 * piece + 1] + 1]
        assert all(point // 2 == piece or piece in around(outline, point // 2) for point in within)


@given(plans(), st.data())
def test_one_group_is_stuck_exactly_if_something_comes_between_its_parts(
    outline: Outline, data: st.DataObject
) -> None:
    group = data.draw(st.integers(0, len(outline.paths) - 1).filter(lambda row: not outline.is_leaf(row)))
    precedence = order(outline)
    behind_its_start = {point for before, point in precedence if before == ("start", group)}
    before_its_end = {point for point, behind in precedence if behind == ("end", group)}
    between = behind_its_start & before_its_end
    outside = {(what, row) for what, row in between if group not in {row, *around(outline, row)}}
    assert bool(line_of(outline, group).stuck()) == bool(outside)
