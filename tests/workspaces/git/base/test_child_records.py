"""Locks that killed gits of ours have left are removed; those of a living git, and of anybody else, are not."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from weft.engine.messages.facts import RefMove
from weft.workspaces.git.base.child_records import LeftoverLocks, can_lock, recorded
from weft.workspaces.git.base.program import Git, GitError
from weft.workspaces.git.base.refs import move, tip
from workspaces.git.repositories import commit, empty_repository

REF = "refs/heads/one"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    made = empty_repository(tmp_path / "repository")
    commit(made, {"a": "1"})
    return made


@pytest.fixture
def common(git: Git) -> Path:
    return git.directory / ".git"


def records(common: Path) -> list[str]:
    return [file.name for file in (common / "weft" / "children").glob("*.child")]


@contextmanager
def holding(git: Git, ref: str, *, inherits: tuple[int, ...] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """A real git that has taken the lock of a ref, and waits."""
    with subprocess.Popen(
        ["git", "update-ref", "--stdin"],
        cwd=git.directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=inherits,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"start\ncreate {ref} {tip(git, 'refs/heads/main')}\nprepare\n".encode())
        process.stdin.flush()
        assert process.stdout.readline() == b"start: ok\n"
        assert process.stdout.readline() == b"prepare: ok\n"
        yield process
        process.kill()


def leave_lock(git: Git, common: Path, ref: str = REF) -> Path:
    """As if a coordinator and its git had been killed."""
    with recorded(common, common, ("update-ref",)) as record:
        with holding(git, ref, inherits=record.descriptors) as process:
            process.send_signal(signal.SIGKILL)
        record.judge(-signal.SIGKILL)
    lock = common / f"{ref}.lock"
    assert lock.exists()
    return lock


def go(git: Git, ref: str = REF) -> bool:
    after = tip(git, "refs/heads/main") or ""
    return move(git, [RefMove(ref=ref, before="", after=after)], reason="r")


def test_a_lock_that_a_killed_git_of_ours_has_left_is_removed_when_it_is_in_the_way(
    git: Git, common: Path
) -> None:
    lock = leave_lock(git, common)
    assert go(git)
    assert not lock.exists()
    assert records(common) == []


def test_all_that_killed_gits_have_left_is_listed_and_goes_at_once(git: Git, common: Path) -> None:
    locks = sorted(leave_lock(git, common, ref) for ref in ("refs/heads/one", "refs/weft/tip/two"))
    assert LeftoverLocks(common).locks() == locks
    assert all(lock.exists() for lock in locks)
    LeftoverLocks(common).remove()
    assert not any(lock.exists() for lock in locks)


def test_the_lock_of_a_git_of_ours_stays_as_long_as_it_lives_without_its_coordinator(
    git: Git, common: Path
) -> None:
    update = ("update-ref",)
    with recorded(common, common, update) as record, holding(git, REF, inherits=record.descriptors):
        record.judge(-signal.SIGKILL)
        record.close()  # the coordinator is gone, and git has the record still
        record.descriptors = ()
        assert LeftoverLocks(common, pause=lambda _: None).locks() == []
        LeftoverLocks(common, pause=lambda _: None).remove()
        assert (common / f"{REF}.lock").exists()
    LeftoverLocks(common).remove()
    assert not (common / f"{REF}.lock").exists()


def test_the_lock_of_a_living_git_of_the_user_stays_though_one_of_ours_was_killed(
    git: Git, common: Path
) -> None:
    with recorded(common, common, ("update-ref",)) as record:
        record.judge(-signal.SIGKILL)
    with holding(git, REF) as process:
        with pytest.raises(GitError, match=re.escape(f"type: rm {common}/{REF}.lock")):
            go(git)
        assert (common / f"{REF}.lock").exists()
        assert process.poll() is None


def test_the_lock_of_a_git_of_the_user_that_works_from_elsewhere_stays(
    git: Git, common: Path, tmp_path: Path
) -> None:
    with recorded(common, common, ("update-ref",)) as record:
        record.judge(-signal.SIGKILL)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = ["git", f"--git-dir={common}", "update-ref", "--stdin"]
    with subprocess.Popen(command, cwd=elsewhere, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"start\ncreate {REF} {tip(git, 'refs/heads/main')}\nprepare\n".encode())
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(2)] == [b"start: ok\n", b"prepare: ok\n"]
        assert LeftoverLocks(common, pause=lambda _: None).locks() == []
        process.kill()


def test_a_lock_that_is_older_than_any_git_of_ours_stays(git: Git, common: Path) -> None:
    lock = common / f"{REF}.lock"
    lock.touch()
    os.utime(lock, (1, 1))
    with recorded(common, common, ("update-ref",)) as record:
        record.judge(-signal.SIGKILL)
    LeftoverLocks(common).remove()
    assert lock.exists()


def test_a_lock_that_such_a_git_does_not_take_stays(git: Git, common: Path) -> None:
    with recorded(common, common, ("update-ref",)) as record:
        record.judge(-signal.SIGKILL)
    lock = common / "index.lock"
    lock.touch()
    LeftoverLocks(common).remove()
    assert lock.exists()
    assert records(common) == []


@pytest.mark.parametrize("name", ["index.lock", "packed-refs.lock", "packed-refs.new", "config.lock"])
def test_each_kind_of_lock_is_removed_that_a_killed_merge_has_left(git: Git, common: Path, name: str) -> None:
    with recorded(common, common, ("merge", "--ff-only")) as record:
        (common / name).touch()
        record.judge(-signal.SIGKILL)
    LeftoverLocks(common).remove()
    assert not (common / name).exists()


def test_a_git_that_ends_by_itself_leaves_no_record(git: Git, common: Path) -> None:
    assert go(git)
    assert records(common) == []
    with pytest.raises(GitError):
        git.do("update-ref", "refs/heads/two", "0123")
    assert records(common) == []


def test_a_git_that_was_killed_is_recorded(git: Git, common: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "git"
    script.write_text(f'#!/bin/sh\nulimit -c 0; ulimit -f 0; exec {shutil.which("git")} "$@"\n')
    script.chmod(0o755)
    killed = Git(git.directory, environ={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    assert killed.ask("update-ref", REF, "HEAD").exit_code == -signal.SIGXFSZ
    assert (common / f"{REF}.lock").exists()
    assert len(records(common)) == 1
    assert go(git)


def test_a_record_that_was_cut_off_counts_for_all_locks(git: Git, common: Path) -> None:
    with recorded(common, common, ("update-ref",)) as record:
        (common / "index.lock").touch()
        record.judge(-signal.SIGKILL)
        assert record.file is not None
        started = record.file.stat().st_mtime_ns
        record.file.write_bytes(b"")
        os.utime(record.file, ns=(started, started))
    LeftoverLocks(common).remove()
    assert not (common / "index.lock").exists()


@pytest.mark.parametrize(
    ("arguments", "can"),
    [
        (("-c", "a=b", "update-ref", "--stdin"), True),
        (("merge", "--ff-only"), True),
        (("worktree", "add"), True),
        (("worktree", "list"), False),
        (("symbolic-ref", "--quiet", "HEAD"), False),
        (("symbolic-ref", "HEAD", "refs/heads/x"), True),
        (("--literal-pathspecs", "ls-tree"), False),
    ],
)
def test_only_what_can_lock_is_recorded(arguments: tuple[str, ...], *, can: bool) -> None:
    assert can_lock(arguments) == can
