"""Moves of the net: tokens taken and put down, room asked for and given back. What they mean is decided elsewhere.

One thing is beside the net: what waits lends what it holds. A move that waits for the end of a usage limit, or for
a person, lends its claims; a slice of which nothing is under way lends its slots, whatever it waits for: a limit,
a pool, the budget, a person. In the net they are held; in the pools they are with others, until there is room
again for all that is needed to continue. So nothing is held while something is waited for, but by a slice of which
a branch is under way.
"""

from weft.engine.pools.lanes import Claims
from weft.engine.rules.backlog import Backlog
from weft.engine.state.engine_state import EngineState
from weft.engine.state.script import ShapeTransition
from weft.engine.state.slice_state import PoolRequest, StepFiring, SubplanState
from weft.plan.compile.parts import Role

MERGING = frozenset({Role.MERGE, Role.LAND})
MERGES_FIRST = -(1 << 60)


class Moves:
    def __init__(self, board: EngineState) -> None:
        self._board = board
        self._backlog = Backlog(board)

    # At once

    def passes(self, play: SubplanState, move: ShapeTransition, outcome: str = "done") -> None:
        """A move that takes no time."""
        self._board.saw(play, move.name, "")
        self._put_down(play, move, outcome)

    def _put_down(self, play: SubplanState, move: ShapeTransition, outcome: str) -> None:
        board = self._board
        board.saw(play, move.name, outcome)
        way = move.ways[outcome]
        if way.frees:
            self._give_back_slots(play)
        for place in way.places:
            board.arrivals.append((play, place))
        if way.ends:
            self._forget_pools(play)
            board.ended.append(play)

    def _give_back_slots(self, play: SubplanState) -> None:
        if play.lent:
            self._regained(play)
        elif play.slots:
            self._board.allocator.give_back(play.slots)
            play.slots = ()

    def _forget_pools(self, play: SubplanState) -> None:
        for pool in play.pools.values():
            self._board.allocator.drop_pool(pool)
        play.pools.clear()

    # With an end that is waited for

    def begins(self, play: SubplanState, move: ShapeTransition, claims: Claims) -> StepFiring:
        board = self._board
        board.saw(play, move.name, "")
        board.serial += 1
        firing = StepFiring(serial=board.serial, play=play, move=move, claims=claims, step=move.act.step)
        board.firings[firing.serial] = firing
        play.firings[firing.serial] = firing
        self._backlog.began(play, move.act.role)
        return firing

    def ends(self, firing: StepFiring) -> None:
        """It is over, and what it held is free; where its token goes is said by `leads`."""
        board, play = self._board, firing.play
        del board.firings[firing.serial], play.firings[firing.serial]
        board.questions.pop(firing.serial, None)
        board.held.pop(firing.serial, None)
        board.perhaps_idle[play] = None
        if firing.lent:
            self.regains(firing, ())
        self.gives_back(firing)
        self._backlog.left(play)

    def leads(self, firing: StepFiring, outcome: str) -> None:
        self._put_down(firing.play, firing.move, outcome)

    def gives_back(self, firing: StepFiring) -> None:
        board = self._board
        if firing.claims:
            board.allocator.give_back(firing.claims)
            firing.claims = ()
        for pool, values in firing.leases:
            board.leases.give_back(pool, values)
        firing.leases = ()

    # While something is waited for

    def lends(self, firing: StepFiring) -> None:
        """Gives to others what it holds, until it asks for room again."""
        self._board.saw(firing.play, firing.move.name, "lent")
        self.gives_back(firing)
        firing.lent = True
        self._board.perhaps_idle[firing.play] = None
        self._backlog.left(firing.play)

    def regains(self, firing: StepFiring, claims: Claims) -> None:
        self._board.saw(firing.play, firing.move.name, "regained")
        firing.claims, firing.parked, firing.lent = claims, "", False
        self._backlog.began(firing.play, firing.move.act.role)

    def lend_slots(self) -> bool:
        """Has each slice of which nothing is under way give its slots to others; whether there was one.

        To be called when all that has room has begun: what is not under way then waits.
        """
        board = self._board
        plays, board.perhaps_idle = board.perhaps_idle, {}
        idle = [play for play in plays if play.slots and self._is_idle(play)]
        for play in idle:
            self._lend_slots(play)
        return bool(idle)

    def _is_idle(self, play: SubplanState) -> bool:
        return not any(firing.is_under_way or firing.claims for firing in play.firings.values()) and (
            bool(play.firings) or bool(play.tickets)
        )

    def _lend_slots(self, play: SubplanState) -> None:
        board = self._board
        for pool, _ in play.slots:
            board.lent[pool] = board.lent.get(pool, 0) + 1
        board.allocator.give_back(play.slots)
        play.slots, play.lent = (), True
        board.saw(play, "slots", "lent")
        self._ask_again(play, with_slots=False)

    def _regained(self, play: SubplanState) -> None:
        board = self._board
        board.saw(play, "slots", "regained")
        for pool, _ in board.limits.slots[play.row]:
            board.lent[pool] -= 1
        play.lent = False

    # Room in pools

    def asks(self, ticket: PoolRequest) -> None:
        """What the ticket is for waits until there is all the room it needs."""
        self._ask(self._add(ticket))

    def waits(self, ticket: PoolRequest, queue: set[int]) -> None:
        """What the ticket is for waits for something else, before it asks for room."""
        queue.add(self._add(ticket))

    def asks_after(self, queue: set[int]) -> None:
        """Those in the queue need not wait for that any more."""
        numbers = sorted(queue)
        queue.clear()
        for number in numbers:
            self._ask(number)

    def _add(self, ticket: PoolRequest) -> int:
        board = self._board
        board.next_ticket += 1
        board.tickets[board.next_ticket] = ticket
        ticket.play.tickets[board.next_ticket] = ticket
        board.perhaps_idle[ticket.play] = None
        return board.next_ticket

    def _ask(self, number: int) -> None:
        board = self._board
        ticket = board.tickets[number]
        play, move = ticket.play, ticket.move
        if self.is_paused(play, move):
            self._pause(number, ticket)
            return
        self._backlog.waits(ticket)
        ticket.claims = claims = board.claims(play, move)
        ticket.slots = play.lent or (move.takes_slot and ticket.firing is None)
        if ticket.slots:
            claims = (*board.limits.slots[play.row], *claims)
        board.allocator.ask(number, claims, self._rank(number, ticket))
        if play.hurries:
            board.allocator.hurry(number)

    def _pause(self, number: int, ticket: PoolRequest) -> None:
        board, firing = self._board, ticket.firing
        board.perhaps_idle[ticket.play] = None
        if ticket.was_held:  # it is held again, so that people see it and can ask for it
            assert firing is not None
            self._forget(number)
            firing.parked, firing.is_to_retry = "held", True
            board.held[firing.serial] = firing
        else:
            board.paused.add(number)
            ticket.claims, ticket.slots = (), False
            self._backlog.left(ticket.play)

    def is_paused(self, play: SubplanState, move: ShapeTransition) -> bool:
        """Whether people do not want this to begin. A merge or a landing that a person has asked for may."""
        board = self._board
        is_asked_for = move.act.role in MERGING and play.row in board.agreed
        return play.row in board.restrained and not is_asked_for

    def goes_on(self, number: int) -> None:
        """It need not wait any more for people to let it go on."""
        self._ask(number)

    def pauses(self, number: int) -> None:
        """What asked for room does not want it for now."""
        self._board.allocator.withdraw(number)
        self._ask(number)

    def _rank(self, number: int, ticket: PoolRequest) -> tuple[int, int, int]:
        """Who goes first. What only waits to be merged does: in plan order, or as it comes."""
        board, row, move = self._board, ticket.play.row, ticket.move
        if move.act.role in MERGING:
            return (MERGES_FIRST, row if board.settings(row).merge_order == "sequential" else number, 0)
        return (-board.levels[row], row, move.number)

    def granted(self, number: int) -> PoolRequest:
        ticket = self._forget(number)
        play = ticket.play
        play.hurries = False
        if ticket.slots:
            play.slots = self._board.limits.slots[play.row]
            if play.lent:
                self._regained(play)
                self._ask_again(play, with_slots=True)
        return ticket

    def _ask_again(self, play: SubplanState, *, with_slots: bool) -> None:
        """What waits for room, with or without the slots, asks for what it needs now.

        The first one that has room for it gets the slots for all of the slice.
        """
        board = self._board
        for number, ticket in list(play.tickets.items()):
            waits_for_room = not any(
                number in queue for queue in (board.short, board.throttled, board.paused)
            )
            if waits_for_room and ticket.slots is with_slots:
                board.allocator.withdraw(number)
                self._ask(number)

    def is_merge(self, number: int) -> bool:
        ticket = self._board.tickets.get(number)
        return ticket is not None and ticket.move.act.role in MERGING

    def waits_on(self, number: int) -> None:
        """There is room for what the ticket is for, and it does not take it yet."""
        board, ticket = self._board, self._board.tickets[number]
        slots = board.limits.slots[ticket.play.row] if ticket.slots else ()
        board.allocator.give_back((*slots, *ticket.claims))
        self._ask(number)

    def withdraws(self, number: int) -> PoolRequest:
        board = self._board
        for queue in (board.short, board.throttled, board.paused):
            if number in queue:
                queue.remove(number)
                return self._forget(number)
        board.allocator.withdraw(number)
        return self._forget(number)

    def _forget(self, number: int) -> PoolRequest:
        ticket = self._board.tickets.pop(number)
        del ticket.play.tickets[number]
        self._backlog.left(ticket.play)
        return ticket
