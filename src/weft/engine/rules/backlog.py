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
    def __init__(self, board: EngineState) -> None:
        self._board = board
        self._outline = board.plan.outline

    # Changes

    def began(self, play: SubplanState, role: Role) -> None:
        """Something of a play is under way."""
        if role in _FINISHING and play.steps:
            self._board.backlog[play] = None

    def waits(self, ticket: PoolRequest) -> None:
        """A ticket waits for room."""
        play = ticket.play
        if ticket.move.act.role is Role.MERGE and play.steps and not self._board.limits.turns[play.row]:
            self._board.backlog[play] = None

    def left(self, play: SubplanState) -> None:
        """Nothing of a play is under way, or it waits for something else than room."""
        self._board.backlog.pop(play, None)

    # Questions

    def leaves_place(self, row: int) -> bool:
        """Whether each limit around a slice has a slot for it, and one for each slice of the backlog."""
        board = self._board
        limits = [pool for pool, _ in board.limits.slots[row]]
        free = {pool: board.allocator.free(pool) for pool in limits}
        if not board.backlog or len(board.backlog) < min(free.values()):
            return True
        stuck = self._stuck_branches()
        for play in board.backlog:
            if self._outline.parents[play.row] not in stuck:
                for pool, _ in board.limits.slots[play.row]:
                    free[pool] = free.get(pool, 0) - 1
        return all(free[pool] > 0 for pool in limits)

    def _stuck_branches(self) -> set[int]:
        """Groups whose branch a merge holds that a person has frozen."""
        if not self._board.restrained:
            return set()
        merges = [firing for play in self._board.backlog for firing in play.firings.values()]
        return {self._outline.parents[firing.play.row] for firing in merges if firing.frozen}
