"""The common part of workspaces without a history: steps are not recorded, and nothing lands."""

from collections.abc import Mapping, Sequence

from weft.engine.messages.facts import RefMove
from weft.engine.suspects import Suspect
from weft.ports.workspaces import ClosedConflict, MergeRequest, MergeResult, OpenConflict, StepWork
from weft.workspaces.errors import WorkspaceError


class NoHistory:
    """Answers for workspaces without a history."""

    def has_history(self, path: str) -> bool:  # noqa: ARG002 - none has
        return False

    def take_commits(self, path: str) -> None:
        """Does nothing: there are no commits."""

    def record(self, work: StepWork) -> Sequence[RefMove]:  # noqa: ARG002
        return ()

    def changed_files(self, path: str, moves: Sequence[RefMove]) -> Sequence[str]:  # noqa: ARG002
        return ()

    def has_changed(self, path: str, job: str) -> bool | None:  # noqa: ARG002
        return None

    def forecast(self, path: str) -> Mapping[str, Sequence[str]]:  # noqa: ARG002
        return {}

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:  # noqa: ARG002
        return ()

    def open_conflict(self, request: MergeRequest, work: StepWork) -> OpenConflict:  # noqa: ARG002
        raise WorkspaceError(
            f"the work of {request.path} has no history, so no agent can resolve its conflicts"
        )

    def close_conflict(self, work: StepWork, *, failed: str = "") -> ClosedConflict:  # noqa: ARG002
        raise WorkspaceError(f"no conflict was opened for {work.path}, which has no history")

    def publish(self, path: str) -> MergeResult:  # noqa: ARG002
        return MergeResult()

    def release(self, path: str) -> bool:  # noqa: ARG002
        """Keeps the workspace: its work is nowhere else."""
        return False

    def archive(self, path: str) -> None:
        """Keeps the workspace, too."""

    def discard(self, path: str) -> None:
        """Does nothing: there are no worktrees for a verify."""
