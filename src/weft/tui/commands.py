"""The command of each key: what `weft top` runs for it, and what `y` copies."""

import shlex
from collections.abc import Sequence
from itertools import takewhile

from msgspec import Struct

from weft.app.views.needs_model import Need
from weft.app.views.run_view import RunView
from weft.engine.messages.facts import ControlState
from weft.engine.states import SubplanExecutionState as State

KEYS = ("a", "m", "p", "R", "s", "L", "D")
"""Keys that stand for a command."""
WORDS = {
    "answer": "a",
    "diff": "D",
    "help": "?",
    "log": "L",
    "merge": "m",
    "pause": "p",
    "q": "q",
    "quit": "q",
    "resume": "p",
    "retry": "R",
    "stop": "s",
    "why": "W",
}
"""What can be typed after `:`, and the key that does it."""


def complete(text: str, paths: Sequence[str]) -> str:
    """Returns the text of the prompt, completed as far as all commands and subplans that start with it agree."""
    first, blank, rest = text.partition(" ")
    if blank and first in WORDS:
        return f"{first} {_common(rest, [*filter(None, paths)])}"
    return _common(text, [*(word for word in WORDS if len(word) > 1), *filter(None, paths)])


def _common(text: str, names: Sequence[str]) -> str:
    matches = sorted(name for name in names if name.startswith(text))
    if not matches:
        return text
    # What the first and the last of sorted names have in common, all have.
    pairs = zip(matches[0], matches[-1], strict=False)
    return "".join(left for left, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class PlannedCommand(Struct, frozen=True, kw_only=True):
    """A command for the chosen subplan, or the reason why there is none."""

    line: str = ""
    question: str = ""
    """Asked before it runs; empty if it can be undone easily."""
    problem: str = ""


def command_of(key: str, view: RunView, row: int, needs: Sequence[Need]) -> PlannedCommand:
    path = str(view.outline.paths[row])
    names = [path] if path else []
    match key:
        case "p":
            wanted = view.control_requests.of(path)
            return PlannedCommand(line=_line("pause" if wanted is ControlState.GO else "resume", *names))
        case "s":
            what = path or "the whole run"
            return PlannedCommand(
                line=_line("stop", *names), question=f"Stop {what}? Running steps are ended."
            )
        case "R":
            return _retry(view, row, names)
        case "L":
            return PlannedCommand(line=_line("logs", path or "/"))
        case "D":
            return PlannedCommand(line=_line("diff", *names))
        case _:
            return _needed(key, path, needs)


def _line(*words: str) -> str:
    return shlex.join(["weft", *words])


def _retry(view: RunView, row: int, names: list[str]) -> PlannedCommand:
    if view.tallies.get(row, {State.FAILED: 0})[State.FAILED] or view.rows[row].state is State.FAILED:
        return PlannedCommand(
            line=_line("retry", *names),
            question=f"Retry {names[0] if names else 'what failed'}? This may cost money.",
        )
    return PlannedCommand(problem=f"{names[0] if names else 'nothing'} has not failed")


def _needed(key: str, path: str, needs: Sequence[Need]) -> PlannedCommand:
    """Returns the answer or the merge of the chosen subplan, or else of the first that needs one."""
    post = {"a": "answer", "m": "merge"}[key]
    fitting = [need for need in needs if any(action.post == post for action in need.actions)]
    chosen = [need for need in fitting if path and need.path == path] or fitting
    if not chosen:
        return PlannedCommand(problem="no question is open" if key == "a" else "nothing is held")
    need = chosen[0]
    action = next(action for action in need.actions if action.post == post)
    question = f"{need.path or 'the run'}: {need.title}. {action.label}?" if key == "m" else ""
    return PlannedCommand(line=action.command, question=question)
