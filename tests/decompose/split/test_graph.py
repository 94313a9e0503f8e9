"""How closely files belong together."""

import pytest

from decompose.sets import files
from weft.decompose.model import Limits, Signals
from weft.decompose.split.graph import Graph, build_graph, measure_coupling


def weights(graph: Graph) -> dict[tuple[int, int], int]:
    return {
        (file, neighbour): weight
        for file in range(len(graph.paths))
        for neighbour, weight in graph.links.at(file)
    }


def test_what_many_use_binds_less() -> None:
    users = tuple((f"u{number}", "hub") for number in range(9))
    link_weights = weights(build_graph(files("hub", *(user for user, _hub in users), uses=users), Limits()))
    assert set(link_weights.values()) == {11}
    assert weights(build_graph(files("a", "b", uses=(("a", "b"),)), Limits())) == {(0, 1): 24, (1, 0): 24}


def bound_by(share: int, *uses: tuple[int, int]) -> int:
    """The weight between two files."""
    signals = Signals(paths=("a", "b"), tokens=(1, 1), uses=uses, together=((0, 1, share),))
    link_weights = weights(build_graph(signals, Limits()))
    assert link_weights.get((0, 1)) == link_weights.get((1, 0))
    return link_weights.get((0, 1), 0)


def test_references_both_ways_and_commits_add_up() -> None:
    assert bound_by(1500, (0, 1), (1, 0)) == 24 + 24 + 90
    assert bound_by(500) == 30


def test_commits_of_very_many_files_bind_nothing_unless_there_are_several() -> None:
    assert (bound_by(49), bound_by(50)) == (0, 3)


def test_a_load_is_by_number_or_by_length_and_an_agent_at_most() -> None:
    limits = Limits(max_files_per_subplan=10, max_tokens_per_subplan=1000)
    graph = build_graph(Signals(paths=("a", "b", "c"), tokens=(0, 500, 10**9)), limits)
    assert list(graph.loads) == [100_000, 500_000, 1_000_000]


def test_coupling_of_groups() -> None:
    graph = build_graph(files("a", "b", "c", "d", uses=(("a", "b"), ("c", "d"))), Limits())
    apart, mixed = measure_coupling(graph, [[0, 1], [2, 3]]), measure_coupling(graph, [[0, 2], [1, 3]])
    assert (apart.cut, apart.modularity) == pytest.approx((0, 0.5))
    assert (mixed.cut, mixed.modularity) == pytest.approx((1, -0.5))


def test_without_links_nothing_is_cut_and_nothing_better_than_chance() -> None:
    coupling = measure_coupling(build_graph(files("a", "b"), Limits()), [[0], [1]])
    assert (coupling.cut, coupling.modularity) == (0, 0)


CHAIN = files("a/1", "a/2", "b/1", "b/2", uses=(("a/1", "a/2"), ("a/2", "b/1"), ("b/1", "b/2")))


def test_joined_files_are_one_node_and_what_is_between_them_is_inside() -> None:
    graph = build_graph(CHAIN, Limits(max_files_per_subplan=10)).contract([[0, 1], [2], [3]])
    assert (graph.paths, graph.files, graph.tokens) == (["a/1", "b/1", "b/2"], [2, 1, 1], [200, 100, 100])
    assert (graph.loads, graph.inside) == ([200_000, 100_000, 100_000], [24, 0, 0])
    assert weights(graph) == {(0, 1): 24, (1, 0): 24, (1, 2): 24, (2, 1): 24}


def test_joining_twice_is_joining_once() -> None:
    graph = build_graph(CHAIN, Limits())
    assert graph.contract([[0, 1], [2], [3]]).contract([[0], [1, 2]]) == graph.contract([[0, 1], [2, 3]])


def test_coupling_is_the_same_for_files_and_for_files_that_are_joined() -> None:
    graph = build_graph(CHAIN, Limits())
    joined = graph.contract([[0, 1], [2], [3]])
    assert measure_coupling(joined, [[0], [1, 2]]) == measure_coupling(graph, [[0, 1], [2, 3]])
    assert measure_coupling(joined, [[0], [1, 2]]).cut == pytest.approx(1 / 3)


def test_a_part_of_a_graph_knows_nothing_of_the_rest() -> None:
    first, second = build_graph(CHAIN, Limits()).parts([[0], [1, 2, 3]])
    assert (first.paths, weights(first)) == (["a/1"], {})
    assert (second.paths, weights(second)) == (
        ["a/2", "b/1", "b/2"],
        {(0, 1): 24, (1, 0): 24, (1, 2): 24, (2, 1): 24},
    )
