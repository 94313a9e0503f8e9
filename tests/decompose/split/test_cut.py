"""Which strategy splits a part."""

from itertools import product

from weft.decompose.model import Limits, Signals
from weft.decompose.split.cut import cut
from weft.decompose.split.graph import build_graph


def cut_paths(uses: set[tuple[str, str]], limits: Limits, *alone: str, levels: int = 6) -> list[set[str]]:
    paths = tuple(sorted({path for pair in uses for path in pair}.union(alone)))
    numbers = {path: number for number, path in enumerate(paths)}
    signals = Signals(
        paths=paths,
        tokens=(1,) * len(paths),
        uses=tuple(sorted((numbers[user], numbers[used]) for user, used in uses)),
    )
    graph = build_graph(signals, limits)
    return [{graph.paths[node] for node in group} for group in cut(graph, limits, levels)]


def ring(folder: str, number: int) -> set[tuple[str, str]]:
    return {(f"{folder}/{file:02}", f"{folder}/{(file + 1) % number:02}") for file in range(number)}


def folders_of(paths: set[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths}


def test_folders_beside_each_other_that_have_little_between_them() -> None:
    uses = ring("a", 12) | ring("b", 12) | ring("c", 12) | {("a/00", "b/00")}
    groups = cut_paths(uses, Limits(max_files_per_subplan=12))
    assert [folders_of(part) for part in groups] == [{"a"}, {"b"}, {"c"}]


def test_whole_folders_from_anywhere_where_siblings_are_torn_by_links() -> None:
    """Code, and tests in a tree of their own: each package goes with its tests."""
    uses = set[tuple[str, str]]()
    for name in ("net", "plan", "store"):
        uses |= ring(f"src/{name}", 8)
        uses |= {(f"tests/{name}/{file:02}", f"src/{name}/{file:02}") for file in range(8)}
    groups = cut_paths(uses, Limits(max_files_per_subplan=16))
    assert [folders_of(part) for part in groups] == [
        {f"src/{name}", f"tests/{name}"} for name in ("net", "plan", "store")
    ]


def test_two_siblings_are_not_taken_for_cutting_little_because_they_are_few() -> None:
    """In two trees a quarter of the links is cut. Eight parts cut about as much, but other two next to nothing."""
    uses = set[tuple[str, str]]()
    for number, file in product(range(16), range(8)):
        user_path, next_one = f"p{number:02}/{file}", f"p{number + 1:02}/{file}"
        beside, after = f"p{number:02}/{(file + 1) % 8}", f"p{number + 1:02}/{(file + 1) % 8}"
        uses |= {(f"tests/{user_path}", f"src/{user_path}"), (f"tests/{user_path}", f"src/{beside}")}
        for tree in ("src", "tests"):
            uses.add((f"{tree}/{user_path}", f"{tree}/{beside}"))
            uses |= {
                (f"{tree}/{user_path}", f"{tree}/{next_one}"),
                (f"{tree}/{user_path}", f"{tree}/{after}"),
            }
    assert len(cut_paths(uses, Limits(max_files_per_subplan=8))) == 8


def test_names_weigh_more_for_parts_that_are_split_again_than_for_leaves() -> None:
    """In each folder one file belongs to the next one: a tenth of the links is cut along folders."""
    uses = set[tuple[str, str]]()
    for number in range(8):
        paths = [f"d{(number + (file == 7)) % 8}/{number}{file:02}" for file in range(20)]
        uses |= set(zip(paths, [*paths[1:], paths[0]], strict=True))
    above, leaves = (cut_paths(uses, Limits(max_files_per_subplan=most)) for most in (10, 20))
    assert [folders_of(part) for part in above] == [{f"d{number}"} for number in range(8)]
    assert sorted({path[3] for path in part}.pop() for part in leaves) == list("01234567")
    assert all(len({path[3] for path in part}) == 1 for part in leaves)


def test_files_from_anywhere_where_whole_folders_are_torn_by_links() -> None:
    uses = {
        (f"{'ab'[file % 2]}/{side}{file:02}", f"{'ab'[(file + 1) % 2]}/{side}{(file + 1) % 20:02}")
        for side in "xyz"
        for file in range(20)
    }
    groups = cut_paths(uses, Limits(max_files_per_subplan=20))
    assert [{path[2] for path in part} for part in groups] == [{"x"}, {"y"}, {"z"}]


def test_a_part_that_few_levels_are_left_for_is_cut_into_more() -> None:
    uses = set[tuple[str, str]]().union(*(ring(f"d{number:02}", 4) for number in range(20)))
    assert len(cut_paths(uses, Limits(max_files_per_subplan=4), levels=1)) == 20
    assert len(cut_paths(uses, Limits(max_files_per_subplan=4), levels=2)) == 8


def test_what_is_bound_by_chance_only_is_not_cut() -> None:
    everyone = {
        (f"flat/{first:02}", f"flat/{second:02}")
        for first in range(30)
        for second in range(30)
        if first != second
    }
    assert cut_paths(everyone, Limits(max_files_per_subplan=10)) == []
    assert (
        cut_paths(set(), Limits(max_files_per_subplan=10), *(f"flat/{file:02}" for file in range(30))) == []
    )


def test_too_few_files_for_two_groups_are_not_cut() -> None:
    assert cut_paths(ring("a", 3) | ring("b", 2), Limits(max_files_per_subplan=3)) == []
