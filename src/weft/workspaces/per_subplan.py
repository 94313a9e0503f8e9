"""The kind of workspace that each subplan has, according to the plan."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from weft.engine.messages.facts import EarlierSlice, RefMove
from weft.engine.suspects import Suspect
from weft.ports.workspaces import (
    Breach,
    ClosedConflict,
    ContinuationResult,
    MergeRequest,
    MergeResult,
    OpenConflict,
    StepWatch,
    StepWork,
    WorkspaceRequest,
    Workspaces,
)


class MixedWorkspaces:
    """A mix of subplans in the plan's own directory and subplans with their own workspaces."""

    def __init__(self, own: Workspaces, shared: Workspaces, in_shared: Collection[str]) -> None:
        self._own = own
        self._shared = shared
        self._in_shared = in_shared

    def place(self, path: str) -> Path:
        return self._of(path).place(path)

    def scratch(self, path: str) -> Path:
        return self._of(path).scratch(path)

    def has_history(self, path: str) -> bool:
        return self._of(path).has_history(path)

    def prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        return self._of(request.path).prepare(request)

    def continue_after(self, request: WorkspaceRequest, earlier: EarlierSlice) -> ContinuationResult:
        return self._of(request.path).continue_after(request, earlier)

    def accept(self, path: str) -> None:
        self._of(path).accept(path)

    def prove(self, path: str) -> None:
        self._of(path).prove(path)

    def is_own(self, path: str) -> bool:
        return self._of(path).is_own(path)

    def watch(self, watch: StepWatch) -> None:
        self._of(watch.work.path).watch(watch)

    def unwatch(self, path: str, jobs: Collection[str]) -> None:
        self._of(path).unwatch(path, jobs)

    def take_commits(self, path: str) -> None:
        self._of(path).take_commits(path)

    def record(self, work: StepWork) -> Sequence[RefMove]:
        return self._of(work.path).record(work)

    def changed_files(self, path: str, moves: Sequence[RefMove]) -> Sequence[str]:
        return self._of(path).changed_files(path, moves)

    def has_changed(self, path: str, job: str) -> bool | None:
        return self._of(path).has_changed(path, job)

    def restore(self, path: str, job: str) -> Breach | None:
        return self._of(path).restore(path, job)

    def open_conflict(self, request: MergeRequest, work: StepWork) -> OpenConflict:
        return self._of(request.path).open_conflict(request, work)

    def close_conflict(self, work: StepWork, *, failed: str = "") -> ClosedConflict:
        return self._of(work.path).close_conflict(work, failed=failed)

    def forecast(self, path: str) -> Mapping[str, Sequence[str]]:
        return self._of(path).forecast(path)

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        """The plan's result comes from own workspaces, even if its verify works in the shared directory."""
        chosen = self._of(request.path) if request.path else self._own
        return chosen.gather(request)

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:
        return self._of(request.path).suspects(request)

    def merge(self, request: MergeRequest) -> MergeResult:
        return self._of(request.path).merge(request)

    def publish(self, path: str) -> MergeResult | None:
        return self._of(path).publish(path)

    def discard(self, path: str) -> None:
        self._of(path).discard(path)

    def release(self, path: str) -> bool:
        return self._of(path).release(path)

    def archive(self, path: str) -> None:
        self._of(path).archive(path)

    def _of(self, path: str) -> Workspaces:
        return self._shared if path in self._in_shared else self._own
