"""What `weft pause`, `resume` and `stop` share: how it is told what came of it."""

from collections.abc import Sequence

from weft.app.control.control import ControlResult, steer
from weft.app.record.journal import open_book
from weft.cli.output import note, show_json, show_lines
from weft.cli.plan_options import directory
from weft.engine.messages.facts import ControlState
from weft.engine.messages.run_status import AT_REST, FINISHED, UNFINISHED, RunState

MOST_STEPS = 3


def steered(wanted: ControlState, names: Sequence[str], *, now: bool = False, as_json: bool) -> ControlResult:
    with open_book(directory()) as book:
        done = steer(book, wanted, names, now=now)
    if as_json:
        show_json(
            {
                "run": done.run,
                "wanted": done.wanted,
                "subplans": list(done.subplans),
                "changed": done.changed,
                "alive": done.alive,
                "state": done.state,
                "under_way": list(done.under_way),
            }
        )
    else:
        tell(done)
    return done


def tell(done: ControlResult) -> None:
    what = ", ".join(done.subplans) or f"run {done.run}"
    show_lines([_said(done, what)])
    if done.under_way and done.wanted is ControlState.PAUSE:
        shown = ", ".join(done.under_way[:MOST_STEPS]) + (", …" if done.under_way[MOST_STEPS:] else "")
        note(f"what runs comes to the end of its step first: {shown}")
    if done.wanted in {ControlState.PAUSE, ControlState.FREEZE} and done.alive:
        note(f"to let it go on, type: weft resume {' '.join(done.subplans)}".rstrip())
    if done.alive:
        return
    if done.state == RunState.FAILED and done.wanted is ControlState.GO:
        note("to run what failed once more, type: weft retry")
    elif done.state in UNFINISHED and (done.wanted is ControlState.GO or done.changed):
        note(f"no coordinator works on it now; to resume it, type: {done.start_command}")


_DONE = {
    ControlState.GO: "goes on",
    ControlState.PAUSE: "is paused",
    ControlState.FREEZE: "stands still",
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
    ControlState.FREEZE: "stood still already",
}
_NOBODY = "nothing to do: nobody runs it"


def _said(done: ControlResult, what: str) -> str:
    if done.state in FINISHED and not (done.changed and done.alive):  # perhaps only since it was asked
        return f"run {done.run} is {done.state}; there is nothing to {_VERBS[done.wanted]}"
    if done.wanted is ControlState.GO and not done.alive:
        return f"{what} is not paused any more" if done.changed else f"{what} {_WAS[done.wanted]}"
    if done.changed:
        return f"{what} {_DONE[done.wanted]}"
    if not done.alive and done.wanted is ControlState.STOP and done.state not in AT_REST:
        return f"nobody runs {what} now"  # what its coordinator has left is ended next
    if not done.alive:
        return f"{what} is {done.state}; {_NOBODY}"
    return f"{what} {_WAS.get(done.wanted, 'was stopped already')}"
