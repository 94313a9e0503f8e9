"""Merges that a person has to help with: a conflict, a file in the way, a wish to be asked.

Nothing is wrong with the work, and nothing has moved. What is held stays open as a move of the net and lends what
it claims. It is tried again when somebody asks for it, when what it waits for has landed, and when the run goes
on.
"""

from collections.abc import Callable

from weft.engine.run.board import Board
from weft.engine.run.facts import Ended, How, MergeAsked
from weft.engine.run.moves import Moves
from weft.engine.run.plays import Firing, Play, Ticket
from weft.engine.run.telling import Telling


class Holding:
    def __init__(self, board: Board, moves: Moves, telling: Telling) -> None:
        self._board = board
        self._moves = moves
        self._telling = telling

    def meant(self, firing: Firing, how: How, fact: Ended) -> How:
        """A conflict that an agent is to resolve is not held; unless nothing but merges may begin."""
        way = firing.move.ways.get("conflict")
        is_resolved = way is not None and not way.ends and not self._board.merges_only
        return How.CONFLICT if how is How.HELD and fact.conflict and is_resolved else how

    def holds(self, firing: Firing, fact: Ended) -> None:
        firing.parked = "held"
        firing.waits_for = fact.waits_for
        self._board.held[firing.serial] = firing
        self._moves.lends(firing)

    def asked(self, fact: MergeAsked) -> None:
        """By a person, for one subplan and what is in it, or for all."""
        self._telling.noted("merge_asked", fact, subplan=fact.subplan)
        board = self._board
        inside = f"{fact.subplan}/"

        def wanted(path: str) -> bool:
            return not fact.subplan or path == fact.subplan or path.startswith(inside)

        board.agreed.update(row for row, path in enumerate(board.plan.outline.paths) if wanted(path))
        self._retry(lambda firing: wanted(firing.play.path))

    def landed(self, play: Play) -> None:
        self._retry(lambda firing: play.path in firing.waits_for)

    def resumes(self) -> None:
        self._retry(lambda _: True)

    def _retry(self, which: Callable[[Firing], bool]) -> None:
        board = self._board
        for firing in [one for one in board.held.values() if which(one)]:
            del board.held[firing.serial]
            firing.parked = "asking"
            self._moves.asks(Ticket(play=firing.play, move=firing.move, firing=firing))
