"""Tokens in the shapes of subplans: where one arrives, it is decided what happens to it.

First whether it stops: the pipeline has failed, the slice is cancelled, or a branch that is to be joined has made
it useless. Then whether it is skipped: its condition is false. Else it goes on, and what that is the move's role
says. What needs room in pools asks for it and waits; all else passes at once.
"""

from weft.engine.messages.failures import Failure
from weft.engine.rules.cancellation import Cancellation
from weft.engine.rules.completion import Completion
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.moves import Moves
from weft.engine.rules.start import Starter
from weft.engine.rules.step_result import said_of
from weft.engine.rules.template_values import template_values
from weft.engine.state.engine_state import EngineState
from weft.engine.state.outputs import SKIPPED
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.script import PlaceRules, ShapeTransition
from weft.engine.state.slice_state import PipelineFrame, SubplanState
from weft.plan.compile.parts import Role
from weft.plan.model import Ask, Join
from weft.plan.templates.render import holds
from weft.plan.templates.values import RenderError


class TokenRules:
    def __init__(
        self,
        board: EngineState,
        moves: Moves,
        starting: Starter,
        ending: Completion,
        dooming: Cancellation,
        telling: EventWriter,
    ) -> None:
        self._board = board
        self._moves = moves
        self._starting = starting
        self._ending = ending
        self._dooming = dooming
        self._telling = telling

    def arrives(self, play: SubplanState, place: int) -> None:
        spot = play.script.spots[place]
        go = spot.go
        if go is not None and len(go.inputs) > 1:
            self._wait(play, place, go)
        elif spot.stop is not None and self._stops(play, spot.stop, play.script.frames[place]):
            self._dooming.stops(play, spot.stop)
        elif go is None or (spot.skip is not None and self._is_skipped(play, spot.skip)):
            assert spot.skip is not None
            self._skip(play, spot.skip)
        else:
            self._go(play, place, spot, go)

    def _wait(self, play: SubplanState, place: int, move: ShapeTransition) -> None:
        """It comes together with others; the last one to arrive takes them on."""
        play.tokens.add(place)
        arrived = play.arrived[move.number] = play.arrived.get(move.number, 0) + 1
        if arrived == len(move.inputs):
            del play.arrived[move.number]
            play.tokens.difference_update(move.inputs)
            self._moves.passes(play, move)

    def _stops(self, play: SubplanState, stop: ShapeTransition, frame: str) -> bool:
        if play.carried or play.frames[frame].doomed is not None:
            return True
        return bool(play.cancelled) and stop.act.step in play.cancelled

    # Conditions and dependencies

    def _is_skipped(self, play: SubplanState, skip: ShapeTransition) -> bool:
        """A step that depends on a failed one is not skipped, but fails: else nobody would hear of the failure."""
        placed = play.steps[skip.act.step]
        if self._broken(play, placed) is not None:
            return False
        assert placed.step.condition is not None
        attempt = play.attempts.get(placed.address, 0) + 1
        try:
            return not holds(placed.step.condition, template_values(self._board, play, placed, attempt))
        except RenderError as error:
            play.faults[placed.address] = f"condition: {error}"
            return False

    def _skip(self, play: SubplanState, skip: ShapeTransition) -> None:
        placed = play.steps[skip.act.step]
        failure = self._broken(play, placed)
        play.outputs[placed.address] = SKIPPED
        self._telling.skipped(play, placed.address, "condition")
        if failure is not None:
            self._dooming.step_failed(play, placed, play.frames[skip.act.frame], failure)
        self._moves.passes(play, skip)

    def _broken(self, play: SubplanState, placed: PlacedStep) -> Failure | None:
        """Why a step that depends on others cannot be done, if one of them failed."""
        if placed.waits_for_all:
            return None
        for name in placed.step.depends_on:
            address = f"{placed.prefix}{name}"
            if not play.outputs[address].is_in_order:
                said = f"it depends on {name}, which failed"
                return play.failures.get(address) or said_of(placed, 1, said)
        return None

    # Going on

    def _go(self, play: SubplanState, place: int, spot: PlaceRules, move: ShapeTransition) -> None:
        match move.act.role:
            case Role.RUN | Role.ENTER | Role.LEAVE if play.steps:
                self._step(play, place, spot, move)
            case Role.RUN | Role.BEGIN | Role.RETURN | Role.MERGE | Role.RESOLVE | Role.LAND:
                self._starting.wants(play, place, move)
            case Role.SETTLE:
                self._ending.settles_nested(play, move)
            case Role.LAUNCH:
                self._launch(play, move)
            case _:
                self._moves.passes(play, move)

    def _step(self, play: SubplanState, place: int, spot: PlaceRules, move: ShapeTransition) -> None:
        placed = play.steps[move.act.step]
        body, is_question = placed.step.body, move.act.kind == "ask" or move.act.role is Role.LEAVE
        is_new = spot.stop is not None and (not is_question or isinstance(body, Ask))
        if is_new and self._cannot_run(play, spot, placed):
            return
        if move.act.role is Role.LEAVE:
            self._moves.passes(play, move)
        elif is_question:
            self._starting.asks_a_person(play, move)
        elif move.act.role is Role.ENTER:
            self._enter(play, move)
        elif isinstance(body, Join):
            self._starting.counts(play, move)
            self._ending.joins(play, move)
        else:
            self._starting.wants(play, place, move)

    def _cannot_run(self, play: SubplanState, spot: PlaceRules, placed: PlacedStep) -> bool:
        """Whether its condition could not be evaluated, or it depends on something that failed."""
        assert spot.stop is not None
        fault = play.faults.pop(placed.address, "") if play.faults else ""
        if fault:
            failure = said_of(placed, play.attempts.get(placed.address, 0) + 1, fault)
            self._telling.concluded(play, placed.address, "failed", fault)
            self._ending.not_run(play, spot.stop, failure)
            return True
        if not placed.step.depends_on or isinstance(placed.step.body, Join):
            return False
        broken = self._broken(play, placed)
        if broken is None:
            return False
        self._telling.skipped(play, placed.address, "dependency", broken.message)
        self._ending.not_run(play, spot.stop, broken)
        return True

    def _enter(self, play: SubplanState, move: ShapeTransition) -> None:
        """A nested pipeline begins."""
        prefix = f"{move.name.removeprefix('enter ')}."
        play.frames[prefix] = PipelineFrame(prefix, play.frames[move.act.frame])
        self._starting.counts(play, move)
        self._moves.passes(play, move)

    def _launch(self, play: SubplanState, move: ShapeTransition) -> None:
        """Async steps are on their way, those that stand together as one group."""
        group = f"{play.path}:{move.name.removeprefix('launch ')}"
        for address in play.steps[move.act.step].launched:
            play.launched[address] = (group, self._board.at)
            play.cancelled.pop(address, None)
            play.failures.pop(address, None)
            for each in [each for each in play.outputs if f"{each}.".startswith(f"{address}.")]:
                del play.outputs[each]
        self._moves.passes(play, move)
