"""Commits are signed where a person's git would sign, and a signing program that fails holds the landing."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from weft.ports.workspaces import HeldError
from weft.workspaces.git.base.commit_object import CommitDraft, SigningFailure, signing_error, write_commit
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.repository import open_repository
from workspaces.git.repositories import repository, surroundings
from workspaces.git.signing import sign_with, sign_with_ssh, signatures
from workspaces.worlds import World

DATE = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
FAILS = "echo 'no secret key' >&2; exit 2"
FALSE_GPG = 'cat > /dev/null; echo "[GNUPG:] SIG_CREATED $$" >&2; echo "signature $$"'
"""Makes another signature each time, as gpg does."""


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path / "repository")


def opened(git: Git, *, sign: str | bool = "auto") -> Git:
    environ = surroundings(git.directory.parent)
    return open_repository(git.directory, environ=environ, sign=sign).git


def draft(git: Git, *parents: str, message: str = "one") -> CommitDraft:
    return CommitDraft(
        tree=git.line("rev-parse", "HEAD^{tree}"), parents=parents, message=f"{message}\n".encode(), env=DATE
    )


# Whether


@pytest.mark.parametrize(
    ("config", "sign", "signs"),
    [
        (None, "auto", False),
        (None, True, True),
        ("true", "auto", True),
        ("yes", "auto", True),
        ("false", "auto", False),
        ("true", False, False),
    ],
)
def test_commits_are_signed_as_the_setting_says_else_as_git_does(
    git: Git, config: str | None, sign: str | bool, *, signs: bool
) -> None:
    if config is not None:
        git.do("config", "commit.gpgSign", config)
    assert opened(git, sign=sign).signs is signs
    assert opened(git, sign=sign).at(git.directory).signs is signs


def test_a_signature_is_one_that_git_verifies(git: Git, tmp_path: Path) -> None:
    sign_with_ssh(git, tmp_path)
    made = write_commit(opened(git), draft(git), sign=SigningFailure.REQUIRED)
    git.do("verify-commit", made)
    plain = write_commit(opened(git), draft(git), sign=SigningFailure.NEVER)
    assert b"gpgsig" not in git.do("cat-file", "commit", plain)


def test_a_commit_that_is_to_be_made_once_is_the_same_although_signatures_differ(
    git: Git, tmp_path: Path
) -> None:
    sign_with(git, tmp_path / "gpg", FALSE_GPG)
    signing = opened(git)
    once = write_commit(signing, draft(git), sign=SigningFailure.REQUIRED, once=True)
    assert write_commit(opened(git), draft(git), sign=SigningFailure.REQUIRED, once=True) == once
    assert write_commit(signing, draft(git), sign=SigningFailure.REQUIRED) != once
    assert b"gpgsig" in git.do("cat-file", "commit", once)


def test_one_that_was_lost_is_made_again(git: Git, tmp_path: Path) -> None:
    sign_with(git, tmp_path / "gpg", FALSE_GPG)
    lost = write_commit(opened(git), draft(git), sign=SigningFailure.REQUIRED, once=True)
    (git.directory / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    again = write_commit(opened(git), draft(git), sign=SigningFailure.REQUIRED, once=True)
    assert again != lost
    git.do("cat-file", "-e", again)


# When it fails


def test_a_required_signature_that_cannot_be_made_holds_with_the_words_of_git(
    git: Git, tmp_path: Path
) -> None:
    sign_with(git, tmp_path / "gpg", FAILS)
    with pytest.raises(HeldError, match=r"gpg failed to sign.*`merge: \{sign: false\}`"):
        write_commit(opened(git), draft(git), sign=SigningFailure.REQUIRED)
    assert "gpg failed to sign" in signing_error(opened(git), DATE)
    assert signing_error(opened(git, sign=False), DATE) == ""


def test_a_signing_program_that_waits_for_a_person_is_ended_with_all_that_it_started(
    git: Git, tmp_path: Path
) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    sign_with(git, tmp_path / "gpg", f"exec 9> {alive}; sleep 3600 & wait")
    with pytest.raises(HeldError, match=r"it took longer than 0.5 s, and was ended"):
        write_commit(opened(git), draft(git), sign=SigningFailure.REQUIRED, seconds=0.5)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""  # which waits as long as one of them has the fifo open
    os.close(reader)


def test_work_that_could_not_be_signed_is_kept_and_no_signed_merge_brings_it_in(
    git: Git, tmp_path: Path
) -> None:
    base = git.line("rev-parse", "HEAD")
    sign_with(git, tmp_path / "gpg", FAILS)
    work = write_commit(opened(git), draft(git, base), sign=SigningFailure.PREFERRED)
    assert b"gpgsig" not in git.do("cat-file", "commit", work)
    sign_with(git, tmp_path / "gpg", FALSE_GPG)
    with pytest.raises(HeldError, match=r"could not sign a commit when the work was done \(.*gpg failed"):
        write_commit(opened(git), draft(git, base, work), sign=SigningFailure.REQUIRED)
    write_commit(opened(git), draft(git, work, base), sign=SigningFailure.REQUIRED)  # which has it already
    write_commit(opened(git, sign=False), draft(git, base, work), sign=SigningFailure.REQUIRED)


# In worktrees


def test_all_that_lands_is_signed(world: World, tmp_path: Path) -> None:
    sign_with_ssh(world.git, tmp_path)
    world = World(world.top)
    world.prepare("a")
    world.step("a", {"a": "a"})
    world.prepare("group/b")
    world.step("group/b", {"b": "b"})
    world.prepare("c", "a", "group/b")  # which starts with a merge of both
    world.step("c", {"c": "c"})
    for path in ("a", "c", "group/b", "group"):
        world.merge(path)
    result = signatures(world.git, f"{world.base}..weft/notes/_plan")
    assert set(result.values()) == {"G"}
    assert {"a: code", "group/b: code", "c: code"} < result.keys()


def test_what_a_held_merge_says_to_type_signs_the_work(world: World, tmp_path: Path) -> None:
    sign_with(world.git, tmp_path / "gpg", FAILS)
    world = World(world.top)
    world.prepare("a")
    world.step("a", {"a": "a"})
    world.step("a", {"a": "more"}, step="more")
    sign_with_ssh(world.git, tmp_path)
    with pytest.raises(HeldError, match="could not sign 2 commits") as held:
        world.merge("a")
    command = str(held.value).partition("type: ")[2].partition("; to land")[0]
    subprocess.run(shlex.split(command), check=True, env=world.environ, capture_output=True)
    world.merge("a")
    assert set(signatures(world.git, f"{world.base}..weft/notes/_plan").values()) == {"G"}
