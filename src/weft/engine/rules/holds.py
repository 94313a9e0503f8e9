"""Merges that a person has to help with: a conflict, a file in the way, a wish to be asked.

Nothing is wrong with the work, and nothing has moved. What is held stays open as a move of the net and lends what
it claims. It is tried again when somebody asks for it, when what it waits for has landed, and when the run goes
on. While its subplan is paused it stays held, and is tried when it may continue; only merges and landings that a
person has asked for are tried all the same.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from weft.engine.messages.facts import Ended, MergeAsked, StepOutcome
from weft.engine.messages.orders import RESOLVE, Land
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.moves import MERGING, Moves
from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import PoolRequest, StepFiring, SubplanState

_UNFINISHED = frozenset(
    {StepOutcome.STOPPED, StepOutcome.LIMITED, StepOutcome.LOST, StepOutcome.INFRA, StepOutcome.HELD}
)


class HoldRules:
    def __init__(self, state: EngineState, moves: Moves, events: EventWriter) -> None:
        self._state = state
        self._moves = moves
        self._events = events

    def meant(self, firing: StepFiring, fact: Ended) -> StepOutcome:
        """A conflict that an agent is to resolve is not held; unless nothing but merges may begin."""
        how = _meant(firing, fact.how)
        way = firing.move.ways.get("conflict")
        is_resolved = way is not None and not way.ends and not self._state.merges_only
        if RESOLVE in firing.subplan.attempts and not firing.subplan.attempts[RESOLVE]:
            is_resolved = False  # an agent of an earlier run has tried
        return StepOutcome.CONFLICT if how is StepOutcome.HELD and fact.conflict and is_resolved else how

    def holds(self, firing: StepFiring, fact: Ended) -> None:
        firing.parked = "held"
        firing.waits_for, firing.red, firing.asks = fact.waits_for, fact.red, fact.asks
        if fact.conflict:
            firing.presented = False  # once it is settled, it is another result
        self._state.held[firing.serial] = firing
        self._moves.lends(firing)

    def looks_again(self) -> bool:
        """Has results tried again that wait for others, if these have landed or can be tried together with them.

        Results may hold each other's work, and then wait for each other. Those that may land are tried together,
        and so are those about which a person is asked; one of each cannot be.
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

    def asked(self, fact: MergeAsked, **more: Sequence[str]) -> None:
        """By a person, for one subplan and what is in it, or for all. `more` is told as well."""
        self._events.noted("merge_asked", fact, subplan=fact.subplan, **more)
        state = self._state
        inside = f"{fact.subplan}/"

        def wanted(path: str) -> bool:
            return not fact.subplan or path == fact.subplan or path.startswith(inside)

        state.agreed.update(row for row, path in enumerate(state.plan.outline.paths) if wanted(path))
        for firing in state.held.values():
            if wanted(firing.subplan.path):
                firing.red, firing.tried_with = False, frozenset()
        self._retry(lambda firing: wanted(firing.subplan.path))

    def landed(self, subplan: SubplanState) -> None:
        self._retry(lambda firing: subplan.path in firing.waits_for)

    def rejoins(self) -> bool:
        """Has results whose verify failed tried again with those that have just joined the queue.

        A verify may fail for a result alone and pass for several together.
        """
        state = self._state
        if not state.joins_queue:
            return False
        state.joins_queue = False
        red = {firing.serial for firing in state.held.values() if firing.red and _is_agreed(firing)}
        return self._retry(lambda firing: firing.serial in red)

    def previews(self) -> bool:
        """Has all results about which a person will be asked verified together, before the question.

        That is done once nothing else is under way: to verify them as they come would verify most of them in vain.
        """
        state = self._state
        asked = [firing for firing in state.held.values() if self._is_asked(firing)]
        if not self._verifies or all(firing.presented for firing in asked):
            return False
        for firing in asked:
            firing.presented = firing.preview = True
        return self._retry(lambda firing: firing.preview)

    @property
    def _verifies(self) -> bool:
        return any(subplan.verify for subplan in self._state.plan.subplans)

    def _is_asked(self, firing: StepFiring) -> bool:
        settings = self._state.settings(firing.subplan.row)
        wanted = firing.asks or firing.red or bool(firing.waits_for)
        return wanted and settings.merge_mode == "confirm" and not _is_agreed(firing)

    def resumes(self) -> None:
        self._retry(lambda _: True)

    def released(self) -> None:
        """People let something continue: what was to be tried again and belongs to it is tried now."""
        self._retry(lambda firing: firing.is_to_retry)

    def _retry(self, which: Callable[[StepFiring], bool]) -> bool:
        """Whether something is tried again. What is paused stays held until it may continue."""
        state = self._state
        chosen = [firing for firing in state.held.values() if which(firing)]
        ready = [firing for firing in chosen if self._may_begin(firing)]
        for firing in chosen:
            firing.is_to_retry = True
        for firing in ready:
            del state.held[firing.serial]
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
    """Whether it is a result that may land without a further question."""
    return not isinstance(firing.order, Land) or firing.order.agreed


def _able(waiting: Sequence[StepFiring], landed: AbstractSet[str]) -> set[int]:
    """The serial numbers of those that wait for nothing but what has landed and each other.

    The same results are tried together once: what keeps them apart then is for a person.
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


def _meant(firing: StepFiring, how: StepOutcome) -> StepOutcome:
    """What an end comes to that is none of the work's own.

    What was to be ended for good is cancelled, even if it was stopped, limited, held or lost meanwhile. What ended
    as if it had been told to, and had not, is lost. Only agents have usage limits, and no step or agent is held.
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
