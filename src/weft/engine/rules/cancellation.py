"""How things come to an early end: a pipeline that has failed, a branch of no more use, a slice that is cancelled.

Nothing of what is doomed starts any more, and what is under way in it is told to end. Its tokens still go all the
way to the end; they are stopped wherever something would begin.
"""

from weft.engine.messages.failures import Failure
from weft.engine.messages.orders import Halt, Launch
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.moves import Moves
from weft.engine.rules.scopes import Scopes
from weft.engine.state.engine_state import EngineState
from weft.engine.state.outputs import StepError, StepOutput
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.script import ShapeTransition
from weft.engine.state.slice_state import PipelineFrame, StepFiring, SubplanState
from weft.engine.states import FailureReason
from weft.plan.compile.parts import Role
from weft.plan.model import Join, Step

_ONLY_TO_BE_MERGED = frozenset({Role.MERGE, Role.RESOLVE, Role.LAND})


def cancelled_output(message: str) -> StepOutput:
    error = StepError(kind=FailureReason.CANCELLED, message=message)
    return StepOutput(status="cancelled", error=error)


class Cancellation:
    def __init__(self, board: EngineState, moves: Moves, scopes: Scopes, telling: EventWriter) -> None:
        self._board = board
        self._moves = moves
        self._scopes = scopes
        self._telling = telling

    # Pipelines

    def doom(self, play: SubplanState, frame: PipelineFrame, failure: Failure) -> None:
        """Nothing of the pipeline may start any more, and what is under way in it is to end."""
        if frame.doomed is not None:
            return
        frame.doom = failure
        if frame.around is None and play.landing is None:
            self._board.failures.setdefault(play.row, failure)
            if play.row and failure.reason is not FailureReason.CANCELLED:
                self._scopes.spread(play.row)
        cause = failure.cause or f"{play.path}:{failure.step}"
        for firing in list(play.firings.values()):
            if play.frames[firing.move.act.frame].is_within(frame) and not _may_finish(firing, failure):
                self.halt(firing, cause)
        for number, ticket in list(play.tickets.items()):
            if play.frames[ticket.move.act.frame].is_within(frame):
                self._withdraw(number)

    def end_play(self, play: SubplanState, failure: Failure) -> None:
        """A subplan is to end because of another. What has passed already, and is only to be merged, stays."""
        if self._board.plays.get(play.row) is not play:
            return  # it has ended by itself
        moves = [firing.move for firing in play.firings.values()]
        moves += [ticket.move for ticket in play.tickets.values()]
        if not any(move.act.role in _ONLY_TO_BE_MERGED for move in moves):
            self.doom(play, play.frame, failure)

    # Branches

    def step_failed(
        self, play: SubplanState, placed: PlacedStep, frame: PipelineFrame, failure: Failure
    ) -> None:
        """A step has failed for good. An async one fails those who wait for it, and nobody else."""
        play.failures.setdefault(placed.address, failure)
        if not placed.step.is_async:
            self.doom(play, frame, failure)
            return
        for waiter in placed.waiters:
            if isinstance(waiter.body, Join) and not waiter.body.wait_for_all:
                self._end_branches(play, placed, waiter)

    def _end_branches(self, play: SubplanState, failed: PlacedStep, waiter: Step) -> None:
        """The join fails in any case, so the other branches are of no use."""
        cause = f"{play.path}:{failed.address}"
        for name in waiter.depends_on:
            address = f"{failed.prefix}{name}"
            if address not in play.cancelled and _is_open(play, address):
                play.cancelled[address] = cause
                self._end_branch(play, address, cause)

    def _end_branch(self, play: SubplanState, address: str, cause: str) -> None:
        inside = f"{address}."
        failure = Failure(reason=FailureReason.CANCELLED, message=f"{cause} failed", cause=cause)
        for frame in play.frames.values():
            if frame.doom is None and frame.address.startswith(inside):
                frame.doom = failure
        for firing in list(play.firings.values()):
            if f"{firing.step}.".startswith(inside):
                self.halt(firing, cause)
        for number, ticket in list(play.tickets.items()):
            step = ticket.move.act.step
            if f"{step}.".startswith(inside):
                self._withdraw(number)
                self._telling.skipped(play, step, "cancelled", f"{cause} failed")

    # What is under way, and what waits

    def halt(self, firing: StepFiring, cause: str) -> None:
        if firing.halted == "cancelled":
            return
        self._telling.cancelled(firing, cause)
        firing.halted = "cancelled"
        if firing.is_under_way:
            halt = Halt(firing=firing.serial, execution=firing.execution, how="cancelled")
            self._board.order(halt)
        else:
            self.cancelled(firing)

    def cancelled(self, firing: StepFiring) -> None:
        """Nothing of it is alive."""
        if firing.step:
            firing.play.outputs[firing.step] = cancelled_output("cancelled")
        self._moves.ends(firing)
        self._moves.leads(firing, "cancelled")

    def _withdraw(self, number: int) -> None:
        """Something that waits for room is not done. What had begun before has been cancelled as such."""
        ticket = self._moves.withdraws(number)
        if ticket.firing is None:
            stop = ticket.play.script.spots[ticket.place].stop
            assert stop is not None
            self.stops(ticket.play, stop)

    def stops(self, play: SubplanState, stop: ShapeTransition) -> None:
        """A token meets something that is not to begin."""
        address = stop.act.step
        if address:
            play.outputs[address] = cancelled_output("it was not run")
        self._moves.passes(play, stop)


def _may_finish(firing: StepFiring, failure: Failure) -> bool:
    """Whether it is a command under way, which costs nothing, and it is only money that is missing."""
    is_command = isinstance(firing.order, Launch) and firing.launch is None
    return failure.reason is FailureReason.BUDGET and is_command and firing.is_under_way


def _is_open(play: SubplanState, address: str) -> bool:
    """Whether a step has not ended; it may have a result that a person is asked about."""
    return address not in play.outputs or any(one.step == address for one in play.firings.values())
