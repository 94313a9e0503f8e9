"""Moves a branch forward, even in a checkout of a person.

In that case git moves it together with the files: by a fast-forward, which refuses if something is in the way.
Uncommitted changes belong to the person, so Weft refuses more than git does. git would restore a file that was
removed, and would overwrite ignored files; Weft detects the former with a status check and prevents the latter
with an option. git always makes the final check. Whether the branch has moved is read from the branch.
"""

import fcntl
import os
import shlex
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import sleep

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import HeldError
from weft.safe_files import open_file
from weft.workspaces.errors import shown
from weft.workspaces.git.base.child_records import LeftoverLocks, checkout_at
from weft.workspaces.git.base.lock_files import about_lock, lock_in_the_way
from weft.workspaces.git.base.program import Git, GitError, GitOutput
from weft.workspaces.git.base.refs import checked_out, is_ancestor, move, tip
from weft.workspaces.git.base.worktree_links import git_dir_at
from weft.workspaces.git.checkouts.branch_checkouts import checkouts_of
from weft.workspaces.git.checkouts.forward import (
    Forward,
    Settlement,
    changes_of,
    is_untouched,
    note_of,
    remove_note,
    settle,
    write_note,
)

_HEADS = "refs/heads/"
_LOCK_FILE = "weft-forward.lock"
_NAMED = 10
"""The number of files that a message names; the others are counted."""
_UNFINISHED = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a series of picks or reverts",
    "BISECT_LOG": "a bisection",
}
"""Files in the git directory of a checkout that show an unfinished operation."""
_STATUS = (
    "status",
    "--porcelain=v2",
    "-z",
    "--no-renames",
    # git itself refuses to overwrite untracked files; only tracked ones need a check here, and listing the
    # others can take seconds in a large checkout.
    "--untracked-files=no",
    "--ignore-submodules=all",
)
_FORWARD = (
    "merge", "--ff-only", "--no-overwrite-ignore",
    # Whatever the user's configuration says about merges in general:
    "--no-autostash", "--no-squash", "--no-verify-signatures", "--no-stat", "--quiet",
)  # fmt: skip
_PAUSES = (0.1, 0.2, 0.4, 0.8)
"""The successive pauses, in seconds, while another git holds a lock."""
_COMMIT = "commit or stash them (git -C {place} stash)"
_MOVE = "move them elsewhere"
_FIX = "fix that (git -C {place} status shows the rest of the attempt)"


class _Checkout(Struct, frozen=True):
    """The checkout of a branch."""

    git: Git
    """git in that checkout."""
    branch: str
    """The short name."""
    again: str
    """The command that tries again."""

    def held(self, problem: str, remedy: str, files: Sequence[str] = ()) -> HeldError:
        """Returns the error for a branch that cannot move."""
        place = self.git.directory
        return HeldError(
            f"{self.branch} is checked out in {_name(str(place))}, and {problem}. It has not moved; "
            f"{remedy.format(place=shlex.quote(_name(str(place))))}, then type: {self.again}",
            files,
        )


MOVING = Lock()
"""Held while a checkout moves to another commit; meanwhile its files match no commit."""


def advance(git: Git, ref: str, *, before: str, after: str, reason: str, subplan: str = "") -> bool:
    """Moves a branch to a descendant of `before`. Returns False if the branch is not at `before` any more.

    Raises `HeldError`, with nothing changed, if something is in the way in the checkout of the branch. No two
    threads may call this for the same branch at once.
    """
    places = checkouts_of(git, ref)
    # Without a checkout only the ref moves. With one, git must update ref, index and files together, or the
    # person would see the landed work as uncommitted changes that revert it.
    if not places:
        return move(git, [RefMove(ref=ref, before=before, after=after)], reason=reason)
    checkout = _Checkout(git.at(places[0]), ref.removeprefix(_HEADS), f"weft merge {subplan}".strip())
    _refuse_place(checkout, places)
    with _alone_in(checkout) as git_dir:
        _finish(checkout, git_dir)
        forward = Forward(ref=ref, before=before, after=after, reason=reason)
        return _advance_checkout(checkout, git_dir, forward)


def _advance_checkout(checkout: _Checkout, git_dir: Path, forward: Forward) -> bool:
    ref, before, after = forward.ref, forward.before, forward.after
    # The checks follow the lock: before it, another Weft may have moved the branch.
    current = tip(checkout.git, ref)
    if current != before:
        return current == after
    head = checked_out(checkout.git)
    _refuse_unfinished(checkout, git_dir)
    if head != ref:  # the person has switched to another branch meanwhile
        return False
    staged_files = _refuse_changes(checkout, before, after)
    answer = _go_forward(checkout.git, git_dir, replace(forward, kept=staged_files))
    # The ref decides, not the exit code: git moves it last, and may be killed just after that.
    current = tip(checkout.git, ref)
    if current == before:
        # The ref is where it was, so git has refused; the message says what is in the way.
        raise _refusal(checkout, before, after, answer)
    return current == after


def _go_forward(git: Git, git_dir: Path, forward: Forward) -> GitOutput:
    """Runs the fast-forward. The note stays if git was interrupted, or failed, after it had written files."""
    # The note comes first: after a kill, the checkout has files of two commits, and the note names both.
    write_note(git_dir, forward)
    answer = _forward(git, forward.after, forward.reason)
    if tip(git, forward.ref) == forward.after or is_untouched(git, git_dir, forward):
        remove_note(git_dir)
    return answer


# Interrupted fast-forwards


@contextmanager
def _alone_in(checkout: _Checkout) -> Generator[Path]:
    """Yields the git directory of the checkout while no other Weft, and no git of a dead one, moves it."""
    git = checkout.git
    git_dir = git_dir_at(git.directory) or Path(git.line("rev-parse", "--absolute-git-dir"))
    # Two locks: the thread lock, because flock does not exclude threads that share a process on every file
    # system, and the file lock against other processes, such as `weft merge` beside a run.
    with MOVING, os.fdopen(open_file(git_dir / _LOCK_FILE, os.O_RDWR | os.O_CREAT), "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # The lock of a dead Weft is free, but its git may still be writing files.
        if not LeftoverLocks(git.common).await_child(git_dir, "merge"):
            raise checkout.held("a git that Weft started still runs there", "wait until it has ended")
        yield git_dir


def cut_off_in(git: Git) -> list[tuple[Path, str]]:
    """Returns the checkouts in which a fast-forward was interrupted, with their branches."""
    notes = ((note_of(git_dir), checkout_at(git_dir), git_dir) for git_dir in _git_dirs(git.common))
    return [
        (place, forward.ref.removeprefix(_HEADS))
        for forward, place, git_dir in notes
        if forward is not None and place is not None and not _is_under_way(git_dir)
    ]


def _git_dirs(common: Path) -> Sequence[Path]:
    return (common, *sorted(common.glob("worktrees/*")))


def _is_under_way(git_dir: Path) -> bool:
    """Returns whether another process holds the lock of a fast-forward."""
    with os.fdopen(open_file(git_dir / _LOCK_FILE), "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def finish_forwards(git: Git) -> None:
    """Finishes interrupted fast-forwards in all checkouts of the repository, as far as possible."""
    for git_dir in _git_dirs(git.common):
        forward, place = note_of(git_dir), checkout_at(git_dir)
        if forward is None or place is None or not place.is_dir():
            continue
        checkout = _Checkout(git.at(place), forward.ref.removeprefix(_HEADS), "weft merge")
        with suppress(HeldError, GitError), _alone_in(checkout):
            _finish(checkout, git_dir)


def _finish(checkout: _Checkout, git_dir: Path) -> None:
    """Completes or reverts an interrupted fast-forward in the checkout; then removes its note."""
    forward, git = note_of(git_dir), checkout.git
    if forward is None:
        return
    # The interrupted git may have left index.lock or the lock of the ref, on which every git below would fail.
    LeftoverLocks(git.common).remove()
    head, current = git.ask("symbolic-ref", "--quiet", "HEAD").text, tip(git, forward.ref)
    is_changed = head != forward.ref or current not in {forward.before, forward.after}
    # From here on the files are the person's affair, whatever state git left them in: `git status` shows it,
    # and Weft must not write into work that has begun since.
    if is_changed or _unfinished_operation(git_dir):  # a person has taken over
        remove_note(git_dir)
        return
    try:
        # The note stays until the ref is where it belongs, so a second crash in here is repaired by the next
        # call.
        settled = settle(git, git_dir, forward)
    except GitError as error:
        lock = lock_in_the_way(error.message)
        reason = f"an interrupted fast-forward there cannot be finished ({error.message})"
        raise (_lock_error(checkout, lock) if lock else checkout.held(reason, _FIX)) from error
    if settled is Settlement.FORWARD and current == forward.before:
        # Only the ref is missing now. git's merge would refuse where a file has become a directory.
        move(
            git, [RefMove(ref=forward.ref, before=forward.before, after=forward.after)], reason=forward.reason
        )
    if settled is not Settlement.FORWARD or tip(git, forward.ref) == forward.after:
        remove_note(git_dir)


# Obstacles


def _refuse_place(checkout: _Checkout, places: Sequence[Path]) -> None:
    if len(places) > 1:
        others = " and ".join(_name(str(place)) for place in places[1:])
        raise checkout.held(
            f"in {others}, too, so its files cannot be updated in all of these at once",
            "switch all but one of them to another branch (git switch)",
        )
    if not checkout.git.directory.is_dir():
        raise checkout.held(
            "that directory does not exist, but its worktree is locked, so it may come back",
            "bring it back, or type `git worktree unlock {place}`",
        )


def _refuse_unfinished(checkout: _Checkout, folder: Path) -> None:
    operation = _unfinished_operation(folder)
    if operation:
        raise checkout.held(
            f"{operation} is unfinished there", "finish or abort it (git -C {place} status shows how)"
        )


def _unfinished_operation(folder: Path) -> str:
    return next((operation for name, operation in _UNFINISHED.items() if (folder / name).exists()), "")


def _refuse_changes(checkout: _Checkout, before: str, after: str) -> tuple[bytes, ...]:
    """Raises `HeldError` if tracked files have changes that git would overwrite or not notice.

    Returns the files that the person has already staged as the new commit has them.
    """
    changes = [*_changes(checkout)]
    if not changes:
        return ()
    new_versions = {
        change.path: (change.after.mode, change.after.oid)
        for change in changes_of(checkout.git, before, after)
    }
    files = [
        path
        for path, staged in changes
        # A staged file that already is as the new commit has it, such as one that the person copied from the
        # slice, is no obstacle; git leaves it alone.
        if staged is None or (path in new_versions and staged != new_versions[path])
    ]
    if files:
        raise _in_the_way(checkout, files, "have changes that are not committed", _COMMIT)
    return tuple(os.fsencode(path) for path, _ in changes if path in new_versions)


def _changes(checkout: _Checkout) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """Yields the files that differ from the last commit, with mode and id in the index; None for a conflict."""
    answer = checkout.git.ask(*_STATUS)
    if answer.exit_code:
        raise checkout.held(f"git cannot list the changes there ({answer.message})", _FIX)
    for field in os.fsdecode(answer.out).split("\0")[:-1]:
        if field.startswith("u "):
            yield field.split(" ", 10)[10], None
        else:
            _, _, _, _, mode, _, _, oid, path = field.split(" ", 8)
            yield path, (mode, oid)


def _forward(git: Git, after: str, reason: str) -> GitOutput:
    """Runs git's fast-forward; waits for locks, because editors and shell prompts run git frequently."""
    for pause in _PAUSES:
        answer = git.ask(*_FORWARD, after, env={"GIT_REFLOG_ACTION": reason})
        if lock_in_the_way(answer.message) is None:
            return answer
        sleep(pause)
    return git.ask(*_FORWARD, after, env={"GIT_REFLOG_ACTION": reason})


def _refusal(checkout: _Checkout, before: str, after: str, answer: GitOutput) -> Exception:
    if not is_ancestor(checkout.git, before, after):
        return GitError((*_FORWARD, after), answer.exit_code, f"{after} is not a descendant of {before}")
    lock = lock_in_the_way(answer.message)
    if lock:
        return _lock_error(checkout, lock)
    files = [line.removeprefix("\t") for line in answer.message.splitlines() if line.startswith("\t")]
    if not files:
        return checkout.held(f"git cannot fast-forward it there ({answer.message})", _FIX)
    if "untracked" in answer.message:
        return _in_the_way(checkout, files, "are untracked, or contain untracked files,", _MOVE)
    return _in_the_way(checkout, files, "have changes that are not committed", _COMMIT)


def _lock_error(checkout: _Checkout, lock: str) -> HeldError:
    return checkout.held(about_lock(lock), "wait until that git has ended or remove the file")


def _in_the_way(checkout: _Checkout, files: Sequence[str], are: str, remedy: str) -> HeldError:
    names = ", ".join(_name(file) for file in files[:_NAMED])
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return checkout.held(f"files {are} where the merge has different files: {names}{more}", remedy, files)


def _name(path: str) -> str:
    return shown(os.fsencode(path))
