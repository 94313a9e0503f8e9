"""The start of steps, slices, merges and questions once they have room in the pools."""

from functools import partial

from weft.engine.messages.facts import Answered, Ended
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.orders import Land, Launch
from weft.engine.pools.lanes import Claims
from weft.engine.rules.completion import Completion
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.expenses import Expenses
from weft.engine.rules.launch import Launcher
from weft.engine.rules.moves import Moves
from weft.engine.rules.placement import Placement
from weft.engine.rules.scopes import Scopes
from weft.engine.state import conversations, unchanged_files
from weft.engine.state.continuation import Key, is_final_failure
from weft.engine.state.conversations import branch_of
from weft.engine.state.engine_state import EngineState
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.script import ShapeTransition
from weft.engine.state.slice_state import PoolRequest, StepFiring, SubplanState
from weft.plan.compile.parts import READY, Role
from weft.plan.model import Agent, AgentWork, Ask
from weft.plan.templates.values import RenderError


class Starter:
    """Starts firings: builds their orders, reserves money and writes their events."""

    def __init__(  # noqa: PLR0913 - one rule for each thing that a start changes
        self,
        state: EngineState,
        moves: Moves,
        scopes: Scopes,
        completion: Completion,
        expenses: Expenses,
        events: EventWriter,
        placement: Placement,
    ) -> None:
        self._state = state
        self._moves = moves
        self._placement = placement
        self._scopes = scopes
        self._completion = completion
        self._expenses = expenses
        self._events = events
        self._launcher = Launcher(state)

    def wants(self, subplan: SubplanState, place: int, move: ShapeTransition) -> None:
        """Starts a transition at once if it needs no room, and requests room otherwise."""
        state = self._state
        if (
            move.claims
            or move.takes_slot
            or subplan.lent
            or state.stopping
            or subplan.row in state.restrained
        ):
            self._moves.asks(PoolRequest(subplan=subplan, move=move, place=place))
        else:
            self._begin(subplan, move, place, ())

    def granted(self, number: int) -> None:
        """Starts the request that the allocator has granted."""
        if number in self._state.candidates:
            self._admit(number)
            return
        request = self._moves.granted(number)
        if request.firing is not None:
            self._moves.regains(request.firing, request.claims)
            self.again(request.firing)
        else:
            self._begin(request.subplan, request.move, request.place, request.claims)

    def _admit(self, number: int) -> None:
        subplan = self._scopes.admits(number)
        begin = subplan.script.place_rules[READY].go
        assert begin is not None
        self._begin_slice(subplan, begin, self._state.claims(subplan, begin))

    def _begin(self, subplan: SubplanState, move: ShapeTransition, place: int, claims: Claims) -> None:
        match move.act.role:
            case Role.RUN if subplan.steps:
                self._run(subplan, move, place, claims)
            case Role.RETURN:
                self._moves.passes(subplan, move)
            case Role.BEGIN:
                self._begin_slice(subplan, move, claims)
            case Role.RESOLVE:
                self._resolve(subplan, move, place, claims)
            case _:
                self._part(subplan, move, claims)

    def _begin_slice(self, subplan: SubplanState, move: ShapeTransition, claims: Claims) -> None:
        state = self._state
        if not subplan.pools:
            subplan.pools = {
                place: state.allocator.add_pool(size) for place, size in subplan.script.local_pools
            }
        if state.tracker.is_pending(subplan.row - 1):
            self._scopes.started(subplan.row)
        if subplan.script.shape.has_hosts:
            self._placement.place(subplan)
        if move.act.kind:
            self._part(subplan, move, claims)
        else:
            subplan.continuation = None  # the contents of the plan's own directory are unknown
            self._moves.passes(subplan, move)

    def _part(self, subplan: SubplanState, move: ShapeTransition, claims: Claims) -> None:
        """Starts an action of Weft itself: a workspace, a merge, a landing or the verify of a group."""
        firing = self._moves.begins(subplan, move, claims)
        firing.attempt = move.act.attempt or 1
        firing.order = self._launcher.part(firing)
        self._order(firing)

    def _resolve(self, subplan: SubplanState, move: ShapeTransition, place: int, claims: Claims) -> None:
        """Starts an agent that resolves a conflict, if the budget allows it."""
        agent = self._launcher.resolver(subplan)
        reserved = self._expenses.estimates(subplan.row, AgentWork(prompt=""), agent)
        if not self._expenses.allows(PoolRequest(subplan=subplan, move=move, place=place), agent, reserved):
            self._state.allocator.give_back(claims)
            return
        firing = self._moves.begins(subplan, move, claims)
        firing.attempt = subplan.attempts[InternalStep.RESOLVE] = 1
        self._expenses.opens(firing, reserved)
        firing.order = self._launcher.resolve(firing, agent)
        self._order(firing)

    # Steps

    def _run(self, subplan: SubplanState, move: ShapeTransition, place: int, claims: Claims) -> None:
        placed = subplan.steps[move.act.step]
        work = placed.step.body
        agent, reserved = None, (0, 0)
        if isinstance(work, AgentWork):
            agent = self._launcher.agent(subplan, work)
        if subplan.continuation is not None and self._has_ended(subplan, move, claims, agent):
            return
        if agent is not None and isinstance(work, AgentWork):
            reserved = self._expenses.estimates(subplan.row, work, agent)
            if not self._expenses.allows(
                PoolRequest(subplan=subplan, move=move, place=place), agent, reserved
            ):
                self._state.allocator.give_back(claims)
                return
        firing = self._moves.begins(subplan, move, claims)
        firing.attempt = self.counts(subplan, move)
        if agent is not None:
            self._expenses.opens(firing, reserved)
        if placed.step.pools:
            self._launcher.lease(firing, placed.step)
        self._launch(firing, placed, agent)

    def _has_ended(
        self, subplan: SubplanState, move: ShapeTransition, claims: Claims, agent: Agent | None
    ) -> bool:
        """Ends a step as an earlier run recorded it; returns whether there is such a record."""
        placed, continuation = subplan.steps[move.act.step], subplan.continuation
        assert continuation is not None
        # The templates are rendered for a provisional firing: the budget may not allow a real one.
        sketch = StepFiring(serial=0, subplan=subplan, move=move, claims=(), step=placed.address)
        sketch.attempt = subplan.attempts.get(placed.address, 0) + (not move.again)
        key = (placed.address, sketch.attempt, False)
        end = continuation.recorded_end(key)
        if end is not None and is_final_failure(end, placed.step, move):
            continuation.reopen(key)
        try:
            sketch.order = self._rendered(sketch, placed, agent)
            end = continuation.end_of(key, sketch.order.inputs)
        except RenderError:
            return False  # the real start fails the same way
        if end is None or not isinstance(end.end, Ended):
            continuation.launches(key, partial(self._is_beside, subplan, placed))
            return False
        firing = self._moves.begins(subplan, move, claims)
        firing.attempt = self.counts(subplan, move)
        firing.order, firing.resumes = sketch.order, sketch.resumes
        self._ends_as_before(firing, end.end, continuation.slice.run)
        return True

    def _is_beside(self, subplan: SubplanState, placed: PlacedStep, key: Key) -> bool:
        """Returns whether a step waits for room, or belongs to another branch than `placed` that does."""
        waiting = {request.move.act.step for request in subplan.requests.values()} & subplan.steps.keys()
        if key[0] in waiting:
            return True
        branch = branch_of(subplan, subplan.steps[key[0]])
        if (
            not branch
            or branch == branch_of(subplan, placed)
            or key[1] != subplan.attempts.get(key[0], 0) + 1
        ):
            return False
        return any(branch_of(subplan, subplan.steps[step]) == branch for step in waiting)

    def _ends_as_before(self, firing: StepFiring, fact: Ended, run: str) -> None:
        unchanged_files.note(firing, fact)
        judgement = self._completion.judgement(firing, fact.how, fact)
        self._events.ended_before(firing, fact, run, judgement)
        conversations.note(firing, fact)
        self._completion.step_ended(firing, fact.how, fact, judgement)

    def _rendered(self, firing: StepFiring, placed: PlacedStep, agent: Agent | None) -> Launch:
        """Returns the order for a step; raises `RenderError`."""
        if agent is None:
            return self._launcher.command(firing, placed)
        return self._launcher.agent_work(firing, placed, agent)

    def _launch(self, firing: StepFiring, placed: PlacedStep, agent: Agent | None) -> None:
        try:
            firing.order = self._rendered(firing, placed, agent)
        except RenderError as error:
            self._expenses.abandons(firing)
            self._completion.could_not_begin(firing, str(error))
        else:
            self._order(firing)

    def counts(self, subplan: SubplanState, move: ShapeTransition) -> int:
        """Returns the attempt number. A rerun after a lost execution keeps the number."""
        address = move.act.step
        if not move.again:
            subplan.attempts[address] = subplan.attempts.get(address, 0) + 1
            if subplan.failures:
                subplan.failures.pop(address, None)
        return subplan.attempts[address]

    def _order(self, firing: StepFiring) -> None:
        order = firing.order
        assert order is not None
        self._state.order(order)
        if isinstance(order, Land) and order.agreed and not firing.red:
            self._state.join_queue()
        self._events.started(firing)

    # Another execution

    def resumes(self, firing: StepFiring) -> None:
        """Continues a stopped firing. If it has lent its claims or runs elsewhere, it first requests room."""
        if firing.move.host and not firing.lent:
            self._moves.lends(firing)
        if firing.lent:
            firing.parked = "asking"
            self._moves.asks(PoolRequest(subplan=firing.subplan, move=firing.move, firing=firing))
        else:
            self.again(firing)

    def again(self, firing: StepFiring) -> None:
        """Orders another execution of a firing that was stopped or limited and has room."""
        if firing.serial not in self._state.firings:
            return  # cancelled in the meantime: another step of its slice met a ceiling
        if firing.task is not None:
            firing.parked = "stopped"
            request = PoolRequest(subplan=firing.subplan, move=firing.move, firing=firing)
            if not self._expenses.allows(request, firing.task.agent, firing.reserved):
                self._waits_again(firing)
                return
            self._expenses.opens(firing, firing.reserved)
        if firing.step and not firing.leases:
            self._launcher.lease(firing, firing.subplan.steps[firing.step].step)
        firing.parked = firing.halted = ""
        firing.frozen = None
        firing.execution += 1
        firing.order = self._launcher.again(firing)
        self._order(firing)

    def _waits_again(self, firing: StepFiring) -> None:
        if firing.serial in self._state.firings:  # otherwise the ceiling has cancelled it
            self._moves.lends(firing)
            firing.parked = "asking"

    # People

    def asks_a_person(self, subplan: SubplanState, move: ShapeTransition) -> None:
        """Asks a question: that of a question step, or one about the result of a step."""
        placed = subplan.steps[move.act.step]
        body = placed.step.body
        firing = self._moves.begins(subplan, move, self._state.claims(subplan, move))
        if isinstance(body, Ask):
            firing.attempt = self.counts(subplan, move)
            try:
                firing.question = self._launcher.question(firing, placed, body.question)
            except RenderError as error:
                self._completion.could_not_begin(firing, str(error))
                return
        else:
            firing.attempt = subplan.attempts[placed.address]
            firing.question = subplan.asked.pop(placed.address)
        if subplan.continuation is not None:
            end = subplan.continuation.end_of((placed.address, firing.attempt, True), firing.question)
            if end is not None and isinstance(end.end, Answered):
                self._events.answered_before(firing, end.end, subplan.continuation.slice.run)
                self._completion.answered(firing, end.end)
                return
            key = (placed.address, firing.attempt, True)
            subplan.continuation.launches(key, partial(self._is_beside, subplan, placed))
        self._state.ask(firing)
        self._state.note_perhaps_idle(subplan)
        self._events.asked(firing)
