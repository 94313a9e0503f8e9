"""Commits of the work of steps on the branches of their slices.

A commit holds everything that git does not ignore, except files that Weft copied in. An agent may have made
commits of its own; these are on the branch already. It may also have undone commits with an amend, a rebase or a
reset. The reflog of the worktree's HEAD still has those, and each commit that no ref leads to any more gets a ref
of its own. Everything that was ever committed there can therefore be found.

If the worktree is not in the expected state (another branch or none checked out, a merge unfinished), its contents
become a commit that only such a ref leads to, and an error reports that. The worktree itself stays as it is,
including its index.

A branch moves once its commit is complete, in one transaction with the ref that records the progress. After a
crash before that transaction the work is committed again; after a crash behind it, the record shows that it was.
"""

import os
import re
import shutil
import stat
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import StepWork
from weft.safe_files import open_file, remove_file, replace_file
from weft.workspaces.errors import WorkspaceError, listed, shown
from weft.workspaces.git.base.commit_object import CommitDraft, SigningFailure, write_commit
from weft.workspaces.git.base.lock_files import Pause
from weft.workspaces.git.base.locks import explain_lock_errors, remove_stale_locks
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import move, tips_below, tips_of, tree_of
from weft.workspaces.git.base.sparse import settings
from weft.workspaces.git.base.status import FileDifference, Status, status
from weft.workspaces.git.base.worktree_links import git_dir_of, operation_in, own_operation_in, text_of
from weft.workspaces.git.checkouts.untracked_files import copied_into, is_in

_NOTE = "weft-recorded"
_OWN_INDEX = "weft-index"

_LOGGED = re.compile(r"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) ", re.MULTILINE)
"""A line of a reflog: the commits before and after."""


class _Slice(Struct, frozen=True, kw_only=True):
    """A worktree after a step, with everything needed to commit the work of the step."""

    git: Git
    git_dir: Path
    work: StepWork
    names: RefNames
    message: bytes
    identity: Mapping[str, str]
    status: Status
    tip: str
    """The tip of the branch when it was last recorded; empty if it never was."""
    start: str
    """The commit that the branch started from; empty if unknown."""
    kept: frozenset[str]
    """The commits that already have refs under `refs/weft/kept`."""

    @property
    def branch(self) -> str:
        return self.names.branch(self.work.path)


def record(
    git: Git,
    work: StepWork,
    *,
    plan: str,
    names: RefNames,
    identity: Mapping[str, str],
    pause: Pause = time.sleep,
) -> str:
    """Commits the work of a step; returns the new head, or an empty string if nothing is new.

    Commits of the agent count as well. `git` is in the worktree, in which no process may run any more. A second
    call for the same work returns the same.
    """
    git_dir = git_dir_of(git.directory)
    remove_stale_locks(git.directory, git_dir, pause=pause)
    with explain_lock_errors():
        slice_ = _slice(git, git_dir, work, names, message_of(work, plan), identity)
        # Undone commits get their refs first: each check below may raise, and `git gc` could then remove them.
        _keep_undone(slice_)
        refuse_repositories(git.directory, git_dir, slice_.status)
        _refuse_astray(slice_)
        # The answer must not depend on how often it is asked. After a crash behind `_advance` nothing is left
        # to commit, and only the tip from the first call shows that this step added something.
        before = _before(slice_)
        head = _commit(slice_, slice_.status.head, {}, SigningFailure.PREFERRED) or slice_.status.head
        _advance(slice_, head)
    return head if head not in {before, slice_.start} else ""


def keep(
    git: Git,
    work: StepWork,
    *,
    plan: str,
    names: RefNames,
    identity: Mapping[str, str],
    pause: Pause = time.sleep,
) -> None:
    """Creates refs for all contents of a worktree that its branch does not lead to.

    The worktree stays unchanged.
    """
    git_dir = git_dir_of(git.directory)
    remove_stale_locks(git.directory, git_dir, pause=pause)
    with explain_lock_errors():
        slice_ = _slice(git, git_dir, work, names, message_of(work, plan), identity)
        _keep_undone(slice_)
        refuse_repositories(git.directory, git_dir, slice_.status)
        commit = _aside(slice_)
        is_on_branch = commit == slice_.status.head and slice_.status.branch == names.head(work.path)
        if commit and not is_on_branch and commit not in slice_.kept:
            _keep(git, names, work.path, [commit])


def keep_logged(
    git: Git, git_dir: Path, path: str, names: RefNames, *, seen: Sequence[str] = (), head: str = ""
) -> None:
    """Does the same for a worktree without a directory; `git_dir` is its git directory.

    `seen` are further commits that were checked out there; `head` is the commit to which the branch will move, if
    any.
    """
    tips = tips_of(git, names.head(path), names.start(path)) | _kept_of(git, names, path)
    if head:
        tips[names.head(path)] = head
    _keep(git, names, path, _undone(git, frozenset((*_log(git_dir), *seen)), frozenset(tips.values())))


def _slice(
    git: Git, git_dir: Path, work: StepWork, names: RefNames, message: bytes, identity: Mapping[str, str]
) -> _Slice:
    path = work.path
    refs = tips_of(git, names.tip(path), names.start(path))
    return _Slice(
        git=git,
        git_dir=git_dir,
        work=work,
        names=names,
        message=message,
        identity=identity,
        status=status(git, git_dir),
        tip=refs.get(names.tip(path), ""),
        start=refs.get(names.start(path), ""),
        kept=frozenset(_kept_of(git, names, path).values()),
    )


def _kept_of(git: Git, names: RefNames, path: str) -> dict[str, str]:
    return tips_below(git, names.kept(path, "").rstrip("/"))


def message_of(work: StepWork, plan: str) -> bytes:
    """Returns the message of a step's commit."""
    subject = " ".join(work.subject.split()) or work.step
    trailers = {
        "Weft-Plan": plan,
        "Weft-Subplan": work.path,
        "Weft-Step": work.step,
        "Weft-Attempt": str(work.attempt),
    }
    lines = (f"{name}: {value}" for name, value in trailers.items())
    return "\n".join((subject, "", *lines, "")).encode(errors="replace")


# The commit


def _commit(slice_: _Slice, parent: str, index: Mapping[str, str], sign: SigningFailure) -> str | None:
    """Commits the worktree's differences onto `parent`; returns None if there are none."""
    git, tree = slice_.git, stage(slice_.git, slice_.git_dir, slice_.status, index)
    if tree is None or (parent and tree == tree_of(git, parent)):
        return None
    parents = (parent,) if parent else ()
    draft = CommitDraft(tree=tree, parents=parents, message=slice_.message, env=slice_.identity)
    return write_commit(git, draft, sign=sign)


def stage(git: Git, git_dir: Path, status: Status, index: Mapping[str, str]) -> str | None:
    """Stages the worktree's contents and returns the tree; None if they do not differ from the commit.

    Files that Weft copied in are left out. `index` names another index file, as variables for git.
    """
    copied_in = copied_into(git_dir)
    differences = status.differences
    own = [difference for difference in differences if not is_in(copied_in, difference.path)]
    unstage = [
        difference.path
        for difference in differences
        if is_in(copied_in, difference.path) and difference.staged and difference.is_new
    ]
    if not own and not unstage:
        return None
    env = {**settings(git_dir), **index}
    changed = [difference.path for difference in own if difference.changed and not difference.gone]
    # A step may leave a fifo or a socket where the commit has a file. `update-index --add` would fail on it,
    # and the work of the whole step with it.
    storable = [path for path in changed if _is_storable(git.directory, path)]
    gone = [difference.path for difference in own if difference.changed and difference.gone]
    # Removals before additions: a file may have become a directory, and git refuses both in one index.
    _update_index(git, ("--force-remove",), [*gone, *unstage, *(set(changed) - set(storable))], env)
    _update_index(git, ("--add",), storable, env)
    return git.line("write-tree", env=env)


def _update_index(git: Git, options: Sequence[str], paths: Sequence[bytes], env: Mapping[str, str]) -> None:
    """Adds or removes paths in the index."""
    if paths:
        # With safecrlf, git would refuse files with mixed line endings, and the work would be lost.
        command = ("-c", "core.safecrlf=false", "update-index", *options, "-z", "--stdin")
        git.do(*command, stdin=b"".join(path + b"\0" for path in paths), env=env)


def _is_storable(top: Path, path: bytes) -> bool:
    """Returns whether git can store the file. A fifo or socket in place of a file counts as its removal."""
    mode = (top / os.fsdecode(path)).lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)


def _advance(slice_: _Slice, head: str) -> None:
    candidates = (
        RefMove(ref=slice_.names.head(slice_.work.path), before=slice_.status.head, after=head),
        RefMove(ref=slice_.names.tip(slice_.work.path), before=slice_.tip, after=head),
    )
    # Branch and note in one transaction, so that no crash can separate them.
    moves = [ref_move for ref_move in candidates if ref_move.before != ref_move.after]
    if not move(slice_.git, moves, reason=f"weft: {slice_.work.path} {slice_.work.step}"):
        raise WorkspaceError(
            f"the branch {slice_.branch} was moved while its worktree was recorded; end the processes that work "
            f"in {slice_.git.directory}, and try again"
        )


def _before(slice_: _Slice) -> str:
    """Returns the tip of the branch at the first record of this work."""
    note, key = slice_.git_dir / _NOTE, f"{slice_.work.step} {slice_.work.attempt} {slice_.work.path}"
    before, _, noted_key = (text_of(note) or "").partition(" ")
    if noted_key == key:
        return before
    before = slice_.tip or slice_.start
    replace_file(note, f"{before} {key}\n".encode())
    return before


# Commits that no ref leads to


def _keep_undone(slice_: _Slice) -> None:
    """Creates refs for undone commits. A ref to the last commit of a line preserves the earlier ones, too."""
    seen, reachable = frozenset((*_log(slice_.git_dir), slice_.tip)), slice_.kept.union((slice_.status.head,))
    _keep(slice_.git, slice_.names, slice_.work.path, _undone(slice_.git, seen, reachable))


def _undone(git: Git, seen: frozenset[str], reachable: frozenset[str]) -> list[str]:
    """Returns the last commit of each line among `seen` that no commit in `reachable` leads to."""
    candidates = sorted(oid for oid in seen - reachable if oid.strip("0"))
    if not candidates:
        return []
    revisions = [*candidates, *(f"^{commit}" for commit in sorted(reachable - {""}))]
    # A commit without children in this list is the last of its line. `--ignore-missing`, because a reflog can
    # name commits that were pruned.
    command = ("rev-list", "--ignore-missing", "--children", "--stdin")
    lines = os.fsdecode(git.do(*command, stdin="\n".join((*revisions, "")).encode())).splitlines()
    return [line for line in lines if " " not in line]


def _log(git_dir: Path) -> list[str]:
    """Returns the successive commits of the worktree's HEAD."""
    # A step can write to this file, so lines that do not look like git's are ignored.
    return _LOGGED.findall(text_of(git_dir / "logs" / "HEAD") or "")


def _keep(git: Git, names: RefNames, path: str, commits: Sequence[str]) -> None:
    moves = [RefMove(ref=names.kept(path, commit), before="", after=commit) for commit in commits]
    if not move(git, moves, reason=f"weft: {path} left it behind"):
        raise WorkspaceError(
            f"what {path} left behind cannot be kept, because the refs for it already point elsewhere: "
            f"{listed([ref_move.ref for ref_move in moves])}; remove them with `git update-ref -d`"
        )


# Unexpected states


def refuse_repositories(top: Path, git_dir: Path, status: Status) -> None:
    """Raises `WorkspaceError` if the step created repositories in the worktree.

    A commit would store only their names, not their files. Submodules that were properly added are fine, because
    their repositories are elsewhere.
    """
    copied_in = copied_into(git_dir)
    repositories = [
        shown(difference.path)
        for difference in status.differences
        if _is_repository(difference, top / os.fsdecode(difference.path) / ".git")
        and not is_in(copied_in, difference.path)
    ]
    if repositories:
        raise WorkspaceError(
            f"{top} contains other repositories, so their files cannot be committed: {listed(repositories)}; "
            f"remove the `.git` in each, or add it to .gitignore, and try again"
        )


def _is_repository(difference: FileDifference, link: Path) -> bool:
    # For a repository without commits in place of a file, git reports only that the file is gone.
    if difference.gone:
        return link.exists()
    return difference.is_repository and not (difference.staged and link.is_file())


def _refuse_astray(slice_: _Slice) -> None:
    """Raises `WorkspaceError` if the worktree is not on its branch or has an unfinished operation."""
    worktree_status, ref, top = slice_.status, slice_.names.head(slice_.work.path), slice_.git.directory
    operation = operation_in(slice_.git_dir)
    if operation is not None:
        problem = f"a `git {operation}` is unfinished in {top}"
        remedy = f"finish it there, or type: git -C {top} {operation} --abort"
        if own_operation_in(slice_.git_dir) is None:  # it is in the clone, where no person should run git
            remedy = f"to start the slice again, type: weft retry {slice_.work.path}"
    elif worktree_status.branch != ref:
        actual = (
            f"the branch {worktree_status.branch.removeprefix('refs/heads/')}"
            if worktree_status.branch
            else "no branch"
        )
        problem = f"the worktree {top} has {actual} checked out; it must have {slice_.branch}"
        remedy = (
            f"to use this as the work of {slice_.work.path}, type: git -C {top} switch -C {slice_.branch}; to "
            f"discard it: git -C {top} switch --discard-changes {slice_.branch}"
        )
    elif not worktree_status.head:
        last = next(
            (oid for oid in (*reversed(_log(slice_.git_dir)), slice_.tip, slice_.start) if oid.strip("0")),
            "COMMIT",
        )
        problem = f"the branch {slice_.branch} of the worktree {top} is gone"
        remedy = f"to restore it, type: git branch {slice_.branch} {last[:12]}"
    else:
        return
    raise WorkspaceError(f"{problem}; {_keep_aside(slice_)}{remedy}")


def _keep_aside(slice_: _Slice) -> str:
    """Creates a ref for the worktree's contents without changing it; returns a phrase that names the ref."""
    commit = _aside(slice_)
    if not commit:
        return ""
    if commit not in slice_.kept:
        _keep(slice_.git, slice_.names, slice_.work.path, [commit])
    return f"what is there is kept as {slice_.names.kept(slice_.work.path, commit)}; "


def _aside(slice_: _Slice) -> str:
    """Commits the contents onto HEAD; returns that commit, or HEAD if nothing differs; empty without a commit."""
    with index_aside(slice_.git_dir) as index:
        return _commit(slice_, slice_.status.head, index, SigningFailure.NEVER) or slice_.status.head


@contextmanager
def index_aside(git_dir: Path) -> Generator[Mapping[str, str]]:
    """Yields variables that let git use a copy of the worktree's index."""
    own = git_dir / _OWN_INDEX
    # A crash can leave both files; a stale index would be used, and a stale lock would block git.
    for leftover in (own, own.with_name(f"{_OWN_INDEX}.lock")):
        remove_file(leftover)
    copy_index(git_dir, own)
    yield {"GIT_INDEX_FILE": str(own)}
    remove_file(own)


def copy_index(git_dir: Path, place: Path) -> None:
    """Copies the index of a worktree to a new file, if there is an index."""
    try:
        source = os.fdopen(open_file(git_dir / "index"), "rb")
    except FileNotFoundError:
        return
    with source, os.fdopen(open_file(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
