"""The strip at the top of `weft top`, and the reasons why a subplan is where it is."""

from collections.abc import Iterator

from weft.app.inspect.follower import RunFollower, state_word
from weft.app.views.needs_model import Need
from weft.app.views.run_view import RunView
from weft.app.views.wording.costs import cost_words
from weft.app.views.wording.forecasts import forecast_words
from weft.app.views.wording.row_words import row_words
from weft.app.views.wording.signs import SIGNS, counted
from weft.app.views.wording.words import clock, step_name, time_left, what_failed
from weft.engine.states import SubplanExecutionState as State
from weft.tui.parts import Part

_STATE_COLOURS = {"failed": "red", "completed": "green", "running": "cyan"}
_CHAIN = 12
"""How many subplans of a chain of dependencies are shown."""
_NEED_SIGNS = {
    "question": "asking",
    "conflict": "conflict",
    "failed": "failed",
    "verify": "failed",
    "budget": "failed",
}


def heading(follower: RunFollower, now: float) -> list[list[Part]]:
    """Returns the two lines: the run with its clock and money, and the numbers of slices."""
    view, state = follower.view, state_word(follower)
    first: list[Part] = [
        (view.plan.id, "bold"),
        ("  ", ""),
        (state, _STATE_COLOURS.get(state, "yellow")),
        (f"  {clock(view.elapsed(now))}", ""),
    ]
    remaining = view.remaining(now)
    if follower.attendance.pid is not None and view.forecast is not None:
        first.append((f"  {forecast_words(view.forecast, now)}", "dim"))
    elif remaining is not None and follower.attendance.pid is not None:
        first.append((f"  {time_left(remaining)}", "dim"))
    first += [(f"  {words}", "") for words in cost_words(view)]
    if follower.is_reading:
        first.append(("  reading the journal", "dim"))
    elif follower.attendance.died is not None:
        first.append((f"  the coordinator (process {follower.attendance.died}) has died", "red"))
    return [first, _counts(view)]


def _counts(view: RunView) -> list[Part]:
    counts, asking, held = view.counts, len(view.row_index.asking), view.held_slices()
    numbers = {
        "completed": counts[State.COMPLETED],
        "running": max(0, counts[State.RUNNING] - asking - held),
        "failed": counts[State.FAILED],
        "asking": asking,
        "held": held,
        "pending": counts[State.PENDING],
    }
    parts: list[Part] = [(f"{counts[State.COMPLETED]:,}/{sum(counts.values()):,}", "bold")]
    for state, number in numbers.items():
        if number and state != "completed":
            parts += [("  ", ""), (counted(state, number), SIGNS[state].colour)]
    to_land = len(view.landings.unlanded)
    return [*parts, (f"  {to_land:,} to land", "yellow")] if to_land else parts


def need_line(need: Need, *, unicode: bool) -> list[Part]:
    sign = SIGNS[_NEED_SIGNS.get(need.kind, "held")]
    name = need.path or "the run"
    return [(f"{sign.shape(unicode=unicode)} ", sign.colour), (name, "bold"), (f"  {need.title}", "")]


# Why


def why_lines(view: RunView, row: int, needs: list[Need], now: float) -> Iterator[Part]:
    """Yields why a subplan is where it is, and what can be done about it."""
    row_view, path = view.rows[row], view.outline.paths[row]
    words = row_words(view, row, now, is_tree=False)
    sign = SIGNS[words.sign]
    yield f"{path or view.plan.id} {sign.word}" if words.sign != "pending" else f"{path} is waiting", "bold"
    subplan = view.plan.subplans[row]
    if subplan.title and subplan.title != subplan.id:
        yield subplan.title, "dim"
    if words.detail:
        yield words.detail, words.style
    yield "", ""
    for question in row_view.questions.values():
        yield from ((line, "yellow") for line in [*question.text.splitlines(), ""])
    if row_view.held is not None:
        yield from ((f"  {line}", "") for line in [*row_view.held.message.splitlines(), ""])
    failure = row_view.failure or row_view.trouble
    if failure is not None:
        if words.detail != what_failed(failure):
            yield f"{step_name(failure.step, failure.attempt)}: {what_failed(failure)}", "red"
        yield from ((f"  {line}", "") for line in [*failure.tail.splitlines(), ""])
    yield from _chain(view, row)
    yield from _remedies(needs, path)


def _chain(view: RunView, row: int) -> Iterator[Part]:
    """Yields what a subplan waits for, what that waits for, and so on, up to what runs."""
    numbers = {str(path): number for number, path in enumerate(view.outline.paths)}
    level, seen = [row], {row}
    depth = shown = 0
    while level and shown < _CHAIN:
        blockers: list[int] = []
        for waiting in level:
            for path in view.blocked_by(waiting):
                number = numbers[str(path)]
                if number not in seen:
                    seen.add(number)
                    blockers.append(number)
        for number in blockers[: _CHAIN - shown]:
            sign = SIGNS[row_words(view, number, 0.0, is_tree=False).sign]
            yield f"{'  ' * depth}waits for {view.outline.paths[number]}: {sign.word}", sign.colour
            shown += 1
        if len(blockers) > _CHAIN:
            yield f"{'  ' * depth}and {len(blockers) - _CHAIN:,} more", "dim"
        level, depth = blockers, depth + 1


def _remedies(needs: list[Need], path: str) -> Iterator[Part]:
    for need in needs:
        if need.path == path:
            for action in need.actions:
                yield f"{action.label}: {action.command}", "cyan"
