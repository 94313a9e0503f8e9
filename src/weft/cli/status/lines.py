"""Output of `weft status` as lines for people."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from weft.app.inspect.overview_model import Overview, SubplanNow
from weft.app.project.suggestions import suggest
from weft.app.views.landing_places import VERIFY_FAILED
from weft.app.views.rows import BECAUSE_OF_OTHERS
from weft.app.views.wording.activities import join_words, silence_words
from weft.app.views.wording.hosts import host_line
from weft.app.views.wording.outside_changes import outside_lines
from weft.app.views.wording.pushes import push_lines
from weft.app.views.wording.signs import SIGNS, Sign, counted
from weft.app.views.wording.style import Style
from weft.app.views.wording.words import ahead, clock, few, span
from weft.cells import cells
from weft.cli.status.next_commands import next_commands
from weft.cli.terminal import Command, Row
from weft.engine.messages.internal_steps import InternalStep
from weft.plan.prices import dollars
from weft.terms import AT_REST, MICRO, RunState

MOST_ROWS = 30
"""How many subplans are listed; the rest is only counted."""
MOST_PLACES = 5
"""How many workspaces are named."""
TAIL_LINES = 8
"""How many lines of a failed verify's output are shown."""
_COMMAND = 24
"""Columns for a command, before what it does."""
_RUNNING = "running"
_LEAST_ACTIVITY, _MARGIN = 24, 4
"""The fewest columns for what a step does, and the blanks and the sign in its row."""
_HANG = 4
"""How far the rest of a line that is too long is indented."""


def lines(
    overview: Overview,
    now: float,
    style: Style,
    *,
    everything: bool = False,
    worktrees: Mapping[str, str] | None = None,
    width: int | None = None,
) -> Iterator[str]:
    """Yields the lines. `worktrees` maps each branch that is checked out in a worktree to its directory."""
    yield _head(overview, style)
    yield _progress(overview)
    listed = [row for row in overview.subplans if everything or _matters(row)]
    waits = _all_waits(overview.subplans)
    rows = [_cells(row, now, overview.state, waits) for row in listed[: None if everything else MOST_ROWS]]
    if rows:
        yield ""
        activities = [_activity(row, now) for row in listed]
        yield from _table(rows, [_sign(row, waits) for row in listed], activities, style, width)
    unlisted = len(listed) - len(rows)
    if unlisted:
        yield f"… and {unlisted:,} more; all of them: weft status --all"
    yield from _signals(overview, now, style, list(_kept_workspaces(overview, worktrees or {})))
    yield from _next(overview)


def _matters(row: SubplanNow) -> bool:
    """Returns whether the row is listed without `--all`: it is under way, it failed, or it needs a person."""
    if (
        row.step == InternalStep.LAND
        or row.question
        or row.landing in {"held", "conflict"}
        or (row.message and row.state == "completed")
    ):
        return True  # a completed subplan with a message was left out of its group
    return (row.is_leaf or row.step is not None) and row.state in {"running", "failed"}


def _head(overview: Overview, style: Style) -> str:
    coordinator = overview.coordinator
    if coordinator is not None and coordinator.alive:
        by = f"process {coordinator.pid}"
    else:
        by = "" if overview.state in AT_REST else "not running"
    state = style.paint(overview.state, {"failed": "red", "completed": "green"}.get(overview.state, "bold"))
    return f"{overview.plan}  {state}  run {overview.run}" + (f"  ({by})" if by else "")


def _progress(overview: Overview) -> str:
    counts = [counted(state, count) for state, count in _counts(overview).items() if count]
    parts = [", ".join(reversed(counts)) or "no slices"]
    if overview.cost or overview.unknown or overview.ceiling is not None or overview.earlier.cost:
        parts.append(_money(overview))
    if overview.tokens or overview.token_ceiling is not None:
        ceiling = "" if overview.token_ceiling is None else f" of {overview.token_ceiling}"
        earlier = f" ({overview.earlier.tokens:,} by earlier runs)" if overview.earlier.tokens else ""
        parts.append(f"{overview.counted_tokens:,}{ceiling} tokens{earlier}")
    return "  ".join(parts)


def _counts(overview: Overview) -> dict[str, int]:
    """Returns the slices by state. A slice that waits for a person counts as asking or held, not as running."""
    counts = dict(overview.counts)
    for row in overview.subplans:
        state = _waits_as(row)
        if state and row.is_leaf:
            counts[_RUNNING] -= 1
            counts[state] = counts.get(state, 0) + 1
    return counts


def _waits_as(row: SubplanNow) -> str:
    """Returns the state of a subplan that cannot proceed without a person; empty for any other."""
    # For the engine the slice is running; for a reader it stands still until a person acts.
    if row.state != _RUNNING:
        return ""
    if row.landing in {"held", "conflict"}:
        return row.landing
    return "asking" if row.question and row.pid is None else ""


def _all_waits(rows: Sequence[SubplanNow]) -> dict[str, str]:
    """Returns as what each subplan waits for a person; a group does if nothing in it is under way."""
    waits = {row.path: state for row in rows if (state := _waits_as(row))}
    inside: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.state == _RUNNING and (row.is_leaf or row.step is not None or row.path in waits):
            for group in _groups_around(row.path):
                inside[group].append(waits.get(row.path, ""))
    return {group: states[0] for group, states in inside.items() if all(states)} | waits


def _groups_around(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _sign(row: SubplanNow, waits: Mapping[str, str]) -> Sign:
    # Completed work that is held needs a person, and that is the news about it.
    landing = row.landing if row.landing in {"held", "conflict"} else ""
    return SIGNS[_running_as(row, waits) or landing or row.state]


def _running_as(row: SubplanNow, waits: Mapping[str, str]) -> str:
    return waits.get(row.path, "") if row.state == _RUNNING and row.step is None else _waits_as(row)


def _money(overview: Overview) -> str:
    ceiling = "" if overview.ceiling is None else f" of {dollars(round(overview.ceiling * MICRO))}"
    earlier = f" ({dollars(overview.earlier.cost)} by earlier runs)" if overview.earlier.cost else ""
    reserved = f", {dollars(overview.reserved)} reserved" if overview.reserved else ""
    unknown = overview.unknown + overview.earlier.unknown
    return f"{dollars(overview.counted)}{ceiling}{earlier}{reserved}" + (
        f", {unknown} unknown" if unknown else ""
    )


def _unreported(overview: Overview) -> Iterator[str]:
    """Yields how much of the ceiling stays reserved though it was not spent, and how to release it."""
    reserved = overview.unreported + overview.earlier.assumed
    if reserved and overview.ceiling is not None:
        command = suggest("weft", "run", *overview.plan_words, "--fresh-budget").command
        yield (
            f"{dollars(reserved)} stays reserved for agent calls that did not report their cost; "
            f"to count the budget from zero, type: {command}"
        )


def _cells(row: SubplanNow, now: float, run: str, waits: Mapping[str, str]) -> tuple[str, ...]:
    step = "" if row.step is None else row.step + (f" ({row.attempt})" if (row.attempt or 0) > 1 else "")
    if row.host and row.state == _RUNNING:
        step = f"{step} on {row.host}".lstrip()
    if row.question:
        step = f"asks: {row.question.partition(chr(10))[0]}"
    if row.step == InternalStep.LAND:
        step = row.landing_place or step
    progress = f"{row.steps_done}/{row.steps_total}" if row.steps_total and row.is_leaf else ""
    since = clock(max(0.0, now - row.since)) if row.since is not None and row.state == "running" else ""
    cost = dollars(row.cost) if row.cost else ""
    return (row.path, _state(row, run, waits), step, progress, since, cost, _why(row))


def _state(row: SubplanNow, run: str, waits: Mapping[str, str]) -> str:
    if waits_as := _running_as(row, waits):
        return SIGNS[waits_as].word
    if run == RunState.STOPPED and row.state == "running":
        return "stopped"
    if row.wanted != "go" and row.state in {"running", "pending"}:
        return {"pause": "paused", "freeze": "frozen", "stop": "stopped"}[row.wanted]
    if row.state == "failed" and row.reason in BECAUSE_OF_OTHERS:
        return row.reason or row.state
    word = SIGNS[row.state].word
    if row.landing not in {"held", "conflict"}:
        return word
    return f"{word}, {row.landing_place or SIGNS[row.landing].word}"


def _why(row: SubplanNow) -> str:
    if row.conflict:
        return f"conflict in {', '.join(row.conflict[:3])}"
    if row.blocked_by:
        return f"blocked by {', '.join(row.blocked_by[:3])}"
    rejected = row.rejected
    if rejected is not None and row.state == "running":
        return f"{rejected.step} was rejected: {rejected.reason}"
    idle = f"{', '.join(row.idle)} changed nothing" if row.idle else ""
    landed = (row.landing_place or "") if row.landing == "merged" else ""
    message = "" if row.landing_place == VERIFY_FAILED else row.message or ""  # printed below the table
    return "; ".join(filter(None, (landed, message.partition("\n")[0], idle)))


def _activity(row: SubplanNow, now: float) -> str:
    silence = "" if row.heard_at is None else silence_words(now - row.heard_at)
    return join_words((silence, row.activity or ""))


def _table(
    rows: Sequence[tuple[str, ...]],
    signs: Sequence[Sign],
    activities: Sequence[str],
    style: Style,
    width: int | None,
) -> Iterator[str]:
    widths = [max(cells(row[number]) for row in rows) for number in range(len(rows[0]))]
    for row, sign, activity in zip(rows, signs, activities, strict=False):
        parts = [
            style.shown(text) + " " * (columns - cells(text))
            for text, columns in zip(row, widths, strict=True)
            if columns
        ]
        shape = style.paint(sign.shape(unicode=style.unicode), sign.colour)
        line = f"{'  '.join(parts)}".rstrip()
        if activity:
            shown = style.shown(activity)
            if width is not None:  # it fills the rest of the line, or has a line of its own
                shown = style.cut(shown, max(_LEAST_ACTIVITY, width - cells(line) - _MARGIN))
            line = f"{line}  {shown}"
        yield Row(f"{shape} {line}", hang=4)


def _next(overview: Overview) -> Iterator[str]:
    commands = list(next_commands(overview))
    if commands:
        width = max(_COMMAND, *(len(suggestion.command) + 2 for suggestion in commands))
        yield ""
        for suggestion in commands:
            yield Command(suggestion.command, suggestion.does, width=width, hang=_HANG)


# Below the table


def _signals(overview: Overview, now: float, style: Style, workspaces: Sequence[str]) -> Iterator[str]:
    """Yields what the user should know besides the subplans; nothing if there is nothing."""
    lines = [
        *workspaces,
        *_unreported(overview),
        *_limits(overview, now),
        *(host_line(view, now) for view in overview.hosts),
        *_verifies(overview, style),
        *_push(overview, style),
        *_ahead(overview),
    ]
    lines += [f"warning: {line}" for line in outside_lines(overview.outside)]
    if lines:
        yield ""
        yield from (Row(line, hang=_HANG) for line in lines)


def _kept_workspaces(overview: Overview, worktrees: Mapping[str, str]) -> Iterator[str]:
    """Yields the workspaces where a person has work to do, each with the command to type afterwards."""
    places = [(row, worktrees.get(row.branch or "")) for row in overview.subplans]
    waiting = [(row, place) for row, place in places if place is not None and _needs_person(row)]
    for row, place in waiting[:MOST_PLACES]:
        again = "merge" if row.landing in {"held", "conflict"} else "retry"
        command = suggest("weft", again, row.path).command
        yield f"{row.path} is kept in {place}; to try it again, type: {command}"
    if len(waiting) > MOST_PLACES:
        yield f"… and {len(waiting) - MOST_PLACES:,} more workspaces; all of them: git worktree list"


def _needs_person(row: SubplanNow) -> bool:
    """Whether its work cannot proceed as it is; a result that only waits for agreement can."""
    if row.landing == "held":
        return row.state == _RUNNING or row.landing_place == VERIFY_FAILED
    return row.landing == "conflict" or (row.state == "failed" and row.reason not in BECAUSE_OF_OTHERS)


def _limits(overview: Overview, now: float) -> Iterator[str]:
    for limit in overview.limits:
        are = "is" if len(limit.agents) == 1 else "are"
        until = datetime.fromtimestamp(limit.until, UTC).astimezone().strftime("%H:%M")
        remaining = span(max(0.0, limit.until - now))
        yield f"usage limit: {' and '.join(limit.agents)} {are} limited until {until} (for another {remaining})"


def _verifies(overview: Overview, style: Style) -> Iterator[str]:
    for verify in overview.verifies:
        command = f" ({verify.command})" if verify.command and verify.command not in verify.message else ""
        held = f" for {few(verify.entries)}" if verify.entries and not verify.fix else ""
        failed = "" if verify.fix else f"verify of {verify.subplan or overview.plan} failed{held}: "
        yield style.paint(f"{failed}{verify.message}{command}", "red")
        lines = [style.shown(line) for line in verify.tail.splitlines() if line.strip()]
        yield from (f"  | {line}" for line in lines[-TAIL_LINES:])
        yield from [verify.fix] if verify.fix else []


def _push(overview: Overview, style: Style) -> Iterator[str]:
    if overview.push is not None:
        first, *more = (style.shown(line) for line in push_lines(overview.push))
        yield first if overview.push.is_pushed else style.paint(first, "red")
        yield from (f"  | {line}" for line in more)


def _ahead(overview: Overview) -> Iterator[str]:
    for pair in overview.ahead:
        yield f"conflict ahead: {pair.subplan} is {ahead(pair.other, pair.files)}"
