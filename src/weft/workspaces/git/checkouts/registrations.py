"""The registrations of worktrees, in `worktrees/` of the common git directory. One is written at a time.

While git writes an entry, another git that reads all entries may fail. Weft therefore reads and writes them under
a lock, across threads and processes. Against others, such as a user's own `git worktree add`, it retries. A
half-written entry of Weft is removed: its worktree cannot hold anything yet.
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
from weft.workspaces.git.checkouts.registration_files import write_registration

_LOCK_FILE = "weft-worktrees.lock"
_HALF_WRITTEN = re.compile(r"failed to read .*worktrees/([^/]+)/commondir")
_TRIES = 20
_MOMENT = 0.05

_THREADS = Lock()  # on network file systems, a file lock belongs to the whole process


class ListedWorktree(Struct, frozen=True, kw_only=True):
    """An entry of `git worktree list`."""

    path: Path
    head: str
    """The commit; zeros if there is none yet."""
    branch: str | None = None
    """The full ref; None if HEAD is detached."""
    detached: bool = False
    locked: str | None = None
    """The reason, which may be empty; None if it is not locked."""
    prunable: str | None = None
    """Why git would remove the entry, usually because the directory is gone."""


class Registrations:
    """The registered worktrees of a repository."""

    def __init__(self, git: Git, common: Path, *, pause: Pause = time.sleep) -> None:
        self._git = git
        self._common = common
        self._pause = pause

    def listed(self) -> Sequence[ListedWorktree]:
        with self._lock():
            out = self._do("list", "--porcelain", "-z").out
        return [_parse_entry(os.fsdecode(entry)) for entry in out.split(b"\0\0") if entry]

    def add(self, directory: Path, *, branch: str | None, commit: str) -> None:
        """Registers a worktree without files, locked until it has them."""
        detached = () if branch is not None else ("--detach",)
        revision = commit if branch is None else branch.removeprefix("refs/heads/")
        head = commit if branch is None else f"ref: {branch}"
        with self._lock():
            if write_registration(self._git, self._common, directory, head, commit):
                return
            self._do(
                "add",
                "--quiet",
                # Files come later, by read-tree, because that can be repeated after a crash; `worktree add`
                # cannot.
                "--no-checkout",
                "--lock",
                "--reason",
                MAKING,
                *detached,
                "--",
                str(directory),
                revision,
            )

    def remove(self, directory: Path) -> None:
        """Removes the entry of a worktree without a directory."""
        with self._lock():
            self._do("remove", "--force", "--force", "--", str(directory))

    def forget(self, entry: Path) -> None:
        """Removes the entry of a worktree without a directory, given its git directory.

        A crash in the middle leaves the same state as an interrupted creation.
        """
        with self._lock():
            # From here on the entry looks like a creation that was cut off, which every later Weft knows how to
            # remove. `gitdir` and `HEAD` could vanish in any order without this mark, and git would fail on the
            # rest.
            replace_file(entry / "locked", MAKING.encode())
            names = {file.name for file in entry.iterdir()} - {"locked"}
            # `gitdir` is the last one: by it the entry is found again after a kill.
            for name in sorted(names, key=lambda name: (name == "gitdir", name)):
                _remove(entry / name)
            shutil.rmtree(entry)

    def may_know(self, place: Path, branch: str | None) -> bool:
        """Returns whether the repository may have a worktree at this path, or one with the branch.

        It reads files, because there is usually none, and having git list all of them takes longer.
        """
        heads = [self._common / "HEAD"]
        for entry in (self._common / "worktrees").glob("*"):
            if text_of(entry / "gitdir") in {None, str(place / ".git")}:
                return True
            heads.append(entry / "HEAD")
        return branch is not None and any(_may_be_at(head, branch) for head in heads)

    def entry_of(self, directory: Path) -> Path | None:
        """Returns the git directory of a worktree, even if the worktree itself is missing or damaged."""
        # git resolved the parents when it wrote the entry. The last part is not resolved: the worktree may be
        # missing, or a step may have replaced it by a link.
        link = str(directory.parent.resolve() / directory.name / ".git")
        folder = self._common / "worktrees"
        entries = folder.iterdir() if folder.is_dir() else ()
        return next((entry for entry in entries if text_of(entry / "gitdir") == link), None)

    @contextmanager
    def _lock(self) -> Generator[None]:
        with _THREADS, os.fdopen(open_file(self._common / _LOCK_FILE, os.O_RDWR | os.O_CREAT), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _do(self, *command: str) -> GitOutput:
        # A reflog of HEAD, even if the user has turned reflogs off: it shows commits that an agent has undone.
        arguments = ("-c", "core.logAllRefUpdates=true", "worktree", *command)
        answer = self._git.ask(*arguments)
        for _ in range(_TRIES):
            match = _HALF_WRITTEN.search(answer.message) if answer.exit_code else None
            if match is None:
                break
            self._forget(self._common / "worktrees" / match[1])
            answer = self._git.ask(*arguments)
        if answer.exit_code:
            raise self._error(arguments, answer)
        return answer

    def _forget(self, entry: Path) -> None:
        # Another program, or another Weft, is just writing it: wait, and let the caller ask again.
        if text_of(entry / "locked") != MAKING:
            self._pause(_MOMENT)
            return
        link = Path(text_of(entry / "gitdir") or entry)
        if link.is_file():  # the directory holds nothing else yet
            link.unlink()
        shutil.rmtree(entry)

    def _error(self, command: Sequence[str], answer: GitOutput) -> WorkspaceError | GitError:
        match = _HALF_WRITTEN.search(answer.message)
        if match is None:
            return GitError(command, answer.exit_code, answer.message)
        entry = self._common / "worktrees" / match[1]
        return WorkspaceError(
            f"git cannot read the worktree entry {entry}, which another git left half written; if no git is "
            f"running, remove that directory"
        )


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()


def _may_be_at(head: Path, branch: str) -> bool:
    """Returns whether a HEAD may name the branch, directly or in a form that only git can resolve."""
    content = text_of(head) or ""
    is_plain = content.startswith("ref: refs/heads/") and content != "ref: refs/heads/.invalid"
    is_commit = not content.startswith("ref:") and bool(content)
    return head.is_symlink() or content == f"ref: {branch}" or not (is_plain or is_commit)


def read_listed(git: Git, *, pause: Pause = time.sleep) -> Sequence[ListedWorktree]:
    """Returns the same as `listed` for a mere reader: takes no lock and removes no half-written entry."""
    command = ("worktree", "list", "--porcelain", "-z")
    answer = git.ask(*command)
    for _ in range(_TRIES):
        if not (answer.exit_code and _HALF_WRITTEN.search(answer.message)):
            break
        pause(_MOMENT)
        answer = git.ask(*command)
    if answer.exit_code:
        raise GitError(command, answer.exit_code, answer.message)
    return [_parse_entry(os.fsdecode(entry)) for entry in answer.out.split(b"\0\0") if entry]


def _parse_entry(entry: str) -> ListedWorktree:
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
