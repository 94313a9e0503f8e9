"""Groups with too few files join others."""

from decompose.sets import files
from weft.decompose.model import Limits, Signals
from weft.decompose.split.graph import Graph, build_graph
from weft.decompose.split.links import Group
from weft.decompose.split.small_groups import join_small_groups


def joined(graph: Graph, groups: list[Group], least: int) -> list[list[int]]:
    return sorted(sorted(group) for group in join_small_groups(graph, groups, least))


def test_where_none_is_small_all_stay_as_they_are() -> None:
    groups: list[Group] = [[2, 3], [0, 1]]
    assert join_small_groups(build_graph(files("a", "b", "c", "d"), Limits()), groups, 2) is groups


def test_a_small_group_joins_the_one_that_binds_it_most() -> None:
    graph = build_graph(files(*"abcde", uses=(("a", "b"), ("a", "d"), ("d", "a"))), Limits())
    assert joined(graph, [[0], [1, 2], [3, 4]], 2) == [[0, 3, 4], [1, 2]]


def test_without_links_it_joins_the_smallest() -> None:
    graph = build_graph(files(*"abcdef"), Limits())
    assert joined(graph, [[0], [1, 2, 3], [4, 5]], 2) == [[0, 4, 5], [1, 2, 3]]


def test_what_has_joined_is_bound_by_the_links_of_both() -> None:
    """0 and 1 join first. Only 0 was linked to another group."""
    graph = build_graph(files(*"01234567", uses=(("0", "1"), ("1", "0"), ("0", "5"))), Limits())
    assert joined(graph, [[0], [1], [2, 3, 4], [5, 6, 7]], 3) == [[0, 1, 5, 6, 7], [2, 3, 4]]


def test_links_of_both_to_the_same_group_add_up() -> None:
    """0 and 1 are bound to the second group by 24 each; 0 to the third by 36, as four use 6."""
    uses = ("01", "10", "02", "13", "05", "06", "56", "76", "86")
    graph = build_graph(files(*"012345678", uses=tuple((pair[0], pair[1]) for pair in uses)), Limits())
    assert joined(graph, [[0], [1], [2, 3, 4], [5, 6, 7, 8]], 3) == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]


def test_the_last_one_is_small_if_all_files_are_too_few() -> None:
    assert joined(build_graph(files("a", "b"), Limits()), [[0], [1]], 9) == [[0, 1]]


def test_a_node_counts_as_many_files_as_are_in_it() -> None:
    graph = build_graph(files("a", "b", "c"), Limits()).contract([[0, 1], [2]])
    assert joined(graph, [[0], [1]], 1) == [[0], [1]]
    assert joined(graph, [[0], [1]], 2) == [[0, 1]]


def test_thousands_of_small_groups_with_a_hub_are_joined() -> None:
    number = 6000
    uses = tuple((file, number - 1) for file in range(0, number - 1, 2))
    paths = tuple(f"{file:05}" for file in range(number))
    graph = build_graph(Signals(paths=paths, tokens=(1,) * number, uses=uses), Limits())
    joined = join_small_groups(graph, [[file] for file in range(number)], 3)
    assert sorted(file for group in joined for file in group) == list(range(number))
    assert min(map(len, joined)) >= 3
