"""The progress of results towards the target: merged, held until a person helps, landed.

This is separate from the state of a subplan: work that is held at `@land` is completed, and work that is held
before that is still running.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from weft.app.views.landing_places import VERIFY_FAILED, LandingPlaces, landed_place
from weft.app.views.push import PushState, push_state
from weft.app.views.rows import LandedWork
from weft.engine.messages.facts import RefMove
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.landing_events import (
    ConflictAheadEvent,
    MergeEvent,
    PartsEvent,
    PartsOutcome,
    PushEvent,
    VerifyEvent,
    VerifyOutcome,
)
from weft.engine.messages.run_events import LeftOutEvent
from weft.engine.messages.step_events import StepEnd, StepFinishedEvent, StepStartedEvent
from weft.engine.states import SubplanExecutionState as State

_HEADS = "refs/heads/"

Pair = tuple[str, str]
"""The paths of two subplans, in order."""


def move_of(moves: Sequence[RefMove] | None) -> LandedWork | None:
    """Returns the branch and commit of a merge or landing; None if it moved nothing."""
    return LandedWork(moves[-1].ref.removeprefix(_HEADS), moves[-1].after) if moves else None


class PassedVerify(Struct, frozen=True, kw_only=True):
    """A verify that results have passed together."""

    commands: tuple[str, ...]
    seconds: float


class MergeState(Struct, frozen=True):
    """The result of the last merge or landing of a subplan."""

    landing: str = ""
    """`merged` (into the target), `held`, `conflict` or `unmerged`; empty if it was merged into its group."""
    files: tuple[str, ...] = ()
    """The files in conflict."""
    message: str = ""


class Landings:
    """Merges, landings and pushes of a run, by the paths of its subplans."""

    def __init__(self) -> None:
        self.target = ""
        """The branch that results land on, if there is one."""
        self.results: dict[str, MergeState] = {}
        self.landed: dict[str, LandedWork] = {}
        self.ahead: dict[Pair, tuple[str, ...]] = {}
        """Pairs of subplans that are going to conflict, with the files; see `is_ahead`."""
        self.places = LandingPlaces()
        self.push: PushState | None = None
        """The last push of the target; None if there was none since the last landing."""
        self.pushed = 0
        """The sequence number of that push."""
        self._passed: dict[frozenset[str], PassedVerify] = {}

    def passed(self, paths: Iterable[str]) -> PassedVerify | None:
        """Returns the verify that exactly these results have passed together; None if there was none."""
        return self._passed.get(frozenset(paths))

    # Updates

    def landing_started(self, event: StepStartedEvent) -> None:
        """Records the start of a landing."""
        self.places.queue(event.subplan)

    def landing_finished(self, event: StepFinishedEvent) -> None:
        """Records the end of a landing."""
        self.places.leave(event.subplan)
        if event.outcome is not StepEnd.DONE:
            # A landing that is done reports its commit with a `merge` event, which sets the place.
            self.places.end(event.subplan, VERIFY_FAILED if event.red else "")

    def merge(self, event: MergeEvent, seq: int) -> None:
        is_landing, is_merged = event.step == InternalStep.LAND, event.outcome == "merged"
        self.results[event.subplan] = MergeState(
            event.outcome if is_landing or not is_merged else "",
            event.files if event.outcome == "conflict" else (),
            event.message,
        )
        if not is_landing:
            return
        move = move_of(event.moves)
        place = landed_place("" if move is None else move.commit) if is_merged else ""
        self.places.end(event.subplan, VERIFY_FAILED if event.red else place)
        if move is not None:
            self._target_moved(seq)
            if is_merged:
                self.landed[event.subplan] = move

    def left_out(self, event: LeftOutEvent) -> None:
        self.results[event.subplan] = MergeState("unmerged", (), event.message)

    def parts(self, event: PartsEvent, seq: int) -> None:
        """Records the start or end of a landing of completed parts."""
        move = move_of(event.moves)
        if event.outcome is PartsOutcome.LANDED and move is not None:
            self._target_moved(seq)
            self.places.end(event.subplan, f"{landed_place(move.commit)} in part")

    def verify(self, event: VerifyEvent) -> None:
        """Records the start or end of a verify of the landing queue."""
        self.places.verify(event.entries if event.outcome is VerifyOutcome.STARTED else ())
        if event.outcome is VerifyOutcome.PASSED:
            self._passed[frozenset(event.entries)] = PassedVerify(
                commands=event.commands, seconds=event.seconds or 0.0
            )

    def apply_push(self, event: PushEvent, seq: int) -> None:
        self.push, self.pushed = push_state(event), seq

    def _target_moved(self, seq: int) -> None:
        """Forgets an earlier push, which does not include this landing.

        `weft status` reads some landings after a later push, so the order of the journal decides.
        """
        if self.pushed < seq:
            self.push = None

    def conflict_ahead(self, event: ConflictAheadEvent) -> None:
        first, second = sorted((event.subplan, event.other))
        # A later forecast replaces the earlier one; without files, it takes the warning back.
        self.ahead.pop((first, second), None)
        if event.files:
            self.ahead[first, second] = event.files


def is_ahead(states: Collection[str | None]) -> bool:
    """Returns whether two subplans in these states are still to be merged; one of them may be merged already."""
    return State.FAILED not in states and set(states) != {State.COMPLETED}
