"""The landings of a run, by the rows of its plan."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from weft.app.views.landing import Landings, PassedVerify, is_ahead
from weft.app.views.push import PushState
from weft.app.views.rows import HeldWork, LandedWork, RowView
from weft.engine.states import SubplanExecutionState as State
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT


class LandingCourse:
    """Decides whether the work of a subplan merges into its group or lands on the target."""

    def __init__(self, plan: Plan) -> None:
        self._outline = plan.outline
        self._scopes = plan.scopes

    def landing(self, row: int, state: State) -> str:
        """Returns the `landing` value of a subplan in that state, as long as it is not held and has not landed."""
        settings = self._scopes[row].settings
        if row == ROOT or state is State.PENDING or not settings.has_branch:
            return ""
        # Completed work that does not land by itself has been merged into its group, as part of its completion.
        return "merged" if state is State.COMPLETED and not self.lands(row) else "unmerged"

    def lands(self, row: int) -> bool:
        """Returns whether the work of a subplan lands on the target, and does not merge into its group."""
        if self._scopes[row].settings.merge_when == "slice":
            return self._outline.leaves[row]
        return self._outline.parents[row] == ROOT


class LandingView:
    def __init__(
        self,
        plan: Plan,
        landings: Landings,
        holds: Mapping[str, HeldWork],
        rows: Sequence[RowView],
        numbers: Mapping[str, int],
    ) -> None:
        """`holds` are the open holds by path, `numbers` the rows of all subplans."""
        self._plan = plan
        self._landings = landings
        self._holds = holds
        self._rows = rows
        self._course = LandingCourse(plan)
        self._numbers = numbers

    @property
    def target(self) -> str:
        return self._landings.target

    @property
    def push(self) -> PushState | None:
        """The last push of the target; None if there was none since the last landing."""
        return self._landings.push

    @property
    def unlanded(self) -> list[int]:
        """Rows that only wait to land: for approval, or for other subplans."""
        return [self._numbers[path] for path, held in self._holds.items() if not held.needs_help]

    @property
    def landed(self) -> dict[int, LandedWork]:
        return {self._numbers[path]: move for path, move in self._landings.landed.items()}

    @property
    def ahead(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """Pairs of rows that are going to conflict, with the files."""
        pairs = (
            (sorted(self._numbers[path] for path in pair), files)
            for pair, files in self._landings.ahead.items()
        )
        return {
            (first, second): files
            for (first, second), files in pairs
            if is_ahead([self._rows[first].state, self._rows[second].state])
        }

    def place(self, row: int) -> str:
        """Returns the place of a result on its way to the target, as `queued to land`; empty before the queue."""
        return self._landings.places.of(self._plan.outline.paths[row])

    def word(self, row: RowView) -> str:
        """Returns the place of a result, else its landing: work that is only in its group is `merged`."""
        is_landed = row.landing == "merged" and self._course.lands(row.number)
        return self.place(row.number) or ("landed" if is_landed else row.landing)

    def passed(self, rows: Iterable[int]) -> PassedVerify | None:
        """Returns the verify that exactly these results have passed together; None if there was none."""
        return self._landings.passed(self._plan.outline.paths[row] for row in rows)

    def to_agree(self) -> list[int]:
        """Returns the rows that would land now if the user approved all of them."""
        scopes, paths = self._plan.scopes, self._plan.outline.paths
        unapproved = [row for row in sorted(self.unlanded) if scopes[row].settings.merge_mode == "confirm"]
        landing: set[int] = set()
        names: set[str] = set()
        # A result may wait for others that also need approval, so rows are added until nothing changes.
        while more := [row for row in unapproved if row not in landing and self._lands_with(row, names)]:
            landing.update(more)
            names.update(paths[row] for row in more)
        return [row for row in unapproved if row in landing]

    def _lands_with(self, row: int, names: AbstractSet[str]) -> bool:
        held = self._holds.get(self._plan.outline.paths[row])
        return held is not None and (held.asks or names >= set(held.waits_for))
