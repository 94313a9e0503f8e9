"""Which kind of workspace a subplan has, by what the plan says of it."""

from collections.abc import Collection, Sequence
from pathlib import Path

from weft.ports.workspaces import WorkspaceRequest, Workspaces


class ChosenWorkspaces:
    """Subplans that work in the plan's own directory, among others that have one of their own."""

    def __init__(self, own: Workspaces, shared: Workspaces, in_shared: Collection[str]) -> None:
        self._own = own
        self._shared = shared
        self._in_shared = in_shared

    def place(self, path: str) -> Path:
        return self._of(path).place(path)

    def prepare(self, request: WorkspaceRequest) -> Path:
        return self._of(request.path).prepare(request)

    def accept(self, path: str) -> None:
        self._of(path).accept(path)

    def keep(self, path: str) -> None:
        self._of(path).keep(path)

    def check(self, slices: Sequence[str]) -> None:
        self._own.check(slices)

    def gather(
        self, path: str, slices: Sequence[str], *, copy: Sequence[str] = (), link: Sequence[str] = ()
    ) -> Path:
        return self._of(path).gather(path, slices, copy=copy, link=link)

    def _of(self, path: str) -> Workspaces:
        return self._shared if path in self._in_shared else self._own
