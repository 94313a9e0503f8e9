"""What workspaces without a history have in common: steps are not recorded, and there is nowhere to land."""

from collections.abc import Mapping, Sequence

from weft.engine.messages.facts import RefMove
from weft.engine.suspects import Suspect
from weft.ports.workspaces import ClosedConflict, MergeRequest, MergeResult, OpenConflict, StepWork
from weft.workspaces.errors import WorkspaceError


class NoHistory:
    def has_history(self, path: str) -> bool:  # noqa: ARG002 - none has
        return False

    def take_commits(self, path: str) -> None:
        """Nothing is committed."""

    def record(self, work: StepWork) -> Sequence[RefMove]:  # noqa: ARG002
        return ()

    def changed_files(self, path: str, moves: Sequence[RefMove]) -> Sequence[str]:  # noqa: ARG002
        return ()

    def has_changed(self, path: str, job: str) -> bool | None:  # noqa: ARG002
        return None

    def foresee(self, path: str) -> Mapping[str, Sequence[str]]:  # noqa: ARG002
        return {}

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:  # noqa: ARG002
        return ()

    def open_conflict(self, request: MergeRequest, work: StepWork) -> OpenConflict:  # noqa: ARG002
        raise WorkspaceError(f"what {request.path} did has no history, so no agent can resolve its conflicts")

    def close_conflict(self, work: StepWork, *, failed: str = "") -> ClosedConflict:  # noqa: ARG002
        raise WorkspaceError(f"no conflict was opened for {work.path}, which has no history")

    def publish(self, path: str) -> MergeResult:  # noqa: ARG002
        return MergeResult()

    def release(self, path: str) -> bool:  # noqa: ARG002
        """What was done is nowhere else, so it stays."""
        return False

    def put_away(self, path: str) -> None:
        """The same."""

    def discard(self, path: str) -> None:
        """Nothing was made for verifying."""
