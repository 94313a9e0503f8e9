"""Conflicts that an agent resolves in the worktree of a slice: opened there, and closed again.

The branch around the slice is merged into the slice's own, in the opposite direction of the final merge, by the
very merge that met the conflict. The worktree then has what git would leave there: files with conflict markers, an
index with all versions, and the state of an unfinished merge. No ref moves until the conflict is closed.

If everything is resolved then, the contents become a merge commit on the slice's branch, on top of commits that
the agent may have made itself. Otherwise the worktree is reset, and the agent's result becomes kept work.

All this can be repeated after a crash at any time. An open conflict that no agent works on any more is undone
before it is opened again and before the slice is merged.
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
from weft.workspaces.git.plan_repository import PlanRepository, around, changes, plan_move
from weft.workspaces.git.worktrees.reset import (
    WorktreeSnapshot,
    abort_operations,
    reset_worktree,
    snapshot_worktree,
)
from weft.workspaces.git.worktrees.unsaved_work import unsaved
from weft.workspaces.git.worktrees.worktrees import Worktrees

_TRIES = 20
"""How often it is opened again because the branch around it has moved meanwhile."""
_MOST_SUBJECTS = 10
"""Per side."""
_LINK = "160000"
_TURNED = {1: 1, 2: 3, 3: 2}
"""The stages of a merge in the opposite direction."""


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
    """Conflicts in the worktrees of slices."""

    def __init__(self, plan_repository: PlanRepository, worktrees: Worktrees) -> None:
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._worktrees = worktrees

    # Opening

    def open(self, request: MergeRequest, work: StepWork) -> OpenConflict:
        """Opens the conflict. Raises `WorkspaceError`, with nothing changed, if it cannot be resolved there."""
        path, worktree = request.path, self._repository.worktree(request.path)
        # A coordinator that died may have left the same conflict open, with an agent's work in it. That is kept
        # and undone first, so that the merge below starts from a clean worktree.
        self.abandon(path)
        self._worktrees.prove(worktree, self._names.head(path))
        git = self._git.at(worktree)
        files = [shown(file) for file in unsaved(git).paths]
        if files:
            raise WorkspaceError(f"{worktree} has changes that are not committed: {listed(files)}")
        for _ in range(_TRIES):
            conflict = self._conflict(request)
            if conflict is not None:
                return self._put(git, work, *conflict)
        raise WorkspaceError(
            f"{self._names.branch(around(path))} keeps moving; find the other program that moves it"
        )

    def _conflict(self, request: MergeRequest) -> tuple[MergeTrial, str, str] | None:
        """Returns the merge and its two commits; None if one of the branches has moved meanwhile."""
        group, path = around(request.path), request.path
        refs = (self._names.head(group), self._names.head(path))
        into, head = self._repository.head(group), self._repository.head(path)
        # Names instead of commits, because git writes them into the files; `heads/` excludes tags of the same
        # name.
        labels = [ref.removeprefix("refs/") for ref in refs]
        trial = try_merge(self._git, labels[0], labels[1], take=request.take_branch, shows_base=True)
        is_current = tips_of(self._git, *refs) == dict(zip(refs, (into, head), strict=True))
        return (trial, into, head) if is_current else None

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
        note = self._names.reported(path)
        self._repository.move([plan_move(tips_of(self._git, note), note, head)], f"{path} goes on")
        # The note is durable before the first file changes; see `conflict_note`.
        note_opened(place.git_dir, opened)
        with explain_lock_errors():
            # In a copied worktree all time stamps differ from the index; read-tree would see changes everywhere.
            git.ask("update-index", "-q", "--refresh", env=place.env)
            # A two-way merge: it writes only files that differ between the two, and refuses to overwrite local
            # changes.
            git.do("read-tree", "-m", "-u", head, trial.tree, env=place.env)
            self._refuse_hidden(place)
            _mark(place, message_of(work, self._repository.plan))
        files = [conflict.path for conflict in trial.conflicts]
        return OpenConflict(
            files=tuple(files),
            into=self._names.head(around(path)).removeprefix("refs/"),
            branch=self._names.head(path).removeprefix("refs/"),
            others=self._subjects(into, head, files),
            own=self._subjects(head, into, files),
        )

    def _refuse_hidden(self, place: _Place) -> None:
        """Raises `WorkspaceError` if a sparse worktree leaves out files in conflict."""
        top, opened = place.git.directory, place.opened
        put = versions_at(place.git, opened.tree, opened.places)
        hidden = [shown(path) for path in put if not os.path.lexists(top / os.fsdecode(path))]
        if hidden:
            message = f"these files are not in the sparse worktree: {listed(hidden)}"
            self._undo(place, self._snapshot(place), message)
            raise WorkspaceError(message)

    def _subjects(self, side: str, other_side: str, files: Sequence[str]) -> tuple[str, ...]:
        """Returns the subjects of a side's commits to these files, newest first."""
        command = (
            "log",
            "--no-merges",
            "--format=%s",
            f"--max-count={_MOST_SUBJECTS}",
            "--no-show-signature",
        )
        log = self._git.line("--literal-pathspecs", *command, side, f"^{other_side}", "--", *files)
        return tuple(dict.fromkeys(log.splitlines()))

    # Closing

    def close(self, work: StepWork, failed: str) -> ClosedConflict:
        """Closes the conflict after the agent has ended; a repeated call returns the same."""
        place = self._place(work.path)
        if place is None:
            raise WorkspaceError(f"no conflict was opened in {self._repository.worktree(work.path)}")
        # The state in the note tells how far an earlier coordinator came, and each state has one way forward.
        match place.opened.state:
            case ConflictState.CLOSED:
                return self._result(place)
            case ConflictState.UNDOING:
                return self._result(self._restore(place, self._snapshot(place)))
            case ConflictState.OPEN:
                snapshot = self._snapshot(place)
                refusal = failed or self._refusal(place, snapshot)
                return self._result(
                    self._undo(place, snapshot, refusal) if refusal else self._settle(place, snapshot, work)
                )

    def abandon(self, path: str) -> None:
        """Undoes a conflict that no agent works on any more."""
        place = self._place(path)
        if place is not None and place.opened.state is not ConflictState.CLOSED:
            self._undo(place, self._snapshot(place), "it was abandoned")

    def leave(self, path: str) -> None:
        """Undoes the rest of a conflict in a slice's workspace before the slice is merged."""
        if path in self._repository.groups:
            return
        try:
            self.abandon(path)
        except WorkspaceError as error:
            raise HeldError(f"{path} cannot be merged: {error}; then type: weft merge {path}") from error

    @contextmanager
    def explained(self, request: MergeRequest) -> Generator[None]:
        """Adds the outcome of the agent's last attempt to the error of a merge that meets a conflict."""
        path = request.path
        try:
            yield
        except HeldError as error:
            is_slice = path not in self._repository.groups
            failure = self.describe_conflict(path) if is_slice and error.conflict and request.resolved else ""
            if not failure:
                raise
            text = f"{error}\nAn agent tried to resolve it and failed: {failure}"
            raise HeldError(text, error.files, conflict=True) from error

    def describe_conflict(self, path: str) -> str:
        """Returns why the last conflict was not resolved, and the kept work; empty if it was."""
        place = self._place(path)
        if place is None or not place.opened.message:
            return ""
        kept = place.opened.kept
        where = f"; its work is kept as {self._names.kept(path, kept)}" if kept else ""
        return f"{place.opened.message}{where}"

    def _place(self, path: str) -> _Place | None:
        worktree = self._repository.worktree(path)
        try:
            git_dir = git_dir_of(worktree)
        except WorkspaceError:
            return None  # the next use of the worktree reports the problem
        opened = opened_in(git_dir)
        if opened is None:
            return None
        return _Place(path=path, git=self._git.at(worktree), git_dir=git_dir, opened=opened)

    def _snapshot(self, place: _Place) -> WorktreeSnapshot:
        return snapshot_worktree(place.git, place.git_dir, fallback_head=place.opened.head)

    def _refusal(self, place: _Place, snapshot: WorktreeSnapshot) -> str:
        """Returns why the worktree's contents do not resolve the conflict; empty if they do."""
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
            # The agent's `git add` changed the index of the clone, not that of the registration, so a file
            # counts as unmerged only if it is so in both.
            unmerged &= unmerged_in_clone(clone, digits=len(snapshot.head))
        unresolved = [shown(file) for file in unsettled(place.git, place.opened, snapshot.tree, unmerged)]
        return f"it left the conflict in {listed(unresolved)}" if unresolved else ""

    def _settle(self, place: _Place, snapshot: WorktreeSnapshot, work: StepWork) -> _Place:
        ref, current = self._names.head(place.path), snapshot.head
        # A crash after the move repeats this: the commit on the branch is recognised by its parents, message
        # and tree, and the move finds its ref in place.
        commit = self._commit_resolution(place, snapshot, message_of(work, self._repository.plan))
        if not move(
            place.git, changes([RefMove(ref=ref, before=current, after=commit)]), reason="weft: @resolve"
        ):
            raise WorkspaceError(f"the branch {self._names.branch(place.path)} was moved by another process")
        with explain_lock_errors():
            stage(place.git, place.git_dir, status(place.git, place.git_dir), {})
        abort_operations(place.git, place.git_dir)
        return _update_note(place, state=ConflictState.CLOSED)

    def _commit_resolution(self, place: _Place, snapshot: WorktreeSnapshot, message: bytes) -> str:
        """Returns the merge commit; the agent may have made an identical one already."""
        git, head, into = place.git, snapshot.head, place.opened.into
        lines = os.fsencode(git.line("log", "-1", "--no-show-signature", "--format=%P%n%B", head))
        parents, _, head_message = lines.partition(b"\n")
        is_made = into.encode() in parents.split(b" ") and head_message.strip() == message.strip()
        if is_made and tree_of(git, head) == snapshot.tree:
            return head
        identity = self._repository.repository.identity
        text, sign = os.fsdecode(message), SigningFailure.PREFERRED
        return commit_merge(git, snapshot.tree, (head, into), text, identity=identity, sign=sign)

    # Undoing

    def _undo(self, place: _Place, snapshot: WorktreeSnapshot, message: str) -> _Place:
        if place.opened.state is ConflictState.OPEN:
            # First the ref to the agent's work, then the note, then the reset that destroys the files.
            kept = self._keep(place, snapshot)
            place = _update_note(place, state=ConflictState.UNDOING, message=message, kept=kept)
        return self._restore(place, snapshot)

    def _keep(self, place: _Place, snapshot: WorktreeSnapshot) -> str:
        """Keeps the worktree's contents unless they are as before the conflict or as it was opened."""
        opened, head, tree = place.opened, snapshot.head, snapshot.tree
        if head == opened.head and tree in {opened.tree, tree_of(place.git, opened.head)}:
            return ""
        commit = head
        if tree != tree_of(place.git, head):
            date = place.git.line("show", "--no-patch", "--no-show-signature", "--format=%ct", head)
            subject = f"{place.path}: @resolve, as it was left"
            parents, at = (head, opened.into), f"{date} +0000"
            commit = self._repository.commit(
                tree, parents, subject, place.path, at, sign=SigningFailure.NEVER
            )
        ref = self._names.kept(place.path, commit)
        self._repository.move(
            [plan_move(tips_of(self._git, ref), ref, commit)], f"{place.path} left it behind"
        )
        return commit

    def _restore(self, place: _Place, snapshot: WorktreeSnapshot) -> _Place:
        """Resets the worktree to its state before the conflict was opened."""
        keep_logged(self._git, place.git_dir, place.path, self._names)
        ref, reason = self._names.head(place.path), "weft: @resolve is undone"
        reset_worktree(place.git, place.git_dir, snapshot, ref=ref, commit=place.opened.head, reason=reason)
        return _update_note(place, state=ConflictState.CLOSED)

    def _result(self, place: _Place) -> ClosedConflict:
        opened, names, path = place.opened, self._names, place.path
        if opened.message:
            kept = [RefMove(ref=names.kept(path, opened.kept), before="", after=opened.kept)]
            return ClosedConflict(
                message=self.describe_conflict(path), moves=tuple(kept if opened.kept else ())
            )
        moved = RefMove(ref=names.head(path), before=opened.head, after=self._repository.head(path))
        return ClosedConflict(moves=tuple(changes([moved])))


def _refuse_kinds(trial: MergeTrial) -> None:
    """Raises `WorkspaceError` for conflicts that cannot be seen to be resolved from their files."""
    resolvable_paths = {entry.place for entry in trial.entries if entry.version.mode != _LINK}
    unsupported = [
        conflict
        for conflict in trial.conflicts
        if conflict.kind == "submodule" or conflict.path not in resolvable_paths
    ]
    if unsupported:
        names = listed([f"{shown(os.fsencode(conflict.path))} ({conflict.kind})" for conflict in unsupported])
        raise WorkspaceError(f"only a person can settle this: {names}")


def _update_note(place: _Place, **changed: object) -> _Place:
    opened = replace(place.opened, **changed)
    note_opened(place.git_dir, opened)
    return replace(place, opened=opened)


def _mark(place: _Place, message: bytes) -> None:
    """Writes the index and the merge state that git leaves after a conflict."""
    git, opened = place.git, place.opened
    # First the paths are removed at stage 0, because git does not allow it beside the stages 1 to 3 of a
    # conflict.
    lines = [f"0 {'0' * len(opened.head)}\t".encode() + path for path in opened.places]
    lines += [f"{side.mode} {side.oid} {side.stage}\t".encode() + side.place for side in opened.sides]
    git.do(
        "update-index", "-z", "--index-info", stdin=b"".join(line + b"\0" for line in lines), env=place.env
    )
    # MERGE_HEAD comes last: its existence is what makes git, and `operation_in`, see an unfinished merge.
    replace_file(place.git_dir / "MERGE_MSG", message)
    replace_file(place.git_dir / "MERGE_MODE", b"no-ff")
    replace_file(place.git_dir / "MERGE_HEAD", f"{opened.into}\n".encode())
