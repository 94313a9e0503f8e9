"""Refs that are read from git's files lead where git says; what is unusual is left to git."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from weft.workspaces.git.base.program import Git, GitOutput
from weft.workspaces.git.base.ref_files import UnusualRefError, may_have_refs_below, read_head, read_refs
from weft.workspaces.git.base.refs import (
    checked_out,
    loose_commit_of,
    resolved,
    tip,
    tips,
    tips_below,
    tips_of,
)
from workspaces.git.repositories import commit, repository, write

NAMES = [f"refs/heads/weft/p/s{number}" for number in range(4)]
NOTE = "refs/weft/kept/p/s1/0123"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path / "repository")


class SilentGit(Git):
    """Nothing is asked of git."""

    def ask(
        self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> GitOutput:
        raise AssertionError(f"git is asked: {command}")


def silent(git: Git) -> SilentGit:
    return SilentGit(git.directory, environ=git._environ)


def grown(git: Git) -> str:
    return commit(git, {"more": "1"})


def test_loose_and_packed_refs_are_read_without_git(git: Git) -> None:
    first, second = git.line("rev-parse", "HEAD"), grown(git)
    for name in NAMES[:3]:
        git.do("update-ref", name, first)
    git.do("pack-refs", "--all")
    git.do("update-ref", NAMES[0], second)  # the loose one counts
    git.do("update-ref", "-d", NAMES[1])
    git.do("update-ref", NAMES[3], second)
    expected = {NAMES[0]: second, NAMES[2]: first, NAMES[3]: second}
    assert tips(git, "refs/heads/weft") == expected
    assert tips_of(silent(git), *NAMES) == expected
    assert tip(silent(git), NAMES[0]) == second
    assert tip(silent(git), NAMES[1]) is None


def test_refs_that_are_packed_again_are_read_again(git: Git) -> None:
    first = git.line("rev-parse", "HEAD")
    git.do("update-ref", NAMES[0], first)
    git.do("pack-refs", "--all")
    assert tips_of(silent(git), NAMES[0], NAMES[1]) == {NAMES[0]: first}
    second = grown(git)
    git.do("update-ref", NAMES[0], second)
    git.do("update-ref", NAMES[1], first)
    git.do("pack-refs", "--all")
    assert tips_of(silent(git), NAMES[0], NAMES[1]) == {NAMES[0]: second, NAMES[1]: first}


def test_annotated_tags_among_packed_refs_are_no_trouble(git: Git) -> None:
    git.do("tag", "-a", "-m", "one", "one")
    git.do("update-ref", NAMES[0], "HEAD")
    git.do("pack-refs", "--all")
    assert tips_of(silent(git), "refs/tags/one", NAMES[0]) == tips(git, "refs/tags", "refs/heads/weft")


def test_in_a_worktree_the_same_refs_are_read(git: Git, tmp_path: Path) -> None:
    git.do("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    there = git.at(tmp_path / "other")
    assert silent(there).common == Path(there.line("rev-parse", "--path-format=absolute", "--git-common-dir"))
    assert tip(silent(there), "refs/heads/other") == git.line("rev-parse", "HEAD")


def test_a_head_of_a_worktree_is_its_own(git: Git, tmp_path: Path) -> None:
    git.do("switch", "--quiet", "--detach")
    git.do("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    there = git.at(tmp_path / "other")
    made = commit(there, {"more": "1"})
    assert tip(there, "HEAD") == made


@pytest.mark.parametrize("ref", ["HEAD", "refs/bisect/bad", "refs/worktree/mine"])
def test_what_a_worktree_has_for_itself_is_left_to_git(git: Git, ref: str) -> None:
    with pytest.raises(UnusualRefError):
        read_refs(git.common, [ref])


@pytest.mark.parametrize("text", ["ref: refs/heads/main\n", "", "rubbish\n"])
def test_what_is_no_plain_ref_is_left_to_git(git: Git, text: str) -> None:
    write(git.directory / ".git", {NAMES[0]: text})
    with pytest.raises(UnusualRefError):
        read_refs(git.common, NAMES)


def test_a_symbolic_ref_is_followed_as_git_follows_it(git: Git) -> None:
    git.do("symbolic-ref", NAMES[0], "refs/heads/main")
    assert tips_of(git, *NAMES) == {NAMES[0]: git.line("rev-parse", "HEAD")}
    assert tip(git, NAMES[0]) == git.line("rev-parse", "HEAD")


def test_a_link_in_place_of_a_ref_is_not_followed(git: Git, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{'1' * 40}\n")
    file = git.directory / ".git" / NAMES[0]
    file.parent.mkdir(parents=True)
    file.symlink_to(secret)
    with pytest.raises(UnusualRefError):
        read_refs(git.common, NAMES)


def test_a_pipe_in_place_of_a_ref_hangs_nothing(git: Git) -> None:
    file = git.directory / ".git" / NAMES[0]
    file.parent.mkdir(parents=True)
    subprocess.run(["mkfifo", file], check=True)
    with pytest.raises(UnusualRefError):
        read_refs(git.common, NAMES)


def test_refs_that_are_kept_elsewhere_are_left_to_git(git: Git) -> None:
    (git.directory / ".git" / "reftable").mkdir()
    with pytest.raises(UnusualRefError):
        read_refs(git.common, NAMES)
    assert may_have_refs_below(git.common, "refs/weft/kept/p/s1")


def test_below_a_folder_git_is_asked_only_if_there_may_be_refs(git: Git) -> None:
    folder, head = "refs/weft/kept/p/s1", git.line("rev-parse", "HEAD")
    git.do("update-ref", "refs/weft/kept/p/s10/0123", head)
    assert tips_below(silent(git), folder) == {}
    git.do("update-ref", NOTE, head)
    assert tips_below(git, folder) == {NOTE: head}
    git.do("pack-refs", "--all")
    assert tips_below(git, folder) == {NOTE: head}
    git.do("update-ref", "-d", NOTE)
    assert tips_below(silent(git), folder) == {}


def test_an_object_in_a_pack_is_asked_for_once(git: Git) -> None:
    git.do("update-ref", NAMES[0], "HEAD")
    git.do("repack", "-a", "-d", "--quiet")
    assert tip(git, NAMES[0]) == git.line("rev-parse", "HEAD")
    assert tip(silent(git), NAMES[0]) == git.line("rev-parse", "HEAD")


def test_where_there_is_no_checkout_git_says_what_is_shared(git: Git) -> None:
    inside = git.directory / "inside"
    inside.mkdir()
    assert git.at(inside).common == git.common
    (inside / ".git").mkdir()  # an empty one is no repository
    assert git.at(inside).common == git.common


# What a run asks before its first step.


def test_the_branch_that_is_checked_out_and_its_commit_are_read_without_git(git: Git) -> None:
    head = git.line("rev-parse", "HEAD")
    assert checked_out(silent(git)) == "refs/heads/main"
    assert resolved(silent(git), "refs/heads/main") == "refs/heads/main"
    assert resolved(silent(git), "refs/heads/other") is None
    assert loose_commit_of(silent(git), "refs/heads/main") == head
    git.do("worktree", "add", "--quiet", "-b", "other", str(git.directory / "tree"))
    assert checked_out(silent(git.at(git.directory / "tree"))) == "refs/heads/other"


def test_a_branch_without_a_commit_is_checked_out_all_the_same(git: Git) -> None:
    git.do("symbolic-ref", "HEAD", "refs/heads/none")
    assert checked_out(silent(git)) == "refs/heads/none"
    assert resolved(silent(git), "refs/heads/none") is None


def test_of_an_unusual_head_git_is_asked(git: Git) -> None:
    git.do("branch", "grün")
    git.do("symbolic-ref", "HEAD", "refs/heads/grün")
    assert checked_out(git) == "refs/heads/grün"
    assert checked_out(git.at(git.directory / ".git")) == "refs/heads/grün"  # no checkout
    git.do("checkout", "--quiet", "--detach")
    assert checked_out(git) is None
    (git.directory / ".git" / "reftable").mkdir()
    git.do("symbolic-ref", "HEAD", "refs/heads/main")
    with pytest.raises(UnusualRefError):
        read_head(git.common, git.common)


def test_a_symbolic_branch_leads_to_the_one_that_it_stands_for(git: Git) -> None:
    git.do("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    assert resolved(git, "refs/heads/alias") == "refs/heads/main"
    assert loose_commit_of(git, "refs/heads/alias") is None


def test_only_git_knows_a_commit_in_a_pack_and_what_is_no_commit(git: Git) -> None:
    git.do("update-ref", "refs/weft/tree", "HEAD^{tree}")
    assert loose_commit_of(git, "refs/weft/tree") is None
    git.do("repack", "-a", "-d", "--quiet")
    assert loose_commit_of(git, "refs/heads/main") is None
