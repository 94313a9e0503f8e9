"""Summary lines about merges and landings: held work with the reason, results to land, and commands to type."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from weft.app.views.push import PushState
from weft.app.views.rows import HeldWork
from weft.app.views.run_view import RunView
from weft.app.views.wording.pushes import push_lines
from weft.app.views.wording.style import Style
from weft.app.views.wording.words import NAMES, count, few, span
from weft.engine.messages.internal_steps import InternalStep

MOST_HELD = 5
"""How many held results are explained in full."""
MOST_LINES, MOST_LETTERS = 24, 300
"""How many lines of one message are shown, and how many characters of a line."""
NOTHING: Mapping[str, int] = MappingProxyType({})
_SETTLE = "To settle it"
"""Start of the line in a conflict message after which the commands follow."""


def landing_sections(
    view: RunView, changed: Mapping[str, int] = NOTHING
) -> Iterator[tuple[str, Iterable[str]]]:
    """Yields labels with their lines. `changed` has the number of changed files of results that wait to land."""
    held = _held(view)
    yield "Conflict", _explanations([work for work in held if work.conflict])
    yield "Held", _explanations([work for work in held if not work.conflict])
    yield "To land", _unlanded(view, changed)
    yield "Landed", _landed(view)
    if view.landings.push is not None:
        yield "Push", _push(view.landings.push)


def waiting_to_land(view: RunView) -> str:
    """Returns a phrase such as `3 results wait to land on main`; empty if no result waits."""
    held = [work for work in _held(view) if work.step == InternalStep.LAND]
    number = len(view.landings.unlanded) + len(held)
    if not number:
        return ""
    return f"{count(number, 'result')} {'waits' if number == 1 else 'wait'} to land{_on_target(view)}"


def _held(view: RunView) -> list[HeldWork]:
    held_rows = (view.rows[row].held for row in sorted(view.row_index.held))
    return [work for work in held_rows if work is not None]


def _on_target(view: RunView) -> str:
    return f" on {view.landings.target}" if view.landings.target else ""


# Why


def _explanations(held: Sequence[HeldWork]) -> Iterator[str]:
    for work in held[:MOST_HELD]:
        yield from _explanation(work)
    if len(held) > MOST_HELD:
        yield f"… and {len(held) - MOST_HELD:,} more; weft merge --list shows all"


def _explanation(held: HeldWork) -> Iterator[str]:
    """Yields why the work is held, without the commands that settle a conflict."""
    style = Style(colours=False)
    first, *more = _why(held) or [""]
    yield style.cut(
        first if first.startswith(f"{held.subplan} ") else f"{held.subplan}: {first}", MOST_LETTERS
    )
    for line in more[:MOST_LINES]:
        yield f"  {style.cut(line, MOST_LETTERS)}".rstrip()
    if len(more) > MOST_LINES:
        yield f"  … {len(more) - MOST_LINES:,} lines more; weft merge --list shows all"


def _why(held: HeldWork) -> list[str]:
    lines = held.message.splitlines()
    return lines[: _commands_start(lines)]


def _commands_start(lines: Sequence[str]) -> int:
    return next((number for number, line in enumerate(lines) if line.startswith(_SETTLE)), len(lines))


def _unlanded(view: RunView, changed: Mapping[str, int]) -> Iterator[str]:
    paths = [view.outline.paths[row] for row in sorted(view.landings.unlanded)]
    if paths:
        yield few([f"{path} ({count(changed[path], 'file')})" if path in changed else path for path in paths])
    to_agree = view.landings.to_agree()
    verify = view.landings.passed(to_agree) if to_agree else None
    if verify is not None:
        entries = (
            ""
            if len(to_agree) == len(paths)
            else f" for {few([view.outline.paths[row] for row in to_agree])}"
        )
        yield f"verify passed{entries} in {span(verify.seconds)} ({' && '.join(verify.commands)})"


def _landed(view: RunView) -> Iterator[str]:
    by_branch: dict[str, list[str]] = {}
    for row, move in view.landings.landed.items():
        by_branch.setdefault(move.branch, []).append(view.outline.paths[row])
    for branch, paths in by_branch.items():
        yield f"{len(paths):,} on {branch}: {few(paths)}"


def _push(push: PushState) -> Iterator[str]:
    style = Style(colours=False)
    first, *more = (style.shown(line) for line in push_lines(push))
    yield style.cut(first, MOST_LETTERS)
    yield from (f"  | {style.cut(line, MOST_LETTERS)}" for line in more[:MOST_LINES])


# What to type


def merge_commands(view: RunView) -> Iterator[tuple[str, str]]:
    """Yields commands, each with what it does."""
    held = _held(view)
    conflicts = [work for work in held if work.conflict]
    held_back = [work for work in held if not work.conflict]
    # The message of a conflict holds the commands that settle it. The commands of several conflicts in one list
    # would be mixed up, so `weft merge --list` shows the others.
    for work in conflicts[:1]:
        lines = work.message.splitlines()
        settle = [line.strip() for line in lines[_commands_start(lines) + 1 :]]
        yield from ((line, "") for line in settle if not line.startswith("weft merge"))
        yield f"weft merge {work.subplan}", "merges it then"
    if len(conflicts) > 1:
        yield "weft merge --list", f"shows how to settle the other {len(conflicts) - 1:,}"
    if held_back:
        names = [work.subplan for work in held_back]
        yield f"weft merge {' '.join(names[:NAMES])}", "tries to land again"
    unlanded = len(view.landings.unlanded)
    if unlanded:
        results = "the result" if unlanded == 1 else f"the {unlanded:,} results"
        yield "weft merge", f"lands {results}{_on_target(view)}"
    push = view.landings.push
    if push is not None and push.is_final and push.command:
        yield push.command, "pushes what has landed"
