"""A last look at every file."""

from weft.decompose.model import Limits, Signals
from weft.decompose.split.graph import Graph, build_graph
from weft.decompose.split.reassignment import move_nodes

LIMITS = Limits(min_files_per_subplan=1, max_files_per_subplan=5, max_tokens_per_subplan=1000)


def graph(number: int, *uses: tuple[int, int], folder: int = 100, tokens: int = 10) -> Graph:
    """Every `folder` consecutive files share a folder."""
    paths = tuple(f"f{file // folder}/{file:02}" for file in range(number))
    return build_graph(Signals(paths=paths, tokens=(tokens,) * number, uses=tuple(sorted(uses))), LIMITS)


def test_a_file_moves_to_the_leaf_that_it_is_most_bound_to() -> None:
    assert move_nodes(graph(6, (0, 3), (0, 4)), [[0, 1, 2], [3, 4, 5]], LIMITS) == [[1, 2], [0, 3, 4, 5]]


def test_of_two_leaves_the_one_that_binds_more() -> None:
    linked_files = graph(7, (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (2, 3), (3, 2))
    assert move_nodes(linked_files, [[0, 1], [2, 3], [4, 5, 6]], LIMITS) == [[1], [2, 3], [0, 4, 5, 6]]


def test_a_folder_holds_its_files_as_much_as_a_reference() -> None:
    """All of the folder is in the first leaf; one reference is not more, two are."""
    leaves = [[0, 1, 2], [3, 4, 5]]
    assert move_nodes(graph(6, (0, 3), folder=3), leaves, LIMITS) == leaves
    assert move_nodes(graph(6, (0, 3), (0, 4), folder=3), leaves, LIMITS) == [[1, 2], [0, 3, 4, 5]]


def test_a_file_comes_back_to_most_of_its_folder() -> None:
    """0 is bound to both leaves alike; three of its folder are in the second."""
    linked_files = graph(8, (0, 3), (0, 4), folder=4)
    assert move_nodes(linked_files, [[0, 4, 5, 6], [1, 2, 3, 7]], LIMITS) == [[4, 5, 6], [0, 1, 2, 3, 7]]


def test_a_file_is_not_held_by_itself() -> None:
    """0 is bound to 3 by a reference; to 5 by half of one, as four use it, and by the two others of its folder."""
    linked_files = graph(9, (0, 3), (0, 5), (6, 5), (7, 5), (8, 5), folder=3)
    wide = Limits(min_files_per_subplan=3, max_files_per_subplan=9)
    assert move_nodes(linked_files, [[0, 3, 4], [1, 2, 5, 6, 7, 8]], wide) == [[0, 3, 4], [1, 2, 5, 6, 7, 8]]
    wide = Limits(min_files_per_subplan=2, max_files_per_subplan=9)
    assert move_nodes(linked_files, [[0, 3, 4], [1, 2, 5, 6, 7, 8]], wide) == [[3, 4], [0, 1, 2, 5, 6, 7, 8]]


def test_a_full_leaf_takes_nothing() -> None:
    by_number = graph(8, (0, 3), (0, 4), (3, 4), (4, 3))
    assert move_nodes(by_number, [[0, 1, 2], [3, 4, 5, 6, 7]], LIMITS) == [[0, 1, 2], [3, 4, 5, 6, 7]]
    by_tokens = graph(6, (0, 3), (0, 4), (3, 4), (4, 3), tokens=300)
    assert move_nodes(by_tokens, [[0, 1, 2], [3, 4, 5]], LIMITS) == [[0, 1, 2], [3, 4, 5]]


def test_a_leaf_keeps_half_of_what_it_had() -> None:
    linked_files = graph(8, *((file, target) for file in range(4) for target in (4, 5)))
    assert [len(leaf) for leaf in move_nodes(linked_files, [[0, 1, 2, 3], [4, 5], [6, 7]], LIMITS)] == [
        2,
        4,
        2,
    ]


def test_a_leaf_keeps_the_least_number_of_files() -> None:
    limits = Limits(min_files_per_subplan=3, max_files_per_subplan=5)
    assert move_nodes(graph(6, (0, 3), (0, 4)), [[0, 1, 2], [3, 4, 5]], limits) == [[0, 1, 2], [3, 4, 5]]


def test_a_move_brings_others_after_it() -> None:
    """0 is bound to 1 alone, which moves only after 0 has been looked at."""
    leaves = move_nodes(graph(6, (0, 1), (1, 3), (1, 4), (1, 5)), [[0, 1, 2], [3, 4, 5]], LIMITS)
    assert leaves == [[2], [0, 1, 3, 4, 5]]


def test_a_knot_moves_as_a_whole_or_not() -> None:
    files = graph(7, (0, 1), (1, 0), (0, 4), (0, 5), (1, 4), (1, 5), (4, 5), (5, 4))
    knotted = files.contract([[0, 1], [2], [3], [4], [5], [6]])
    assert move_nodes(knotted, [[0, 1, 2], [3, 4, 5]], LIMITS) == [[1, 2], [0, 3, 4, 5]]
    tight = Limits(min_files_per_subplan=1, max_files_per_subplan=4)
    assert move_nodes(knotted, [[0, 1, 2], [3, 4, 5]], tight) == [[0, 1, 2], [3, 4, 5]]
