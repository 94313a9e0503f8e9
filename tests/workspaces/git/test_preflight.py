"""What a person should know before slices start."""

import os
from pathlib import Path

import pytest

from weft.errors import InputError
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.repository import open_repository, resolve_ends
from weft.workspaces.git.preflight import Concerns, concerns, uncommitted
from workspaces.git.repositories import commit, repository, surroundings, write

LFS = {
    ".gitattributes": "*.txt text\n",
    "media/.gitattributes": "*.png filter=lfs diff=lfs merge=lfs -text\n",
}


def uncommitted_in(git: Git) -> list[str]:
    opened = open_repository(git.directory, environ=surroundings(git.directory.parent))
    return [*uncommitted(opened)]


def found(
    git: Git, *setup: str, base: str | None = None, target: str | None = None, names: RefNames | None = None
) -> Concerns:
    opened = open_repository(git.directory, environ=surroundings(git.directory.parent))
    return concerns(opened, resolve_ends(opened, base=base, target=target), setup=setup, names=names)


def add_entry(git: Git, mode: str, content: str, name: str) -> None:
    git.do("update-index", "--add", "--cacheinfo", f"{mode},{content},{name}")


def test_of_a_plain_repository_there_is_nothing_to_say(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"a": "1\n", "sub/b": "2\n", ".gitattributes": "*.txt text\n"})
    assert found(git, names=RefNames("notes")) == Concerns(refusals=(), notes=())


# Names


@pytest.mark.parametrize("branch", ["weft", "weft/notes"])
def test_a_branch_that_is_in_the_way_of_our_names_is_refused(tmp_path: Path, branch: str) -> None:
    git = repository(tmp_path / "r")
    git.do("branch", branch)
    (refusal,) = found(git, names=RefNames("notes")).refusals
    assert refusal.startswith(f"there is a branch '{branch}', and git allows no 'weft/notes/_plan' beside it")
    assert refusal.endswith(f"type: git branch -m {branch} {branch}-old")
    assert found(git, names=RefNames("other", prefix="bots/")).refusals == ()
    assert found(git).refusals == ()


def test_branches_of_an_earlier_run_are_not_in_the_way(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    git.do("branch", "weft/notes/_plan")
    git.do("branch", "weft/other/_plan")
    assert found(git, names=RefNames("notes")).refusals == ()


def test_a_prefix_that_git_does_not_allow_is_refused(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    (refusal,) = found(git, names=RefNames("notes", prefix="a..b/")).refusals
    assert refusal.startswith("git does not allow a branch 'a..b/notes/_plan'; write another `branch_prefix`")


# Base and target


def test_a_base_without_anything_in_common_with_the_target_is_refused(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    git.do("switch", "--quiet", "--orphan", "other")
    base = commit(git, {"b": "1\n"})
    (refusal,) = found(git, base="other", target="main").refusals
    assert refusal.startswith(f"the base {base[:12]} and the target 'main' have no commit in common")


def test_commits_of_the_base_that_are_not_on_the_target_are_reported(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    git.do("branch", "old")
    base = commit(git, {"b": "1\n"})
    (note,) = found(git, base="main", target="old").notes
    assert note.startswith(
        f"work starts from {base[:12]}, which is not part of 'old': its additional commits (1 commit)"
    )
    assert found(git, base="old", target="main").notes == ()
    commit(git, {"b": "2\n"})
    assert "(2 commits)" in found(git, base="main", target="old").notes[0]


# Submodules


def with_submodule(top: Path) -> Git:
    git = repository(top, {".gitmodules": '[submodule "part"]\n\tpath = part\n\turl = ../part\n'})
    add_entry(git, "160000", git.line("rev-parse", "HEAD"), "libs/part")
    git.do("commit", "--quiet", "-m", "a part")
    (top / "libs/part").mkdir(parents=True)
    return git


def test_submodules_are_refused_with_what_to_write(tmp_path: Path) -> None:
    (refusal,) = found(with_submodule(tmp_path / "r"), "make").refusals
    assert refusal.startswith("the repository has submodules (libs/part)")
    assert "`setup: git submodule update --init --recursive`" in refusal


def test_submodules_will_do_if_a_command_sets_them_up(tmp_path: Path) -> None:
    git = with_submodule(tmp_path / "r")
    assert found(git, "make", "git submodule update --init").refusals == ()


def test_submodules_count_where_work_starts(tmp_path: Path) -> None:
    git = with_submodule(tmp_path / "r")
    assert found(git, base="main~1", target="main").refusals == ()


def test_a_repository_in_the_repository_is_refused_with_what_to_type(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    add_entry(git, "160000", git.line("rev-parse", "HEAD"), "part")
    git.do("commit", "--quiet", "-m", "a part")
    (refusal,) = found(git).refusals
    assert refusal.startswith("there are repositories in the repository (part)")
    assert "`git rm --cached part`" in refusal


# Files that differ only in case


def with_case(top: Path) -> Git:
    git = repository(top)
    content = git.line("rev-parse", "HEAD:README")
    for name in ("docs/Ünit", "docs/ünit", "a", "Makefile", "makefile", "MAKEFILE", "lib/makefile"):
        add_entry(git, "100644", content, name)
    git.do("commit", "--quiet", "-m", "case")
    return git


def test_names_that_a_file_system_takes_for_one_are_refused(tmp_path: Path) -> None:
    git = with_case(tmp_path / "r")
    git.do("config", "core.ignoreCase", "true")
    (refusal,) = found(git).refusals
    assert refusal.startswith("some names differ only in case (docs/Ünit, docs/ünit, MAKEFILE and 2 more)")


def test_other_names_will_do_on_such_a_file_system(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"a": "1\n", "b": "1\n"})
    git.do("config", "core.ignoreCase", "true")
    assert found(git).refusals == ()


def test_names_that_differ_only_in_case_will_do_elsewhere(tmp_path: Path) -> None:
    assert found(with_case(tmp_path / "r")).refusals == ()


# Large files


def test_files_that_git_lfs_keeps_are_reported_if_it_is_not_set_up(tmp_path: Path) -> None:
    (note,) = found(repository(tmp_path / "r", LFS)).notes
    assert "worktrees will contain pointer files" in note
    assert note.endswith("type: git lfs install")


@pytest.mark.parametrize("way", ["smudge", "process"])
def test_nothing_is_said_of_git_lfs_if_it_is_set_up(tmp_path: Path, way: str) -> None:
    git = repository(tmp_path / "r", LFS)
    git.do("config", f"filter.lfs.{way}", "git-lfs")
    assert found(git).notes == ()


@pytest.mark.parametrize(
    "line", ["# *.png filter=lfs", "*.png filter=lfsx", "*.png -filter", "*.png xfilter=lfs"]
)
def test_other_attributes_are_not_taken_for_those_of_git_lfs(tmp_path: Path, line: str) -> None:
    assert found(repository(tmp_path / "r", {".gitattributes": f"{line}\n"})).notes == ()


def test_attributes_of_the_base_count_and_not_those_of_the_checkout(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    commit(git, {".gitattributes": "*.png filter=lfs"})
    assert len(found(git).notes) == 1
    assert found(git, base="main~1", target="main").notes == ()


# The user's checkout


def test_a_sparse_checkout_is_reported(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"a/x": "1\n", "b/x": "1\n"})
    git.do("sparse-checkout", "set", "a")
    (note,) = found(git).notes
    assert note.startswith(f"the checkout {tmp_path / 'r'} is sparse")
    assert note.endswith("type: git sparse-checkout disable")


def test_changed_files_are_counted_and_some_are_named(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", dict.fromkeys("abcdef", "1\n"))
    write(tmp_path / "r", {"a": "2\n"})
    git.do("rm", "--quiet", "b")
    git.do("mv", "c", "new")
    (note,) = uncommitted_in(git)
    assert note.startswith(
        f"4 files changed in {tmp_path / 'r'} (a, b, c and 1 more): slices start from commits"
    )


def test_if_all_can_be_named_all_are(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", dict.fromkeys("abc", "1\n"))
    write(tmp_path / "r", dict.fromkeys("abc", "2\n"))
    (note,) = uncommitted_in(git)
    assert note.startswith(f"3 files changed in {tmp_path / 'r'} (a, b, c): ")


def test_one_changed_file_is_one(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    write(tmp_path / "r", {"README": "2\n"})
    (note,) = uncommitted_in(git)
    assert note.startswith(f"1 file changed in {tmp_path / 'r'} (README): ")


def test_untracked_files_are_reported_apart_from_changed_ones(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"a": "1\n", ".gitignore": "ignored\n"})
    git.do("config", "status.showUntrackedFiles", "no")
    odd = os.fsdecode(b"line\nbreak \xff")
    write(tmp_path / "r", {"a": "2\n", "ignored": "x\n", "deep/one": "x\n", "deep/two": "x\n", odd: "x\n"})
    changed, untracked = uncommitted_in(git)
    assert changed.startswith("1 file changed")
    assert untracked.startswith(
        f"2 untracked in {tmp_path / 'r'} (deep/, line\\nbreak \\xff): slices start from commits"
    )
    assert "`copy` or `link`" in untracked


def test_changes_are_reported_from_a_directory_in_the_repository(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"a": "1\n", "sub/b": "1\n"})
    write(tmp_path / "r", {"a": "2\n"})
    opened = open_repository(tmp_path / "r/sub", environ=surroundings(tmp_path))
    ends = resolve_ends(opened, base=None, target=None)
    assert concerns(opened, ends, setup=()).notes == found(git).notes


def in_conflict(top: Path) -> Git:
    git = repository(top, {"a": "1\n"})
    git.do("switch", "--quiet", "--create", "side")
    commit(git, {"a": "2\n"})
    git.do("switch", "--quiet", "main")
    commit(git, {"a": "3\n"})
    return git


@pytest.mark.parametrize(
    ("what", "command"),
    [
        ("merge", ["merge", "side"]),
        ("cherry-pick", ["cherry-pick", "side"]),
        ("revert", ["revert", "--no-edit", "HEAD~1"]),
        ("rebase", ["rebase", "side"]),
        ("rebase", ["rebase", "--apply", "side"]),
    ],
)
def test_what_is_unfinished_is_reported(tmp_path: Path, what: str, command: list[str]) -> None:
    git = in_conflict(tmp_path / "r")
    assert git.ask(*command).exit_code
    (unfinished,) = found(git, target="side", base="side").notes
    assert unfinished.startswith(f"a {what} is unfinished in {tmp_path / 'r'}: slices start without it")
    (changed,) = uncommitted_in(git)
    assert "(a)" in changed


def test_what_is_unfinished_in_another_checkout_is_not_reported_of(tmp_path: Path) -> None:
    git = in_conflict(tmp_path / "r")
    git.do("worktree", "add", "--quiet", str(tmp_path / "linked"), "side")
    assert git.ask("merge", "side").exit_code
    assert found(git.at(tmp_path / "linked")).notes == ()
    assert git.at(tmp_path / "linked").ask("merge", "main").exit_code
    assert (
        found(git.at(tmp_path / "linked"))
        .notes[0]
        .startswith(f"a merge is unfinished in {tmp_path / 'linked'}")
    )


# What is damaged


def test_files_that_cannot_be_listed_are_an_error(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"sub/a": "1\n"})
    tree = git.line("rev-parse", "HEAD:sub")
    (tmp_path / "r/.git/objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(
        InputError, match=r"git cannot list the files of commit .*; to find the damage, type: git fsck"
    ):
        found(git)
