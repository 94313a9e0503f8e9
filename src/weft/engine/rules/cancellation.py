"""The early end of failed pipelines, useless branches and cancelled slices.

No step of a cancelled pipeline starts any more, and its running steps are stopped. Its tokens still move to
the end of the net: each takes the `stop` transition wherever a step would start.
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
    """Stops pipelines, branches and slices that cannot succeed any more."""

    def __init__(self, state: EngineState, moves: Moves, scopes: Scopes, events: EventWriter) -> None:
        self._state = state
        self._moves = moves
        self._scopes = scopes
        self._events = events

    # Pipelines

    def cancel_frame(self, subplan: SubplanState, frame: PipelineFrame, failure: Failure) -> None:
        """Keeps the pipeline from starting steps and stops its running ones."""
        if frame.failure is not None:
            return
        frame.own_failure = failure
        if frame.around is None and subplan.landing is None:
            self._state.fail_once(subplan.row, failure)
            if subplan.row and failure.reason is not FailureReason.CANCELLED:
                self._scopes.spread(subplan.row)
        cause = failure.cause or f"{subplan.path}:{failure.step}"
        for firing in list(subplan.firings.values()):
            if subplan.frames[firing.move.act.frame].is_within(frame) and not _may_finish(firing, failure):
                self.halt(firing, cause)
        for number, request in list(subplan.requests.items()):
            if subplan.frames[request.move.act.frame].is_within(frame):
                self._withdraw(number)

    def cancel_subplan(self, subplan: SubplanState, failure: Failure) -> None:
        """Cancels a subplan because of another. A subplan that only has to be merged or landed is not affected."""
        if self._state.active.get(subplan.row) is not subplan:
            return  # it has ended by itself
        moves = [firing.move for firing in subplan.firings.values()]
        moves += [request.move for request in subplan.requests.values()]
        if not any(move.act.role in _ONLY_TO_BE_MERGED for move in moves):
            self.cancel_frame(subplan, subplan.frame, failure)

    # Branches

    def step_failed(
        self, subplan: SubplanState, placed: PlacedStep, frame: PipelineFrame, failure: Failure
    ) -> None:
        """Handles a step that failed without a retry. An async step fails only the steps that wait for it."""
        subplan.failures.setdefault(placed.address, failure)
        if not placed.step.is_async:
            self.cancel_frame(subplan, frame, failure)
            return
        for waiter in placed.waiters:
            if isinstance(waiter.body, Join) and not waiter.body.wait_for_all:
                self._end_branches(subplan, placed, waiter)

    def _end_branches(self, subplan: SubplanState, failed: PlacedStep, waiter: Step) -> None:
        """Cancels the other branches of a join that fails because of one branch."""
        cause = f"{subplan.path}:{failed.address}"
        for name in waiter.depends_on:
            address = f"{failed.prefix}{name}"
            if address not in subplan.cancelled and _is_open(subplan, address):
                subplan.cancelled[address] = cause
                self._end_branch(subplan, address, cause)

    def _end_branch(self, subplan: SubplanState, address: str, cause: str) -> None:
        inside = f"{address}."
        failure = Failure(reason=FailureReason.CANCELLED, message=f"{cause} failed", cause=cause)
        for frame in subplan.frames.values():
            if frame.own_failure is None and frame.address.startswith(inside):
                frame.own_failure = failure
        for firing in list(subplan.firings.values()):
            if f"{firing.step}.".startswith(inside):
                self.halt(firing, cause)
        for number, request in list(subplan.requests.items()):
            step = request.move.act.step
            if f"{step}.".startswith(inside):
                self._withdraw(number)
                self._events.skipped(subplan, step, "cancelled", f"{cause} failed")

    # Running steps and waiting requests

    def halt(self, firing: StepFiring, cause: str) -> None:
        if firing.halted == "cancelled":
            return
        self._events.cancelled(firing, cause)
        firing.halted = "cancelled"
        if firing.is_under_way:
            halt = Halt(firing=firing.serial, execution=firing.execution, how="cancelled")
            self._state.order(halt)
        else:
            self.cancelled(firing)

    def cancelled(self, firing: StepFiring) -> None:
        """Finishes a cancelled firing that has no process any more."""
        if firing.step:
            firing.subplan.outputs[firing.step] = cancelled_output("cancelled")
        self._moves.ends(firing)
        self._moves.leads(firing, "cancelled")

    def _withdraw(self, number: int) -> None:
        """Withdraws a request. A request of a firing needs nothing else: the firing is cancelled separately."""
        request = self._moves.withdraws(number)
        if request.firing is None:
            stop = request.subplan.script.place_rules[request.place].stop
            assert stop is not None
            self.stops(request.subplan, stop)

    def stops(self, subplan: SubplanState, stop: ShapeTransition) -> None:
        """Moves a token past a step that may not start."""
        address = stop.act.step
        if address:
            subplan.outputs[address] = cancelled_output("it was not run")
        self._moves.passes(subplan, stop)


def _may_finish(firing: StepFiring, failure: Failure) -> bool:
    """Returns whether a running command may finish: commands are free, and only the budget is used up."""
    is_command = isinstance(firing.order, Launch) and firing.launch is None
    return failure.reason is FailureReason.BUDGET and is_command and firing.is_under_way


def _is_open(subplan: SubplanState, address: str) -> bool:
    """Returns whether a step has not ended. A step with a result may still wait for a person to accept it."""
    is_firing = any(firing.step == address for firing in subplan.firings.values())
    return address not in subplan.outputs or is_firing
