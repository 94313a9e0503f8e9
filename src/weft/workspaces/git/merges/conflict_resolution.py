"""A conflict in the worktree of a slice, for an agent to resolve: it is opened there, and closed again.

The branch around the slice is merged into the slice's own, the other way round than it will be in the end, and by
the very merge that met the conflict. What git would leave there is there: files with marks, an index with all
versions, and the note that a merge is under way. Nothing moves until it is closed.

If all is settled then, what is there becomes a merge on the slice's branch, upon commits that the agent may have
made itself. If not, everything is as it was before; what the agent made of it gets a name, and is not lost.

Killed at any time, it is done again. A conflict that was opened, and that nobody works on any more, is undone
before it is opened anew, and before the slice is merged.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import ClosedConflict, HeldError, MergeRequest, OpenConflict, StepWork
from weft.safe_files import replace_file
from weft.workspaces.errors import WorkspaceError, listed, shown
from weft.workspaces.git.base.commit_object import SigningFailure
from weft.workspaces.git.base.locks import explain_lock_errors
from weft.workspaces.git.base.merge_tree import MergeTrial, commit_merge, try_merge
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import is_ancestor, move, tips_of, tree_of
from weft.workspaces.git.base.sparse import settings
from weft.workspaces.git.base.status import status
from weft.workspaces.git.base.worktree_links import clone_of, git_dir_of, operation_in
from weft.workspaces.git.checkouts.commits import keep_logged, message_of, stage
from weft.workspaces.git.clones.clone import unmerged_in_clone
from weft.workspaces.git.merges.conflict_note import (
    ConflictNote,
    ConflictSide,
    ConflictState,
    note_opened,
    opened_in,
)
from weft.workspaces.git.merges.unresolved_files import unmerged_in, unsettled, versions_at
from weft.workspaces.git.plan_repository import PlanRepository, around, changes, wish
from weft.workspaces.git.worktrees.reset import (
    WorktreeSnapshot,
    abort_operations,
    reset_worktree,
    snapshot_worktree,
)
from weft.workspaces.git.worktrees.unsaved_work import unsaved
from weft.workspaces.git.worktrees.worktrees import Worktrees

_TRIES = 20
"""So often it is opened anew because the branch around has moved meanwhile, before we give up."""
_MOST_DEEDS = 10
"""Of one side."""
_LINK = "160000"
_TURNED = {1: 1, 2: 3, 3: 2}
"""The stages of a merge the other way round."""


class _Place(Struct, frozen=True, kw_only=True):
    """A worktree with a conflict in it."""

    path: str
    git: Git
    git_dir: Path
    opened: ConflictNote

    @property
    def env(self) -> dict[str, str]:
        return dict(settings(self.git_dir))


class WorktreeConflicts:
    def __init__(self, plan_repository: PlanRepository, worktrees: Worktrees) -> None:
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._worktrees = worktrees

    # Opening

    def open(self, request: MergeRequest, work: StepWork) -> OpenConflict:
        """Raises `WorkspaceError` if it cannot be resolved there; then all is as it was before."""
        path, worktree = request.path, self._repository.worktree(request.path)
        self.abandon(path)
        self._worktrees.prove(worktree, self._names.head(path))
        git = self._git.at(worktree)
        files = [shown(file) for file in unsaved(git).paths]
        if files:
            raise WorkspaceError(f"{worktree} has changes that are not committed: {listed(files)}")
        for _ in range(_TRIES):
            found = self._conflict(request)
            if found is not None:
                return self._put(git, work, *found)
        raise WorkspaceError(f"{self._names.branch(around(path))} moves all the time; who else works on it?")

    def _conflict(self, request: MergeRequest) -> tuple[MergeTrial, str, str] | None:
        """The merge, and the commits that it was made of; None if one of the branches has moved meanwhile."""
        group, path = around(request.path), request.path
        refs = (self._names.head(group), self._names.head(path))
        into, head = self._repository.head(group), self._repository.head(path)
        # By their names, which git writes into the files. A tag of the same name is not meant.
        labels = [ref.removeprefix("refs/") for ref in refs]
        trial = try_merge(self._git, labels[0], labels[1], take=request.take_branch, shows_base=True)
        is_so_still = tips_of(self._git, *refs) == dict(zip(refs, (into, head), strict=True))
        return (trial, into, head) if is_so_still else None

    def _put(self, git: Git, work: StepWork, trial: MergeTrial, into: str, head: str) -> OpenConflict:
        path = work.path
        if not trial.conflicts:
            return OpenConflict()
        _refuse_kinds(trial)
        sides = tuple(
            ConflictSide(
                stage=_TURNED[entry.stage],
                mode=entry.version.mode,
                oid=entry.version.oid,
                place=os.fsencode(entry.place),
            )
            for entry in trial.entries
        )
        opened = ConflictNote(head=head, into=into, tree=trial.tree, sides=sides)
        place = _Place(path=path, git=git, git_dir=git_dir_of(git.directory), opened=opened)
        note = self._names.told(path)
        self._repository.move([wish(tips_of(self._git, note), note, head)], f"{path} goes on")
        note_opened(place.git_dir, opened)
        with explain_lock_errors():
            git.ask("update-index", "-q", "--refresh", env=place.env)  # a copy looks as if all had changed
            git.do("read-tree", "-m", "-u", head, trial.tree, env=place.env)
            self._refuse_hidden(place)
            _mark(place, message_of(work, self._repository.plan))
        files = [conflict.path for conflict in trial.conflicts]
        return OpenConflict(
            files=tuple(files),
            into=self._names.head(around(path)).removeprefix("refs/"),
            branch=self._names.head(path).removeprefix("refs/"),
            others=self._deeds(into, head, files),
            own=self._deeds(head, into, files),
        )

    def _refuse_hidden(self, place: _Place) -> None:
        """A worktree may hold some directories only."""
        top, opened = place.git.directory, place.opened
        put = versions_at(place.git, opened.tree, opened.places)
        hidden = [shown(one) for one in put if not os.path.lexists(top / os.fsdecode(one))]
        if hidden:
            said = f"these files are left out of the worktree: {listed(hidden)}"
            self._undo(place, self._look(place), said)
            raise WorkspaceError(said)

    def _deeds(self, one: str, other: str, files: Sequence[str]) -> tuple[str, ...]:
        """What one side did to these files, the last thing first."""
        command = ("log", "--no-merges", "--format=%s", f"--max-count={_MOST_DEEDS}", "--no-show-signature")
        log = self._git.line("--literal-pathspecs", *command, one, f"^{other}", "--", *files)
        return tuple(dict.fromkeys(log.splitlines()))

    # Closing

    def close(self, work: StepWork, failed: str) -> ClosedConflict:
        """Nothing may work in the worktree any more. Asked again, it tells the same."""
        place = self._place(work.path)
        if place is None:
            raise WorkspaceError(f"no conflict was opened in {self._repository.worktree(work.path)}")
        match place.opened.state:
            case ConflictState.CLOSED:
                return self._told(place)
            case ConflictState.UNDOING:
                return self._told(self._restore(place, self._look(place)))
            case ConflictState.OPEN:
                snapshot = self._look(place)
                said = failed or self._refusal(place, snapshot)
                return self._told(
                    self._undo(place, snapshot, said) if said else self._settle(place, snapshot, work)
                )

    def abandon(self, path: str) -> None:
        """Undo a conflict that nobody works on any more."""
        place = self._place(path)
        if place is not None and place.opened.state is not ConflictState.CLOSED:
            self._undo(place, self._look(place), "it was left")

    def leave(self, path: str) -> None:
        """Undoes what is left of a conflict in the workspace of a slice, before the slice is merged."""
        if path in self._repository.groups:
            return
        try:
            self.abandon(path)
        except WorkspaceError as error:
            raise HeldError(f"{path} cannot be merged: {error}; then type: weft merge {path}") from error

    @contextmanager
    def explained(self, request: MergeRequest) -> Generator[None]:
        """A merge that meets a conflict says what an agent made of the last one."""
        path = request.path
        try:
            yield
        except HeldError as error:
            is_slice = path not in self._repository.groups
            said = self.describe_conflict(path) if is_slice and error.conflict and request.resolved else ""
            if not said:
                raise
            text = f"{error}\nAn agent was to resolve it, and did not: {said}"
            raise HeldError(text, error.files, conflict=True) from error

    def describe_conflict(self, path: str) -> str:
        """Why the last conflict was not resolved, and where that is, for people; empty if it was."""
        place = self._place(path)
        if place is None or not place.opened.message:
            return ""
        kept = place.opened.kept
        where = f"; what it did is kept as {self._names.kept(path, kept)}" if kept else ""
        return f"{place.opened.message}{where}"

    def _place(self, path: str) -> _Place | None:
        worktree = self._repository.worktree(path)
        try:
            git_dir = git_dir_of(worktree)
        except WorkspaceError:
            return None  # whoever needs the worktree will say what is wrong with it
        opened = opened_in(git_dir)
        if opened is None:
            return None
        return _Place(path=path, git=self._git.at(worktree), git_dir=git_dir, opened=opened)

    def _look(self, place: _Place) -> WorktreeSnapshot:
        return snapshot_worktree(place.git, place.git_dir, fallback_head=place.opened.head)

    def _refusal(self, place: _Place, snapshot: WorktreeSnapshot) -> str:
        """Why what is there is no resolution of the conflict; empty if it is one."""
        operation = operation_in(place.git_dir)
        if operation not in {None, "merge"}:
            return f"it left a `git {operation}` unfinished"
        if snapshot.status.branch != self._names.head(place.path):
            return f"it left the branch {self._names.branch(place.path)}"
        if not snapshot.status.head:
            return f"it removed the branch {self._names.branch(place.path)}"
        if not is_ancestor(self._git, place.opened.head, snapshot.head):
            return "it changed commits that were there before"
        clone, unmerged = clone_of(place.git_dir), unmerged_in(place.git)
        if clone is not None:
            unmerged &= unmerged_in_clone(clone, digits=len(snapshot.head))
        left = [shown(file) for file in unsettled(place.git, place.opened, snapshot.tree, unmerged)]
        return f"it left the conflict in {listed(left)}" if left else ""

    def _settle(self, place: _Place, snapshot: WorktreeSnapshot, work: StepWork) -> _Place:
        ref, now = self._names.head(place.path), snapshot.head
        made = self._made(place, snapshot, message_of(work, self._repository.plan))
        if not move(place.git, changes([RefMove(ref=ref, before=now, after=made)]), reason="weft: @resolve"):
            raise WorkspaceError(f"the branch {self._names.branch(place.path)} was moved by somebody else")
        with explain_lock_errors():
            stage(place.git, place.git_dir, status(place.git, place.git_dir), {})
        abort_operations(place.git, place.git_dir)
        return _noted(place, state=ConflictState.CLOSED)

    def _made(self, place: _Place, snapshot: WorktreeSnapshot, message: bytes) -> str:
        """The merge; the agent may have made it just so."""
        git, head, into = place.git, snapshot.head, place.opened.into
        lines = os.fsencode(git.line("log", "-1", "--no-show-signature", "--format=%P%n%B", head))
        parents, _, said = lines.partition(b"\n")
        is_made = into.encode() in parents.split(b" ") and said.strip() == message.strip()
        if is_made and tree_of(git, head) == snapshot.tree:
            return head
        identity = self._repository.repository.identity
        text, sign = os.fsdecode(message), SigningFailure.PREFERRED
        return commit_merge(git, snapshot.tree, (head, into), text, identity=identity, sign=sign)

    # Undoing

    def _undo(self, place: _Place, snapshot: WorktreeSnapshot, message: str) -> _Place:
        if place.opened.state is ConflictState.OPEN:
            kept = self._kept(place, snapshot)
            place = _noted(place, state=ConflictState.UNDOING, message=message, kept=kept)
        return self._restore(place, snapshot)

    def _kept(self, place: _Place, snapshot: WorktreeSnapshot) -> str:
        """What is there gets a name, if it is neither what was there before, nor what was put there."""
        opened, head, tree = place.opened, snapshot.head, snapshot.tree
        if head == opened.head and tree in {opened.tree, tree_of(place.git, opened.head)}:
            return ""
        made = head
        if tree != tree_of(place.git, head):
            date = place.git.line("show", "--no-patch", "--no-show-signature", "--format=%ct", head)
            subject = f"{place.path}: @resolve, as it was left"
            parents, at = (head, opened.into), f"{date} +0000"
            made = self._repository.commit(tree, parents, subject, place.path, at, sign=SigningFailure.NEVER)
        ref = self._names.kept(place.path, made)
        self._repository.move([wish(tips_of(self._git, ref), ref, made)], f"{place.path} left it behind")
        return made

    def _restore(self, place: _Place, snapshot: WorktreeSnapshot) -> _Place:
        """All is as it was before the conflict was opened."""
        keep_logged(self._git, place.git_dir, place.path, self._names)
        ref, reason = self._names.head(place.path), "weft: @resolve is undone"
        reset_worktree(place.git, place.git_dir, snapshot, ref=ref, commit=place.opened.head, reason=reason)
        return _noted(place, state=ConflictState.CLOSED)

    def _told(self, place: _Place) -> ClosedConflict:
        opened, names, path = place.opened, self._names, place.path
        if opened.message:
            kept = [RefMove(ref=names.kept(path, opened.kept), before="", after=opened.kept)]
            return ClosedConflict(
                message=self.describe_conflict(path), moves=tuple(kept if opened.kept else ())
            )
        moved = RefMove(ref=names.head(path), before=opened.head, after=self._repository.head(path))
        return ClosedConflict(moves=tuple(changes([moved])))


def _refuse_kinds(trial: MergeTrial) -> None:
    """Of some conflicts the files tell nothing, so nothing would tell whether they are settled."""
    known = {entry.place for entry in trial.entries if entry.version.mode != _LINK}
    odd = [one for one in trial.conflicts if one.kind == "submodule" or one.path not in known]
    if odd:
        what = listed([f"{shown(os.fsencode(one.path))} ({one.kind})" for one in odd])
        raise WorkspaceError(f"only a person can settle this: {what}")


def _noted(place: _Place, **changed: object) -> _Place:
    opened = replace(place.opened, **changed)
    note_opened(place.git_dir, opened)
    return replace(place, opened=opened)


def _mark(place: _Place, message: bytes) -> None:
    """As git itself leaves a merge that has met a conflict."""
    git, opened = place.git, place.opened
    lines = [f"0 {'0' * len(opened.head)}\t".encode() + one for one in opened.places]
    lines += [f"{side.mode} {side.oid} {side.stage}\t".encode() + side.place for side in opened.sides]
    git.do(
        "update-index", "-z", "--index-info", stdin=b"".join(line + b"\0" for line in lines), env=place.env
    )
    replace_file(place.git_dir / "MERGE_MSG", message)
    replace_file(place.git_dir / "MERGE_MODE", b"no-ff")
    replace_file(place.git_dir / "MERGE_HEAD", f"{opened.into}\n".encode())
