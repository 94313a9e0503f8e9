"""The merge backlog: slices whose steps have ended and whose work is on its way to the branch around them.

Finishing goes before starting. A slice gives its slots back when its steps end, but until it is merged it takes a
place: a new slice begins only if there is a slot for it and one more for each slice of the backlog. So no more
workspaces are under way than `max_parallel` says, however slow merges are. A merge itself needs no slot.

Only a slice that gets on by itself is in the backlog: its merge is under way or waits for its turn at the branch,
or an agent resolves its conflict. A slice that waits for a person, a usage limit, a pool or the budget is not, nor
is one whose merge waits behind a merge that a person has frozen.
"""

from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import PoolRequest, SubplanState
from weft.plan.compile.parts import Role

_FINISHING = frozenset({Role.MERGE, Role.RESOLVE})


class Backlog:
    """The slices whose steps have ended and whose merge is in progress."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._outline = state.plan.outline

    # Changes

    def began(self, subplan: SubplanState, role: Role) -> None:
        """Adds a slice whose merge, or the resolution of its conflict, has started."""
        if role in _FINISHING and subplan.steps:
            self._state.backlog[subplan] = None

    def waits(self, request: PoolRequest) -> None:
        """Adds a slice whose merge waits for its turn at the integration branch."""
        subplan = request.subplan
        if (
            request.move.act.role is Role.MERGE
            and subplan.steps
            and not self._state.limits.turns[subplan.row]
        ):
            self._state.backlog[subplan] = None

    def remove(self, subplan: SubplanState) -> None:
        """Removes a slice that has nothing running, or waits for something other than room."""
        self._state.backlog.pop(subplan, None)

    # Questions

    def leaves_place(self, row: int) -> bool:
        """Returns whether each limit around a slice has a slot for it and for each slice of the backlog."""
        state = self._state
        limits = [pool for pool, _ in state.limits.slots[row]]
        free = {pool: state.allocator.free(pool) for pool in limits}
        if not state.backlog or len(state.backlog) < min(free.values()):
            return True
        stuck = self._stuck_branches()
        for subplan in state.backlog:
            if self._outline.parents[subplan.row] not in stuck:
                for pool, _ in state.limits.slots[subplan.row]:
                    free[pool] = free.get(pool, 0) - 1
        return all(free[pool] > 0 for pool in limits)

    def _stuck_branches(self) -> set[int]:
        """Returns the groups whose integration branch is blocked by a frozen merge."""
        if not self._state.restrained:
            return set()
        merges = [firing for subplan in self._state.backlog for firing in subplan.firings.values()]
        return {self._outline.parents[firing.subplan.row] for firing in merges if firing.frozen}
