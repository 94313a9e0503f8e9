"""Output of `weft pause`, `weft resume` and `weft stop`."""

from collections.abc import Sequence

from weft.app.control.control import ControlResult, steer
from weft.app.record.journal import open_book
from weft.cli.output import note, show_json, show_lines
from weft.cli.plan_options import directory
from weft.engine.messages.facts import ControlState
from weft.terms import AT_REST, FINISHED, UNFINISHED, RunState

MOST_STEPS = 3


def send_control(
    wanted: ControlState, names: Sequence[str], *, now: bool = False, as_json: bool
) -> ControlResult:
    """Sends the request to the run, prints the result and returns it."""
    with open_book(directory()) as recorded_run:
        result = steer(recorded_run, wanted, names, now=now)
    if as_json:
        show_json(
            {
                "run": result.run,
                "wanted": result.wanted,
                "subplans": list(result.subplans),
                "changed": result.changed,
                "alive": result.alive,
                "state": result.state,
                "under_way": list(result.under_way),
            }
        )
    else:
        show_result(result)
    return result


def show_result(result: ControlResult) -> None:
    subject = ", ".join(result.subplans) or f"run {result.run}"
    show_lines([_result_line(result, subject)])
    # A frozen step is halted in the middle, so only a pause has steps that finish first.
    if result.under_way and result.wanted is ControlState.PAUSE:
        shown = ", ".join(result.under_way[:MOST_STEPS]) + (", …" if result.under_way[MOST_STEPS:] else "")
        note(f"these steps finish first: {shown}")
    if result.wanted in {ControlState.PAUSE, ControlState.FREEZE} and result.alive:
        note(f"to resume it, type: weft resume {' '.join(result.subplans)}".rstrip())
    if result.alive:
        return
    if result.state == RunState.FAILED and result.wanted is ControlState.GO:
        note("to retry what failed, type: weft retry")
    elif result.state in UNFINISHED and (result.wanted is ControlState.GO or result.changed):
        note(f"no coordinator works on it now; to resume it, type: {result.start_command}")


_DONE = {
    ControlState.GO: "resumes",
    ControlState.PAUSE: "is paused",
    ControlState.FREEZE: "is frozen",
    ControlState.STOP: "is stopping",
}
_VERBS = {
    ControlState.GO: "resume",
    ControlState.PAUSE: "pause",
    ControlState.FREEZE: "pause",
    ControlState.STOP: "stop",
}
_WAS = {
    ControlState.GO: "was not paused",
    ControlState.PAUSE: "was paused already",
    ControlState.FREEZE: "was frozen already",
}
_NOTHING_TO_DO = "there is nothing to do"


def _result_line(result: ControlResult, subject: str) -> str:
    if result.state in FINISHED and not (
        result.changed and result.alive
    ):  # the run may have ended since the request was sent
        return f"run {result.run} is {result.state}; there is nothing to {_VERBS[result.wanted]}"
    if result.wanted is ControlState.GO and not result.alive:
        return f"{subject} is not paused any more" if result.changed else f"{subject} {_WAS[result.wanted]}"
    if result.changed:
        return f"{subject} {_DONE[result.wanted]}"
    if not result.alive and result.wanted is ControlState.STOP and result.state not in AT_REST:
        return f"{subject} has no coordinator"  # `weft stop` ends the jobs of the dead coordinator next
    if not result.alive:
        return f"{subject} is {result.state}; {_NOTHING_TO_DO}"
    return f"{subject} {_WAS.get(result.wanted, 'was stopped already')}"
