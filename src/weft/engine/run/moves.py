"""Moves of the net: tokens taken and put down, room asked for and given back. What they mean is decided elsewhere.

One thing is beside the net: who waits for the end of a usage limit, or for a person to help with a merge, lends
what it holds. In the net the move goes on and holds its claims; in the pools they are with others, until there is
room for it again.
"""

from weft.engine.run.board import Board
from weft.engine.run.lanes import Claims
from weft.engine.run.plays import Firing, Play, Ticket
from weft.engine.run.script import Move
from weft.plan.compile.parts import Role

MERGING = frozenset({Role.MERGE, Role.LAND})
MERGES_FIRST = -(1 << 60)


class Moves:
    def __init__(self, board: Board) -> None:
        self._board = board

    # At once

    def passes(self, play: Play, move: Move, outcome: str = "done") -> None:
        """A move that takes no time."""
        self._board.saw(play, move.name, "")
        self._put_down(play, move, outcome)

    def _put_down(self, play: Play, move: Move, outcome: str) -> None:
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

    def _give_back_slots(self, play: Play) -> None:
        if play.lent:
            self._regained(play)
        elif play.slots:
            self._board.allocator.give_back(play.slots)
            play.slots = ()

    def _forget_pools(self, play: Play) -> None:
        for pool in play.pools.values():
            self._board.allocator.drop_pool(pool)
        play.pools.clear()

    # With an end that is waited for

    def begins(self, play: Play, move: Move, claims: Claims) -> Firing:
        board = self._board
        board.saw(play, move.name, "")
        board.serial += 1
        firing = Firing(serial=board.serial, play=play, move=move, claims=claims, step=move.act.step)
        board.firings[firing.serial] = firing
        play.firings[firing.serial] = firing
        return firing

    def ends(self, firing: Firing) -> None:
        """It is over, and what it held is free; where its token goes is said by `leads`."""
        board, play = self._board, firing.play
        del board.firings[firing.serial], play.firings[firing.serial]
        board.questions.pop(firing.serial, None)
        board.held.pop(firing.serial, None)
        if firing.parked in {"limited", "asking", "held"}:
            self.regains(firing, ())
        self.gives_back(firing)

    def leads(self, firing: Firing, outcome: str) -> None:
        self._put_down(firing.play, firing.move, outcome)

    def gives_back(self, firing: Firing) -> None:
        board = self._board
        if firing.claims:
            board.allocator.give_back(firing.claims)
            firing.claims = ()
        for pool, values in firing.leases:
            board.leases.give_back(pool, values)
        firing.leases = ()

    # While a usage limit lasts

    def lends(self, firing: Firing) -> None:
        """Gives to others what it holds; the slots of its slice, too, if nothing else of it needs them."""
        self._board.saw(firing.play, firing.move.name, "lent")
        self.gives_back(firing)
        self.lends_slots(firing.play)

    def regains(self, firing: Firing, claims: Claims) -> None:
        self._board.saw(firing.play, firing.move.name, "regained")
        firing.claims, firing.parked = claims, ""

    def lends_slots(self, play: Play) -> None:
        """Only so many slices as there are slots do so at once, or in the course of a limit all would begin."""
        board = self._board
        if (
            not play.slots
            or board.lending >= board.allocator.size(play.slots[0][0])
            or not self._is_idle(play)
        ):
            return
        board.allocator.give_back(play.slots)
        play.slots, play.lent = (), True
        board.lending += 1
        board.saw(play, "slots", "lent")

    def _is_idle(self, play: Play) -> bool:
        if any(firing.is_under_way for firing in play.firings.values()):
            return False
        board = self._board
        return all(number in board.throttled or number in board.paused for number in play.tickets)

    def _regained(self, play: Play) -> None:
        self._board.saw(play, "slots", "regained")
        self._board.lending -= 1
        play.lent = False

    # Room in pools

    def asks(self, ticket: Ticket) -> None:
        """What the ticket is for waits until there is all the room it needs."""
        self._ask(self._add(ticket))

    def waits(self, ticket: Ticket, queue: set[int]) -> None:
        """What the ticket is for waits for something else, before it asks for room."""
        queue.add(self._add(ticket))

    def asks_after(self, queue: set[int]) -> None:
        """Those in the queue need not wait for that any more."""
        numbers = sorted(queue)
        queue.clear()
        for number in numbers:
            self._ask(number)

    def _add(self, ticket: Ticket) -> int:
        board = self._board
        board.next_ticket += 1
        board.tickets[board.next_ticket] = ticket
        ticket.play.tickets[board.next_ticket] = ticket
        return board.next_ticket

    def _ask(self, number: int) -> None:
        board = self._board
        ticket = board.tickets[number]
        play, move = ticket.play, ticket.move
        if play.row in board.restrained and not self._is_wanted(ticket):
            board.paused.add(number)
            ticket.claims, ticket.slots = (), False
            self.lends_slots(play)
            return
        ticket.claims = claims = board.claims(play, move)
        ticket.slots = play.lent or (move.takes_slot and ticket.firing is None)
        if ticket.slots:
            claims = (*board.limits.slots[play.row], *claims)
        board.allocator.ask(number, claims, self._rank(number, ticket))

    def _is_wanted(self, ticket: Ticket) -> bool:
        """Whether a person has asked for this merge, and means it."""
        return ticket.move.act.role in MERGING and ticket.play.row in self._board.agreed

    def goes_on(self, number: int) -> None:
        """It need not wait any more for people to let it go on."""
        self._ask(number)

    def pauses(self, number: int) -> None:
        """What asked for room does not want it for now."""
        self._board.allocator.withdraw(number)
        self._ask(number)

    def _rank(self, number: int, ticket: Ticket) -> tuple[int, int, int]:
        """Who goes first. What only waits to be merged does: in plan order, or as it comes."""
        board, row, move = self._board, ticket.play.row, ticket.move
        if move.act.role in MERGING:
            return (MERGES_FIRST, row if board.settings(row).merge_order == "sequential" else number, 0)
        return (-board.levels[row], row, move.number)

    def granted(self, number: int) -> Ticket:
        ticket = self._forget(number)
        play = ticket.play
        if ticket.slots:
            play.slots = self._board.limits.slots[play.row]
            if play.lent:
                self._regained(play)
                self._ask_without_slots(play)
        return ticket

    def _ask_without_slots(self, play: Play) -> None:
        """The first one that had room for it got the slots for all of the slice."""
        for number, ticket in play.tickets.items():
            if ticket.slots:
                self._board.allocator.withdraw(number)
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

    def withdraws(self, number: int) -> Ticket:
        board = self._board
        for queue in (board.short, board.throttled, board.paused):
            if number in queue:
                queue.remove(number)
                return self._forget(number)
        board.allocator.withdraw(number)
        return self._forget(number)

    def _forget(self, number: int) -> Ticket:
        ticket = self._board.tickets.pop(number)
        del ticket.play.tickets[number]
        return ticket
