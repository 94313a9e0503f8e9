"""The worktrees that a repository knows, in `worktrees/` of its common directory; one is entered at a time.

While git writes an entry, any other git that reads them all may fail. So whoever reads or writes them here holds a
lock, which also keeps out other processes of ours. With others, such as a user's own `git worktree add`, some
patience helps. An entry of ours that was left half written is removed: nothing can be in its worktree yet.
"""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from msgspec import Struct

from weft.safe_files import open_file, replace_file
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.lock_files import Pause
from weft.workspaces.git.base.program import Git, GitError, GitOutput
from weft.workspaces.git.base.worktree_links import MAKING, text_of

_LOCK_FILE = "weft-worktrees.lock"
_HALF_WRITTEN = re.compile(r"failed to read .*worktrees/([^/]+)/commondir")
_LOOKS = 20
_MOMENT = 0.05

_THREADS = Lock()  # on network file systems the lock of a file is one of the whole process


class ListedWorktree(Struct, frozen=True, kw_only=True):
    path: Path
    head: str
    """The commit; zeros if there is none yet."""
    branch: str | None = None
    """The full ref; None: none is checked out."""
    detached: bool = False
    locked: str | None = None
    """The reason, which may be empty; None: it is not locked."""
    prunable: str | None = None
    """Why git would forget it: mostly because its directory is gone."""


class Registrations:
    def __init__(self, git: Git, common: Path, *, pause: Pause = time.sleep) -> None:
        self._git = git
        self._common = common
        self._pause = pause

    def listed(self) -> Sequence[ListedWorktree]:
        with self._locked():
            out = self._do("list", "--porcelain", "-z").out
        return [_listed(os.fsdecode(entry)) for entry in out.split(b"\0\0") if entry]

    def add(self, directory: Path, *, branch: str | None, commit: str) -> None:
        """Without any files, and locked until it has them."""
        detached = () if branch is not None else ("--detach",)
        what = commit if branch is None else branch.removeprefix("refs/heads/")
        with self._locked():
            self._do(
                "add",
                "--quiet",
                "--no-checkout",
                "--lock",
                "--reason",
                MAKING,
                *detached,
                "--",
                str(directory),
                what,
            )

    def remove(self, directory: Path) -> None:
        """Of one whose directory is gone."""
        with self._locked():
            self._do("remove", "--force", "--force", "--", str(directory))

    def forget(self, entry: Path) -> None:
        """Of a worktree whose directory is gone, too, by the git directory that it had.

        Killed in the middle, it leaves what a worktree leaves that was not made to its end.
        """
        with self._locked():
            replace_file(entry / "locked", MAKING.encode())
            for name in sorted({each.name for each in entry.iterdir()} - {"locked"}):
                _remove(entry / name)
            shutil.rmtree(entry)

    def may_know(self, place: Path, branch: str | None) -> bool:
        """Whether it cannot be ruled out that the repository has a worktree there, or one with the branch.

        Read from files: mostly there is none, and to have git list all of them takes longer.
        """
        heads = [self._common / "HEAD"]
        for entry in (self._common / "worktrees").glob("*"):
            if text_of(entry / "gitdir") in {None, str(place / ".git")}:
                return True
            heads.append(entry / "HEAD")
        return branch is not None and any(_may_be_at(head, branch) for head in heads)

    def entry_of(self, directory: Path) -> Path | None:
        """The git directory of a worktree, whatever has become of the worktree itself."""
        link = str(directory.parent.resolve() / directory.name / ".git")
        folder = self._common / "worktrees"
        entries = folder.iterdir() if folder.is_dir() else ()
        return next((entry for entry in entries if text_of(entry / "gitdir") == link), None)

    @contextmanager
    def _locked(self) -> Generator[None]:
        with _THREADS, os.fdopen(open_file(self._common / _LOCK_FILE, os.O_RDWR | os.O_CREAT), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _do(self, *command: str) -> GitOutput:
        # With a log of its head, even if the user wants none elsewhere: it tells what an agent has undone.
        whole = ("-c", "core.logAllRefUpdates=true", "worktree", *command)
        answer = self._git.ask(*whole)
        for _ in range(_LOOKS):
            half = _HALF_WRITTEN.search(answer.message) if answer.exit_code else None
            if half is None:
                break
            self._forget(self._common / "worktrees" / half[1])
            answer = self._git.ask(*whole)
        if answer.exit_code:
            raise self._error(whole, answer)
        return answer

    def _forget(self, entry: Path) -> None:
        if text_of(entry / "locked") != MAKING:
            self._pause(_MOMENT)
            return
        link = Path(text_of(entry / "gitdir") or entry)
        if link.is_file():  # all that is in its directory yet
            link.unlink()
        shutil.rmtree(entry)

    def _error(self, command: Sequence[str], answer: GitOutput) -> WorkspaceError | GitError:
        half = _HALF_WRITTEN.search(answer.message)
        if half is None:
            return GitError(command, answer.exit_code, answer.message)
        entry = self._common / "worktrees" / half[1]
        return WorkspaceError(
            f"git cannot read its entry of a worktree, {entry}, which somebody else left half written; "
            "if no git is running, remove that directory"
        )


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()


def _may_be_at(head: Path, branch: str) -> bool:
    """Whether a head may name the branch: one that git keeps elsewhere, or by another name, may."""
    named = text_of(head) or ""
    is_plain = named.startswith("ref: refs/heads/") and named != "ref: refs/heads/.invalid"
    is_commit = not named.startswith("ref:") and bool(named)
    return head.is_symlink() or named == f"ref: {branch}" or not (is_plain or is_commit)


def read_listed(git: Git, *, pause: Pause = time.sleep) -> Sequence[ListedWorktree]:
    """The same for one who only looks: no lock is taken, and nothing half written is removed."""
    command = ("worktree", "list", "--porcelain", "-z")
    answer = git.ask(*command)
    for _ in range(_LOOKS):
        if not (answer.exit_code and _HALF_WRITTEN.search(answer.message)):
            break
        pause(_MOMENT)
        answer = git.ask(*command)
    if answer.exit_code:
        raise GitError(command, answer.exit_code, answer.message)
    return [_listed(os.fsdecode(entry)) for entry in answer.out.split(b"\0\0") if entry]


def _listed(entry: str) -> ListedWorktree:
    fields = dict[str, str]()
    for line in entry.strip("\0").split("\0"):
        name, _, value = line.partition(" ")
        fields[name] = value
    return ListedWorktree(
        path=Path(fields["worktree"]),
        head=fields.get("HEAD", ""),
        branch=fields.get("branch"),
        detached="detached" in fields,
        locked=fields.get("locked"),
        prunable=fields.get("prunable"),
    )
