"""What a step changes in a worktree: the worktree is noted before the step, and compared with that after it.

A step that is to change files has changed some if the tree of its branch is another one, whoever made the commit.

One that may only read must leave all as it was: files, commits, the branch that is checked out. Else what is there
gets a name, the worktree is brought back, and what was found is noted. Files that the step had git ignore come to
light when that is undone, so it is looked again. Readers that overlap have the same beginning: whoever ends first
after a change answers for it, and for the others all is as it was.

Killed at any time, it is done again. What was found is noted before the first file changes, and what is undone in
part is nothing new: all that is different still is in what was kept.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import Breach, StepWatch
from weft.workspaces.errors import WorkspaceError, listed, shown
from weft.workspaces.git.base.commit_object import SigningFailure
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import tip, tree_of
from weft.workspaces.git.base.worktree_links import git_dir_of, operation_in
from weft.workspaces.git.checkouts.commits import keep_logged
from weft.workspaces.git.plan_repository import PlanRepository
from weft.workspaces.git.slices.watch_note import WatchNote, note_watched, watched_in
from weft.workspaces.git.worktrees.reset import WorktreeSnapshot, reset_worktree, snapshot_worktree

_LOOKS = 5
"""So often more comes to light, by what was undone, before we give up."""


class _Place(Struct, frozen=True, kw_only=True):
    """The worktree of a slice."""

    path: str
    git: Git
    git_dir: Path


class StepChanges:
    """For each slice one thread at a time."""

    def __init__(self, plan_repository: PlanRepository) -> None:
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git

    # Before a step

    def beginning(self, watch: StepWatch) -> str | None:
        """Where the worktree was before the readers that are under way; None if there are none."""
        return next((one.head for one in self._kept(watch) if one.changed is None), None)

    def begin(self, watch: StepWatch, head: str) -> None:
        one = WatchNote(job=watch.job, step=watch.work.step, reads=watch.reads, head=head)
        note_watched(self._git_dir(watch.work.path), (*self._kept(watch), one))

    def _kept(self, watch: StepWatch) -> list[WatchNote]:
        """Of those beside it, readers are watched together with a reader; and what was found is not lost."""
        beside = [one for one in watched_in(self._git_dir(watch.work.path)) if one.job in watch.beside]
        return [one for one in beside if one.changed is not None or (one.reads and watch.reads)]

    def end(self, path: str, jobs: Collection[str]) -> None:
        """Nobody is watched any more; what was found of these is not lost."""
        git_dir = self._git_dir(path)
        watched = watched_in(git_dir)
        kept = tuple(one for one in watched if one.job in jobs and one.changed is not None)
        if kept != watched:
            note_watched(git_dir, kept)

    def _git_dir(self, path: str) -> Path:
        return git_dir_of(self._repository.worktree(path))

    def _place(self, path: str) -> _Place:
        worktree = self._repository.worktree(path)
        return _Place(path=path, git=self._git.at(worktree), git_dir=git_dir_of(worktree))

    # After a step that is to change files

    def has_changed(self, path: str, job: str) -> bool | None:
        git_dir = self._git_dir(path)
        one = _found(git_dir, job)
        if one is None or one.changed is not None:
            return None if one is None else one.changed
        changed = tree_of(self._git, one.head) != tree_of(self._git, self._repository.head(path))
        if not changed:
            _noted(git_dir, replace(one, changed=False))
        return changed

    # After one that may only read

    def restore(self, path: str, job: str) -> Breach | None:
        """Nothing may work in the worktree any more, but other readers. Asked again, it tells the same."""
        place = self._place(path)
        one = _found(place.git_dir, job)
        if one is None or not one.reads:
            return None
        one = one if one.undone else self._undo(place, one)
        return self._told(path, one) if one.changed else None

    def finish(self, path: str) -> None:
        """What whoever was here before has begun to undo is undone before anybody begins to work there."""
        place = self._place(path)
        for one in watched_in(place.git_dir):
            if one.kept and not one.undone:
                self._undo(place, one)

    def _undo(self, place: _Place, one: WatchNote) -> WatchNote:
        ref, reason = self._names.head(place.path), f"weft: {one.step} may only read"
        for _ in range(_LOOKS):
            snapshot = snapshot_worktree(place.git, place.git_dir, fallback_head=one.head)
            if self._is_as_before(place, snapshot, one.head):
                return one if one.changed is None else _noted(place.git_dir, replace(one, undone=True))
            one = self._keep(place, snapshot, one)
            reset_worktree(place.git, place.git_dir, snapshot, ref=ref, commit=one.head, reason=reason)
        raise WorkspaceError(f"{place.git.directory} does not stay as it was before; end what works there")

    def _is_as_before(self, place: _Place, snapshot: WorktreeSnapshot, head: str) -> bool:
        is_there = snapshot.status.branch == self._names.head(place.path) and snapshot.status.head == head
        return is_there and operation_in(place.git_dir) is None and snapshot.tree == tree_of(self._git, head)

    def _keep(self, place: _Place, snapshot: WorktreeSnapshot, one: WatchNote) -> WatchNote:
        """What is there gets a name, but for what is left of something that has one."""
        different = self._differences(one.head, snapshot.tree)
        if any(different <= self._differences(one.head, kept) for kept in one.kept):
            return one
        path, made = place.path, snapshot.head
        now = tip(self._git, self._names.head(path))
        if snapshot.tree != tree_of(self._git, made):
            date = self._git.line("show", "--no-patch", "--no-show-signature", "--format=%ct", made)
            subject = f"{path}: {one.step}, which may only read"
            at = f"{date} +0000"
            made = self._repository.commit(snapshot.tree, (made,), subject, path, at, sign=SigningFailure.NEVER)
        keep_logged(
            self._git, place.git_dir, path, self._names, seen=(made, *filter(None, [now])), head=one.head
        )
        files = (*one.files, *(shown(file) for file, _ in sorted(different)))
        deeds = one.deeds or tuple(self._deeds(place, snapshot, one.head))
        found = replace(one, changed=True, deeds=deeds, files=files, kept=(*one.kept, made))
        return _noted(place.git_dir, found)

    def _differences(self, head: str, tree: str) -> set[tuple[bytes, bytes]]:
        """The files that are not as they were, and how they are."""
        fields = self._git.do("diff-tree", "-r", "-z", "--no-renames", head, tree).split(b"\0")
        return set(zip(fields[1::2], fields[::2], strict=False))

    def _deeds(self, place: _Place, snapshot: WorktreeSnapshot, head: str) -> Sequence[str]:
        operation, branch = operation_in(place.git_dir), self._names.head(place.path)
        deeds = {
            f"left the branch {self._names.branch(place.path)}": snapshot.status.branch != branch,
            f"removed the branch {self._names.branch(place.path)}": not snapshot.status.head,
            f"left a `git {operation}` unfinished": operation is not None,
            "moved the branch to another commit": snapshot.status.branch == branch and snapshot.head != head,
        }
        return [deed for deed, is_so in deeds.items() if is_so]

    def _told(self, path: str, one: WatchNote) -> Breach:
        refs = {self._names.kept(path, commit): commit for commit in one.kept if commit != one.head}
        named = {ref: commit for ref, commit in refs.items() if tip(self._git, ref) == commit}
        did = [f"changed {listed(one.files)}"] if one.files else []
        kept = f", and is kept as {' and '.join(named)}" if named else ""
        return Breach(
            message=f"it may only read, and {', '.join((*did, *one.deeds))}; that was undone{kept}",
            files=one.files,
            moves=tuple(RefMove(ref=ref, before="", after=commit) for ref, commit in named.items()),
        )


def _found(git_dir: Path, job: str) -> WatchNote | None:
    return next((one for one in watched_in(git_dir) if one.job == job), None)


def _noted(git_dir: Path, one: WatchNote) -> WatchNote:
    note_watched(git_dir, [one if other.job == one.job else other for other in watched_in(git_dir)])
    return one
