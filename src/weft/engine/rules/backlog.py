"""The merge backlog: slices whose steps have ended and whose work is on its way to the branch around them.

Finishing comes before starting. A slice returns its slots when its steps end, and its merge needs none. But merges
run one after the other, and each slice of the backlog has a workspace on disk. So the backlog counts: as many
slices as half a limit are free, so that new slices start while those that ended together are merged, and each
further slice takes a place. Thus at most one and a half times as many workspaces are under way as `max_parallel`
says, however slow merges are.

Only a slice that needs no person is in the backlog: its merge runs or waits for its turn at the branch, or an
agent resolves its conflict. A slice that waits for a person, a usage limit, a pool or the budget is not in it, nor
is a slice whose merge waits behind a merge that a person has frozen.
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
        """Returns whether each limit around a slice has a place for it beside the backlog."""
        state = self._state
        if not state.backlog:
            return True
        allocator, limits = state.allocator, state.limits.slots
        # As many slices of the backlog as take a place before one does not start, by limit.
        most = {pool: allocator.free(pool) + allocator.size(pool) // 2 for pool, _ in limits[row]}
        if len(state.backlog) < min(most.values()):
            return True
        stuck = self._stuck_branches()
        for subplan in state.backlog:
            if self._outline.parents[subplan.row] not in stuck:
                for pool, _ in limits[subplan.row]:
                    if pool in most:
                        most[pool] -= 1
        return all(left > 0 for left in most.values())

    def _stuck_branches(self) -> set[int]:
        """Returns the groups whose integration branch is blocked by a frozen merge."""
        if not self._state.restrained:
            return set()
        merges = [firing for subplan in self._state.backlog for firing in subplan.firings.values()]
        return {self._outline.parents[firing.subplan.row] for firing in merges if firing.frozen}
