"""`isolation: none`: every slice works in the plan's own directory, so there is nothing to merge."""

from collections.abc import Collection, Sequence
from pathlib import Path

from weft.engine.messages.facts import EarlierSlice, RefMove
from weft.ports.workspaces import (
    Breach,
    ContinuationResult,
    MergeRequest,
    MergeResult,
    StepWatch,
    WorkspaceRequest,
)
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.no_history import NoHistory


class InPlaceWorkspaces(NoHistory):
    """The plan's directory as the workspace of all slices."""

    def __init__(self, plan_dir: Path) -> None:
        self._plan_dir = plan_dir.absolute()

    def place(self, path: str) -> Path:  # noqa: ARG002 - the same for all
        return self._plan_dir

    def scratch(self, path: str) -> Path:
        return self.place(path)

    def is_own(self, path: str) -> bool:  # noqa: ARG002 - other programs may work there, too
        return False

    def watch(self, watch: StepWatch) -> None:
        """Does nothing: any program may have made a change."""

    def unwatch(self, path: str, jobs: Collection[str]) -> None:
        """Does nothing: no step is watched."""

    def restore(self, path: str, job: str) -> Breach | None:  # noqa: ARG002
        return None

    def prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        self.prove(request.path)
        return ()

    def continue_after(self, request: WorkspaceRequest, earlier: EarlierSlice) -> ContinuationResult:  # noqa: ARG002
        """Never continues, because the changes of the plan's directory since then are unknown."""
        return ContinuationResult(is_kept=False)

    def accept(self, path: str) -> None:
        """Does nothing: the earlier state is unknown."""

    def prove(self, path: str) -> None:  # noqa: ARG002
        if not self._plan_dir.is_dir():
            raise WorkspaceError(
                f"the plan's directory is gone: {self._plan_dir}; put it back and run the plan again"
            )

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        self.prove(request.path)
        return ()

    def merge(self, request: MergeRequest) -> MergeResult:
        """Only checks the directory: slices in one directory see each other's work at once."""
        self.prove(request.path)
        return MergeResult()
