"""A look at a real checkout."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from weft.ports.checkout import CheckoutState
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.checkout import read_checkout
from weft.workspaces.git.checkouts.advance_branch import advance
from workspaces.git.repositories import repository, write


@pytest.fixture
def git(tmp_path: Path) -> Git:
    files = {"kept": "1\n", "edited": "1\n", "gone": "1\n", "plans/deep/x": "", ".gitignore": "*.log\n"}
    return repository(tmp_path / "r", files)


def look(git: Git, place: Path | None = None) -> CheckoutState:
    seen = read_checkout(git, place or git.directory)
    assert seen is not None
    return seen


def test_the_files_that_differ_from_the_commit_are_seen(git: Git) -> None:
    before = look(git)
    assert before.files == {}
    write(git.directory, {"edited": "22\n", "new": "", "tree/new": "", "x.log": "ignored"})
    (git.directory / "gone").unlink()
    assert before.changed_in(look(git)) == ["edited", "gone", "new", "tree"]


def test_another_edit_of_the_same_file_is_seen(git: Git) -> None:
    write(git.directory, {"edited": "22\n"})
    before = look(git)
    assert before.changed_in(look(git)) == []
    write(git.directory, {"edited": "333\n"})
    assert before.changed_in(look(git)) == ["edited"]


def test_an_edit_that_is_undone_is_seen_and_one_that_is_committed_is_not(git: Git) -> None:
    write(git.directory, {"edited": "22\n"})
    before = look(git)
    git.do("stash")
    assert before.changed_in(look(git)) == ["edited"]
    git.do("stash", "pop")
    before = look(git)
    git.do("commit", "-q", "-a", "-m", "mine")
    assert before.changed_in(look(git)) == []


def test_from_a_directory_in_it_the_whole_checkout_is_seen(git: Git) -> None:
    write(git.directory, {"edited": "22\n"})
    seen = look(git, git.directory / "plans" / "deep")
    assert seen.files.keys() == {"edited"}
    assert seen == look(git)


def test_a_look_does_not_write_the_index(git: Git) -> None:
    os.utime(git.directory / "kept", ns=(1, 1))
    index = git.directory / ".git" / "index"
    before = index.stat().st_mtime_ns
    assert look(git).files == {}
    assert index.stat().st_mtime_ns == before


def test_without_an_answer_of_git_there_is_no_state(git: Git, tmp_path: Path) -> None:
    assert read_checkout(git, tmp_path / "none") is None
    assert read_checkout(Git(tmp_path, environ={"PATH": str(tmp_path)}), git.directory) is None
    hangs = tmp_path / "hangs" / "git"
    write(hangs.parent, {"git": "#!/bin/sh\nexec sleep 3600\n"})
    hangs.chmod(0o755)
    slow = Git(tmp_path, environ={"PATH": f"{hangs.parent}:{os.environ['PATH']}"})
    assert read_checkout(slow, git.directory, seconds=0.01) is None
    (git.directory / ".git" / "HEAD").write_text("nonsense")
    assert read_checkout(git, git.directory) is None


def test_a_checkout_is_not_looked_at_while_it_moves_to_another_commit(git: Git) -> None:
    """Looks at any time see a commit, the one before or the one after."""
    commits = [git.line("rev-parse", "HEAD")]
    for number in range(4):
        write(git.directory, {f"f{each}": f"{number}\n" for each in range(50)})
        git.do("add", "--all")
        git.do("commit", "-q", "-m", "more")
        commits.append(git.line("rev-parse", "HEAD"))
    git.do("reset", "-q", "--hard", commits[0])
    looks: list[CheckoutState] = []
    with ThreadPoolExecutor() as pool:
        moves = pool.submit(_advance, git, commits)
        while not moves.done():
            looks.append(look(git))
        moves.result()
    assert {each.head for each in looks} <= set(commits)
    assert [each.files for each in looks if each.files] == []


def _advance(git: Git, commits: list[str]) -> None:
    for before, after in pairwise(commits):
        assert advance(git, "refs/heads/main", before=before, after=after, reason="test")
