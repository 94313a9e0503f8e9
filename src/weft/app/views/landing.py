"""The progress of results towards the target: merged, held until a person helps, landed.

This is separate from the state of a subplan: work that is held at `@land` is completed, and work that is held
before that is still running.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from weft.app.views.landing_places import VERIFY_FAILED, LandingPlaces, landed_place
from weft.app.views.push import PushState, push_state
from weft.app.views.rows import HeldWork, LandedWork, RowView
from weft.engine.messages.events import Event
from weft.engine.states import SubplanExecutionState as State
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT

_HEADS = "refs/heads/"


def held_of(event: Event) -> HeldWork:
    """Returns the hold that a `held` event reports."""
    data = event.data
    return HeldWork(
        subplan=event.subplan,
        step=event.step,
        message=str(data.get("message", "")),
        files=tuple(data.get("files", ())),
        conflict=bool(data.get("conflict", False)),
        waits_for=tuple(data.get("waits_for", ())),
        asks=bool(data.get("asks", False)),
        red=bool(data.get("red", False)),
    )


def move_of(event: Event) -> LandedWork | None:
    """Returns the branch and commit of a merge or landing; None if it moved nothing."""
    moves = event.data.get("moves")
    return LandedWork(moves[-1]["ref"].removeprefix(_HEADS), moves[-1]["after"]) if moves else None


class PassedVerify(Struct, frozen=True, kw_only=True):
    """A verify that results have passed together."""

    commands: tuple[str, ...]
    seconds: float


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
        return "merged" if state is State.COMPLETED and not self._lands(row) else "unmerged"

    def _lands(self, row: int) -> bool:
        if self._scopes[row].settings.merge_when == "slice":
            return self._outline.leaves[row]
        return self._outline.parents[row] == ROOT


class LandingFold:
    """Folds merge and landing events into the rows of a view."""

    def __init__(self, plan: Plan, rows: Sequence[RowView]) -> None:
        self.target = ""
        """The branch that results land on, if there is one."""
        self.unlanded: dict[int, None] = {}
        """Rows that only wait to land: for approval, or for other subplans."""
        self.landed: dict[int, LandedWork] = {}
        self.ahead: dict[tuple[int, int], tuple[str, ...]] = {}
        """Pairs of rows that are going to conflict, with the files."""
        self.push: PushState | None = None
        """The last push of the target; None if there was none since the last landing."""
        self._places = LandingPlaces()
        self._passed: dict[frozenset[str], PassedVerify] = {}
        self._plan = plan
        self._course = LandingCourse(plan)
        self._rows = rows

    def place(self, row: int) -> str:
        """Returns the place of a result on its way to the target, as `queued to land`; empty before the queue."""
        return self._places.of(self._plan.outline.paths[row])

    def verifying(self, event: Event) -> None:
        """Records the start or end of a verify of the landing queue."""
        data = event.data
        self._places.verify(data.get("entries", ()) if event.outcome == "started" else ())
        if event.outcome == "passed":
            self._passed[frozenset(data.get("entries", ()))] = PassedVerify(
                commands=tuple(data.get("commands", ())), seconds=float(data.get("seconds", 0.0))
            )

    def passed(self, rows: Iterable[int]) -> PassedVerify | None:
        """Returns the verify that exactly these results have passed together; None if there was none."""
        return self._passed.get(frozenset(self._plan.outline.paths[row] for row in rows))

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
        held = self._rows[row].held
        return held is not None and (held.asks or names >= set(held.waits_for))

    def state_changed(self, row: int, at: float) -> None:
        view = self._rows[row]
        if view.held is not None and view.held.step != "@land":
            self._let_go(row, at)
        view.landing = self._course.landing(row, view.state)
        if self.ahead and view.state.terminal:
            self.ahead = {pair: files for pair, files in self.ahead.items() if self._is_ahead(pair)}

    def started(self, row: int, step: str, at: float) -> None:
        """Records the start of a step, which may be the retry of a hold."""
        held = self._rows[row].held
        if held is not None and held.step == step:
            self._let_go(row, at)
        if step == "@land":
            self._places.queue(self._plan.outline.paths[row])

    def cancelled(self, row: int, step: str, at: float) -> None:
        """Records that a step, which may be a hold, is cancelled."""
        held = self._rows[row].held
        if held is not None and held.step == step:
            self._let_go(row, at)

    def finished(self, row: int, event: Event, at: float) -> None:
        view = self._rows[row]
        if event.step == "@land":
            path = self._plan.outline.paths[row]
            self._places.leave(path)
            if event.outcome != "done":
                self._places.end(path, VERIFY_FAILED if event.data.get("red") else "")
        if event.outcome == "held":
            view.held = held_of(event)
            view.held_at = at
            view.landing = "conflict" if view.held.conflict else "held"
            if not view.held.needs_help:
                self.unlanded[row] = None
        elif event.step == "@land" and event.outcome == "done" and view.landing:
            view.landing = "merged"

    def merged(self, row: int, event: Event) -> None:
        move = move_of(event)
        if event.step == "@land" and event.outcome == "merged" and move is not None:
            self.landed[row] = move
            self.push = None
            self._places.end(self._plan.outline.paths[row], landed_place(move.commit))

    def parts(self, event: Event, _at: float) -> None:
        """Records the start or end of a landing of completed parts."""
        move = move_of(event)
        if event.outcome == "landed" and move is not None:
            self.push = None
            self._places.end(event.subplan, f"{landed_place(move.commit)} in part")

    def pushed(self, event: Event, _at: float) -> None:
        self.push = push_state(event.data)

    def foreseen(self, row: int, other_row: int, files: Sequence[str]) -> None:
        pair = (min(row, other_row), max(row, other_row))
        self.ahead.pop(pair, None)
        if files:
            self.ahead[pair] = tuple(files)

    def _is_ahead(self, pair: tuple[int, int]) -> bool:
        """Returns whether the two rows are still to be merged; one of them may be merged already."""
        states = [self._rows[row].state for row in pair]
        return State.FAILED not in states and states != [State.COMPLETED] * 2

    def _let_go(self, row: int, at: float) -> None:
        view = self._rows[row]
        if view.ended_at is None:
            view.pause(at - view.held_at)
        view.held = None
        view.landing = self._course.landing(row, view.state)
        self.unlanded.pop(row, None)
