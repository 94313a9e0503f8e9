"""How things are begun when there is room for them: what is to be done is worked out, ordered and told."""

from functools import partial

from weft.engine.messages.facts import Answered, Ended
from weft.engine.messages.orders import RESOLVE, Land, Launch
from weft.engine.pools.lanes import Claims
from weft.engine.rules.completion import Completion
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.expenses import Expenses
from weft.engine.rules.launch import Launcher
from weft.engine.rules.moves import Moves
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
    def __init__(
        self,
        board: EngineState,
        moves: Moves,
        scopes: Scopes,
        ending: Completion,
        spending: Expenses,
        telling: EventWriter,
    ) -> None:
        self._board = board
        self._moves = moves
        self._scopes = scopes
        self._ending = ending
        self._spending = spending
        self._telling = telling
        self._launching = Launcher(board)

    def wants(self, play: SubplanState, place: int, move: ShapeTransition) -> None:
        """A token is to go on with something that may need room; what needs none begins at once."""
        board = self._board
        if move.claims or move.takes_slot or play.lent or board.stopping or play.row in board.restrained:
            self._moves.asks(PoolRequest(play=play, move=move, place=place))
        else:
            self._begin(play, move, place, ())

    def granted(self, number: int) -> None:
        """There is room."""
        if number in self._board.candidates:
            self._admit(number)
            return
        ticket = self._moves.granted(number)
        if ticket.firing is not None:
            self._moves.regains(ticket.firing, ticket.claims)
            self.again(ticket.firing)
        else:
            self._begin(ticket.play, ticket.move, ticket.place, ticket.claims)

    def _admit(self, number: int) -> None:
        play = self._scopes.admits(number)
        begin = play.script.spots[READY].go
        assert begin is not None
        self._begin_slice(play, begin, self._board.claims(play, begin))

    def _begin(self, play: SubplanState, move: ShapeTransition, place: int, claims: Claims) -> None:
        match move.act.role:
            case Role.RUN if play.steps:
                self._run(play, move, place, claims)
            case Role.RETURN:
                self._moves.passes(play, move)
            case Role.BEGIN:
                self._begin_slice(play, move, claims)
            case Role.RESOLVE:
                self._resolve(play, move, place, claims)
            case _:
                self._part(play, move, claims)

    def _begin_slice(self, play: SubplanState, move: ShapeTransition, claims: Claims) -> None:
        board = self._board
        if not play.pools:
            play.pools = {place: board.allocator.add_pool(size) for place, size in play.script.local_pools}
        if board.tracker.is_pending(play.row - 1):
            self._scopes.started(play.row)
        if move.act.kind:
            self._part(play, move, claims)
        else:
            play.continuation = None  # nothing says what is in the plan's own directory
            self._moves.passes(play, move)

    def _part(self, play: SubplanState, move: ShapeTransition, claims: Claims) -> None:
        """Something that is no step of the plan's own."""
        firing = self._moves.begins(play, move, claims)
        firing.attempt = move.act.attempt or 1
        firing.order = self._launching.part(firing)
        self._order(firing)

    def _resolve(self, play: SubplanState, move: ShapeTransition, place: int, claims: Claims) -> None:
        """An agent is to resolve a conflict."""
        agent = self._launching.resolver(play)
        reserved = self._spending.estimates(play.row, AgentWork(prompt=""), agent)
        if not self._spending.allows(PoolRequest(play=play, move=move, place=place), agent, reserved):
            self._board.allocator.give_back(claims)
            return
        firing = self._moves.begins(play, move, claims)
        firing.attempt = play.attempts[RESOLVE] = 1
        self._spending.opens(firing, reserved)
        firing.order = self._launching.resolve(firing, agent)
        self._order(firing)

    # Steps

    def _run(self, play: SubplanState, move: ShapeTransition, place: int, claims: Claims) -> None:
        placed = play.steps[move.act.step]
        work = placed.step.body
        agent, reserved = None, (0, 0)
        if isinstance(work, AgentWork):
            agent = self._launching.agent(play, work)
        if play.continuation is not None and self._has_ended(play, move, claims, agent):
            return
        if agent is not None and isinstance(work, AgentWork):
            reserved = self._spending.estimates(play.row, work, agent)
            if not self._spending.allows(PoolRequest(play=play, move=move, place=place), agent, reserved):
                self._board.allocator.give_back(claims)
                return
        firing = self._moves.begins(play, move, claims)
        firing.attempt = self.counts(play, move)
        if agent is not None:
            self._spending.opens(firing, reserved)
        if placed.step.pools:
            self._launching.lease(firing, placed.step)
        self._launch(firing, placed, agent)

    def _has_ended(
        self, play: SubplanState, move: ShapeTransition, claims: Claims, agent: Agent | None
    ) -> bool:
        """Whether a step ended in the run that the slice continues after; then it ends as it ended there."""
        placed, continuation = play.steps[move.act.step], play.continuation
        assert continuation is not None
        # Rendered for a firing that is not begun: if it has to be launched, it may not fit the budget.
        sketch = StepFiring(serial=0, play=play, move=move, claims=(), step=placed.address)
        sketch.attempt = play.attempts.get(placed.address, 0) + (not move.again)
        key = (placed.address, sketch.attempt, False)
        end = continuation.has(key)
        if end is not None and is_final_failure(end, placed.step, move):
            continuation.reopen(key)
        try:
            sketch.order = self._rendered(sketch, placed, agent)
            end = continuation.end_of(key, sketch.order.inputs)
        except RenderError:
            return False  # it fails without being launched, as it did in the earlier run
        if end is None or not isinstance(end.end, Ended):
            continuation.launches(key, partial(self._is_beside, play, placed))
            return False
        firing = self._moves.begins(play, move, claims)
        firing.attempt = self.counts(play, move)
        firing.order, firing.resumes = sketch.order, sketch.resumes
        self._ends_as_before(firing, end.end, continuation.slice.run)
        return True

    def _is_beside(self, play: SubplanState, placed: PlacedStep, key: Key) -> bool:
        """Whether a step waits for room, or is in a branch that does, beside the one of the step `placed`."""
        waiting = {ticket.move.act.step for ticket in play.tickets.values()} & play.steps.keys()
        if key[0] in waiting:
            return True
        branch = branch_of(play, play.steps[key[0]])
        if not branch or branch == branch_of(play, placed) or key[1] != play.attempts.get(key[0], 0) + 1:
            return False
        return any(branch_of(play, play.steps[step]) == branch for step in waiting)

    def _ends_as_before(self, firing: StepFiring, fact: Ended, run: str) -> None:
        unchanged_files.note(firing, fact)
        judgement = self._ending.judgement(firing, fact.how, fact)
        self._telling.ended_before(firing, fact, run, judgement)
        conversations.note(firing, fact)
        self._ending.step_ended(firing, fact.how, fact, judgement)

    def _rendered(self, firing: StepFiring, placed: PlacedStep, agent: Agent | None) -> Launch:
        """Raises `RenderError`."""
        if agent is None:
            return self._launching.command(firing, placed)
        return self._launching.agent_work(firing, placed, agent)

    def _launch(self, firing: StepFiring, placed: PlacedStep, agent: Agent | None) -> None:
        try:
            firing.order = self._rendered(firing, placed, agent)
        except RenderError as error:
            self._spending.abandons(firing)
            self._ending.could_not_begin(firing, str(error))
        else:
            self._order(firing)

    def counts(self, play: SubplanState, move: ShapeTransition) -> int:
        """The how-manieth go at a step this is; another try of what was lost is none."""
        address = move.act.step
        if not move.again:
            play.attempts[address] = play.attempts.get(address, 0) + 1
            if play.failures:
                play.failures.pop(address, None)
        return play.attempts[address]

    def _order(self, firing: StepFiring) -> None:
        order = firing.order
        assert order is not None
        self._board.order(order)
        if isinstance(order, Land) and order.agreed and not firing.red:
            self._board.joins_queue = True
        self._telling.started(firing)

    # Another execution

    def resumes(self, firing: StepFiring) -> None:
        """It was stopped, and is to continue; if it has lent what it held, when there is room again."""
        if firing.lent:
            firing.parked = "asking"
            self._moves.asks(PoolRequest(play=firing.play, move=firing.move, firing=firing))
        else:
            self.again(firing)

    def again(self, firing: StepFiring) -> None:
        """It was stopped with the run, and that goes on; or a usage limit has ended, and there is room."""
        if firing.serial not in self._board.firings:
            return  # it was cancelled meanwhile, since there is no money for another one of its slice
        launch = firing.launch
        if launch is not None and launch.agent is not None:
            firing.parked = "stopped"
            ticket = PoolRequest(play=firing.play, move=firing.move, firing=firing)
            if not self._spending.allows(ticket, launch.agent, firing.reserved):
                self._waits_again(firing)
                return
            self._spending.opens(firing, firing.reserved)
        if firing.step and not firing.leases:
            self._launching.lease(firing, firing.play.steps[firing.step].step)
        firing.parked = firing.halted = ""
        firing.frozen = None
        firing.execution += 1
        firing.order = self._launching.again(firing)
        self._order(firing)

    def _waits_again(self, firing: StepFiring) -> None:
        if firing.serial in self._board.firings:  # else there is no money for it, and it is cancelled
            self._moves.lends(firing)
            firing.parked = "asking"

    # People

    def asks_a_person(self, play: SubplanState, move: ShapeTransition) -> None:
        """A question that is a step, or one about the result of a step."""
        placed = play.steps[move.act.step]
        body = placed.step.body
        firing = self._moves.begins(play, move, self._board.claims(play, move))
        if isinstance(body, Ask):
            firing.attempt = self.counts(play, move)
            try:
                firing.question = self._launching.question(firing, placed, body.question)
            except RenderError as error:
                self._ending.could_not_begin(firing, str(error))
                return
        else:
            firing.attempt = play.attempts[placed.address]
            firing.question = play.asked.pop(placed.address)
        if play.continuation is not None:
            end = play.continuation.end_of((placed.address, firing.attempt, True), firing.question)
            if end is not None and isinstance(end.end, Answered):
                self._telling.answered_before(firing, end.end, play.continuation.slice.run)
                self._ending.answered(firing, end.end)
                return
            key = (placed.address, firing.attempt, True)
            play.continuation.launches(key, partial(self._is_beside, play, placed))
        self._board.questions[firing.serial] = firing
        self._board.perhaps_idle[play] = None
        self._telling.asked(firing)
