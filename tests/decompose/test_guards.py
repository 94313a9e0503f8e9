"""When a set is split, how deep, and when not."""

import os
import subprocess
import sys

import pytest

from decompose.sets import all_parts, deep_tree, everyone_uses_everyone, files
from weft.decompose.model import Limits, Signals
from weft.decompose.parts import decompose
from weft.errors import ConfigError, InputError


def test_no_files_are_an_error() -> None:
    with pytest.raises(InputError, match="no files"):
        decompose(Signals(paths=(), tokens=()), Limits())


def test_files_that_all_use_each_other_are_a_leaf_at_once() -> None:
    whole = decompose(everyone_uses_everyone(60), Limits())
    assert (whole.depth, whole.too_large) == (0, False)


def test_files_in_one_folder_without_links_are_a_leaf_at_once() -> None:
    whole = decompose(files(*(f"src/f{number}.txt" for number in range(200))), Limits())
    assert (whole.depth, whole.too_large) == (0, False)


def test_tokens_and_not_the_number_of_files_make_a_leaf_too_large() -> None:
    many = tuple(f"src/f{number}.py" for number in range(200))
    small, large = (decompose(files(*many, tokens=size), Limits()) for size in (500, 501))
    assert [(whole.tokens, whole.too_large) for whole in (small, large)] == [
        (100_000, False),
        (100_200, True),
    ]


def test_one_cluster_among_folders_does_not_make_the_tree_deeper() -> None:
    clique = everyone_uses_everyone(60)
    beside = tuple(f"other/f{number}.py" for number in range(10))
    whole = decompose(Signals(paths=(*clique.paths, *beside), tokens=(100,) * 70, uses=clique.uses), Limits())
    assert [(part.id, part.depth, part.too_large) for part in whole.parts] == [
        ("flat", 0, False),
        ("other", 0, False),
    ]


def test_a_folder_in_a_folder_in_a_folder_costs_no_depth() -> None:
    whole = decompose(
        files(*(f"a/b/c/d/e/f/{name}/{number}.py" for name in ("x", "y") for number in range(30))),
        Limits(max_files_per_subplan=30),
    )
    assert [(part.id, len(part.files), part.depth) for part in whole.parts] == [("x", 30, 0), ("y", 30, 0)]


def test_fewer_than_50_files_over_3_levels_of_folders_stay_at_depth_2() -> None:
    whole = decompose(deep_tree(folders=2, levels=3, in_each=6), Limits(max_files_per_subplan=3))
    assert (len(whole.files), whole.depth) == (48, 2)


def test_50_files_over_the_same_folders_may_be_deeper() -> None:
    whole = decompose(deep_tree(folders=2, levels=3, in_each=7), Limits(max_files_per_subplan=7))
    assert whole.depth == 3


@pytest.mark.parametrize(("number", "depth"), [(49, 2), (50, 6)])
def test_from_50_files_on_the_whole_depth_is_allowed(number: int, depth: int) -> None:
    assert (Limits().depth_for(number), Limits(max_depth=1).depth_for(number)) == (depth, 1)


def test_a_large_deep_tree_has_four_levels_and_more() -> None:
    whole = decompose(deep_tree(folders=4, levels=5, in_each=3), Limits())
    assert (len(whole.files), whole.depth) == (3072, 4)
    assert not any(leaf.too_large for leaf in whole.leaves())


def test_links_are_right_for_several_children_on_several_levels() -> None:
    whole = decompose(deep_tree(folders=3, levels=3, in_each=3), Limits(max_files_per_subplan=3))
    assert [part.id for part in whole.parts] == ["d0", "d1", "d2"]
    assert [part.files[0] for part in whole.parts[1].parts] == [
        f"d1/d{number}/d0/f0.py" for number in range(3)
    ]
    assert [part.files for part in whole.parts[2].parts[0].parts][1] == tuple(
        f"d2/d0/d1/f{number}.py" for number in range(3)
    )


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_tree_is_as_deep_as_allowed_and_then_wider(depth: int) -> None:
    whole = decompose(deep_tree(folders=4, levels=4, in_each=4), Limits(max_depth=depth))
    assert whole.depth == depth
    assert max(len(leaf.files) for leaf in whole.leaves()) <= 50


def test_what_fits_one_agent_is_not_split() -> None:
    whole = decompose(deep_tree(folders=5, levels=2, in_each=1), Limits(max_files_per_subplan=25))
    assert whole.parts == ()


def test_files_are_split_for_their_tokens_alone() -> None:
    whole = decompose(
        files(*(f"{folder}/{number}.py" for folder in "ab" for number in range(3)), tokens=1000),
        Limits(max_tokens_per_subplan=3000),
    )
    assert [(part.id, part.tokens) for part in whole.parts] == [("a", 3000), ("b", 3000)]


def test_folders_with_too_few_files_join_those_they_are_linked_to() -> None:
    whole = decompose(
        files(
            "lone/x.py",
            *(f"{folder}/{number}.py" for folder in ("one", "two") for number in range(4)),
            uses=(("lone/x.py", "two/3.py"),),
        ),
        Limits(max_files_per_subplan=5),
    )
    assert [part.files[0] for part in whole.parts] == ["lone/x.py", "one/0.py"]
    assert [len(part.files) for part in whole.parts] == [5, 4]


def test_links_split_what_folders_do_not() -> None:
    ring = [(number, (number + 1) % 20) for number in range(20)]
    uses = tuple(
        (f"flat/{side}{first:02}.py", f"flat/{side}{two:02}.py") for side in "ab" for first, two in ring
    )
    whole = decompose(files(*(user for user, _used in uses), uses=uses), Limits())
    assert [{path[5] for path in part.files} for part in whole.parts] == [{"a"}, {"b"}]


def test_links_across_folders_outweigh_them() -> None:
    """Code and its tests, in trees of their own: what is tested goes with its tests."""
    names = [f"{part}{number}" for part in "abcd" for number in range(8)]
    uses = [(f"tests/{name}_test.py", f"src/{name}.py") for name in names]
    uses += [(f"src/{name}.py", f"src/{name[0]}0.py") for name in names if name[1] != "0"]
    paths = {path for pair in uses for path in pair}
    whole = decompose(files(*paths, uses=tuple(uses)), Limits(max_files_per_subplan=16))
    leaf_of = {path: number for number, leaf in enumerate(whole.leaves()) for path in leaf.files}
    assert sum(leaf_of[user] == leaf_of[used] for user, used in uses) >= 0.9 * len(uses)


def test_very_many_folders_are_gathered() -> None:
    whole = decompose(files(*(f"d{number:05}/x.py" for number in range(2000))), Limits())
    assert max(len(group.parts) for group in all_parts(whole)) <= 8
    assert not any(leaf.too_large for leaf in whole.leaves())


def test_on_one_level_there_are_as_many_parts_as_leaves_are_needed() -> None:
    whole = decompose(deep_tree(folders=12, levels=2, in_each=25), Limits(max_depth=1))
    assert (len(whole.files), whole.depth, len(whole.parts)) == (3600, 1, 144)
    assert not any(leaf.too_large for leaf in whole.leaves())


def test_a_file_beyond_all_measure_is_one_agent_s_and_no_more() -> None:
    sizes = (10**12, *(10,) * 11)
    paths = tuple(f"{number // 3}/{number:02}.py" for number in range(12))
    whole = decompose(
        Signals(paths=paths, tokens=sizes), Limits(max_files_per_subplan=3, max_tokens_per_subplan=1)
    )
    assert [len(part.files) for part in whole.parts] == [3, 3, 3, 3]


def test_nothing_is_printed_where_a_plan_is_expected(capfd: pytest.CaptureFixture[str]) -> None:
    """One file outweighs all others together, and more parts are requested than are possible."""
    ring = tuple((number, (number + 1) % 60) for number in range(60))
    tokens = (10_000_000, *(10,) * 59)
    paths = tuple(f"flat/{number:02}.py" for number in range(60))
    decompose(Signals(paths=paths, tokens=tokens, uses=ring), Limits(max_files_per_subplan=4))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_depth", 0), ("min_files_per_subplan", -1), ("max_files_per_subplan", True), ("max_depth", 2.0)],
)
def test_a_limit_out_of_range_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be a whole number from 1 on"):
        Limits(**{name: value})  # type: ignore[arg-type]


def test_a_minimum_above_the_maximum_is_refused() -> None:
    with pytest.raises(ConfigError, match="give a maximum that is not below"):
        Limits(min_files_per_subplan=9, max_files_per_subplan=8)


PROGRAM = """
from decompose.sets import deep_tree
from weft.decompose.model import Limits, Signals
from weft.decompose.parts import decompose
from msgspec.json import encode
tree = deep_tree(folders=3, levels=3, in_each=5)
uses = tuple(sorted({(n, n * 7 % 135) for n in range(135)} - {(n, n) for n in range(135)}))
signals = Signals(paths=tree.paths, tokens=tree.tokens, uses=uses)
print(encode(decompose(signals, Limits(max_files_per_subplan=8))).decode())
"""


def test_another_process_with_other_hashes_gives_the_same_bytes() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": "tests"},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert b"risks" in outputs.pop()
