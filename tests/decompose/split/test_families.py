"""Names as a kind of folder."""

import pytest

from decompose.sets import files
from weft.decompose.model import Limits, Signals
from weft.decompose.parts import decompose
from weft.decompose.split.families import family_of, group_by_family
from weft.decompose.split.graph import build_graph


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("a/check_this.py", "check"),
        ("a/check-that.test.js", "check"),
        ("a/CheckIt.java", "check"),
        ("a/HTTPServer.py", "http"),
        ("a/__init__.py", "init"),
        ("a/0001_initial.py", "initial"),
        ("a/f017.py", "f"),
        ("a/.env", ""),
        ("a/123", ""),
        ("a/été_2.md", "été"),
    ],
)
def test_the_family_is_the_first_word_without_digits(path: str, family: str) -> None:
    assert family_of(path) == family


def test_families_that_follow_each_other_are_gathered_and_none_is_torn() -> None:
    graph = build_graph(files(*(f"{name}_{number}" for name in "abcdef" for number in range(4))), Limits())
    families = [sorted({graph.paths[node][0] for node in group}) for group in group_by_family(graph, 3)]
    assert families == [["a", "b"], ["c", "d"], ["e", "f"]]
    assert len(group_by_family(graph, 100)) == 6


def test_a_family_that_is_most_of_all_is_one_group() -> None:
    graph = build_graph(files("a_0", "z_0", *(f"m_{number}" for number in range(20))), Limits())
    assert sorted(map(len, group_by_family(graph, 4))) == [1, 1, 20]


NAMES = [f"flat/{name}_{number}.py" for name in ("aws", "azure", "gcp", "git") for number in range(15)]


def test_a_flat_folder_without_links_is_split_by_names() -> None:
    whole = decompose(files(*NAMES), Limits(max_files_per_subplan=15))
    assert [{family_of(path) for path in part.files} for part in whole.parts] == [
        {"aws"},
        {"azure"},
        {"gcp"},
        {"git"},
    ]


def test_files_that_all_use_each_other_are_not_split_by_names() -> None:
    number = len(NAMES)
    uses = tuple((user, used) for user in range(number) for used in range(number) if user != used)
    signals = Signals(paths=tuple(sorted(NAMES)), tokens=(1,) * number, uses=uses)
    assert decompose(signals, Limits(max_files_per_subplan=15)).parts == ()


def test_families_follow_each_other_by_their_names_and_not_by_digits_or_capitals() -> None:
    graph = build_graph(files("1_zebra", "2_ant", "Bee"), Limits())
    assert [[graph.paths[node] for node in group] for group in group_by_family(graph, 3)] == [
        ["2_ant"],
        ["Bee"],
        ["1_zebra"],
    ]
