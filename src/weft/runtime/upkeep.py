"""Removal of workspaces that are left after their slices have ended and that the plan does not keep.

The workspace of a slice is removed when the slice is merged. When the run ends or stops, this module removes those
that a crash has left, and those of failed slices if `keep_worktrees` is `never`. A slice that failed only because
a budget ran out keeps its workspace, because a later run continues there.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from weft.engine.states import FailureReason
from weft.errors import WeftError
from weft.ports.workspaces import SliceWorkspaces
from weft.runtime.lineage import Lineage
from weft.runtime.precedence import Precedence, Urgency
from weft.threads import run_sync


class Upkeep:
    def __init__(self, workspaces: SliceWorkspaces, lineage: Lineage, precedence: Precedence) -> None:
        self._workspaces = workspaces
        self._lineage = lineage
        self._precedence = precedence

    def is_to_remove(self, row: int) -> bool:
        """Returns whether the plan removes the workspace of a slice once the slice is merged."""
        return self._lineage.is_slice(row) and self._lineage.settings(row).keep_worktrees != "always"

    async def release(self, path: str) -> None:
        """Removes the workspace of a slice that is merged; one that cannot be removed stays."""
        with suppress(WeftError, OSError):
            await self._precedence.run_sync(Urgency.LATER, self._workspaces.release, path)

    async def sweep(self) -> None:
        await run_sync(self._remove_all, list(self._ended_slices()))

    def _remove_all(self, ended: Sequence[tuple[str, bool]]) -> None:
        for path, is_merged in ended:
            if not self._workspaces.has_history(path):
                continue
            with suppress(WeftError, OSError):
                if is_merged:
                    # Also if the directory is gone: a crash may have interrupted its removal.
                    self._workspaces.release(path)
                elif self._workspaces.place(path).is_dir():
                    self._workspaces.archive(path)

    def _ended_slices(self) -> Iterator[tuple[str, bool]]:
        """Yields the slices with workspaces to remove, and whether each is merged."""
        for row, path, reason in self._lineage.ended_slices():
            if reason is None and self.is_to_remove(row):
                yield path, True
            # A slice that ran out of money continues in its workspace when the budget is raised.
            elif reason not in {None, FailureReason.BUDGET} and self._is_never_kept(row):
                yield path, False

    def _is_never_kept(self, row: int) -> bool:
        return self._lineage.settings(row).keep_worktrees == "never"
