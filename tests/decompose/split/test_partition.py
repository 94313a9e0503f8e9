"""What METIS is asked, and what comes of its answers."""

import pytest

from weft.decompose.split.links import Links
from weft.decompose.split.partition import partition


def cliques(number: int, size: int) -> Links:
    """So many groups of nodes that are all linked; one link leads from each to the next."""
    rows: list[dict[int, int]] = []
    for node in range(number * size):
        first = node - node % size
        rows.append({neighbour: 9 for neighbour in range(first, first + size) if neighbour != node})
    for node in range(size, number * size, size):
        rows[node][node - 1] = rows[node - 1][node] = 1
    return Links.of(rows)


@pytest.mark.parametrize("parts", [2, 3, 4, 7])
def test_parts_are_those_with_least_between_them(parts: int) -> None:
    groups = partition([1] * (6 * parts), cliques(parts, 6), parts, most=7)
    expected = [list(range(6 * part, 6 * part + 6)) for part in range(parts)]
    assert sorted(map(sorted, groups)) == expected


def test_room_above_its_share_is_used_to_cut_less() -> None:
    """Of 6 and 4, either two halves that cut the larger one, or one of six."""
    rows = [{neighbour: 9 for neighbour in range(6) if neighbour != node} for node in range(6)]
    rows += [{neighbour: 9 for neighbour in range(6, 10) if neighbour != node} for node in range(6, 10)]
    rows[5][6] = rows[6][5] = 1
    even = partition([10] * 10, Links.of(rows), 2, most=50)
    uneven = partition([10] * 10, Links.of(rows), 2, most=65)
    assert (sorted(map(len, even)), sorted(map(len, uneven))) == ([5, 5], [4, 6])


def test_there_are_no_more_parts_than_nodes() -> None:
    groups = partition([1, 1, 1], cliques(1, 3), 8, most=1)
    assert sorted(groups) == [[0], [1], [2]]


def test_a_node_that_outweighs_all_others_empties_no_part(capfd: pytest.CaptureFixture[str]) -> None:
    groups = partition([10**6, *[1] * 11], cliques(2, 6), 6, most=10**6)
    assert sorted(node for part in groups for node in part) == list(range(12))
    assert all(groups)
    assert capfd.readouterr() == ("", "")
