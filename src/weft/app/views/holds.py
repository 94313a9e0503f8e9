"""The holds of a run: work that cannot be merged or land until a person acts. Every view takes them from here.

A hold begins when its step ends as `held`. It is *open* until its retry starts. If the retry is held again, or the
coordinator dies during it, the work is still held: so a hold is known until its step ends otherwise.
"""

from msgspec import Struct, field

from weft.app.views.rows import HeldWork
from weft.engine.messages.facts import ControlState
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.run_events import SubplanStateEvent
from weft.engine.messages.step_events import (
    StepCancelledEvent,
    StepEnd,
    StepFinishedEvent,
    StepStartedEvent,
)
from weft.engine.state.control_requests import ControlRequests

MERGES = frozenset({InternalStep.MERGE, InternalStep.LAND})
"""Steps that can be retried on request even if their subplan is paused."""
OPEN_BEFORE_THE_END = frozenset({InternalStep.WORKSPACE, InternalStep.VERIFY, InternalStep.MERGE})
"""Steps that are no longer held once their subplan has ended; a landing can be held after that."""

Key = tuple[str, str]
"""The path of a subplan, and its step that is held."""


def key_of(hold: HeldWork) -> Key:
    return hold.subplan, hold.step


def held_of(event: StepFinishedEvent) -> HeldWork:
    """Returns the hold that the end of a step reports."""
    return HeldWork(
        subplan=event.subplan,
        step=event.step,
        message=event.message,
        files=event.files,
        conflict=event.conflict,
        waits_for=event.waits_for,
        asks=event.asks,
        red=event.red,
    )


class Holds(Struct):
    known: dict[Key, HeldWork] = field(default_factory=dict[Key, HeldWork])
    """The holds, the oldest first, with those that are being retried."""
    open: dict[str, HeldWork] = field(default_factory=dict[str, HeldWork])
    """The open hold of each subplan; a subplan has at most one."""
    trying: set[Key] = field(default_factory=set[Key])
    """The holds that are being retried."""
    merged: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """The subplans with a merge or landing that is done, by its step."""
    frozen: set[Key] = field(default_factory=set[Key])
    """The retries in flight that are frozen."""
    landing: set[str] = field(default_factory=set[str])
    """The subplans whose landing is under way."""

    def step_started(self, event: StepStartedEvent) -> None:
        key = (event.subplan, event.step)
        if event.step == InternalStep.LAND:
            self.landing.add(event.subplan)
        if key in self.known:
            self.trying.add(key)
            self._close(key)

    def step_finished(self, event: StepFinishedEvent) -> None:
        key = (event.subplan, event.step)
        self._end_landing(event)
        if self.known:
            # Removed before it is added again, so that a hold which was held once more is the newest.
            self._forget(key)
        if event.outcome is StepEnd.HELD:
            self.known[key] = self.open[event.subplan] = held_of(event)
        elif event.outcome is StepEnd.DONE and event.step in MERGES:
            self.merged.setdefault(event.step, set()).add(event.subplan)

    def step_cancelled(self, event: StepCancelledEvent) -> None:
        self._end_landing(event)
        self._forget((event.subplan, event.step))

    def _end_landing(self, event: StepFinishedEvent | StepCancelledEvent) -> None:
        if event.step == InternalStep.LAND:
            self.landing.discard(event.subplan)

    def subplan_changed(self, event: SubplanStateEvent) -> None:
        if self.known and event.outcome.terminal:
            for step in OPEN_BEFORE_THE_END:
                self._forget((event.subplan, step))

    def apply_control(self, requests: ControlRequests) -> None:
        """Updates the frozen retries: freezing a subplan freezes its retries, except landings."""
        self.frozen = {
            (path, step)
            for path, step in self.trying
            # A landing concerns the queue that all subplans share, so freezing one subplan does not freeze it.
            if step != InternalStep.LAND and requests.of(path) is ControlState.FREEZE
        }

    def is_paused(self, key: Key, requests: ControlRequests) -> bool:
        """Returns whether a hold is not retried until people resume its subplan."""
        path, step = key
        if key in self.trying:
            return key in self.frozen
        return step not in MERGES and requests.of(path) is not ControlState.GO

    def _forget(self, key: Key) -> None:
        if self.known.pop(key, None) is not None:
            self._close(key)
            self.trying.discard(key)
            self.frozen.discard(key)

    def _close(self, key: Key) -> None:
        hold = self.open.get(key[0])
        # The open hold of the subplan can be that of a later step by now.
        if hold is not None and hold.step == key[1]:
            del self.open[key[0]]
