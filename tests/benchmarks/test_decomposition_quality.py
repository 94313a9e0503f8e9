"""Ways to divide files, and what is counted, are as the tables of the decomposition's quality say."""

import hashlib
import io
import tarfile
import zipfile
from collections import Counter
from itertools import chain
from math import sqrt
from pathlib import Path

import pytest

from benchmarks.decomposition.__main__ import main
from benchmarks.decomposition.dividing import (
    Balance,
    by_folder,
    by_lot,
    evened,
    first_as_balanced,
    inside,
    limits_to_try,
    pairs_of,
    standard_error,
)
from benchmarks.decomposition.fetching import archive_of, files_in
from benchmarks.decomposition.histories import build, later_commits, seen, surroundings
from benchmarks.decomposition.measuring import Comparison, Kept, Measured, measured
from benchmarks.decomposition.packages import PACKAGES, Package, Release, releases, releases_of
from benchmarks.decomposition.quality import losses, report
from weft.workspaces.git.base.program import Git


def leaves_of(*sizes: int) -> list[list[str]]:
    return [[f"{number}/{file:03}" for file in range(size)] for number, size in enumerate(sizes)]


def sizes_of(leaves) -> list[int]:
    return [len(leaf) for leaf in leaves]


def at_most(most: int):
    return lambda leaf: len(leaf) <= most


# Balance


def test_equal_leaves_are_as_many_in_effect_as_there_are() -> None:
    assert Balance.of(leaves_of(5, 5, 5, 5)) == Balance(effective=4.0, largest=0.25)


def test_a_large_leaf_beside_small_ones_makes_fewer_in_effect() -> None:
    balance = Balance.of(leaves_of(6, 2, 2))
    assert balance.effective == pytest.approx(100 / 44)
    assert balance.largest == 0.6


@pytest.mark.parametrize(
    ("sizes", "good"),
    [((5, 5), True), ((4, 4, 2), True), ((6, 4), False), ((10,), False)],
    ids=["the same", "more leaves", "a larger leaf", "one leaf"],
)
def test_leaves_are_as_good_as_others_if_no_less_balanced_in_any_way(sizes, good: bool) -> None:
    assert Balance.of(leaves_of(*sizes)).is_as_good_as(Balance(effective=2.0, largest=0.5)) is good


def test_a_twentieth_fewer_in_effect_will_do_and_no_more() -> None:
    other = Balance(effective=10.0, largest=0.5)
    assert Balance(effective=9.5, largest=0.5).is_as_good_as(other)
    assert not Balance(effective=9.4, largest=0.5).is_as_good_as(other)


# What is kept


def test_pairs_count_by_their_weight() -> None:
    pairs = [("a", "b", 1.0), ("a", "c", 3.0)]
    assert inside([["a", "b"], ["c"]], pairs) == 0.25
    assert inside([["a", "b", "c"]], pairs) == 1.0


def test_of_no_pairs_none_is_cut() -> None:
    assert inside([["a"], ["b"]], []) == 1.0


def test_each_file_of_a_commit_counts_one() -> None:
    assert pairs_of([["a", "b", "c"], ["a", "b"]], "abc", most=30) == [
        [("a", "b", 0.5), ("a", "c", 0.5), ("b", "c", 0.5)],
        [("a", "b", 1.0)],
    ]


def test_files_that_are_not_known_are_in_no_pair() -> None:
    assert pairs_of([["a", "new"], ["a", "b", "new"]], "ab", most=30) == [[("a", "b", 1.0)]]


def test_a_commit_of_too_many_files_is_left_out_even_if_few_of_them_are_known() -> None:
    assert pairs_of([["a", "b", "new"]], "ab", most=2) == []


def test_where_all_commits_say_the_same_there_is_no_error() -> None:
    commits = [[("a", "b", 1.0)]] * 5
    assert standard_error([["a", "b"]], [["a"], ["b"]], commits) == 0.0


def test_the_error_is_that_of_a_mean_of_commits() -> None:
    commits = [[("a", "b", 1.0)], [("a", "c", 1.0)]] * 8  # ours keeps every other one, the others none
    assert standard_error([["a", "b"], ["c"]], [["a"], ["b"], ["c"]], commits) == pytest.approx(
        0.5 / sqrt(16)
    )


def test_without_commits_there_is_no_error() -> None:
    assert standard_error([["a"]], [["a"]], []) == 0.0


# Blindly


def test_files_right_in_the_root_are_a_leaf_beside_its_folders() -> None:
    paths = ["src/b/c/two.py", "src/top.py", "src/a/one.py", "src/b/one.py", "src/again.py"]
    assert by_folder(paths, "src") == [
        ["src/a/one.py"],
        ["src/again.py", "src/top.py"],
        ["src/b/c/two.py", "src/b/one.py"],
    ]


def test_the_root_may_be_the_top_of_the_package() -> None:
    assert by_folder(["a/b/one.c", "a/two.c", "main.c"], "") == [["a/b/one.c", "a/two.c"], ["main.c"]]


def test_folders_are_cut_into_pieces_as_full_as_can_be() -> None:
    assert sizes_of(evened(leaves_of(12, 4), effective=2.0, fits=at_most(5))) == [5, 5, 2, 4]


def test_the_largest_are_halved_until_there_are_enough_leaves() -> None:
    assert sizes_of(evened(leaves_of(8, 4), effective=3.0, fits=at_most(8))) == [4, 4, 4]


def test_the_smallest_neighbours_are_joined_until_there_are_no_more_leaves() -> None:
    leaves = leaves_of(4, 1, 1, 4)
    assert evened(leaves, effective=3.0, fits=at_most(5)) == [leaves[0], leaves[1] + leaves[2], leaves[3]]


def test_nothing_is_joined_that_would_not_fit() -> None:
    assert sizes_of(evened(leaves_of(3, 3, 3), effective=1.0, fits=at_most(5))) == [3, 3, 3]


def test_a_file_that_does_not_fit_is_a_leaf() -> None:
    assert evened([["a", "b"]], effective=1.0, fits=lambda leaf: not leaf) == [["a"], ["b"]]


def test_no_file_is_lost_and_the_order_is_kept() -> None:
    leaves = leaves_of(13, 1, 7, 2, 2, 30)
    entry = evened(leaves, effective=9.0, fits=at_most(9))
    assert [*chain(*entry)] == [*chain(*leaves)]


def test_by_lot_every_file_is_in_one_leaf_of_the_size_asked_for() -> None:
    paths = [*chain(*leaves_of(6, 4))]
    entry = by_lot(paths, [3, 5, 2], seed=1)
    assert sizes_of(entry) == [3, 5, 2]
    assert Counter(chain(*entry)) == Counter(paths)


def test_the_same_seed_draws_the_same_lot_from_any_order() -> None:
    paths = [*chain(*leaves_of(20))]
    assert by_lot(paths, [10, 10], seed=1) == by_lot(paths[::-1], [10, 10], seed=1)
    assert by_lot(paths, [10, 10], seed=1) != by_lot(paths, [10, 10], seed=2)


# The same balance


def test_limits_go_down_from_the_largest_to_three() -> None:
    limits = limits_to_try(100)
    assert limits[:3] == [100, 95, 90]
    assert limits[-3:] == [5, 4, 3]
    assert limits_to_try(2) == [2]


def test_the_first_that_is_balanced_enough_is_taken_and_no_more_are_tried() -> None:
    tried = iter([leaves_of(8, 2), leaves_of(5, 5), leaves_of(4, 3, 3)])
    assert first_as_balanced(tried, Balance(effective=2.0, largest=0.5)) == leaves_of(5, 5)
    assert len([*tried]) == 1


def test_there_may_be_none_that_is_balanced_enough() -> None:
    assert first_as_balanced([leaves_of(8, 2)], Balance(effective=2.0, largest=0.5)) is None


# Packages


def test_every_package_has_releases_and_every_release_a_package() -> None:
    assert {release.package for release in releases()} == {package.name for package in PACKAGES}
    assert all(len(release.sha256) == 64 for release in releases())
    assert len({(release.package, release.version) for release in releases()}) == len([*releases()])


def test_at_least_five_packages_have_a_history() -> None:
    assert sum(len(releases_of(package)) > 1 for package in PACKAGES) >= 5


def test_source_is_below_the_root_and_carries_no_version() -> None:
    package = Package(
        name="p", archive="npm", root="src", endings=(".js", ".ts"), without=("src/version.js",)
    )
    paths = ["src/a.js", "src/b/c.ts", "src/a.json", "src/version.js", "srcs/a.js", "a.js"]
    assert [path for path in paths if package.is_source(path)] == ["src/a.js", "src/b/c.ts"]


WHEEL = Package(name="made-up", archive="wheel", root="made", endings=(".py",))


def write_wheel(path: Path, files: dict[str, str]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(zipfile.ZipInfo(name), text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_archive_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    sha256 = write_wheel(tmp_path / "made-up-1.wheel", {"made/a.py": "1\n", "made/b/": ""})
    archive = archive_of(WHEEL, Release("made-up", "1", sha256), tmp_path)
    assert [*files_in(archive)] == [("made/a.py", b"1\n")]


def test_an_archive_that_is_another_one_is_refused_and_not_kept(tmp_path: Path) -> None:
    write_wheel(tmp_path / "made-up-1.wheel", {"made/a.py": ""})
    with pytest.raises(SystemExit, match=r"made-up-1.wheel is not what releases.txt says"):
        archive_of(WHEEL, Release("made-up", "1", "0" * 64), tmp_path)
    assert not [*tmp_path.iterdir()]


def test_files_of_a_tarball_begin_below_its_top_and_links_are_left_out(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "made-up-1.npm", "w:gz") as archive:
        plain, link = tarfile.TarInfo("package/src/a.js"), tarfile.TarInfo("package/src/b.js")
        plain.size, link.type, link.linkname = 2, tarfile.SYMTYPE, "a.js"
        archive.addfile(plain, io.BytesIO(b"1\n"))
        archive.addfile(link)
    assert [*files_in(tmp_path / "made-up-1.npm")] == [("src/a.js", b"1\n")]


# Histories


@pytest.mark.parametrize(("all_", "older"), [(1, 1), (2, 2), (4, 3), (10, 7), (61, 41)])
def test_two_thirds_of_the_differences_are_seen(all_: int, older: int) -> None:
    assert seen(all_) == older


def test_each_release_is_a_commit_and_the_newest_third_is_not_seen(tmp_path: Path) -> None:
    trees = [
        {"s/a": b"1", "s/b c": b"1"},
        {"s/a": b"2", "s/b c": b"1"},
        {"s/a": b"3"},
        {"s/a": b"4", "s/d": b""},
    ]
    build(tmp_path / "p", iter(trees))
    assert (tmp_path / "p" / "s" / "a").read_bytes() == b"3"
    assert later_commits(tmp_path / "p") == [["s/a", "s/d"]]
    git = Git(tmp_path / "p", environ=surroundings())
    assert git.line("rev-list", "--count", "main") == "3"
    assert [each.name for each in tmp_path.iterdir()] == ["p"]


# Verdict


def kept(references: float, history: float, later: float | None = None) -> Kept:
    return Kept(references=references, history=history, later=history if later is None else later)


def comparison(ours: Kept, folders: Kept, lot: Kept) -> Comparison:
    balance = Balance(effective=4.0, largest=0.25)
    return Comparison(
        leaves=4, balance=balance, ours=ours, folders=folders, folders_balance=balance, lot=lot, error=0.05
    )


def result(as_folders: Comparison, *, commits: int = 7, later_commits: int = 3) -> Measured:
    won = comparison(kept(0.5, 0.5), kept(0.4, 0.4), kept(0.1, 0.1))
    return Measured(
        package="p",
        files=1234,
        references=5,
        releases=9,
        commits=commits,
        later_commits=later_commits,
        depth=2,
        seconds=0.25,
        as_folders=as_folders,
        at_defaults=won,
    )


def test_whoever_keeps_no_more_than_another_has_lost() -> None:
    entry = result(comparison(kept(0.5, 0.3, 0.1), kept(0.5, 0.2, 0.1), kept(0.1, 0.4, 0.0)))
    assert losses(entry) == [
        "p, as folders: references 0.500, folders 0.500",
        "p, as folders: later changes 0.100, folders 0.100",
        "p, as folders: changes 0.300, by lot 0.400",
    ]


def test_changes_do_not_count_where_there_are_none() -> None:
    even = comparison(kept(0.5, 1), kept(0.4, 1), kept(0.1, 1))
    assert losses(result(even, commits=0, later_commits=0)) == []
    assert losses(result(even, commits=0)) == [
        "p, as folders: later changes 1.000, folders 1.000",
        "p, as folders: later changes 1.000, by lot 1.000",
    ]


def test_the_report_has_a_row_for_each_package_in_each_table() -> None:
    rows = report([result(comparison(kept(0.5, 0.6, 0.3), kept(0.4, 0.5, 0.2), kept(0.1, 0.1)))]).splitlines()
    assert [row for row in rows if row.startswith("| p ")] == [
        "| p | 1,234 | 5 | 9 | 7 | 3 | 4 | 2 | 0.2 s |",
        "| p | 4.0 / 4.0 | 0.25 / 0.25 | 0.50 / 0.40 / 0.10 | 0.60 / 0.50 / 0.10 | 0.30 / 0.20 / 0.10 (± 0.05) |",
        "| p | 4.0 / 4.0 | 0.25 / 0.25 | 0.50 / 0.40 / 0.10 | 0.50 / 0.40 / 0.10 | 0.50 / 0.40 / 0.10 (± 0.05) |",
    ]


# As a whole


def made_up_release(number: int) -> dict[str, str]:
    """Two folders, whose files use each other across: module n of one and module n of the other."""
    there = {
        f"made/{folder}/m{n}.py": f"from made.{other} import m{n}\n"
        for n in range(8)
        for folder, other in ("ab", "ba")
    }
    changed = {f"made/{folder}/m{number}.py": there[f"made/{folder}/m{number}.py"] + "1\n" for folder in "ab"}
    return there | changed


def test_a_package_is_measured_from_its_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archives = tmp_path / "archives"
    digests = [write_wheel(archives / f"made-up-{n}.wheel", made_up_release(n)) for n in range(4)]
    (tmp_path / "releases.txt").write_text("".join(f"made-up {n} {it}\n" for n, it in enumerate(digests)))
    monkeypatch.setattr("benchmarks.decomposition.packages.RELEASES", tmp_path / "releases.txt")
    values: list[str] = []
    entry = measured(WHEEL, tmp_path, values.append)
    assert (entry.files, entry.references, entry.releases, entry.commits, entry.later_commits) == (
        16,
        16,
        4,
        2,
        1,
    )
    assert (entry.as_folders.folders.references, entry.as_folders.ours.references) == (0.0, 1.0)
    assert values[0] == "made-up 0, 1 of 4 releases"


def test_scale_says_what_so_many_files_took(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", "60"]) == 0
    assert capsys.readouterr().out.startswith("60 files: ")


def test_a_package_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["quality", "nonsense"])
    assert "there is no package nonsense; there are hypothesis, " in capsys.readouterr().err
