"""Files that changed together."""

import os
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.workspaces.git.base.history import CommonChanges, Pair, changed_together, files_of_commits
from weft.workspaces.git.base.program import Git
from workspaces.git.repositories import commit, repository

FILES = "abcdef"
some_files = st.frozensets(st.sampled_from(FILES))
names = st.binary(min_size=1, max_size=6).filter(lambda name: b"\0" not in name)


def all_pairs(git: Git, **limits: int) -> list[Pair]:
    together = changed_together(git, "HEAD", **limits)
    return together.pairs(together.files, together.files, least=1)


# Counting


@given(commits=st.lists(some_files), first=some_files, second=some_files, least=st.integers(1, 4))
def test_pairs_are_those_that_counting_one_by_one_finds(
    commits: list[frozenset[str]], first: frozenset[str], second: frozenset[str], least: int
) -> None:
    expected = {}
    for item, other in combinations(FILES, 2):
        times = sum({item, other} <= files for files in commits)
        between = (item in first and other in second) or (other in first and item in second)
        if between and times >= least:
            expected[frozenset((item, other))] = times
    result = CommonChanges(commits).pairs(first, second, least=least)
    assert {frozenset((pair.first, pair.second)): pair.times for pair in result} == expected
    assert len(result) == len(expected)
    assert all(pair.first in first and pair.second in second for pair in result)


@given(commits=st.lists(some_files), first=some_files, second=some_files)
def test_the_pairs_of_two_sets_are_those_of_the_sets_the_other_way_round(
    commits: list[frozenset[str]], first: frozenset[str], second: frozenset[str]
) -> None:
    together = CommonChanges(commits)
    there, back = together.pairs(first, second), together.pairs(second, first)
    assert {frozenset((p.first, p.second)) for p in there} == {frozenset((p.first, p.second)) for p in back}


def test_what_changed_together_most_often_comes_first() -> None:
    together = CommonChanges(["abc", "ab", "ab", "bc", "xa", "xa"])
    assert together.pairs("ab", "bcx") == [Pair("a", "b", 3), Pair("a", "x", 2), Pair("b", "c", 2)]


def test_collections_may_name_files_that_no_commit_touched() -> None:
    assert CommonChanges(["ab", "ab"]).pairs(["a", "new"], ["b", "newer"]) == [Pair("a", "b", 2)]


def test_a_file_that_a_commit_names_twice_counts_once() -> None:
    assert CommonChanges(["aab"]).pairs("a", "b", least=1) == [Pair("a", "b", 1)]


def test_files_are_found_by_patterns() -> None:
    together = CommonChanges([["src/a.py", "src/deep/b.py"], ["docs/a.md", "README"]])
    assert together.matching(["src/**/*.py", "README"]) == {"src/a.py", "src/deep/b.py", "README"}
    assert together.matching(["docs/"]) == {"docs/a.md"}
    assert together.matching([]) == frozenset()
    assert set(together.files) == {"src/a.py", "src/deep/b.py", "docs/a.md", "README"}


@given(commits=st.lists(st.lists(names)))
def test_the_files_of_each_commit_are_read_whatever_their_names_are(commits: list[list[bytes]]) -> None:
    log = b"".join(
        b"\0\0" + (b"\n" if files else b"") + b"".join(name + b"\0" for name in files) for files in commits
    )
    assert list(files_of_commits(log)) == [
        [os.fsdecode(name) for name in files] for files in commits if files
    ]


# The history


def test_files_of_one_commit_changed_together(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"a": "1\n", "b": "1\n", "c": "1\n"})
    commit(git, {"a": "2\n", "b": "2\n"})
    commit(git, {"c": "2\n"})
    assert all_pairs(git) == [Pair("a", "b", 2), Pair("a", "c", 1), Pair("b", "c", 1)]


def test_names_of_any_characters_are_names(tmp_path: Path) -> None:
    odd = ["line\nbreak", "\nbreak first", "a b", "ü", os.fsdecode(b"\xff")]
    git = repository(tmp_path / "r", dict.fromkeys(odd, "1\n"))
    git.do("commit", "--quiet", "--allow-empty", "-m", "nothing")
    assert set(changed_together(git, "HEAD").files) == set(odd)


def test_removing_and_renaming_a_file_is_a_change_of_it(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"a": "1\n"})
    commit(git, {"b": "2\n"})
    git.do("mv", "a", "new")
    git.do("rm", "--quiet", "b")
    git.do("commit", "--quiet", "-m", "more")
    assert all_pairs(git) == [Pair("a", "b", 1), Pair("a", "new", 1), Pair("b", "new", 1)]


def test_a_commit_of_very_many_files_says_nothing(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"a": "1\n", "b": "1\n", "c": "1\n"})
    commit(git, {"a": "2\n", "b": "2\n"})
    assert all_pairs(git, most_files=2) == [Pair("a", "b", 1)]
    assert len(all_pairs(git, most_files=3)) == 3


def test_only_the_last_commits_count(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"a": "1\n", "b": "1\n"})
    commit(git, {"b": "2\n", "c": "2\n"})
    commit(git, {"c": "3\n", "d": "3\n"})
    assert all_pairs(git, commits=2) == [Pair("b", "c", 1), Pair("c", "d", 1)]


def test_merges_are_left_out_but_what_they_merge_counts(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    git.do("switch", "--quiet", "--create", "side")
    commit(git, {"a": "1\n", "b": "1\n"})
    git.do("switch", "--quiet", "main")
    commit(git, {"c": "1\n"})
    git.do("merge", "--quiet", "--no-ff", "--no-commit", "side")
    commit(git, {"d": "1\n"})
    assert all_pairs(git) == [Pair("a", "b", 1)]
    assert all_pairs(git, commits=2) == [Pair("a", "b", 1)]


def test_a_branch_may_have_the_name_of_a_file(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"main": "1\n", "b": "1\n"})
    together = changed_together(git, "main")
    assert together.pairs(["main"], ["b"], least=1) == [Pair("main", "b", 1)]


@pytest.mark.parametrize(
    "taste", ["log.showRoot=false", "diff.relative=true", "color.ui=always", "diff.renames=copies"]
)
def test_the_taste_of_the_user_makes_no_difference(tmp_path: Path, taste: str) -> None:
    git = repository(tmp_path / "r", {"sub/a": "1\n", "sub/b": "1\n"})
    git.do("config", *taste.split("="))
    assert all_pairs(git.at(tmp_path / "r/sub")) == [Pair("sub/a", "sub/b", 1)]


def test_signatures_are_not_mixed_with_names(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"a": "1\n", "b": "1\n"})
    judge = tmp_path / "judge"
    judge.write_text("#!/bin/sh\necho good signature >&2\n")
    judge.chmod(0o755)
    git.do("config", "gpg.program", str(judge))
    git.do("config", "log.showSignature", "true")
    plain = git.do("cat-file", "commit", "HEAD")
    seal = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n"
    signed = git.do(
        "hash-object", "-t", "commit", "-w", "--stdin", stdin=plain.replace(b"\n\n", b"\n" + seal, 1)
    )
    git.do("update-ref", "HEAD", signed.decode().strip())
    assert b"good signature" in git.do("log")
    assert set(changed_together(git, "HEAD").files) == {"a", "b"}
