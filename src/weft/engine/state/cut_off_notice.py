"""What an agent is told of an earlier execution of its step that was cut off.

An execution is cut off if it ends before its work does: its end is unknown, the run is stopped, or a usage limit
is reached. The next one starts in the same directory, with the same task. Without a word about it, the agent takes
the unfinished changes for the state that it was given.
"""

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.state.slice_state import StepFiring, SubplanState

CUT_OFF = {
    StepOutcome.LOST: "how it ended is unknown",
    StepOutcome.STOPPED: "the run was stopped",
    StepOutcome.LIMITED: "a usage limit was reached",
}
"""Ends after which another execution of the same attempt follows, and why."""
MOST_FILES = 40


def note(firing: StepFiring, how: StepOutcome, fact: Ended) -> None:
    """An execution of a step has ended: what is to be said of it to the next one."""
    interruptions = firing.play.interruptions
    if how in CUT_OFF and fact.left is not None:
        interruptions[firing.step] = (_text(how, fact.left), fact.session)
    elif interruptions:
        interruptions.pop(firing.step, None)


def text_of(play: SubplanState, address: str, session: str | None) -> str:
    """What the next execution of a step is told; nothing if it continues the conversation that was cut off."""
    text, cut_off = play.interruptions.get(address, ("", None))
    return "" if session is not None and session == cut_off else text


def _text(how: StepOutcome, left: str) -> str:
    files = left.splitlines()
    lines = [f"An earlier attempt at this task was cut off before it ended: {CUT_OFF[how]}."]
    if files:
        lines.append("It left these changes in the directory (A: added, M: modified, D: deleted):")
        lines += [f"- {file}" for file in files[:MOST_FILES]]
        lines += [f"- and {len(files) - MOST_FILES:,} more"] if len(files) > MOST_FILES else []
        lines.append("Look at them first: keep what is right, and finish the task.")
    else:
        lines.append("Look first at what it may have left in the directory, and finish the task.")
    return "\n".join(lines)
