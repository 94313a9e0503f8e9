"""Worktrees listed by one who only looks."""

from pathlib import Path

import pytest

from weft.workspaces.git.base.program import Git, GitError
from weft.workspaces.git.checkouts.registrations import read_listed
from workspaces.git.checkouts.test_registrations import half_written
from workspaces.git.repositories import repository


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path / "top")


def test_nothing_is_made_or_removed(git: Git) -> None:
    git.do("worktree", "add", "--quiet", "-b", "other", "../other")
    (first, second) = read_listed(git)
    assert (first.path, second.branch) == (git.directory, "refs/heads/other")
    assert not (git.directory / ".git" / "weft-worktrees.lock").exists()


def test_an_entry_that_is_half_written_is_waited_for_and_not_removed(git: Git) -> None:
    entry = half_written(git, locked="Weft is making it\n")
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        (entry / "commondir").write_text("../..\n" * (len(waits) == 3))

    assert len(read_listed(git, pause=pause)) == 2
    assert len(waits) == 3


def test_one_that_stays_half_written_is_an_error(git: Git) -> None:
    entry = half_written(git)
    with pytest.raises(GitError, match="failed to read"):
        read_listed(git, pause=lambda _: None)
    assert entry.exists()
