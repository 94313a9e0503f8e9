"""Merges and landings that need a person: a conflict, a file in the way, a failed verify, or an approval.

A hold changes nothing in git and does not fail the work. The firing stays open and lends its claims. It is
retried when a person asks for it, when the results it waits for have landed, and when the run is resumed.
While its subplan is paused, only a merge or landing that a person has asked for is retried.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from weft.engine.messages.facts import Ended, MergeAsked, StepOutcome
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.orders import Land
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.moves import MERGING, Moves
from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import PoolRequest, StepFiring, SubplanState

_UNFINISHED = frozenset(
    {StepOutcome.STOPPED, StepOutcome.LIMITED, StepOutcome.LOST, StepOutcome.INFRA, StepOutcome.HELD}
)

_NOT_DONE = frozenset({StepOutcome.LOST, StepOutcome.INFRA})


class HoldRules:
    """Holds firings and decides when they are retried."""

    def __init__(self, state: EngineState, moves: Moves, events: EventWriter) -> None:
        self._state = state
        self._moves = moves
        self._events = events

    def outcome_of(self, firing: StepFiring, fact: Ended) -> StepOutcome:
        """Returns the outcome that counts for an end that is not a success.

        A conflict that an agent will resolve is not held, unless only merges may start. A merge or landing that
        the machine could not do, however often it was retried, is held: its work is complete and paid for, and
        when the disk has room again, the next try succeeds.
        """
        how = _outcome(firing, fact.how)
        if how in _NOT_DONE and firing.move.act.role in MERGING and how in firing.move.final:
            return StepOutcome.HELD
        way = firing.move.ways.get("conflict")
        is_resolved = way is not None and not way.ends and not self._state.merges_only
        if (
            InternalStep.RESOLVE in firing.subplan.attempts
            and not firing.subplan.attempts[InternalStep.RESOLVE]
        ):
            is_resolved = False  # an agent already tried in an earlier run
        return StepOutcome.CONFLICT if how is StepOutcome.HELD and fact.conflict and is_resolved else how

    def hold(self, firing: StepFiring, fact: Ended) -> None:
        """Holds a firing for the reasons that the fact gives."""
        firing.parked = "held"
        firing.waits_for, firing.red, firing.asks = fact.waits_for, fact.red, fact.asks
        if fact.conflict:
            firing.presented = False  # resolving the conflict changes the result
        self._state.hold(firing)
        self._moves.lends(firing)

    def looks_again(self) -> bool:
        """Retries results that wait for others which have landed or can land together with them.

        Results that hold each other's work wait for each other and are tried as a unit. A unit consists either of
        approved results or of results that need approval. Returns whether anything is retried.
        """
        state = self._state
        waiting = [firing for firing in state.held.values() if self._waits(firing)]
        if not waiting:
            return False
        landed = {state.path(row) for row in state.landed - state.failures.keys()}
        agreed = _able([firing for firing in waiting if _is_agreed(firing)], landed)
        others = _able([firing for firing in waiting if not _is_agreed(firing)], landed)
        ready = agreed | others
        return self._retry(lambda firing: firing.serial in ready)

    def _waits(self, firing: StepFiring) -> bool:
        return bool(firing.waits_for) and not firing.asks and self._may_begin(firing)

    def merge_asked(
        self, fact: MergeAsked, *, joins: Sequence[str] | None = None, parts: Sequence[str] | None = None
    ) -> None:
        """Approves and retries the results in a subplan, or all, for a person. The event names joins and parts."""
        self._events.merge_asked(fact, joins=joins, parts=parts)
        state = self._state
        inside = f"{fact.subplan}/"

        def is_included(path: str) -> bool:
            return not fact.subplan or path == fact.subplan or path.startswith(inside)

        state.agreed.update(row for row, path in enumerate(state.plan.outline.paths) if is_included(path))
        for firing in state.held.values():
            if is_included(firing.subplan.path):
                firing.red, firing.tried_with = False, frozenset()
        self._retry(lambda firing: is_included(firing.subplan.path))

    def landed(self, subplan: SubplanState) -> None:
        """Retries the results that wait for a subplan which has landed."""
        if self._state.held:
            self._retry(lambda firing: subplan.path in firing.waits_for)

    def rejoins(self) -> bool:
        """Retries results with a failed verify together with those that have just joined the queue.

        Verify may fail for a single result and pass for several together.
        """
        state = self._state
        if not state.take_joins_queue():
            return False
        red = {firing.serial for firing in state.held.values() if firing.red and _is_agreed(firing)}
        return self._retry(lambda firing: firing.serial in red)

    def previews(self) -> bool:
        """Verifies all results that need approval together, before a person is asked.

        This happens once nothing else runs. Verifying each result as it arrives would mostly be wasted work.
        """
        state = self._state
        pending = [firing for firing in state.held.values() if self._needs_approval(firing)]
        if not self._verifies or all(firing.presented for firing in pending):
            return False
        for firing in pending:
            firing.presented = firing.preview = True
        return self._retry(lambda firing: firing.preview)

    @property
    def _verifies(self) -> bool:
        return any(subplan.verify for subplan in self._state.plan.subplans)

    def _needs_approval(self, firing: StepFiring) -> bool:
        settings = self._state.settings(firing.subplan.row)
        is_complete = firing.asks or firing.red or bool(firing.waits_for)
        return is_complete and settings.merge_mode == "confirm" and not _is_agreed(firing)

    def resumes(self) -> None:
        self._retry(lambda _: True)

    def released(self) -> None:
        """Retries what was due for a retry while its subplan was paused."""
        self._retry(lambda firing: firing.is_to_retry)

    def _retry(self, which: Callable[[StepFiring], bool]) -> bool:
        """Retries the chosen held firings; returns whether any is retried now. Paused ones are retried later."""
        state = self._state
        chosen = [firing for firing in state.held.values() if which(firing)]
        ready = [firing for firing in chosen if self._may_begin(firing)]
        for firing in chosen:
            firing.is_to_retry = True
        for firing in ready:
            state.release(firing)
            firing.parked, firing.is_to_retry = "asking", False
            self._moves.asks(
                PoolRequest(subplan=firing.subplan, move=firing.move, firing=firing, was_held=True)
            )
        return bool(ready)

    def _may_begin(self, firing: StepFiring) -> bool:
        if self._state.merges_only and firing.move.act.role not in MERGING:
            return False
        return not self._moves.is_paused(firing.subplan, firing.move)


def _is_agreed(firing: StepFiring) -> bool:
    """Returns whether the firing needs no approval (any more)."""
    return not isinstance(firing.order, Land) or firing.order.agreed


def _able(waiting: Sequence[StepFiring], landed: AbstractSet[str]) -> set[int]:
    """Returns the serial numbers of the firings that wait only for landed results and for each other.

    The same set of results is tried together only once; a second try needs a person.
    """
    able = {firing.subplan.path: firing for firing in waiting}
    while stuck := [path for path, each in able.items() if not landed | able.keys() >= set(each.waits_for)]:
        able = {path: firing for path, firing in able.items() if path not in stuck}
    paths = frozenset(able)
    if any(firing.tried_with == paths for firing in able.values()):
        able = {path: firing for path, firing in able.items() if landed >= set(firing.waits_for)}
    for firing in able.values():
        firing.tried_with = paths
    return {firing.serial for firing in able.values()}


def _outcome(firing: StepFiring, how: StepOutcome) -> StepOutcome:
    """Returns the outcome that counts, given the orders that the engine has sent.

    A cancelled firing counts as cancelled even if it was stopped, limited, held or lost at the same time. An
    end as if by order, without an order, counts as lost. Only agents have usage limits; steps and agents are
    never held.
    """
    if firing.halted == "cancelled":
        return StepOutcome.CANCELLED if how in _UNFINISHED else how
    if how is StepOutcome.CANCELLED:
        return StepOutcome.STOPPED if firing.halted else StepOutcome.LOST
    if how is StepOutcome.LIMITED:
        return how if firing.launch is not None else StepOutcome.INFRA
    if how is StepOutcome.HELD:
        return how if not firing.step and firing.launch is None else StepOutcome.FAILED
    return StepOutcome.LOST if how is StepOutcome.STOPPED and not firing.halted else how
