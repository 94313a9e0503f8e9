"""The decision about a token that arrives at a place.

A token stops if its pipeline has failed, its slice is cancelled, or its branch has become useless. It skips a
step whose condition is false. Otherwise it continues with the transition of the place. Transitions that need
room in pools request it and wait; all others fire at once.
"""

from weft.engine.messages.failures import Failure
from weft.engine.messages.step_events import StepEnd
from weft.engine.rules.cancellation import Cancellation
from weft.engine.rules.completion import Completion
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.moves import Moves
from weft.engine.rules.start import Starter
from weft.engine.rules.step_result import step_failure
from weft.engine.rules.template_values import template_values
from weft.engine.state.engine_state import EngineState
from weft.engine.state.outputs import SKIPPED
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.script import PlaceRules, ShapeTransition
from weft.engine.state.slice_state import PipelineFrame, SubplanState
from weft.plan.compile.actions import ActionKind
from weft.plan.compile.parts import Role
from weft.plan.model import Ask, Join
from weft.plan.templates.render import holds
from weft.plan.templates.values import RenderError


class TokenRules:
    """Decides whether a token stops, skips, waits or continues."""

    def __init__(
        self,
        state: EngineState,
        moves: Moves,
        starter: Starter,
        completion: Completion,
        cancellation: Cancellation,
        events: EventWriter,
    ) -> None:
        self._state = state
        self._moves = moves
        self._starter = starter
        self._completion = completion
        self._cancellation = cancellation
        self._events = events

    def arrives(self, subplan: SubplanState, place: int) -> None:
        rules = subplan.script.place_rules[place]
        go = rules.go
        if go is not None and len(go.inputs) > 1:
            self._wait(subplan, place, go)
        elif rules.stop is not None and self._stops(subplan, rules.stop, subplan.script.frames[place]):
            self._cancellation.stops(subplan, rules.stop)
        elif go is None or (rules.skip is not None and self._is_skipped(subplan, rules.skip)):
            assert rules.skip is not None
            self._skip(subplan, rules.skip)
        else:
            self._go(subplan, place, rules, go)

    def _wait(self, subplan: SubplanState, place: int, move: ShapeTransition) -> None:
        """Holds a token until the other inputs of the transition have arrived; the last one fires it."""
        subplan.tokens.add(place)
        arrived = subplan.arrived[move.number] = subplan.arrived.get(move.number, 0) + 1
        if arrived == len(move.inputs):
            del subplan.arrived[move.number]
            subplan.tokens.difference_update(move.inputs)
            self._moves.passes(subplan, move)

    def _stops(self, subplan: SubplanState, stop: ShapeTransition, frame: str) -> bool:
        if subplan.carried or subplan.frames[frame].failure is not None:
            return True
        return bool(subplan.cancelled) and stop.act.step in subplan.cancelled

    # Conditions and dependencies

    def _is_skipped(self, subplan: SubplanState, skip: ShapeTransition) -> bool:
        """Returns whether the condition of a step is false.

        A step that depends on a failed one is never skipped: it fails, so that the failure is reported.
        """
        placed = subplan.steps[skip.act.step]
        if self._broken(subplan, placed) is not None:
            return False
        assert placed.step.condition is not None
        attempt = subplan.attempts.get(placed.address, 0) + 1
        try:
            return not holds(placed.step.condition, template_values(self._state, subplan, placed, attempt))
        except RenderError as error:
            subplan.faults[placed.address] = f"condition: {error}"
            return False

    def _skip(self, subplan: SubplanState, skip: ShapeTransition) -> None:
        placed = subplan.steps[skip.act.step]
        failure = self._broken(subplan, placed)
        subplan.outputs[placed.address] = SKIPPED
        self._events.skipped(subplan, placed.address, "condition")
        if failure is not None:
            self._cancellation.step_failed(subplan, placed, subplan.frames[skip.act.frame], failure)
        self._moves.passes(subplan, skip)

    def _broken(self, subplan: SubplanState, placed: PlacedStep) -> Failure | None:
        """Returns why a step cannot run, if one of its dependencies failed."""
        if placed.waits_for_all:
            return None
        for name in placed.step.depends_on:
            address = f"{placed.prefix}{name}"
            if not subplan.outputs[address].is_in_order:
                message = f"it depends on {name}, which failed"
                return subplan.failures.get(address) or step_failure(placed, 1, message)
        return None

    # Continuing

    def _go(self, subplan: SubplanState, place: int, rules: PlaceRules, move: ShapeTransition) -> None:
        match move.act.role:
            case Role.RUN | Role.ENTER | Role.LEAVE if subplan.steps:
                self._step(subplan, place, rules, move)
            case Role.RUN | Role.BEGIN | Role.RETURN | Role.MERGE | Role.RESOLVE | Role.LAND:
                self._starter.wants(subplan, place, move)
            case Role.SETTLE:
                self._completion.settles_nested(subplan, move)
            case Role.LAUNCH:
                self._launch(subplan, move)
            case _:
                self._moves.passes(subplan, move)

    def _step(self, subplan: SubplanState, place: int, rules: PlaceRules, move: ShapeTransition) -> None:
        placed = subplan.steps[move.act.step]
        body, is_question = placed.step.body, move.act.kind is ActionKind.ASK or move.act.role is Role.LEAVE
        is_new = rules.stop is not None and (not is_question or isinstance(body, Ask))
        if is_new and self._cannot_run(subplan, rules, placed):
            return
        if move.act.role is Role.LEAVE:
            self._moves.passes(subplan, move)
        elif is_question:
            self._starter.asks_a_person(subplan, move)
        elif move.act.role is Role.ENTER:
            self._enter(subplan, move)
        elif isinstance(body, Join):
            self._starter.counts(subplan, move)
            self._completion.joins(subplan, move)
        else:
            self._starter.wants(subplan, place, move)

    def _cannot_run(self, subplan: SubplanState, rules: PlaceRules, placed: PlacedStep) -> bool:
        """Fails a step with an invalid condition or a failed dependency; returns whether it did."""
        assert rules.stop is not None
        fault = subplan.faults.pop(placed.address, "") if subplan.faults else ""
        if fault:
            failure = step_failure(placed, subplan.attempts.get(placed.address, 0) + 1, fault)
            self._events.concluded(subplan, placed.address, StepEnd.FAILED, fault)
            self._completion.not_run(subplan, rules.stop, failure)
            return True
        if not placed.step.depends_on or isinstance(placed.step.body, Join):
            return False
        broken = self._broken(subplan, placed)
        if broken is None:
            return False
        self._events.skipped(subplan, placed.address, "dependency", broken.message)
        self._completion.not_run(subplan, rules.stop, broken)
        return True

    def _enter(self, subplan: SubplanState, move: ShapeTransition) -> None:
        """Opens the frame of a nested pipeline."""
        prefix = f"{move.name.removeprefix('enter ')}."
        subplan.frames[prefix] = PipelineFrame(prefix, subplan.frames[move.act.frame])
        self._starter.counts(subplan, move)
        self._moves.passes(subplan, move)

    def _launch(self, subplan: SubplanState, move: ShapeTransition) -> None:
        """Launches consecutive async steps as one group and forgets their earlier results."""
        group = f"{subplan.path}:{move.name.removeprefix('launch ')}"
        for address in subplan.steps[move.act.step].launched:
            subplan.launched[address] = (group, self._state.at)
            subplan.cancelled.pop(address, None)
            subplan.failures.pop(address, None)
            outdated = [output for output in subplan.outputs if f"{output}.".startswith(f"{address}.")]
            for output in outdated:
                del subplan.outputs[output]
        self._moves.passes(subplan, move)
