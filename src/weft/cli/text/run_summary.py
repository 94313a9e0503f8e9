"""The summary at the end of a run: outcome, failures with reasons, results, cost, and commands to type next.

As in `weft check`, a label at the left names the subject of a line, and long lists are cut after the first few.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat

from weft.app.views.costs import costs_of
from weft.app.views.rows import RowView, StepFailure
from weft.app.views.run_view import RunView
from weft.app.views.wording.costs import cost_words, token_words
from weft.app.views.wording.outside_changes import outside_lines
from weft.app.views.wording.style import Style
from weft.app.views.wording.words import (
    answer_command,
    count,
    few,
    idle_words,
    span,
    step_name,
    what_failed,
    why_not,
)
from weft.cli.terminal import Command, Row
from weft.cli.text.landing import NOTHING, landing_sections, merge_commands, waiting_to_land
from weft.cli.text.left_out import left_out_commands, left_out_lines, left_out_slices
from weft.engine.messages.internal_steps import is_internal
from weft.engine.states import SubplanExecutionState as State
from weft.plan.order.outline import ROOT
from weft.plan.prices import dollars
from weft.terms import RunState

LABEL = 10
"""Columns for the word at the left."""
FAILURES, QUESTIONS, CAUSES = 10, 10, 5
TAIL_LINES, TAIL_LETTERS = 8, 300
"""How many lines of a failed step's output are shown, and how many characters of a line."""
_COMMAND = 40
"""Columns for a command, before what it does."""


def summary_lines(  # noqa: PLR0913 - everything that the view does not know
    view: RunView,
    now: float,
    *,
    results: str = "",
    plan: str = "",
    changed: Mapping[str, int] = NOTHING,
    table: Sequence[str] = (),
    has_next: bool = True,
) -> list[str]:
    """Returns the lines of the summary.

    `results` is the directory of the results, and `plan` the plan as named on the command line, or empty.
    `changed` has the number of changed files of the subplans that wait to land, and `table` the lines about the
    slices. `has_next` adds the commands to type.
    """
    # What failed and what to type come last, where a reader of a terminal looks first.
    lines = [Row(_outcome(view, now), hang=2), "", *table, *([""] if table else [])]
    lines += _section("Failed", _failed(view))
    lines += _section("Left out", left_out_lines(view, _tail))
    lines += _section("Blocked", _because_of_others(view, "blocked"))
    lines += _section("Cancelled", _because_of_others(view, "cancelled"))
    lines += _section("Unchanged", _idle(view))
    lines += _section("Noted", _notes(view))
    lines += _section("Outside", outside_lines(view.outside))
    lines += _section("Question", _questions(view))
    for label, section_lines in landing_sections(view, changed):
        lines += _section(label, section_lines)
    lines += _section("Cost", _cost(view))
    shown = [results] if results and view.counts[State.COMPLETED] else []
    lines += _section("Results", shown, folds=False)
    lines += next_lines(view, plan) if has_next else []
    return lines if lines[-1] else lines[:-1]


def next_lines(view: RunView, plan: str = "") -> list[str]:
    """Returns the commands to type, each with what it does."""
    commands = list(_commands(view, plan))
    # One long command must not push all explanations out of the line.
    width = min(_COMMAND, max((len(command) for command, does in commands if does), default=0))
    labels = chain(["Next"], repeat(""))
    return [
        Command(f"{label:<{LABEL}} {command}", does, width=LABEL + 3 + width, hang=LABEL + 3)
        for label, (command, does) in zip(labels, commands, strict=False)
    ]


def _section(label: str, lines: Iterable[str], *, folds: bool = True) -> Iterator[str]:
    """Folds sentences, but neither quoted output, which is indented, nor commands and paths."""
    for line in lines:
        text = f"{label:<{LABEL}} {line}"
        yield Row(text, hang=LABEL + 3) if folds and not line.startswith(" ") else text
        label = ""


def _outcome(view: RunView, now: float) -> str:
    counts, time = view.counts, span(view.elapsed(now))
    completed, slices = counts[State.COMPLETED], sum(counts.values())
    # Groups are carried over, too, but people count slices.
    carried = sum(row_view.carried for row, row_view in enumerate(view.rows) if view.outline.leaves[row])
    earlier = f" ({carried:,} by an earlier run)" if carried else ""
    to_land = waiting_to_land(view)
    is_done = completed == slices and not left_out_slices(view)
    if is_done and (view.state == "completed" or (view.state == "waiting" and to_land)):
        return f"{_all(slices)} completed in {time}{earlier}{f'; {to_land}' if to_land else ''}."
    words = [f"{completed:,} of {count(slices, 'slice')} completed{earlier}", *_others(view)]
    words += [to_land] if to_land else []
    state = "waiting" if view.state == "running" and view.row_index.asking else view.state
    return f"{_STATES.get(state, state.capitalize())} after {time}: {', '.join(words)}."


def _others(view: RunView) -> Iterator[str]:
    """Yields the numbers of slices that are not completed, by reason."""
    counts, failed = view.counts, sum(1 for row in _failures(view) if view.outline.leaves[row])
    held = view.held_slices()
    numbers = {
        "left out": left_out_slices(view),
        "failed": failed,
        "cancelled or blocked": counts[State.FAILED] - failed,
        "held": held,
        "under way": counts[State.RUNNING] - held,
        "not started": counts[State.PENDING],
    }
    return (f"{number:,} {reason}" for reason, number in numbers.items() if number)


_STATES = {"waiting": "Needs you", "completed": "Ended"}


def _all(slices: int) -> str:
    return "The one slice" if slices == 1 else f"All {slices:,} slices"


# Failures


def _failures(view: RunView) -> list[int]:
    return [row for row in sorted(view.row_index.failed) if view.rows[row].failed_by_itself]


def _failed(view: RunView) -> Iterator[str]:
    failed = _failures(view)
    for row in failed[:FAILURES]:
        row_view, path = view.rows[row], view.outline.paths[row] or view.plan.id
        yield f"{path}: {_why(row_view)}"
        yield from _tail(row_view.failure)
    if len(failed) > FAILURES:
        yield f"… and {len(failed) - FAILURES:,} more"


def _why(row_view: RowView) -> str:
    failure = row_view.failure
    if failure is None:
        return why_not(row_view)
    attempt = f", attempt {failure.attempt}" if failure.attempt > 1 else ""
    return f"step {step_name(failure.step)}{attempt}: {what_failed(failure)}"


def _tail(failure: StepFailure | None) -> Iterator[str]:
    style = Style(colours=False)
    lines = [style.shown(line) for line in (failure.tail if failure is not None else "").splitlines()]
    for line in [line for line in lines if line.strip()][-TAIL_LINES:]:
        yield f"  | {style.cut(line, TAIL_LETTERS)}"


def _because_of_others(view: RunView, reason: str) -> Iterator[str]:
    causes: defaultdict[str, list[str]] = defaultdict(list)
    for row, row_view in enumerate(view.rows):
        if view.outline.leaves[row] and row_view.state is State.FAILED and row_view.reason == reason:
            causes[row_view.cause].append(view.outline.paths[row])
    by = "by" if reason == "blocked" else "because of"
    for cause, paths in islice(causes.items(), CAUSES):
        yield f"{len(paths):,}{f' {by} {cause}' if cause else ''}: {few(paths)}"
    if len(causes) > CAUSES:
        rest = sum(map(len, islice(causes.values(), CAUSES, None)))
        yield f"… and {rest:,} more"


def _idle(view: RunView) -> Iterator[str]:
    """Yields subplans with agent steps that should have changed files and did not."""
    idle = [row for row, row_view in enumerate(view.rows) if row_view.idle]
    for row in idle[:FAILURES]:
        yield f"{view.outline.paths[row]}: {idle_words(view.rows[row])}"
    if len(idle) > FAILURES:
        yield f"… and {len(idle) - FAILURES:,} more"


def _notes(view: RunView) -> Iterator[str]:
    """Yields remarks about steps that succeeded."""
    notes = [
        (row, step)
        for row, row_view in enumerate(view.rows)
        for step in row_view.notes
        if not is_internal(step)
    ]
    for row, step in notes[:FAILURES]:
        yield f"{view.outline.paths[row]}: step {step_name(step)}: {view.rows[row].notes[step]}"
    if len(notes) > FAILURES:
        yield f"… and {len(notes) - FAILURES:,} more"


# Questions, cost and commands


def _questions(view: RunView) -> Iterator[str]:
    questions = [(row, step) for row in sorted(view.row_index.asking) for step in view.rows[row].questions]
    for row, step in questions[:QUESTIONS]:
        first, *more = view.rows[row].questions[step].text.splitlines() or [""]
        yield f"{view.outline.paths[row]}: {first}"
        yield from (f"  | {line}" for line in more)
    if len(questions) > QUESTIONS:
        yield f"… and {len(questions) - QUESTIONS:,} more"


def _cost(view: RunView) -> Iterator[str]:
    whole = view.rows[ROOT]
    if not whole.unknown_costs:
        yield from cost_words(view)
        return
    their = "its" if whole.unknown_costs == 1 else "their"
    unreported = f"{count(whole.unknown_costs, 'agent call')} did not report {their} cost"
    yield f"{dollars(whole.cost)} and more: {unreported}" if whole.cost else f"unknown: {unreported}"
    yield from token_words(costs_of(view))


def _commands(view: RunView, plan: str) -> Iterator[tuple[str, str]]:
    paths = view.outline.paths
    for row in sorted(view.row_index.asking)[:QUESTIONS]:
        for step in view.rows[row].questions:
            yield answer_command(paths[row], step), "or no"
    yield from merge_commands(view)
    yield from left_out_commands(view)
    failed = [row for row in _failures(view) if row != ROOT and view.rows[row].trouble is not None]
    if failed:
        yield f"weft logs {paths[failed[0]]}", "shows all output of its steps"
    if view.state != "completed" and any(view.rows[row].reason == "budget" for row in _failures(view)):
        yield f"weft run {plan}".rstrip() + " --fresh-budget", "resumes, and counts budgets from zero"
    elif view.state == RunState.WAITING and failed and not view.row_index.asking:
        # `weft run` would resume the run, and in a run what has failed stays failed.
        yield "weft retry", "retries what failed, in the background"
    elif view.state != "completed" and not _only_merges_are_left(view):
        repeats = "repeats what was left out; other completed work is kept"
        resumes = "resumes; completed work is kept"
        yield f"weft run {plan}".rstrip(), repeats if left_out_slices(view) else resumes


def _only_merges_are_left(view: RunView) -> bool:
    """Returns whether `weft merge` does everything that remains."""
    return view.state == "waiting" and view.counts[State.COMPLETED] + view.held_slices() == sum(
        view.counts.values()
    )
