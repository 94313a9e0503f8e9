"""What it means that something has ended: for its step, its pipeline and its slice.

A step that failed may be tried again; the net says whether. If not, its pipeline has failed, unless the plan says
that it goes on; and a pipeline that failed lets nothing start any more and ends what is under way in it. An async
step that failed fails whoever waits for it; a join that would fail anyway ends the other branches at once.
"""

from msgspec.structs import replace

from weft.engine.run import idling
from weft.engine.run.board import Board
from weft.engine.run.dooming import Dooming
from weft.engine.run.facts import Answered, Ended, How
from weft.engine.run.failures import Failure
from weft.engine.run.leaving import Leaving
from weft.engine.run.meaning import (
    exhausted,
    failed,
    failure_of,
    feedback_of,
    output_of,
    output_tail,
    said_of,
)
from weft.engine.run.moves import Moves
from weft.engine.run.outputs import StepOutput, check_result, join, nested_output
from weft.engine.run.pipelines import Placed
from weft.engine.run.plays import Firing, Play
from weft.engine.run.script import Move
from weft.engine.run.telling import Telling
from weft.engine.run.values import template_values
from weft.engine.states import FailureReason
from weft.plan.model import Ask
from weft.plan.templates.render import holds
from weft.plan.templates.values import RenderError

_FAILED = StepOutput(status="failed")


class Ending:
    def __init__(self, board: Board, moves: Moves, dooming: Dooming, telling: Telling) -> None:
        self._board = board
        self._moves = moves
        self._dooming = dooming
        self._telling = telling
        self._leaving = Leaving(board, telling)

    # What a driver reported

    def step_ended(self, firing: Firing, how: How, fact: Ended) -> None:
        """An execution of a slice's step has ended, and none follows by itself."""
        play = firing.play
        placed = play.steps[firing.step]
        if how is How.CANCELLED:
            self._dooming.cancelled(firing)
        elif how in {How.LOST, How.INFRA}:
            self._undone(firing, placed, how, fact)
        else:
            self._moves.ends(firing)
            output = output_of(fact)
            if how is How.DONE and not placed.is_judged:
                play.outputs[placed.address] = output
                self._moves.leads(firing, "done")
            else:
                failure = failure_of(firing, fact)
                self._moves.leads(firing, self._concluded(play, firing.move, output, failure))

    def _undone(self, firing: Firing, placed: Placed, how: How, fact: Ended) -> None:
        """It was lost, or could not be started; no agent hears of that."""
        play, move = firing.play, firing.move
        self._moves.ends(firing)
        if how in move.final:
            failure = failure_of(firing, fact if fact.how is how else replace(fact, how=how))
            play.outputs[placed.address] = failed(_FAILED, failure)
            self._dooming.step_failed(play, placed, play.frames[move.act.frame], failure)
        self._moves.leads(firing, how)

    def could_not_begin(self, firing: Firing, message: str) -> None:
        """A template of the step does not fit the values there are."""
        play, move = firing.play, firing.move
        self._moves.ends(firing)
        failure = said_of(play.steps[move.act.step], firing.attempt, message)
        outcome = self._concluded(play, move, failed(_FAILED, failure), failure)
        self._telling.concluded(play, move.act.step, "failed", message)
        self._moves.leads(firing, outcome)

    def part_ended(self, firing: Firing, how: How, fact: Ended) -> None:
        """A workspace, a merge, a landing or the verify of a group has ended."""
        play, move = firing.play, firing.move
        how = How.DONE if self._leaving.leaves_out(play, how, fact) else how
        outcome = str(how) if how in move.ways else "failed"
        self._moves.ends(firing)
        if outcome in move.final and outcome not in {"done", "held", "cancelled"} and play.landing is None:
            failure = failure_of(firing, fact if fact.how is how else replace(fact, how=how))
            self._dooming.doom(play, play.frame, failure)
        self._moves.leads(firing, outcome)

    # What a step comes to

    def _concluded(self, play: Play, move: Move, output: StepOutput, failure: Failure) -> str:
        """The outcome of something that has a result. `failure` is why, if the output says it failed."""
        placed = play.steps[move.act.step]
        checked = check_result(placed.step, output)
        if checked is not output and checked.error is not None:
            failure = said_of(placed, play.attempts[placed.address], checked.error.message)
        play.outputs[placed.address] = checked
        action = ""
        if placed.step.on_result and (checked.status == "done" or placed.step.on_error == "continue"):
            action, failure = self._by_result(play, placed, failure)
        if action == "ask":
            return "asked"
        if action == "abort":
            play.outputs[placed.address] = failed(checked, failure)
            self._dooming.doom(play, play.frame, failure)
            return "aborted"
        if checked.status == "done" and action != "fail":
            return "done"
        self._failed(play, move, failure, judged=action == "fail")
        return "failed"

    def _by_result(self, play: Play, placed: Placed, failure: Failure) -> tuple[str, Failure]:
        """What the first rule of `on_result` that fits says; nothing if none does."""
        attempt = play.attempts[placed.address]
        values = template_values(self._board, play, placed, attempt)
        for rule in placed.step.on_result:
            try:
                fits = holds(rule.when, values)
            except RenderError as error:
                return "fail", said_of(placed, attempt, f"on_result: {rule.when}: {error}")
            if fits and rule.action != "continue":
                return rule.action, self._ruled(play, placed, f"{rule.when} ({rule.action})", rule.action)
            if fits:
                break
        return "", failure

    def _ruled(self, play: Play, placed: Placed, said: str, action: str) -> Failure:
        """Why it failed, if a rule says that it did."""
        failure = said_of(placed, play.attempts[placed.address], said)
        reason = failure.reason if action == "fail" else FailureReason.ERROR
        return replace(failure, reason=reason, tail=output_tail(play.outputs[placed.address].result))

    def _failed(self, play: Play, move: Move, failure: Failure, *, judged: bool = False) -> None:
        placed = play.steps[move.act.step]
        output = play.outputs[placed.address]
        if "failed" not in move.final:
            idle = idling.taken(play)
            play.feedback = feedback_of(failure, placed, output, judged=judged, idle=idle)
            del play.outputs[placed.address]
        elif placed.step.on_error == "continue":
            play.outputs[placed.address] = replace(failed(output, failure), tolerated=True)
        else:
            play.outputs[placed.address] = failed(output, failure)
            self._dooming.step_failed(play, placed, play.frames[move.act.frame], failure)

    def not_run(self, play: Play, stop: Move, failure: Failure) -> None:
        """A step cannot be run, which is a failure of its own."""
        placed = play.steps[stop.act.step]
        output = failed(_FAILED, failure)
        if placed.step.on_error == "continue":
            play.outputs[placed.address] = replace(output, tolerated=True)
        else:
            play.outputs[placed.address] = output
            self._dooming.step_failed(play, placed, play.frames[stop.act.frame], failure)
        self._moves.passes(play, stop)

    # People

    def answered(self, firing: Firing, fact: Answered) -> None:
        """A person has said yes or no to a question, which is a step, or about the result of one."""
        play, move = firing.play, firing.move
        placed = play.steps[move.act.step]
        self._moves.ends(firing)
        said = f"a person said no: {fact.text}" if fact.text else "a person said no"
        failure = said_of(placed, firing.attempt, said)
        outcome = "done" if fact.accepted else "failed"
        if isinstance(placed.step.body, Ask):
            output = StepOutput(status="done", result=fact.text)
            outcome = self._concluded(
                play, move, output if fact.accepted else failed(output, failure), failure
            )
        elif fact.accepted:
            play.outputs[placed.address] = replace(play.outputs[placed.address], status="done", error=None)
        else:
            self._failed(play, move, failure)
        self._moves.leads(firing, outcome)

    # Joins and nested pipelines

    def joins(self, play: Play, move: Move) -> None:
        placed = play.steps[move.act.step]
        members = {name: play.outputs[f"{placed.prefix}{name}"] for name in placed.step.depends_on}
        output = join(placed.step, members, placed.schemas)
        attempt = play.attempts[placed.address]
        failure = said_of(placed, attempt, "" if output.error is None else output.error.message)
        first = None if placed.waits_for_all else self._first_failed(play, placed)
        if first is not None:
            name = first.step.removeprefix(placed.prefix)
            said = f"step '{name}', which it depends on, failed: {first.detail or first.message}"
            failure = replace(said_of(placed, attempt, said, first.reason), tail=first.tail)
            output = failed(output, failure)
        outcome = self._concluded(play, move, output, failure)
        self._telling.concluded(play, placed.address, outcome, _message(play, placed))
        self._moves.passes(play, move, outcome)

    def _first_failed(self, play: Play, placed: Placed) -> Failure | None:
        """Of the steps that a join depends on, the one that failed first in time."""
        names = {f"{placed.prefix}{name}" for name in placed.step.depends_on}
        return next((failure for address, failure in play.failures.items() if address in names), None)

    def settles_nested(self, play: Play, move: Move) -> None:
        placed = play.steps[move.act.step]
        frame = play.frames[move.name.removeprefix("settle ") + "."]
        last = play.outputs.get(f"{placed.address}.{placed.inner[-1].id}", StepOutput(status="skipped"))
        if play.frames[move.act.frame].doomed is not None or placed.address in play.cancelled:
            self._dooming.stops(play, move)
            return
        attempt = play.attempts[placed.address]
        if frame.doom is None:
            output, failure = replace(last, status="done", error=None), said_of(placed, attempt, "")
        else:
            reason = exhausted(placed.step, attempt) or frame.doom.reason
            failure = replace(frame.doom, reason=reason)
            output = failed(nested_output(placed.inner, play.outputs, within=placed.address), failure)
        outcome = self._concluded(play, move, output, failure)
        self._telling.concluded(play, placed.address, outcome, _message(play, placed))
        self._moves.passes(play, move, outcome)


def _message(play: Play, placed: Placed) -> str:
    output = play.outputs.get(placed.address)
    return "" if output is None or output.error is None else output.error.message
