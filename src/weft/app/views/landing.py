"""How far the work of subplans has got: merged, held until a person has helped, landed on the target.

That is another record than whether the work passed: what is held at `@land` has been completed, and what is held
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
    """The end of an execution that is held."""
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
    """Where a merge or a landing brought the work; None if there was nothing to bring."""
    moves = event.data.get("moves")
    return LandedWork(moves[-1]["ref"].removeprefix(_HEADS), moves[-1]["after"]) if moves else None


class PassedVerify(Struct, frozen=True, kw_only=True):
    """A verify that results have passed together."""

    commands: tuple[str, ...]
    seconds: float


class LandingCourse:
    """Which way the work of each subplan goes."""

    def __init__(self, plan: Plan) -> None:
        self._outline = plan.outline
        self._scopes = plan.scopes

    def landing(self, row: int, state: State) -> str:
        """What is to be said of a subplan in that state, as long as it is not held and has not landed."""
        settings = self._scopes[row].settings
        if row == ROOT or state is State.PENDING or not settings.has_branch:
            return ""
        return "merged" if state is State.COMPLETED and not self._lands(row) else "unmerged"

    def _lands(self, row: int) -> bool:
        if self._scopes[row].settings.merge_when == "slice":
            return self._outline.leaves[row]
        return self._outline.parents[row] == ROOT


class LandingFold:
    """Folds what is told of merges into the rows of a view."""

    def __init__(self, plan: Plan, rows: Sequence[RowView]) -> None:
        self.target = ""
        """The branch that results land on, if there is one."""
        self.unlanded: dict[int, None] = {}
        """What only waits to land: to be agreed to, or for others."""
        self.landed: dict[int, LandedWork] = {}
        self.ahead: dict[tuple[int, int], tuple[str, ...]] = {}
        """Two that are going to conflict, and about which files."""
        self.push: PushState | None = None
        """The last push of the target; None if there was none since the last landing."""
        self._places = LandingPlaces()
        self._passed: dict[frozenset[str], PassedVerify] = {}
        self._plan = plan
        self._course = LandingCourse(plan)
        self._rows = rows

    def place(self, row: int) -> str:
        """Where a result is on its way to the target, as `queued to land`; empty before that."""
        return self._places.of(self._plan.outline.paths[row])

    def verifying(self, event: Event) -> None:
        """A verify of the landing queue has started or ended."""
        data = event.data
        self._places.verify(data.get("entries", ()) if event.outcome == "started" else ())
        if event.outcome == "passed":
            self._passed[frozenset(data.get("entries", ()))] = PassedVerify(
                commands=tuple(data.get("commands", ())), seconds=float(data.get("seconds", 0.0))
            )

    def passed(self, rows: Iterable[int]) -> PassedVerify | None:
        """The verify that just these results have passed together; None if there was none."""
        return self._passed.get(frozenset(self._plan.outline.paths[row] for row in rows))

    def to_agree(self) -> list[int]:
        """What would land now if a person who is to be asked agreed to all of it."""
        scopes, paths = self._plan.scopes, self._plan.outline.paths
        asked = [row for row in sorted(self.unlanded) if scopes[row].settings.merge_mode == "confirm"]
        found: set[int] = set()
        names: set[str] = set()
        while more := [row for row in asked if row not in found and self._lands_with(row, names)]:
            found.update(more)
            names.update(paths[row] for row in more)
        return [row for row in asked if row in found]

    def _lands_with(self, row: int, names: AbstractSet[str]) -> bool:
        held = self._rows[row].held
        return held is not None and (held.asks or names >= set(held.waits_for))

    def state_changed(self, row: int, at: float) -> None:
        one = self._rows[row]
        if one.held is not None and one.held.step != "@land":
            self._let_go(row, at)
        one.landing = self._course.landing(row, one.state)
        if self.ahead and one.state.terminal:
            self.ahead = {pair: files for pair, files in self.ahead.items() if self._is_ahead(pair)}

    def started(self, row: int, step: str, at: float) -> None:
        """Something that was held is tried again."""
        held = self._rows[row].held
        if held is not None and held.step == step:
            self._let_go(row, at)
        if step == "@land":
            self._places.queue(self._plan.outline.paths[row])

    def cancelled(self, row: int, step: str, at: float) -> None:
        """Something that is held is given up."""
        held = self._rows[row].held
        if held is not None and held.step == step:
            self._let_go(row, at)

    def finished(self, row: int, event: Event, at: float) -> None:
        one = self._rows[row]
        if event.step == "@land":
            path = self._plan.outline.paths[row]
            self._places.leave(path)
            if event.outcome != "done":
                self._places.end(path, VERIFY_FAILED if event.data.get("red") else "")
        if event.outcome == "held":
            one.held = held_of(event)
            one.held_at = at
            one.landing = "conflict" if one.held.conflict else "held"
            if not one.held.needs_help:
                self.unlanded[row] = None
        elif event.step == "@land" and event.outcome == "done" and one.landing:
            one.landing = "merged"

    def merged(self, row: int, event: Event) -> None:
        move = move_of(event)
        if event.step == "@land" and event.outcome == "merged" and move is not None:
            self.landed[row] = move
            self.push = None
            self._places.end(self._plan.outline.paths[row], landed_place(move.commit))

    def parts(self, event: Event, _at: float) -> None:
        """A landing of completed parts has started or ended."""
        move = move_of(event)
        if event.outcome == "landed" and move is not None:
            self.push = None
            self._places.end(event.subplan, f"{landed_place(move.commit)} in part")

    def pushed(self, event: Event, _at: float) -> None:
        self.push = push_state(event.data)

    def foreseen(self, row: int, other: int, files: Sequence[str]) -> None:
        pair = (min(row, other), max(row, other))
        self.ahead.pop(pair, None)
        if files:
            self.ahead[pair] = tuple(files)

    def _is_ahead(self, pair: tuple[int, int]) -> bool:
        """Two that are to come together still; one of them may be there already."""
        states = [self._rows[row].state for row in pair]
        return State.FAILED not in states and states != [State.COMPLETED] * 2

    def _let_go(self, row: int, at: float) -> None:
        one = self._rows[row]
        if one.ended_at is None:
            one.pause(at - one.held_at)
        one.held = None
        one.landing = self._course.landing(row, one.state)
        self.unlanded.pop(row, None)
