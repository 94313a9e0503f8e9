"""Entries of worktrees in a repository, some of them half written."""

import fcntl
from collections.abc import Mapping
from pathlib import Path

import pytest

from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.program import Git, GitError, GitOutput
from weft.workspaces.git.checkouts.registrations import Registrations
from workspaces.git.repositories import repository, write


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path / "top")


def half_written(git: Git, **files: str) -> Path:
    """As long as git writes it, an entry is locked; it names its place before it can be read."""
    entry = git.directory / ".git" / "worktrees" / "half"
    write(entry, {"gitdir": f"{git.directory.parent / 'nowhere'}/.git\n", "commondir": "", **files})
    return entry


def test_an_entry_of_ours_that_was_left_half_written_is_removed(git: Git) -> None:
    entry = half_written(git, locked="Weft is making it\n")
    assert git.ask("worktree", "list").exit_code == 128
    assert len(Registrations(git, git.directory / ".git").listed()) == 1
    assert not entry.exists()


def test_one_that_another_is_writing_is_waited_for(git: Git) -> None:
    entry = half_written(git, locked="initializing\n")
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        write(entry, {"commondir": "../..\n" if len(waits) == 3 else ""})

    entries = Registrations(git, git.directory / ".git", pause=pause).listed()
    assert [item.locked for item in entries] == [None, "initializing"]
    assert len(waits) == 3


def test_one_that_stays_half_written_is_reported(git: Git) -> None:
    entry = half_written(git)
    registrations = Registrations(git, git.directory / ".git", pause=lambda _: None)
    with pytest.raises(
        WorkspaceError, match=rf"{entry}, which another git left half written; if no git is running"
    ):
        registrations.listed()
    assert entry.exists()


class WatchingGit(Git):
    """Whenever it is asked about worktrees, others are kept out."""

    asked = 0

    def ask(
        self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> GitOutput:
        with (self.directory / ".git" / "weft-worktrees.lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.asked += 1
        return super().ask(*command, stdin=stdin, env=env)


def test_one_at_a_time_reads_or_writes_the_entries(git: Git, tmp_path: Path) -> None:
    watching = WatchingGit(git.directory, environ=git._environ, works=True)
    registrations = Registrations(watching, git.directory / ".git")
    registrations.add(tmp_path / "a", branch=None, commit="HEAD")
    registrations.listed()
    registrations.remove(tmp_path / "a")
    assert watching.asked == 3


def test_other_messages_of_git_are_reported(git: Git, tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not a working tree"):
        Registrations(git, git.directory / ".git").remove(tmp_path / "unknown")


def test_a_bare_repository_is_listed_without_a_head(tmp_path: Path) -> None:
    source = repository(tmp_path / "source")
    source.do("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    [listed] = Registrations(source.at(tmp_path / "bare"), tmp_path / "bare").listed()
    assert (listed.path, listed.head, listed.branch, listed.detached) == (tmp_path / "bare", "", None, False)
