"""Which slices may begin: none that would take the place of a slice that is about to be merged.

What follows is about slices that begin beyond `max_parallel`, while others wait and have lent their slots.

As long as fewer slices have begun than a limit allows, a slice begins when it has its slots; its workspace is then
ready when its first step can start. A slice that waits lends its slots. They are of use only to slices that can
begin to work at once: else, under a usage limit or behind a busy pool, all slices of a plan would begin, one after
the other, and none would get on. A slice can begin to work if one of its first steps has room in the pools, its
agent has no usage limit, and its money is not reserved elsewhere.

Pools serve narrow claims and better keys first, so a slice that waits for room in a pool could wait for ever. It
counts as passed over, as a claim does, and then begins all the same; its first step waits no longer than it must.
"""

from weft.engine.pools.allocator import PATIENCE
from weft.engine.rules.backlog import Backlog
from weft.engine.rules.expenses import Expenses
from weft.engine.rules.gates import EntryStep, Gates
from weft.engine.state.engine_state import EngineState
from weft.plan.model import AgentWork


class Admission:
    def __init__(self, state: EngineState, expenses: Expenses) -> None:
        self._state = state
        self._expenses = expenses
        self._backlog = Backlog(state)
        self._gates = Gates(state)
        self._since: dict[int, int] = {}
        """Of slices that wait for room in a pool: how much of that was granted before."""

    def opens(self, number: int) -> bool:
        """Whether a slice that is ready, and for which there are slots, may begin now."""
        row = self._state.candidates[number]
        if not self._backlog.leaves_place(row):
            return False
        opens = self._is_within_limits(row) or self._can_work(row)
        if opens:
            self._since.pop(row, None)
        return opens

    def _is_within_limits(self, row: int) -> bool:
        """Whether fewer slices have begun than each limit allows, counting those that lent their slots."""
        state = self._state
        return all(
            state.allocator.free(pool) > state.lent.get(pool, 0) for pool, _ in state.limits.slots[row]
        )

    def _can_work(self, row: int) -> bool:
        gate = self._gates.of(row)
        if gate.works_at_once:
            return True
        able = [entry for entry in gate.entries if not self._waits_for_agent(row, entry)]
        if any(self._state.allocator.has_room(entry.claims) for entry in able):
            return True
        return bool(able) and self._is_passed_over(row, able[0])

    def _waits_for_agent(self, row: int, entry: EntryStep) -> bool:
        """Whether its agent has a usage limit, or its money is reserved elsewhere."""
        if not entry.agent:
            return False
        state = self._state
        work = state.steps_of(row)[entry.step].step.body
        assert isinstance(work, AgentWork)
        return self._expenses.would_wait(row, work, state.plan.agents[entry.agent])

    def _is_passed_over(self, row: int, entry: EntryStep) -> bool:
        state = self._state
        granted = sum(state.allocator.grants_of(pool) for pool, _ in entry.claims)
        if granted - self._since.setdefault(row, granted) < PATIENCE:
            return False
        state.overtaken.add(row)
        return True
