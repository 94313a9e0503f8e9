"""The questions that a driver can ask an engine. None of them changes anything."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from weft.engine.messages.facts import ControlState
from weft.engine.messages.orders import Ordered
from weft.engine.pools.lanes import PoolState
from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import Amounts, StepFiring
from weft.engine.states import FailureReason, SubplanTracker
from weft.plan.order.outline import ROOT


class EngineView:
    """The state of a run, for reading."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    @property
    def tracker(self) -> SubplanTracker:
        return self._state.tracker

    @property
    def is_to_stop(self) -> bool:
        """Whether a person has asked the coordinator to end."""
        return self._state.stop_asked

    @property
    def is_restrained(self) -> bool:
        """Whether a person has paused, frozen or stopped a part of the plan, and not resumed it."""
        return bool(self._state.restrained)

    @property
    def _is_standing_still(self) -> bool:
        """Whether people have paused all remaining work, and no step is running."""
        state = self._state
        if not state.restrained or state.throttled or state.stranded:
            return False
        return not any(firing.is_under_way and not firing.frozen for firing in state.firings.values())

    @property
    def waits_for_people(self) -> bool:
        """Whether only questions and held results are left."""
        state = self._state
        if not state.questions and not state.held:
            return False
        waiting = len(state.questions) + len(state.held)
        is_idle = waiting == len(state.firings) and not state.part_landings and not state.waits_for_hosts
        return is_idle and not state.throttled and not state.paused

    @property
    def in_flight(self) -> Sequence[Ordered]:
        """The orders whose end has not been reported, oldest first."""
        orders = [firing.order for firing in self._state.firings.values() if not firing.parked]
        return [*(order for order in orders if order is not None), *self._state.part_landings.values()]

    def lowest_ceilings(self, row: int) -> tuple[int | None, int | None]:
        """Returns the lowest ceilings that apply to a row, in micro-dollars and in tokens."""
        return self._state.budget.lowest_ceiling(row), self._state.token_budget.lowest_ceiling(row)

    @property
    def spent(self) -> Amounts:
        """The known spending of the whole run so far."""
        return self._state.budget.own(ROOT), self._state.token_budget.own(ROOT)

    @property
    def unknown_costs(self) -> int:
        """The number of agent calls that did not report their cost."""
        return self._state.budget.own_unknown

    @property
    def has_reached_ceiling(self) -> bool:
        """Whether a subplan has failed because of a ceiling."""
        return any(failure.reason is FailureReason.BUDGET for failure in self._state.failures.values())

    def pool(self, number: int) -> PoolState:
        """Returns the state of a pool, for reading."""
        return self._state.allocator.pool(number)

    @property
    def far_hosts(self) -> Sequence[str]:
        """The other machines on which something of the plan may run."""
        return self._state.hosts.names

    @property
    def placements(self) -> Mapping[str, str]:
        """The token of each slice that is placed, by its path."""
        placed = (subplan for subplan in self._state.active.values() if subplan.host is not None)
        return {subplan.path: self._state.token(subplan) for subplan in placed}

    @property
    def on_target(self) -> AbstractSet[int]:
        """The rows whose work is on the target."""
        return self._state.on_target

    @property
    def has_to_ask(self) -> bool:
        """Whether anything waits for a person."""
        return bool(self._state.questions or self._state.held)

    def questions(self) -> Sequence[StepFiring]:
        return list(self._state.questions.values())

    def held(self) -> Sequence[StepFiring]:
        """Returns the firings that are held for a person."""
        return list(self._state.held.values())

    @property
    def moves(self) -> Sequence[tuple[str, str]]:
        return self._state.moves or ()

    @property
    def _is_stopped_by_people(self) -> bool:
        """Whether people have stopped all remaining work."""
        state = self._state
        if (
            ControlState.STOP not in state.restrained.values()
            or state.throttled
            or state.short
            or state.stranded
        ):
            return False
        waiting = [
            state.candidates[number] if number in state.candidates else state.requests[number].subplan.row
            for number in state.paused
        ]
        parked = [firing.subplan.row for firing in state.firings.values() if firing.parked == "stopped"]
        everything = len(parked) == len(state.firings)
        return everything and all(state.restrained[row] is ControlState.STOP for row in (*waiting, *parked))
