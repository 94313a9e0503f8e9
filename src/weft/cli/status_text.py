"""How a run is, as lines for people and as data for programs."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from weft.app.run_overview import MICRO, Overview, SubplanNow
from weft.cli.live.cells import Style, cells, clock

MOST_ROWS = 30
"""So many subplans are listed; of the rest only the number is told."""
_SIGNS = {"running": "*", "failed": "x", "completed": "+", "pending": "."}
_COLOURS = {"running": "cyan", "failed": "red", "completed": "green", "pending": "dim"}


def lines(one: Overview, now: float, style: Style, *, everything: bool = False) -> Iterator[str]:
    yield _head(one, style)
    yield _progress(one)
    listed = [row for row in one.subplans if everything or _matters(row)]
    rows = [_cells(row, now, one.state) for row in listed[: None if everything else MOST_ROWS]]
    if rows:
        yield ""
        yield from _table(rows, [row.state for row in listed], style)
    left = len(listed) - len(rows)
    if left:
        yield f"… and {left:,} more; all of them: weft status --all"
    yield from _next(one)


def _matters(row: SubplanNow) -> bool:
    """Somebody may want to see it: something happens there, or it needs somebody."""
    if row.question or row.landing in {"held", "conflict"} or (row.message and row.state == "completed"):
        return True  # what was left out of its group says why
    return (row.is_leaf or row.step is not None) and row.state in {"running", "failed"}


def _head(one: Overview, style: Style) -> str:
    who = one.coordinator
    if who is not None and who.alive:
        by = f"process {who.pid}"
    else:
        by = "nobody runs it now" if one.state in {"running", "paused", "waiting"} else ""
    state = style.paint(one.state, {"failed": "red", "completed": "green"}.get(one.state, "bold"))
    return f"{one.plan}  {state}  run {one.run}" + (f"  ({by})" if by else "")


def _progress(one: Overview) -> str:
    counts = [f"{count:,} {state}" for state, count in one.counts.items() if count]
    parts = [", ".join(reversed(counts)) or "no slices"]
    if one.cost or one.unknown or one.ceiling is not None:
        ceiling = "" if one.ceiling is None else f" of ${one.ceiling:.2f}"
        reserved = f", ${one.reserved / MICRO:.2f} reserved" if one.reserved else ""
        unknown = f", {one.unknown} unknown" if one.unknown else ""
        parts.append(f"${one.cost / MICRO:.2f}{ceiling}{reserved}{unknown}")
    if one.tokens or one.token_ceiling is not None:
        ceiling = "" if one.token_ceiling is None else f" of {one.token_ceiling}"
        parts.append(f"{one.tokens:,}{ceiling} tokens")
    return "  ".join(parts)


def _cells(row: SubplanNow, now: float, run: str) -> tuple[str, ...]:
    step = "" if row.step is None else row.step + (f" ({row.attempt})" if (row.attempt or 0) > 1 else "")
    if row.question:
        step = f"asks: {row.question}"
    done = f"{row.steps_done}/{row.steps_total}" if row.steps_total and row.is_leaf else ""
    since = clock(max(0.0, now - row.since)) if row.since is not None and row.state == "running" else ""
    cost = f"${row.cost / MICRO:.2f}" if row.cost else ""
    return (_SIGNS[row.state], row.path, _state(row, run), step, done, since, cost, _why(row))


def _state(row: SubplanNow, run: str) -> str:
    if run == "stopped" and row.state == "running":
        return "stopped"
    if row.wanted != "go" and row.state in {"running", "pending"}:
        return {"pause": "paused", "freeze": "frozen", "stop": "stopped"}[row.wanted]
    return f"{row.state}, {row.landing}" if row.landing in {"held", "conflict"} else row.state


def _why(row: SubplanNow) -> str:
    if row.conflict:
        return f"conflict in {', '.join(row.conflict[:3])}"
    if row.blocked_by:
        return f"blocked by {', '.join(row.blocked_by[:3])}"
    idle = f"{', '.join(row.idle)} changed nothing" if row.idle else ""
    return "; ".join(filter(None, ((row.message or "").partition("\n")[0], idle)))


def _table(rows: Sequence[tuple[str, ...]], states: Sequence[str], style: Style) -> Iterator[str]:
    widths = [max(cells(row[number]) for row in rows) for number in range(len(rows[0]))]
    for row, state in zip(rows, states, strict=False):
        parts = [
            style.shown(text) + " " * (width - cells(text))
            for text, width in zip(row, widths, strict=True)
            if width
        ]
        yield f"{style.paint(parts[0], _COLOURS[state])} {'  '.join(parts[1:])}".rstrip()


def _next(one: Overview) -> Iterator[str]:
    alive = one.coordinator is not None and one.coordinator.alive
    commands = list(_commands(one, alive=alive))
    if commands:
        yield ""
        yield from (f"{command:<24}{said}" for command, said in commands)


def _commands(one: Overview, *, alive: bool) -> Iterator[tuple[str, str]]:
    if not alive and one.state in {"running", "paused", "stopped"}:
        yield "weft start", "has it go on"
    if one.wants:
        yield "weft resume", "lets go on what was paused or stopped"
    if any(row.question for row in one.subplans):
        yield "weft answer", "lists what is asked"
    if any(row.landing == "conflict" for row in one.subplans):
        yield "weft merge --list", "says how to settle what is in conflict"
    if any(row.landing == "held" for row in one.subplans):
        yield "weft merge", "lands what is held, if nothing is in the way any more"


# For programs


def data(one: Overview, worktrees: Mapping[str, str]) -> dict[str, object]:
    who = one.coordinator
    return {
        "run": one.run,
        "plan": one.plan,
        "state": one.state,
        "created_at": _time(one.created_at),
        "coordinator": None
        if who is None
        else {"pid": who.pid, "alive": who.alive, "started_at": _time(who.started_at)},
        "cost": {
            "usd": one.cost / MICRO,
            "reserved_usd": one.reserved / MICRO,
            "ceiling_usd": one.ceiling,
            "unknown": one.unknown,
            "tokens": one.tokens,
            "ceiling_tokens": one.token_ceiling,
        },
        "counts": dict(one.counts),
        "subplans": [_row(row, worktrees) for row in one.subplans],
    }


def _row(row: SubplanNow, worktrees: Mapping[str, str]) -> dict[str, object]:
    return {
        "path": row.path,
        "state": row.state,
        "reason": row.reason,
        "message": row.message,
        "landing": row.landing,
        "conflict": list(row.conflict),
        "wanted": row.wanted,
        "step": row.step,
        "attempt": row.attempt,
        "question": row.question,
        "steps_done": row.steps_done,
        "steps_total": row.steps_total,
        "pid": row.pid,
        "heartbeat_at": None if row.heartbeat_at is None else _time(row.heartbeat_at),
        "cost_usd": row.cost / MICRO,
        "branch": row.branch,
        "worktree": worktrees.get(row.branch or ""),
        "blocked_by": list(row.blocked_by),
        "changed_nothing": None if row.idle is None else list(row.idle),
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def worktrees_of(project: Path) -> dict[str, str]:
    """Where each branch is checked out, as git has written down; nothing if that cannot be read."""
    found: dict[str, str] = {}
    for place in _registrations(project / ".git"):
        try:
            head, gitdir = (place / "HEAD").read_text(), (place / "gitdir").read_text()
        except (OSError, UnicodeDecodeError):
            continue
        if head.startswith("ref: refs/heads/"):
            found[head.removeprefix("ref: refs/heads/").strip()] = str(Path(gitdir.strip()).parent)
    return found


def _registrations(git: Path) -> list[Path]:
    try:
        if git.is_file():  # the project is a worktree itself
            git = Path(git.read_text().removeprefix("gitdir:").strip()).parents[1]
        return sorted((git / "worktrees").iterdir())
    except (OSError, IndexError, UnicodeDecodeError):
        return []
