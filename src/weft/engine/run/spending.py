"""Whether an agent may start: what its ceilings allow, and whether it has met a usage limit.

A step that would pass a ceiling waits if something under way may turn out to be cheaper than was reserved for it;
if there is no such thing, its slice has failed for want of money. An agent that has met a usage limit is given
nothing to do until that ends, and what it would do meanwhile lends its place to others.
"""

from weft.engine.run.board import Board
from weft.engine.run.dooming import Dooming
from weft.engine.run.facts import Ended
from weft.engine.run.failures import Failure
from weft.engine.run.moves import Moves
from weft.engine.run.orders import WakeAt
from weft.engine.run.plays import Firing, Ticket
from weft.engine.run.telling import Telling
from weft.engine.states import FailureReason
from weft.plan.model import Agent

ALL = 100
"""Percent of a ceiling."""


class Spending:
    def __init__(self, board: Board, moves: Moves, dooming: Dooming, telling: Telling) -> None:
        self._board = board
        self._moves = moves
        self._dooming = dooming
        self._telling = telling

    def allows(self, ticket: Ticket, agent: Agent, amount: int) -> bool:
        """If not, the ticket waits, or its slice has failed; whoever has it takes nothing."""
        board = self._board
        if board.limited.get(agent.name, board.at) > board.at:
            self._moves.waits(ticket, board.throttled)
            self._moves.lends_slots(ticket.play)
            return False
        over = board.budget.fits(ticket.play.row, amount)
        if over is None:
            return True
        if board.budget.reserved[over]:
            self._moves.waits(ticket, board.short)
        else:
            self._fail(ticket, over)
        return False

    def _fail(self, ticket: Ticket, over: int) -> None:
        play = ticket.play
        self._dooming.doom(play, play.frame, self._used_up(over, ticket.move.act.step))
        if ticket.firing is None:
            stop = play.script.spots[ticket.place].stop
            assert stop is not None
            self._dooming.stops(play, stop)

    def _used_up(self, row: int, step: str) -> Failure:
        where = self._board.path(row) or "the plan"
        message = f"the budget of {where} is used up"
        return Failure(reason=FailureReason.BUDGET, message=message, step=step, detail=message)

    # Ends

    def pays(self, firing: Firing, fact: Ended) -> None:
        """What an execution has cost; those who waited for what was reserved for it look again."""
        launch, board = firing.launch, self._board
        if launch is None and fact.cost is None:
            return
        kind = launch.agent.name if launch is not None and launch.agent is not None else ""
        board.budget.settle(firing.play.row, firing.reserved, fact.cost, kind)
        for over, percent in board.budget.alerts():
            self._telling.budget(over, percent)
            if percent >= ALL and board.settings(over).on_budget == "stop":
                self._end_agents(over, firing)

    def _end_agents(self, over: int, ended: Firing) -> None:
        """The ceiling is reached: what costs money below it ends."""
        board = self._board
        below = range(over, over + board.plan.outline.sizes[over])
        for firing in list(board.firings.values()):
            play = firing.play
            if play.row in below and firing.launch is not None and firing is not ended:
                self._dooming.doom(play, play.frame, self._used_up(over, firing.step))

    def looks_again(self) -> None:
        """Who waits for money asks once more."""
        if self._board.short:
            self._moves.asks_after(self._board.short)

    # Usage limits

    def limit(self, agent: Agent, until: float) -> None:
        limited = self._board.limited
        limited[agent.name] = max(limited.get(agent.name, until), until)
        self._board.order(WakeAt(at=until))

    def unlimit(self) -> None:
        """Those whose limits have ended ask once more; others go on waiting when they are looked at."""
        board = self._board
        board.limited = {name: until for name, until in board.limited.items() if until > board.at}
        self._moves.asks_after(board.throttled)

    def wake_again(self) -> None:
        """Whoever takes over has not heard when to wake the engine."""
        for at in sorted(set(self._board.limited.values())):
            self._board.order(WakeAt(at=at))
