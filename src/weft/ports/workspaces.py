"""The port to workspaces: the directories in which slices work, and the merging of their results.

Every operation is idempotent, so that it can be repeated after a crash in the middle of it.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from weft.engine.messages.facts import EarlierSlice, RefMove
from weft.engine.suspects import Suspect
from weft.errors import WeftError

CLONE = "weft-clone"
"""A directory in the git directory of a worktree. It contains `git`, the git directory for the steps alone, and
`link`, the contents of a `.git` file that leads there. A sandbox shows both in place of the worktree's own."""


class WorkspaceRequest(Struct, frozen=True, kw_only=True):
    """The workspace that a slice needs."""

    path: str
    """The path of the slice."""
    after: tuple[str, ...] = ()
    """The slices that it builds on, in plan order: all direct and indirect dependencies."""
    copy: tuple[str, ...] = ()
    """Globs of files in the plan's directory to copy into the workspace."""
    link: tuple[str, ...] = ()
    """Globs of files and directories in the plan's directory to link into the workspace."""
    sparse: tuple[str, ...] = ()
    """The only directories of the repository to check out; empty for all."""
    without: tuple[str, ...] = ()
    """Subplans to leave out of the start unless a dependency needs them. They wait for a person, and a slice that
    holds their work could not land before them."""


class ContinuationResult(Struct, frozen=True, kw_only=True):
    """The result of `continue_after`."""

    is_kept: bool
    """Whether the workspace holds all work of the earlier run on the slice; if not, nothing was changed there."""
    moves: tuple[RefMove, ...] = ()


class StepWork(Struct, frozen=True, kw_only=True):
    """The work of one attempt at a step."""

    path: str
    step: str
    attempt: int
    subject: str
    """The subject of its commit."""


class StepWatch(Struct, frozen=True, kw_only=True):
    """A step that is about to start; its changes will be recorded."""

    work: StepWork
    job: str
    """The unique id of this execution."""
    reads: bool
    """Whether the step is read-only. Then all steps in `beside` are read-only, too."""
    beside: tuple[str, ...] = ()
    """The other executions in this workspace that may still run, or that have ends not recorded everywhere yet."""


class Breach(Struct, frozen=True, kw_only=True):
    """A change by a read-only step."""

    message: str
    """A description for the user: the changes, and where they are now."""
    files: tuple[str, ...] = ()
    moves: tuple[RefMove, ...] = ()
    """The refs that keep the changes."""


class GroupPart(Struct, frozen=True, kw_only=True):
    """A subplan in a group."""

    path: str
    subject: str = ""
    """The subject of its merge commit."""
    after: tuple[str, ...] = ()
    """The other parts of the group that it depends on."""
    needs: tuple[str, ...] | None = None
    """All slices that a slice depends on; None if its work cannot be repeated without other parts."""
    take_branch: tuple[str, ...] = ()
    """Globs of files that resolve to the subplan's version in a conflict."""


class MergeRequest(Struct, frozen=True, kw_only=True):
    """The merge of a subplan's work into its group."""

    path: str
    subject: str
    """The subject of the merge commit."""
    slices: tuple[str, ...] = ()
    """The slices that are combined afterwards, in plan order; empty if branches hold their work."""
    take_branch: tuple[str, ...] = ()
    """Globs of files that resolve to the subplan's version in a conflict."""
    files: tuple[str, ...] | None = None
    """Globs of the only files that it may have changed; None allows all."""
    verifies: bool = False
    """Whether there is a verify for the merged result."""
    resolved: bool = False
    """Whether an agent has resolved a conflict for it, so that no earlier verify counts."""
    is_group: bool = False
    parts: tuple[GroupPart, ...] = ()
    """The parts of a group, in plan order."""
    without: tuple[str, ...] = ()
    """The parts to leave out, each with all parts that build on it."""
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    sparse: tuple[str, ...] = ()
    """As in `WorkspaceRequest`, for the directory in which the result is verified."""


class MergeResult(Struct, frozen=True, kw_only=True):
    """The result of a merge."""

    moves: tuple[RefMove, ...] = ()
    verify_in: Path | None = None
    """If this is not None, nothing has moved yet: this directory has the merged result, which must be verified."""


class OpenConflict(Struct, frozen=True, kw_only=True):
    """A conflict in a workspace, ready for an agent to resolve."""

    files: tuple[str, ...] = ()
    """The files in conflict. Empty if there is no conflict any more; then no file was written."""
    into: str = ""
    branch: str = ""
    """The names of the two sides in the conflict markers: the work merged meanwhile, and that of the slice."""
    others: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    """The commits of each side that changed these files, the latest first."""


class ClosedConflict(Struct, frozen=True, kw_only=True):
    """The result of `close_conflict`."""

    message: str = ""
    """Why the conflict is not resolved, in which case all changes were undone; empty if it is resolved."""
    moves: tuple[RefMove, ...] = ()


class PlacedSlice(Struct, frozen=True, kw_only=True):
    """A slice that works on another machine."""

    path: str
    host: str
    token: str
    """The placement. A workspace there belongs to one placement, and work of an earlier one is refused."""


class InfraError(WeftError):
    """The machinery failed; this says nothing about the work of the step."""


class ConflictError(WeftError):
    """Subplans changed the same files in different ways, and only a rerun of one of them helps."""

    def __init__(self, message: str, files: Sequence[str]) -> None:
        super().__init__(message)
        self.files = tuple(files)


class HeldError(WeftError):
    """A hold: a person must act before a result can be merged or landed. The message says what to do."""

    def __init__(  # noqa: PLR0913 - all are keyword arguments
        self,
        message: str,
        files: Sequence[str] = (),
        *,
        conflict: bool = False,
        waits_for: Sequence[str] = (),
        asks: bool = False,
        red: bool = False,
        tail: str = "",
    ) -> None:
        super().__init__(message)
        self.files = tuple(files)
        self.conflict = conflict
        """Whether the reason is that two subplans changed the same files in different ways."""
        self.waits_for = tuple(waits_for)
        """The subplans that must land first."""
        self.asks = asks
        """Whether only the approval of a person is missing."""
        self.red = red
        """Whether a verify failed."""
        self.tail = tail
        """The end of the verify's output."""


class WorkspacePlaces(Protocol):
    """The directories of subplans."""

    def place(self, path: str) -> Path:
        """Returns the directory of a subplan, which need not exist yet."""
        ...

    def scratch(self, path: str) -> Path:
        """Returns the directory in which a subplan's work is verified together with that of others."""
        ...

    def has_history(self, path: str) -> bool:
        """Returns whether the workspace is checked before each step and its changes are recorded after it."""
        ...


class SliceWorkspaces(WorkspacePlaces, Protocol):
    """Workspaces from their preparation to their removal."""

    def prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        """Creates a fresh workspace. Leftovers of an earlier, unfinished attempt are kept as refs and removed."""
        ...

    def continue_after(self, request: WorkspaceRequest, earlier: EarlierSlice) -> ContinuationResult:
        """Keeps the workspace of an earlier run, if it still holds that run's work on the slice.

        The workspace must build on the same commits as the slice does now. Leftovers of an interrupted step are
        kept as refs and removed, where they are known. If the slice only has to be merged, nothing is touched.
        """
        ...

    def accept(self, path: str) -> None:
        """Takes the present contents of a workspace as its starting point, after its setup commands have run."""
        ...

    def release(self, path: str) -> bool:
        """Removes the workspace of a merged slice, unless it holds work that exists nowhere else.

        Returns whether it was removed. Ignored files are removed with it.
        """
        ...

    def archive(self, path: str) -> None:
        """Removes the workspace of a failed slice. Everything in it but ignored files is first kept as a ref."""
        ...


class StepChanges(WorkspacePlaces, Protocol):
    """The changes of steps in their workspaces: checked before a step, recorded after it."""

    def prove(self, path: str) -> None:
        """Raises `WeftError` if the workspace is not the prepared one, so that no step may start in it."""
        ...

    def is_own(self, path: str) -> bool:
        """Returns whether only the steps of the subplan work in the directory, so that all changes are theirs."""
        ...

    def watch(self, watch: StepWatch) -> None:
        """Records the present contents, so that the changes of the step can be determined after it.

        Overlapping read-only steps are watched together: the first that ends after a change is responsible for it.
        """
        ...

    def unwatch(self, path: str, jobs: Collection[str]) -> None:
        """Stops watching, because steps that may write overlap and changes can no longer be attributed.

        Earlier findings about `jobs` are kept: their ends may not be recorded everywhere yet.
        """
        ...

    def take_commits(self, path: str) -> None:
        """Admits the commits of running steps into the repository.

        A commit that cannot enter yet is no error: `record` takes it later, or reports why it cannot be taken.
        """
        ...

    def record(self, work: StepWork) -> Sequence[RefMove]:
        """Commits the changes of a step."""
        ...

    def changed_files(self, path: str, moves: Sequence[RefMove]) -> Sequence[str]:
        """Returns the changes in these moves, such as `M src/a.py`; empty for a workspace without history."""
        ...

    def has_changed(self, path: str, job: str) -> bool | None:
        """Returns whether a watched step has changed files, once that is recorded; None if it is not known."""
        ...

    def restore(self, path: str, job: str) -> Breach | None:
        """Undoes the changes of a read-only step where possible, and keeps them as refs.

        Returns None if it has changed nothing, or if that is not known.
        """
        ...


class WorkspaceCopies(Protocol):
    """The copies of workspaces on other machines.

    The workspace here stays the workspace of the slice. Each operation can be repeated, and raises
    `UnreachableError` or `MachineLostError` if the machine does not answer.
    """

    def send(self, placed: PlacedSlice) -> bool:
        """Brings the copy to the state of the workspace; returns whether the set-up there is complete.

        No step may run in the copy.
        """
        ...

    def accept(self, placed: PlacedSlice) -> None:
        """Records that the set-up there is complete; its files are no work of the slice."""
        ...

    def fetch(self, placed: PlacedSlice) -> None:
        """Brings the workspace to the state of the copy."""
        ...

    def keep_stale_work(self, host: str, machine: str, tokens: Mapping[str, str]) -> None:
        """Keeps the work in copies there that belong to other placements than these, and removes the copies.

        `tokens` has the present placement of each slice by its path.
        """
        ...

    def remove(self, placed: PlacedSlice) -> None:
        """Removes the copy of a slice that has ended."""
        ...


class ResultMerges(WorkspacePlaces, Protocol):
    """The merging of results, and the conflicts between them."""

    def forecast(self, path: str) -> Mapping[str, Sequence[str]]:
        """Returns the running subplans that would conflict with this one now, with the files."""
        ...

    def open_conflict(self, request: MergeRequest, work: StepWork) -> OpenConflict:
        """Writes the conflict that keeps a slice from being merged into its workspace, for an agent to resolve.

        Raises `WeftError` if that is not possible. Leftovers of an earlier, unfinished attempt are kept as refs
        and undone.
        """
        ...

    def close_conflict(self, work: StepWork, *, failed: str = "") -> ClosedConflict:
        """Commits a complete resolution. Otherwise, or if it `failed`, keeps it as a ref and undoes it."""
        ...

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        """Combines the work of a group's slices in the directory of the group, for its verify and as its result.

        With `without`, only that directory changes. Raises `ConflictError` if the remaining work cannot be
        combined.
        """
        ...

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:
        """Returns the parts that the group can do without, and what each builds on; empty if there are none."""
        ...

    def merge(self, request: MergeRequest) -> MergeResult:
        """Merges the work of a subplan into its group; the work of a group, without the parts in `without`.

        Raises `ConflictError` or `HeldError` if that is not possible; then nothing has changed.
        """
        ...

    def publish(self, path: str) -> MergeResult | None:
        """Moves the refs to a result that has passed its verify; None if its base has moved meanwhile."""
        ...

    def discard(self, path: str) -> None:
        """Drops a result that was to be verified."""
        ...


class Workspaces(SliceWorkspaces, StepChanges, ResultMerges, Protocol):
    """The workspaces of a run: all three ports, which one kind of workspace implements together."""
