"""Admission: which slices with slots may start now.

No slice may take the place of a slice that is about to be merged; see `backlog`.

While fewer slices have started than a limit allows, a slice starts as soon as it has its slots, so that its
workspace is ready early. The remaining rules concern slots that waiting slices have lent. Only slices that
can work at once may use them. Otherwise, under a usage limit or behind a busy pool, all slices of a plan
would start one after the other and none would make progress. A slice can work at once if one of its first
steps has room in the pools, its agent has no usage limit, and the money is available.

Pools serve narrow claims and better keys first, so a slice could wait forever for a pool. After it has been
passed over `PATIENCE` times it starts anyway, and its first request gets a hold-back.
"""

from weft.engine.pools.allocator import PATIENCE
from weft.engine.rules.backlog import Backlog
from weft.engine.rules.expenses import Expenses
from weft.engine.rules.gates import EntryStep, Gates
from weft.engine.rules.placement import Placement
from weft.engine.state.engine_state import EngineState
from weft.plan.model import AgentWork


class Admission:
    """Decides whether a slice with slots may start."""

    def __init__(self, state: EngineState, expenses: Expenses, placement: Placement) -> None:
        self._state = state
        self._placement = placement
        self._expenses = expenses
        self._backlog = Backlog(state)
        self._gates = Gates(state)
        self._since: dict[int, int] = {}
        """By row of a slice that waits for a pool: the number of grants of that pool when it began to wait."""

    def opens(self, number: int) -> bool:
        """Returns whether a slice for which there are slots may start now."""
        row = self._state.candidates[number]
        hosts = self._gates.of(row).hosts
        if hosts and not self._placement.may_start(hosts):
            return False
        # Finished slices come first. A new slice that took their place would leave ever more unmerged workspaces.
        if not self._backlog.leaves_place(row):
            return False
        opens = self._is_within_limits(row) or self._can_work(row)
        if opens:
            self._since.pop(row, None)
        return opens

    def _is_within_limits(self, row: int) -> bool:
        """Returns whether fewer slices have started than each limit allows, with those that lent their slots."""
        state = self._state
        free, lent = state.allocator.free, state.lent
        return all(free(pool) > lent.get(pool, 0) for pool, _ in state.limits.slots[row])

    def _can_work(self, row: int) -> bool:
        gate = self._gates.of(row)
        if gate.works_at_once:
            return True
        # Beyond the limits, only because other slices lent their slots, a slice starts only if it can work at
        # once.
        able = gate.entries
        if self._expenses.may_wait:
            able = tuple(entry for entry in able if not self._waits_for_agent(row, entry))
        for entry in able:
            if self._state.allocator.has_room(entry.claims) and self._has_host(entry):
                return True
        return bool(able) and self._is_passed_over(row, able[0])

    def _has_host(self, entry: EntryStep) -> bool:
        """Returns whether a host on which a step may run has a free slot."""
        state = self._state
        return not entry.hosts or any(
            state.hosts.is_reachable(host)
            and all(state.allocator.has_room(((pool, 1),)) for pool in state.host_pool(host))
            for host in entry.hosts
        )

    def _waits_for_agent(self, row: int, entry: EntryStep) -> bool:
        """Returns whether the agent has a usage limit, or other steps have reserved the money."""
        if not entry.agent:
            return False
        state = self._state
        work = state.steps_of(row)[entry.step].step.body
        assert isinstance(work, AgentWork)
        return self._expenses.would_wait(row, work, state.plan.agents[entry.agent])

    def _is_passed_over(self, row: int, entry: EntryStep) -> bool:
        state = self._state
        # The slice has no request at the pool yet, so the allocator cannot count how often it was passed over.
        pools = [pool for pool, _ in entry.claims]
        pools += [pool for host in entry.hosts for pool in state.host_pool(host)]
        granted = sum(map(state.allocator.grants_of, pools))
        if granted - self._since.setdefault(row, granted) < PATIENCE:
            return False
        state.overtake(row)
        return True
