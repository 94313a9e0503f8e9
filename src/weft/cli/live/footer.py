"""The lines below the table: commands for questions and held work, progress, cost and the time remaining."""

from collections.abc import Iterator
from itertools import islice

from weft.app.views.run_view import RunView
from weft.app.views.wording.costs import cost_words
from weft.app.views.wording.forecasts import forecast_words
from weft.app.views.wording.outside_changes import outside_lines
from weft.app.views.wording.pushes import push_lines
from weft.app.views.wording.row_words import tally_words
from weft.app.views.wording.style import Style
from weft.app.views.wording.words import ahead, answer_command, clock, count, time_left
from weft.cells import cells
from weft.engine.states import SubplanExecutionState as State

QUESTIONS, CONFLICTS = 2, 2
"""How many questions are shown with their command, and how many expected conflicts."""
_BAR = {True: ("█", "▒", "░"), False: ("#", "x", "-")}
_LEAST_BAR, _WIDEST_BAR = 6, 40


def footer(view: RunView, now: float, width: int, height: int, style: Style) -> list[str]:
    """Returns at most `height` lines; the least important are dropped first."""
    last = [_progress(view, width, style), _state(view, now, width, style)]
    # In the order of urgency: a terminal of few lines shows only the first of them.
    hints = [*_questions(view, style, width), *_merges(view, width), *_ahead(view, style), *_paused(view)]
    hints += _push(view)
    hints += [f"Warning: {line}" for line in outside_lines(view.outside[-1:])]
    hints = [style.paint(style.cut(style.shown(line), width), "yellow") for line in hints]
    return [*hints[: max(0, height - len(last))], *last][: max(height, 1)]


def _questions(view: RunView, style: Style, width: int) -> Iterator[str]:
    for row in islice(view.row_index.asking, QUESTIONS):
        for step in islice(view.rows[row].questions, 1):
            yield _question(answer_command(view.outline.paths[row], step), width)
    more = len(view.row_index.asking) - QUESTIONS
    if more > 0:
        yield f"{style.more} {more:,} more ask"


def _question(command: str, width: int) -> str:
    whole = f"Answer with: {command} (or no)"
    # A command that is cut off is of no use, so the words around it are dropped first.
    return whole if len(whole) <= width else command


def _merges(view: RunView, width: int) -> Iterator[str]:
    if view.row_index.held:
        whole = "To see what is held and how to settle it, type: weft merge --list"
        yield whole if len(whole) <= width else "weft merge --list"


def _push(view: RunView) -> Iterator[str]:
    push = view.landings.push
    if push is not None and not push.is_pushed:
        yield push_lines(push)[0].replace("landed", "Landed", 1)


def _paused(view: RunView) -> Iterator[str]:
    if view.control_requests:
        yield "Something is paused; to resume it, type: weft resume"


def _ahead(view: RunView, style: Style) -> Iterator[str]:
    """Yields pairs of running subplans that are going to conflict."""
    # A conflict that has happened is shown as held work and needs no prediction.
    coming = [pair for pair in view.landings.ahead if not view.row_index.held.keys() & set(pair)]
    for pair in coming[:CONFLICTS]:
        subplan, other_subplan = (view.outline.paths[row] for row in pair)
        yield f"{subplan} is {ahead(other_subplan, view.landings.ahead[pair])}"
    if len(coming) > CONFLICTS:
        yield f"{style.more} {count(len(coming) - CONFLICTS, 'more conflict')} ahead"


def _progress(view: RunView, width: int, style: Style) -> str:
    """Returns a bar of completed and failed slices with the numbers."""
    counts = view.counts
    words = [f"{counts[State.COMPLETED]:,}/{sum(counts.values()):,} done"]
    asking = len(view.row_index.asking)
    if asking:
        words.append(f"{asking:,} asking")
    # Steps that ask count as running in the engine; the words must not count them twice.
    running = max(0, counts[State.RUNNING] - asking)
    words += tally_words({**counts, State.COMPLETED: 0, State.RUNNING: running}, view.held_slices())
    to_land = len(view.landings.unlanded)
    if to_land:
        words.append(f"{to_land:,} to land")
    text = _as_fits(words, ", ", width)
    bar = min(_WIDEST_BAR, width - cells(text) - 2)
    return f"{_bar(view, bar, style)}  {text}" if bar >= _LEAST_BAR else text


def _bar(view: RunView, width: int, style: Style) -> str:
    counts = view.counts
    ended = counts[State.COMPLETED] + counts[State.FAILED]
    # At least one cell once a slice has ended, so that a long run does not look stuck.
    filled = min(width, max(int(view.progress * width), min(ended, 1)))
    # Rounded up: even one failure among a thousand slices shows in the bar.
    failed = -(-filled * counts[State.FAILED] // ended) if ended else 0
    good, bad, rest = _BAR[style.unicode]
    return (
        style.paint(good * (filled - failed), "green")
        + style.paint(bad * failed, "red")
        + style.paint(rest * (width - filled), "dim")
    )


def _state(view: RunView, now: float, width: int, style: Style) -> str:
    words = [clock(view.elapsed(now))]
    if view.state == "stopping":
        words.append("stopping; Ctrl-C again ends the running steps at once")
    words += cost_words(view)
    remaining = view.remaining(now)
    forecast = _forecast(view, now, style)
    if forecast:
        words.append(forecast)
    elif remaining is not None:
        words.append(time_left(remaining))
    return style.paint(_as_fits(words, "  ", width), "dim" if view.state != "stopping" else "yellow")


def _forecast(view: RunView, now: float, style: Style) -> str:
    if view.forecast is None or view.state == "stopping":
        return ""
    return (
        forecast_words(view.forecast, now) if style.unicode else forecast_words(view.forecast, now, dash="-")
    )


def _as_fits(words: list[str], between: str, width: int) -> str:
    """Returns as many of the words, from the first on, as fit into the width."""
    text = words[0][:width]
    for word in words[1:]:
        if len(text) + len(between) + len(word) > width:
            break
        text += between + word
    return text
