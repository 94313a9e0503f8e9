"""The changes that a step makes in its worktree, found by comparing it with a note from before the step.

A step that should change files has changed some if the tree of its branch differs, whether Weft or the agent made
the commit.

A step that may only read must leave everything unchanged: files, commits and the branch that is checked out.
Otherwise the changes become kept work, the worktree is reset, and the note records the breach. Files that the step
made git ignore appear only after that is undone, so the check is repeated. Overlapping readers have the same
starting point: the first one that ends after a change is responsible for it, and the others find everything
unchanged.

All this can be repeated after a crash at any time. The breach is noted before the first file changes, and a partly
completed reset is no new breach: all remaining differences are in the kept work.
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

_TRIES = 5
"""The number of resets after which Weft gives up."""


class _Place(Struct, frozen=True, kw_only=True):
    """The worktree of a slice."""

    path: str
    git: Git
    git_dir: Path


class StepChanges:
    """Watches steps. For each slice, only one thread may call it at a time."""

    def __init__(self, plan_repository: PlanRepository) -> None:
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git

    # Before a step

    def commit_before(self, watch: StepWatch) -> str | None:
        """Returns the commit before the readers that are running; None if there are none."""
        return next((note.head for note in self._notes_to_keep(watch) if note.changed is None), None)

    def start_watch(self, watch: StepWatch, head: str) -> None:
        """Starts to watch a step."""
        note = WatchNote(job=watch.job, step=watch.work.step, reads=watch.reads, head=head)
        note_watched(self._git_dir(watch.work.path), (*self._notes_to_keep(watch), note))

    def _notes_to_keep(self, watch: StepWatch) -> list[WatchNote]:
        """Returns the notes to keep: breaches, and readers that run beside a reader."""
        beside = [note for note in watched_in(self._git_dir(watch.work.path)) if note.job in watch.beside]
        return [note for note in beside if note.changed is not None or (note.reads and watch.reads)]

    def end_watch(self, path: str, jobs: Collection[str]) -> None:
        """Ends the watch; the results of these jobs are kept."""
        git_dir = self._git_dir(path)
        notes = watched_in(git_dir)
        finished = tuple(note for note in notes if note.job in jobs and note.changed is not None)
        if finished != notes:
            note_watched(git_dir, finished)

    def _git_dir(self, path: str) -> Path:
        return git_dir_of(self._repository.worktree(path))

    def _place(self, path: str) -> _Place:
        worktree = self._repository.worktree(path)
        return _Place(path=path, git=self._git.at(worktree), git_dir=git_dir_of(worktree))

    # After a step that should change files

    def has_changed(self, path: str, job: str) -> bool | None:
        """Returns whether the step has changed files; None if it was not watched."""
        git_dir = self._git_dir(path)
        note = _find_note(git_dir, job)
        if note is None or note.changed is not None:
            return None if note is None else note.changed
        changed = tree_of(self._git, note.head) != tree_of(self._git, self._repository.head(path))
        # The event of the step reports this answer. It is noted so that it stays the same when a restarted
        # coordinator asks again, after the next step has changed files.
        if not changed:
            _replace_note(git_dir, replace(note, changed=False))
        return changed

    # After a step that may only read

    def restore(self, path: str, job: str) -> Breach | None:
        """Resets the worktree after a reader; returns its breach, if any. A repeated call returns the same.

        Only other readers may still be running in the worktree.
        """
        place = self._place(path)
        note = _find_note(place.git_dir, job)
        if note is None or not note.reads:
            return None
        note = note if note.undone else self._undo(place, note)
        return self._describe_breach(path, note) if note.changed else None

    def finish(self, path: str) -> None:
        """Completes resets that an earlier coordinator started, before another step works there."""
        place = self._place(path)
        for note in watched_in(place.git_dir):
            if note.kept and not note.undone:
                self._undo(place, note)

    def _undo(self, place: _Place, note: WatchNote) -> WatchNote:
        ref, reason = self._names.head(place.path), f"weft: {note.step} may only read"
        for _ in range(_TRIES):
            snapshot = snapshot_worktree(place.git, place.git_dir, fallback_head=note.head)
            if self._is_as_before(place, snapshot, note.head):
                return (
                    note if note.changed is None else _replace_note(place.git_dir, replace(note, undone=True))
                )
            # The breach and the commit with its contents are on disk before the reset destroys the files.
            note = self._keep(place, snapshot, note)
            reset_worktree(place.git, place.git_dir, snapshot, ref=ref, commit=note.head, reason=reason)
        raise WorkspaceError(f"{place.git.directory} keeps changing; end the processes that work there")

    def _is_as_before(self, place: _Place, snapshot: WorktreeSnapshot, head: str) -> bool:
        is_there = snapshot.status.branch == self._names.head(place.path) and snapshot.status.head == head
        return is_there and operation_in(place.git_dir) is None and snapshot.tree == tree_of(self._git, head)

    def _keep(self, place: _Place, snapshot: WorktreeSnapshot, note: WatchNote) -> WatchNote:
        """Keeps the worktree's contents, unless they are a remainder of what is kept already."""
        different = self._differences(note.head, snapshot.tree)
        # After a crash in the middle of a reset, part of the files are back already. What is left is a subset
        # of what was kept, and no second breach.
        if any(different <= self._differences(note.head, kept) for kept in note.kept):
            return note
        path, commit = place.path, snapshot.head
        current = tip(self._git, self._names.head(path))
        if snapshot.tree != tree_of(self._git, commit):
            # A date that follows from the commit gives the same commit again after a crash, so the ref of kept
            # work is found and not doubled.
            date = self._git.line("show", "--no-patch", "--no-show-signature", "--format=%ct", commit)
            subject = f"{path}: {note.step}, which may only read"
            at = f"{date} +0000"
            commit = self._repository.commit(
                snapshot.tree, (commit,), subject, path, at, sign=SigningFailure.NEVER
            )
        keep_logged(
            self._git,
            place.git_dir,
            path,
            self._names,
            seen=(commit, *filter(None, [current])),
            head=note.head,
        )
        files = (*note.files, *(shown(file) for file, _ in sorted(different)))
        deeds = note.deeds or tuple(self._deeds(place, snapshot, note.head))
        breach = replace(note, changed=True, deeds=deeds, files=files, kept=(*note.kept, commit))
        return _replace_note(place.git_dir, breach)

    def _differences(self, head: str, tree: str) -> set[tuple[bytes, bytes]]:
        """Returns the files that differ, each with its new state."""
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

    def _describe_breach(self, path: str, note: WatchNote) -> Breach:
        refs = {self._names.kept(path, commit): commit for commit in note.kept if commit != note.head}
        existing = {ref: commit for ref, commit in refs.items() if tip(self._git, ref) == commit}
        changes = [f"changed {listed(note.files)}"] if note.files else []
        kept = f", and is kept as {' and '.join(existing)}" if existing else ""
        return Breach(
            message=f"it may only read, and {', '.join((*changes, *note.deeds))}; that was undone{kept}",
            files=note.files,
            moves=tuple(RefMove(ref=ref, before="", after=commit) for ref, commit in existing.items()),
        )


def _find_note(git_dir: Path, job: str) -> WatchNote | None:
    return next((note for note in watched_in(git_dir) if note.job == job), None)


def _replace_note(git_dir: Path, note: WatchNote) -> WatchNote:
    note_watched(git_dir, [note if noted.job == note.job else noted for noted in watched_in(git_dir)])
    return note
