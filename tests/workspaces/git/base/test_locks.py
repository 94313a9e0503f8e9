"""Locks that a dead git left in a worktree are removed; those of a living one, and of the user's, are not."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.lock_files import is_stale, users_of
from weft.workspaces.git.base.locks import explain_lock_errors, remove_stale_locks
from weft.workspaces.git.base.program import GitError


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    made.mkdir()
    return made


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    made = tmp_path / "worktree"
    (made / "folder").mkdir(parents=True)
    return made


@pytest.fixture
def lock(git_dir: Path) -> Path:
    made = git_dir / "index.lock"
    made.touch()
    return made


class Clock:
    """Time passes by being waited for; then something may happen."""

    def __init__(self, *happens: tuple[int, str]) -> None:
        self.waits: list[float] = []
        self.happens = dict(happens)
        self.file = Path()

    def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        match self.happens.get(len(self.waits)):
            case "written":
                self.file.write_text(str(len(self.waits)))
            case "released":
                self.file.unlink()
            case _:
                pass


@contextmanager
def process(program: str, *, cwd: Path) -> Iterator[int]:
    """A process that has the name and lives as long as this does."""
    code = "import sys; print(flush=True); sys.stdin.read()"
    command = [program, "-c", code]
    with subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.readline()
        try:
            yield started.pid
        finally:
            started.communicate()


@pytest.fixture
def program(tmp_path: Path) -> str:
    """One that the kernel knows by the name of git."""
    link = tmp_path / "git"
    link.symlink_to(sys.executable)
    return str(link)


def test_without_locks_nothing_is_waited_for(worktree: Path, git_dir: Path) -> None:
    clock = Clock()
    remove_stale_locks(worktree, git_dir, pause=clock.pause)
    assert clock.waits == []


def test_a_lock_that_no_process_owns_is_removed_after_a_moment(
    worktree: Path, git_dir: Path, lock: Path
) -> None:
    clock = Clock()
    remove_stale_locks(worktree, git_dir, pause=clock.pause)
    assert not lock.exists()
    assert len(clock.waits) == 1


def test_a_lock_that_is_written_meanwhile_is_looked_at_again(
    worktree: Path, git_dir: Path, lock: Path
) -> None:
    clock = Clock((1, "written"), (2, "written"))
    clock.file = lock
    remove_stale_locks(worktree, git_dir, pause=clock.pause)
    assert not lock.exists()
    assert len(clock.waits) == 3
    assert clock.waits == sorted(set(clock.waits))


def test_a_lock_that_is_released_meanwhile_is_fine(worktree: Path, git_dir: Path, lock: Path) -> None:
    clock = Clock((1, "released"))
    clock.file = lock
    remove_stale_locks(worktree, git_dir, pause=clock.pause)
    assert not lock.exists()


def test_a_lock_that_a_process_has_open_is_its_own(worktree: Path, git_dir: Path, lock: Path) -> None:
    with lock.open():
        assert list(users_of(lock, worktree)) == [os.getpid()]
        assert not is_stale(lock, worktree, pause=Clock().pause)
        message = rf"still running in {worktree} \(process {os.getpid()}\) and has locked {lock}; wait"
        with pytest.raises(WorkspaceError, match=message):
            remove_stale_locks(worktree, git_dir, pause=Clock().pause)
    assert lock.exists()
    assert is_stale(lock, worktree, pause=Clock().pause)


def test_a_file_of_the_same_name_elsewhere_is_another_one(worktree: Path, lock: Path) -> None:
    other = worktree / "index.lock"
    with other.open("w"):
        assert list(users_of(lock, worktree)) == []


def test_a_lock_that_is_gone_has_no_owner(worktree: Path, git_dir: Path) -> None:
    gone = git_dir / "index.lock"
    assert not is_stale(gone, worktree, pause=Clock().pause)
    assert list(users_of(gone, worktree)) == []


def test_as_long_as_a_git_works_in_the_worktree_its_lock_stays(
    worktree: Path, git_dir: Path, lock: Path, program: str
) -> None:
    with process(program, cwd=worktree / "folder") as pid:
        assert list(users_of(lock, worktree)) == [pid]
        with pytest.raises(WorkspaceError, match=rf"\(process {pid}\)"):
            remove_stale_locks(worktree, git_dir, pause=Clock().pause)
    assert is_stale(lock, worktree, pause=Clock().pause)


def test_a_git_that_works_elsewhere_is_no_matter(
    tmp_path: Path, worktree: Path, lock: Path, program: str
) -> None:
    with process(program, cwd=tmp_path):
        assert list(users_of(lock, worktree)) == []


def test_the_wait_ends_even_if_no_writer_is_found(worktree: Path, git_dir: Path, lock: Path) -> None:
    clock = Clock(*((number, "written") for number in range(1, 1000)))
    clock.file = lock
    with pytest.raises(WorkspaceError, match=r"\(process unknown\)"):
        remove_stale_locks(worktree, git_dir, pause=clock.pause)
    assert 60 < sum(clock.waits) < 90


def test_what_git_says_about_a_lock_becomes_a_sentence() -> None:
    text = "fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git process seems to be running"
    with (
        pytest.raises(WorkspaceError, match=r"lock /r/\.git/index\.lock; if no git runs .*, type: rm /r/"),
        explain_lock_errors(),
    ):
        raise GitError(["add"], 128, text)
    with pytest.raises(GitError, match="something else"), explain_lock_errors():
        raise GitError(["add"], 128, "something else")
