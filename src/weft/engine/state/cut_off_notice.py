"""The notice to an agent that an earlier execution of its step was cut off.

An execution is cut off if the run is stopped, a usage limit is reached, or its end is unknown. The next
execution starts in the same directory with the same prompt. Without a notice, the agent would take the
unfinished changes for the intended state of the files.
"""

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.state.slice_state import StepFiring, SubplanState

CUT_OFF = {
    StepOutcome.LOST: "how it ended is unknown",
    StepOutcome.STOPPED: "the run was stopped",
    StepOutcome.LIMITED: "a usage limit was reached",
}
"""The outcomes after which another execution of the same attempt follows, each with its explanation."""
MOST_FILES = 40


def note(firing: StepFiring, how: StepOutcome, fact: Ended) -> None:
    """Stores the notice for the next execution, or removes it if this execution was not cut off."""
    interruptions = firing.subplan.interruptions
    if how in CUT_OFF and fact.left is not None:
        interruptions[firing.step] = (_text(how, fact.left), fact.session)
    elif interruptions:
        interruptions.pop(firing.step, None)


def text_of(subplan: SubplanState, address: str, session: str | None) -> str:
    """Returns the notice for the next execution. Empty if it continues the conversation that was cut off."""
    text, cut_off = subplan.interruptions.get(address, ("", None))
    return "" if session is not None and session == cut_off else text


def _text(how: StepOutcome, changes: str) -> str:
    files = changes.splitlines()
    lines = [f"An earlier attempt at this task was cut off before it ended: {CUT_OFF[how]}."]
    if files:
        lines.append("It left these changes in the directory (A: added, M: modified, D: deleted):")
        lines += [f"- {file}" for file in files[:MOST_FILES]]
        lines += [f"- and {len(files) - MOST_FILES:,} more"] if len(files) > MOST_FILES else []
        lines.append("Look at them first: keep what is right, and finish the task.")
    else:
        lines.append("Look first at what it may have left in the directory, and finish the task.")
    return "\n".join(lines)
