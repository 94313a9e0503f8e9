"""Files that refer to each other round in a circle."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from decompose.sets import files
from weft.decompose.model import Limits
from weft.decompose.split.cycles import find_circles, join_circles
from weft.decompose.split.graph import build_graph

RING = (("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"))


def reached(start: int, uses: Sequence[tuple[int, int]]) -> set[int]:
    reached_files, before = {start}, set[int]()
    while reached_files != before:
        before = set(reached_files)
        reached_files |= {used for user, used in uses if user in reached_files}
    return reached_files


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=24))
def test_two_files_are_in_one_circle_if_each_leads_to_the_other(uses: list[tuple[int, int]]) -> None:
    leads_to = [reached(file, uses) for file in range(12)]
    expected = {
        frozenset(candidate for candidate in leads_to[file] if file in leads_to[candidate])
        for file in range(12)
    }
    circles = find_circles(12, uses)
    assert set(map(frozenset, circles)) == expected
    assert sorted(file for circle in circles for file in circle) == list(range(12))


def test_references_may_lead_very_far() -> None:
    far = 50_000
    assert len(find_circles(far, [(file, (file + 1) % far) for file in range(far)])) == 1
    assert len(find_circles(far, [(file, file + 1) for file in range(far - 1)])) == far


def test_a_small_circle_is_one_knot_and_all_else_is_alone() -> None:
    signals = files("a", "b", "c", "d", uses=RING)
    assert join_circles(build_graph(signals, Limits(max_files_per_subplan=6)), signals.uses) == [
        [0, 1, 2],
        [3],
    ]


def test_a_circle_beyond_half_of_an_agent_is_none() -> None:
    signals = files("a", "b", "c", "d", uses=RING)
    limits = Limits(max_files_per_subplan=5)
    assert join_circles(build_graph(signals, limits), signals.uses) == [[0], [1], [2], [3]]
