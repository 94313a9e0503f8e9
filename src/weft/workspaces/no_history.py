"""What workspaces without a history have in common: steps are not recorded, and there is nowhere to land."""

from collections.abc import Mapping, Sequence

from weft.engine.run.facts import RefMove
from weft.ports.workspaces import Merged, MergeRequest, Work


class NoHistory:
    def has_history(self, path: str) -> bool:  # noqa: ARG002 - none has
        return False

    def record(self, work: Work) -> Sequence[RefMove]:  # noqa: ARG002
        return ()

    def foresee(self, path: str) -> Mapping[str, Sequence[str]]:  # noqa: ARG002
        return {}

    def land(self, request: MergeRequest) -> Merged:  # noqa: ARG002
        return Merged()

    def publish(self, path: str, *, landing: bool) -> Merged:  # noqa: ARG002
        return Merged()

    def discard(self, path: str) -> None:
        """Nothing was made for verifying."""
