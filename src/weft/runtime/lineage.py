"""The work that a subplan builds on: slices it depends on, slices it is merged with, and slices inside it.

Only slices with a directory of their own count. A slice in the plan's own directory leaves nothing to merge.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from weft.engine.messages.orders import Launch, Merge, Prepare
from weft.engine.states import FailureReason, SubplanExecutionState, SubplanTracker
from weft.plan.model import Command, Plan
from weft.plan.order.outline import ROOT
from weft.plan.settings import Settings
from weft.ports.workspaces import GroupPart, MergeRequest, WorkspaceRequest


class Lineage:
    """Builds requests to the workspaces from the order of the plan."""

    def __init__(self, plan: Plan, tracker: SubplanTracker) -> None:
        self._plan = plan
        self._outline = plan.outline
        self._tracker = tracker
        self._rows: dict[str, int] = {str(path): row for row, path in enumerate(plan.outline.paths)}

    def request(self, order: Prepare) -> WorkspaceRequest:
        settings = self.settings(order.row)
        after = self._paths(self._before(order.row))
        return WorkspaceRequest(
            path=order.path,
            after=after,
            copy=settings.copy,
            link=settings.link,
            sparse=settings.sparse,
            # A result that cannot land is left out of the start, unless the slice depends on something in it.
            without=tuple(each for each in order.without if not any(_is_in(path, each) for path in after)),
        )

    def apart(self, row: int, others: Sequence[str]) -> WorkspaceRequest | None:
        """Returns the request for a slice without the work of other results; None if it depends on one of them."""
        if not self.is_slice(row):
            return None
        after = self._paths(self._before(row))
        if any(_is_in(path, other) for path in after for other in others):
            return None
        return WorkspaceRequest(path=self._outline.paths[row], after=after, without=tuple(others))

    def gathered_for(self, launch: Launch) -> MergeRequest | None:
        """Returns the merge on which a group's verify runs; None if nothing has to be merged."""
        if self._outline.is_leaf(launch.row) or not self._has_directory(launch.row):
            return None
        if self.settings(launch.row).has_branch:
            return self._request(launch.row)
        return self._request(launch.row, slices=self._paths(set(self._slices(launch.row))))

    def with_parts(self, launch: Launch) -> MergeRequest | None:
        """Returns the same request with the parts of the group."""
        request = self.gathered_for(launch)
        return None if request is None else replace(request, parts=self._parts(launch.row))

    def merge(self, order: Merge) -> MergeRequest:
        subplan, settings = self._plan.subplans[order.row], self.settings(order.row)
        is_slice = self.is_slice(order.row)
        return replace(
            self._request(order.row, slices=self._merged_with(order)),
            take_branch=settings.merge_take_branch,
            files=subplan.files if settings.strict_files and is_slice else None,
            verifies=bool(self.verify_of(order.row)),
            parts=self._parts(order.row) if order.without else (),
            without=order.without,
            resolved=order.resolved,
        )

    def _parts(self, group: int) -> tuple[GroupPart, ...]:
        return tuple(
            GroupPart(
                path=self._outline.paths[row],
                subject=self.subject(row),
                after=self._after(row, group),
                needs=self._needs(row),
                take_branch=self.settings(row).merge_take_branch,
            )
            for row in self._outline.children(group)
            if self._has_directory(row)
        )

    def _needs(self, row: int) -> tuple[str, ...] | None:
        # The branch of a slice does not move under a worktree that the plan keeps.
        is_movable = self.is_slice(row) and self.settings(row).keep_worktrees != "always"
        return self._paths(self._before(row)) if is_movable else None

    def _after(self, row: int, group: int) -> tuple[str, ...]:
        """Returns the siblings that contain dependencies of the row, or of a row inside it."""
        outline = self._outline
        needed = {dep for inner in (row, *outline.below(row)) for dep in outline.depends_on[inner]}
        siblings = {self._child_with(dep, group) for dep in needed}
        return self._paths(siblings - {row, ROOT})

    def _child_with(self, row: int, group: int) -> int:
        """Returns the child of a group that is or contains the row; the plan if there is none."""
        while row != ROOT and self._outline.parents[row] != group:
            row = self._outline.parents[row]
        return row

    def verify_of(self, row: int) -> tuple[Command, ...]:
        """Returns the verify of a subplan, or else those of the subplans in it."""
        subplan = self._plan.subplans[row]
        # A group without a verify of its own must still pass those of its parts, since their combination is
        # new.
        if subplan.verify or self._outline.is_leaf(row):
            return subplan.verify
        commands = (command for child in self._outline.children(row) for command in self.verify_of(child))
        return tuple(dict.fromkeys(commands))

    def _request(self, row: int, *, slices: Sequence[str] = ()) -> MergeRequest:
        """Builds a request. A branch holds the work of all merged slices, so with branches no slices are named."""
        settings = self.settings(row)
        return MergeRequest(
            path=self._outline.paths[row],
            subject=self.subject(row),
            slices=tuple(slices),
            is_group=not self.is_slice(row),
            copy=settings.copy,
            link=settings.link,
            sparse=settings.sparse if self.is_slice(row) else (),
        )

    def row(self, path: str) -> int:
        """Returns the row of a subplan, by its path."""
        return self._rows[path]

    def row_of(self, path: str) -> int | None:
        """Returns the row of a subplan; None for a path that the plan does not have."""
        return self._rows.get(path)

    def slices(self, paths: Iterable[str]) -> list[int]:
        """Returns the rows of the paths that are slices of the plan."""
        rows = (self._rows[path] for path in paths if path in self._rows)
        return [row for row in rows if self.is_slice(row)]

    def completed_parts(self, row: int) -> list[str]:
        """Returns the completed slices on the branch of a subplan."""
        outline = self._outline
        if outline.is_leaf(row):
            return [str(outline.paths[row])] if self.is_completed(row) else []
        completed = [child for child in outline.children(row) if self.is_completed(child)]
        return [path for child in completed for path in self.completed_parts(child)]

    def subject(self, row: int) -> str:
        """Returns the subject of the commit that merges a subplan."""
        subplan, path = self._plan.subplans[row], self._outline.paths[row]
        title = "" if subplan.title in {"", subplan.id} else f": {subplan.title}"
        return f"Merge {path or self._plan.id}{title}"

    def whole(self) -> MergeRequest:
        """Returns the merge of all completed work of the plan."""
        return self._request(ROOT, slices=self.all_completed())

    def _merged_with(self, order: Merge) -> Sequence[str]:
        """Returns the slices that this merge combines; none if a branch holds their work."""
        if self.settings(order.row).has_branch:
            return ()
        group = self._outline.parents[order.row]
        slices: set[int] = set()
        for child in self._outline.children(group):
            if child == order.row or self.is_completed(child):
                slices.update(self._slices(child))
        return self._paths(slices)

    def all_completed(self) -> Sequence[str]:
        """Returns the slices of the plan's result so far, without those of failed groups."""
        return self._paths({row for row in self._slices(ROOT) if self._counts(row)})

    def _counts(self, row: int) -> bool:
        around = self._outline.parents[row]
        while around > ROOT:
            if self._state(around) is SubplanExecutionState.FAILED:
                return False
            around = self._outline.parents[around]
        return self.is_completed(row)

    def settings(self, row: int) -> Settings:
        return self._plan.scopes[row].settings

    def is_slice(self, row: int) -> bool:
        return self._outline.is_leaf(row)

    def ended_slices(self) -> Iterator[tuple[int, str, FailureReason | None]]:
        """Yields row, path and reason of failure, if any, of each slice that has ended."""
        failures = self._tracker.failures()
        for row, path in enumerate(self._outline.paths):
            if self._outline.is_leaf(row) and row != ROOT and self._tracker.state(path).terminal:
                yield row, path, failures.get(path)

    def is_completed(self, row: int) -> bool:
        """Returns whether a subplan is completed."""
        return self._state(row) is SubplanExecutionState.COMPLETED

    def _state(self, row: int) -> SubplanExecutionState:
        return self._tracker.state(self._outline.paths[row])

    def _has_directory(self, row: int) -> bool:
        return self._plan.scopes[row].settings.isolation != "none"

    def _slices(self, row: int) -> Sequence[int]:
        """Returns the slices with directories below a subplan, itself included."""
        rows = range(row, row + self._outline.sizes[row])
        return [leaf for leaf in rows if self._outline.is_leaf(leaf) and self._has_directory(leaf)]

    def _before(self, row: int) -> set[int]:
        """Returns all slices that a slice depends on, directly or indirectly."""
        slices: set[int] = set()
        waiting = [row]
        visited = {row}
        while waiting:
            dependency = waiting.pop()
            slices.update(self._slices(dependency) if dependency != row else ())
            # Dependencies of a group hold for everything inside it, so the groups around are asked, too.
            around: int = dependency
            while around >= 0:
                for dep in self._outline.depends_on[around]:
                    for inside in (dep, *self._outline.below(dep)):
                        if inside not in visited:
                            visited.add(inside)
                            waiting.append(inside)
                around = self._outline.parents[around]
        return slices

    def _paths(self, rows: set[int]) -> tuple[str, ...]:
        return tuple(self._outline.paths[row] for row in sorted(rows))


def _is_in(path: str, group: str) -> bool:
    return path == group or path.startswith(f"{group}/")
