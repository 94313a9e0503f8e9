"""`isolation: none`: every slice works in the plan's own directory, so there is nothing to bring together."""

from collections.abc import Sequence
from pathlib import Path

from weft.ports.workspaces import WorkspaceRequest
from weft.workspaces.errors import WorkspaceError


class InPlaceWorkspaces:
    def __init__(self, plan_dir: Path) -> None:
        self._plan_dir = plan_dir.absolute()

    def place(self, path: str) -> Path:  # noqa: ARG002 - the same for all
        return self._plan_dir

    def prepare(self, request: WorkspaceRequest) -> Path:  # noqa: ARG002
        return self._there()

    def accept(self, path: str) -> None:
        """There is no telling what was there before."""

    def keep(self, path: str) -> None:  # noqa: ARG002
        self._there()

    def check(self, slices: Sequence[str]) -> None:
        """Who works in one directory has seen all that others did."""

    def gather(
        self,
        path: str,  # noqa: ARG002
        slices: Sequence[str],  # noqa: ARG002
        *,
        copy: Sequence[str] = (),  # noqa: ARG002
        link: Sequence[str] = (),  # noqa: ARG002
    ) -> Path:
        return self._there()

    def _there(self) -> Path:
        if not self._plan_dir.is_dir():
            raise WorkspaceError(
                f"the plan's directory is gone: {self._plan_dir}; put it back and type `weft run` again"
            )
        return self._plan_dir
