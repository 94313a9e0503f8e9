"""Folders as parts."""

import pytest

from decompose.sets import files
from weft.decompose.model import Limits
from weft.decompose.split.folders import common_folder, pieces, siblings
from weft.decompose.split.graph import Graph, build_graph

LIMITS = Limits(max_files_per_subplan=10)
A_FILE = 100_000


def graph(*paths: str) -> Graph:
    return build_graph(files(*paths), LIMITS)


def paths(found: Graph, groups: list[list[int]]) -> list[list[str]]:
    return [[found.paths[node] for node in group] for group in groups]


def names(found: Graph, *, largest: int, down_to_nodes: bool) -> list[tuple[str, int, bool]]:
    folders = pieces(found, largest=largest * A_FILE, down_to_nodes=down_to_nodes)
    assert sorted(node for folder in folders for node in folder.nodes) == list(found.nodes)
    return [(folder.path, len(folder.nodes), folder.whole) for folder in folders]


TREE = graph("a/b/1", "a/b/2", "a/c/1", "a/x", "a/y", "d/1", "d/2")


def test_siblings_are_the_folders_below_the_common_one() -> None:
    tree = graph("top/a/1", "top/a/b/2", "top/c/3", "top/d/4")
    groups = siblings(tree, most=8, load=10**9)
    assert paths(tree, [list(group) for group in groups]) == [
        ["top/a/1", "top/a/b/2"],
        ["top/c/3"],
        ["top/d/4"],
    ]


def test_what_is_more_than_half_is_replaced_by_what_is_in_it() -> None:
    assert [len(group) for group in siblings(TREE, most=8, load=10**9)] == [2, 1, 2, 2]
    assert [len(group) for group in siblings(TREE, most=3, load=10**9)] == [5, 2]


def test_what_is_too_large_is_opened_though_there_are_too_many_then() -> None:
    assert [len(group) for group in siblings(TREE, most=2, load=4 * A_FILE)] == [2, 1, 2, 2]


def test_pieces_are_whole_folders_and_the_own_files_of_opened_ones() -> None:
    assert names(TREE, largest=2, down_to_nodes=False) == [
        ("a/b", 2, True),
        ("a/c", 1, True),
        ("a", 2, False),
        ("d", 2, True),
    ]
    assert names(TREE, largest=5, down_to_nodes=False) == [("a", 5, True), ("d", 2, True)]


def test_own_files_are_one_piece_however_many_unless_the_way_goes_down_to_nodes() -> None:
    flat = graph("a/1", "a/2", "a/3", "b/1")
    assert names(flat, largest=2, down_to_nodes=False) == [("a", 3, False), ("b", 1, True)]
    assert names(flat, largest=2, down_to_nodes=True) == [("a", 1, False)] * 3 + [("b", 1, True)]


def test_a_piece_names_the_folder_around_it() -> None:
    folders = pieces(TREE, largest=2 * A_FILE, down_to_nodes=False)
    assert [folder.around for folder in folders] == ["a", "a", "a", ""]


@pytest.mark.parametrize("letter", ["-", ".", " ", "0", "é", "\udc80"])
def test_names_that_are_sorted_around_a_slash_are_distinguished(letter: str) -> None:
    tree = graph("a/1", "a/2", f"a{letter}/1", f"a{letter}b", "b/1")
    folders = pieces(tree, largest=2 * A_FILE, down_to_nodes=False)
    assert {(folder.path, len(folder.nodes)) for folder in folders} == {
        ("a", 2),
        (f"a{letter}", 1),
        ("", 1),
        ("b", 1),
    }


def test_the_common_folder_is_that_of_whole_names() -> None:
    assert common_folder(["a/bc/1", "a/bd/1"]) == "a"
    assert common_folder(["a/b/1", "c/d/1"]) == ""
