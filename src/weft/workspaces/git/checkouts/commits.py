"""What a step did becomes a commit on the branch of its slice, whatever the step has left behind.

Committed is all that git does not ignore, but for what Weft brought. An agent may have made commits of its own:
they are on the branch already. It may have undone commits, too, by an amend, a rebase or a reset: those the log of
the worktree's head still knows, and what nothing leads to any more gets a ref of its own. So everything that was
ever committed there can be found.

What is not as it should be is kept aside, as a commit that only such a ref leads to, and then told: another branch
or none checked out, a merge half done. The worktree stays as it is then, down to its index.

A branch moves when its commit is whole, by one transaction, together with the note of how far was recorded. Killed
before, it is done again; killed after, it is found done.
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
from weft.workspaces.git.checkouts.untracked_files import brought_into, is_in

_NOTE = "weft-recorded"
_OWN_INDEX = "weft-index"

_LOGGED = re.compile(r"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) ", re.MULTILINE)
"""A line of a reflog: where it was before, and where it is now."""


class _Slice(Struct, frozen=True, kw_only=True):
    """A worktree after a step, and all that is needed to keep what the step did."""

    git: Git
    git_dir: Path
    work: StepWork
    names: RefNames
    message: bytes
    identity: Mapping[str, str]
    status: Status
    tip: str
    """Where the branch was when it was last recorded; empty: it never was."""
    start: str
    """Where it began, as far as that is known."""
    kept: frozenset[str]
    """What was kept of it before."""

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
    """The head, if something was committed since the last record, by us or by the agent; else nothing.

    `git` is at the worktree, in which nothing may work any more. Asked again for the same work it tells the same.
    """
    git_dir = git_dir_of(git.directory)
    remove_stale_locks(git.directory, git_dir, pause=pause)
    with explain_lock_errors():
        one = _slice(git, git_dir, work, names, message_of(work, plan), identity)
        _keep_undone(one)
        refuse_repositories(git.directory, git_dir, one.status)
        _refuse_astray(one)
        before = _before(one)
        head = _commit(one, one.status.head, {}, SigningFailure.PREFERRED) or one.status.head
        _advance(one, head)
    return head if head not in {before, one.start} else ""


def keep(
    git: Git,
    work: StepWork,
    *,
    plan: str,
    names: RefNames,
    identity: Mapping[str, str],
    pause: Pause = time.sleep,
) -> None:
    """Give a name to all that is in a worktree and that its branch does not lead to; nothing there changes."""
    git_dir = git_dir_of(git.directory)
    remove_stale_locks(git.directory, git_dir, pause=pause)
    with explain_lock_errors():
        one = _slice(git, git_dir, work, names, message_of(work, plan), identity)
        _keep_undone(one)
        refuse_repositories(git.directory, git_dir, one.status)
        made = _aside(one)
        is_on_branch = made == one.status.head and one.status.branch == names.head(work.path)
        if made and not is_on_branch and made not in one.kept:
            _keep(git, names, work.path, [made])


def keep_logged(
    git: Git, git_dir: Path, path: str, names: RefNames, *, seen: Sequence[str] = (), head: str = ""
) -> None:
    """The same, of a worktree whose directory is gone; `git_dir` is what the repository has of it.

    `seen` are commits that were there, too; `head` is where the branch is going to be, if not where it is.
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
    """What differs from the worktree's commit, as a commit upon another one; None if nothing does."""
    git, tree = slice_.git, stage(slice_.git, slice_.git_dir, slice_.status, index)
    if tree is None or (parent and tree == tree_of(git, parent)):
        return None
    parents = (parent,) if parent else ()
    draft = CommitDraft(tree=tree, parents=parents, message=slice_.message, env=slice_.identity)
    return write_commit(git, draft, sign=sign)


def stage(git: Git, git_dir: Path, status: Status, index: Mapping[str, str]) -> str | None:
    """The tree of an index into which all is put that is in a worktree; None if nothing differs from its commit.

    What was brought is left out.
    """
    brought = brought_into(git_dir)
    found = status.differences
    own = [each for each in found if not is_in(brought, each.path)]
    unstage = [each.path for each in found if is_in(brought, each.path) and each.staged and each.is_new]
    if not own and not unstage:
        return None
    env = {**settings(git_dir), **index}
    changed = [each.path for each in own if each.changed and not each.gone]
    there = [path for path in changed if _can_be_kept(git.directory, path)]
    gone = [each.path for each in own if each.changed and each.gone]
    _update_index(git, ("--force-remove",), [*gone, *unstage, *(set(changed) - set(there))], env)
    _update_index(git, ("--add",), there, env)
    return git.line("write-tree", env=env)


def _update_index(git: Git, how: Sequence[str], paths: Sequence[bytes], env: Mapping[str, str]) -> None:
    """A setting of the user's that refuses files with unusual ends of lines would have work be lost."""
    if paths:
        command = ("-c", "core.safecrlf=false", "update-index", *how, "-z", "--stdin")
        git.do(*command, stdin=b"".join(path + b"\0" for path in paths), env=env)


def _can_be_kept(top: Path, path: bytes) -> bool:
    """A fifo or a socket in place of a file cannot: then the file is gone."""
    mode = (top / os.fsdecode(path)).lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)


def _advance(one: _Slice, head: str) -> None:
    wishes = (
        RefMove(ref=one.names.head(one.work.path), before=one.status.head, after=head),
        RefMove(ref=one.names.tip(one.work.path), before=one.tip, after=head),
    )
    moves = [wish for wish in wishes if wish.before != wish.after]
    if not move(one.git, moves, reason=f"weft: {one.work.path} {one.work.step}"):
        raise WorkspaceError(
            f"the branch {one.branch} was moved while its worktree was recorded; end what works in "
            f"{one.git.directory}, and try again"
        )


def _before(one: _Slice) -> str:
    """Where the branch was when this work was recorded first."""
    note, key = one.git_dir / _NOTE, f"{one.work.step} {one.work.attempt} {one.work.path}"
    before, _, known = (text_of(note) or "").partition(" ")
    if known == key:
        return before
    before = one.tip or one.start
    replace_file(note, f"{before} {key}\n".encode())
    return before


# What nothing leads to any more


def _keep_undone(one: _Slice) -> None:
    """Of commits that were checked out here: a ref to the last of each line leads to those before it, too."""
    seen, known = frozenset((*_log(one.git_dir), one.tip)), one.kept.union((one.status.head,))
    _keep(one.git, one.names, one.work.path, _undone(one.git, seen, known))


def _undone(git: Git, seen: frozenset[str], known: frozenset[str]) -> list[str]:
    """The last of each line of commits among those seen to which none of the known leads."""
    asked = sorted(oid for oid in seen - known if oid.strip("0"))
    if not asked:
        return []
    wishes = [*asked, *(f"^{commit}" for commit in sorted(known - {""}))]
    command = ("rev-list", "--ignore-missing", "--children", "--stdin")
    lines = os.fsdecode(git.do(*command, stdin="\n".join((*wishes, "")).encode())).splitlines()
    return [line for line in lines if " " not in line]


def _log(git_dir: Path) -> list[str]:
    """The commits that the head of the worktree was at, one after the other."""
    # Whatever works there can write to this file; a line that is none of git's says nothing.
    return _LOGGED.findall(text_of(git_dir / "logs" / "HEAD") or "")


def _keep(git: Git, names: RefNames, path: str, commits: Sequence[str]) -> None:
    moves = [RefMove(ref=names.kept(path, commit), before="", after=commit) for commit in commits]
    if not move(git, moves, reason=f"weft: {path} left it behind"):
        raise WorkspaceError(
            f"what {path} left behind cannot be kept, for refs that are to lead to it lead elsewhere: "
            f"{listed([wish.ref for wish in moves])}; remove them with `git update-ref -d`"
        )


# What is not as it should be


def refuse_repositories(top: Path, git_dir: Path, status: Status) -> None:
    """Of one, a commit would hold no more than a name. A submodule that was added has its repository elsewhere."""
    brought = brought_into(git_dir)
    found = [
        shown(each.path)
        for each in status.differences
        if _is_repository(each, top / os.fsdecode(each.path) / ".git") and not is_in(brought, each.path)
    ]
    if found:
        raise WorkspaceError(
            f"in {top} there are repositories of their own, whose files cannot be committed: {listed(found)}; "
            f"remove the `.git` in each, or have git ignore it, and try again"
        )


def _is_repository(found: FileDifference, link: Path) -> bool:
    if found.gone:
        return (
            link.exists()
        )  # without a commit, and in place of a file: git says no more than that the file is gone
    return found.is_repository and not (found.staged and link.is_file())


def _refuse_astray(one: _Slice) -> None:
    found, wanted, top = one.status, one.names.head(one.work.path), one.git.directory
    operation = operation_in(one.git_dir)
    if operation is not None:
        what = f"a `git {operation}` is unfinished in {top}"
        then = f"finish it there, or type: git -C {top} {operation} --abort"
        if own_operation_in(one.git_dir) is None:  # but in the clone, where no git of a person's should run
            then = f"to start the slice again, type: weft retry {one.work.path}"
    elif found.branch != wanted:
        has = f"the branch {found.branch.removeprefix('refs/heads/')}" if found.branch else "no branch"
        what = f"the worktree {top} has {has} checked out, and is to have {one.branch}"
        then = (
            f"to have this as the work of {one.work.path}, type: git -C {top} switch -C {one.branch}; "
            f"to have it left aside: git -C {top} switch --discard-changes {one.branch}"
        )
    elif not found.head:
        last = next(
            (oid for oid in (*reversed(_log(one.git_dir)), one.tip, one.start) if oid.strip("0")), "COMMIT"
        )
        what = f"the branch {one.branch} of the worktree {top} is gone"
        then = f"to have it back, type: git branch {one.branch} {last[:12]}"
    else:
        return
    raise WorkspaceError(f"{what}; {_kept_aside(one)}{then}")


def _kept_aside(one: _Slice) -> str:
    """All that is there gets a name, without a change of anything there."""
    made = _aside(one)
    if not made:
        return ""
    if made not in one.kept:
        _keep(one.git, one.names, one.work.path, [made])
    return f"what is there is kept as {one.names.kept(one.work.path, made)}; "


def _aside(one: _Slice) -> str:
    """A commit of all that is there, upon the one that is checked out; or that one; empty if there is none."""
    with index_aside(one.git_dir) as index:
        return _commit(one, one.status.head, index, SigningFailure.NEVER) or one.status.head


@contextmanager
def index_aside(git_dir: Path) -> Generator[Mapping[str, str]]:
    """A copy of the index of a worktree, as variables for git."""
    own = git_dir / _OWN_INDEX
    for leftover in (own, own.with_name(f"{_OWN_INDEX}.lock")):
        remove_file(leftover)
    copy_index(git_dir, own)
    yield {"GIT_INDEX_FILE": str(own)}
    remove_file(own)


def copy_index(git_dir: Path, place: Path) -> None:
    """A copy of the index of a worktree as a new file; none if there is no index."""
    try:
        source = os.fdopen(open_file(git_dir / "index"), "rb")
    except FileNotFoundError:
        return
    with source, os.fdopen(open_file(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
