"""Phrases for times, money and failures in a run."""

from collections.abc import Sequence
from math import ceil

from weft.app.views.landing_places import VERIFY_FAILED
from weft.app.views.rows import HeldWork, LandedWork, RowView, StepFailure
from weft.engine.messages.events import StepEnd
from weft.engine.messages.internal_steps import InternalStep
from weft.plan.prices import dollars

_FILES = 3
"""How many files are named."""
NAMES = 4


def span(seconds: float) -> str:
    """Returns a duration in words: 7.2 s, 12 min 40 s, 1 h 5 min."""
    if seconds < 10:  # noqa: PLR2004 - below that a tenth matters
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    large, small = (f"{hours:,} h", f"{minutes} min") if hours else (f"{minutes} min", f"{rest} s")
    return " ".join(part for part in (large, small) if not part.startswith("0 ")) or small


def clock(seconds: float) -> str:
    """Returns the time as a stopwatch shows it: 0:07, 12:40, 1:05:00."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def time_left(seconds: float) -> str:
    # Rounded up to minutes: an estimate to the second would jump with each finished step.
    minutes = ceil(seconds / 60)
    if minutes <= 1:
        return "less than a minute left"
    return f"about {span(minutes * 60)} left"


def roughly(number: int) -> str:
    """Returns a rounded number: 950, 12.4k, 1.2M."""
    for size, unit in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + unit
    return str(number)


def spent(row: RowView) -> str:
    """Returns the reported cost and the number of calls without a report; empty if there is neither."""
    if not row.unknown_costs:
        return dollars(row.cost) if row.cost else ""
    unknown = f"{row.unknown_costs:,} unknown"
    return f"{dollars(row.cost)} + {unknown}" if row.cost else f"cost of {row.unknown_costs:,} unknown"


def spent_shortly(row: RowView) -> str:
    return (dollars(row.cost) if row.cost else "") + ("+?" if row.cost else "$?") * bool(row.unknown_costs)


def step_name(step: str, attempt: int = 0, most: int = 0) -> str:
    """Returns the name of the step, with the attempt if it is not the first."""
    name = step.removeprefix("@")
    if attempt <= 1:
        return name
    return f"{name} {attempt}/{most}" if most else f"{name} {attempt}"


def what_failed(failure: StepFailure) -> str:
    """Returns a phrase such as `exit code 1 (pytest -q)`."""
    # The line already starts with the step, so the message does not repeat it.
    message = failure.message.removeprefix(f"{failure.step}: ")
    # The message is a reviewer's reason; the command that returned it says nothing about the rejection.
    if failure.how == StepEnd.REJECTED:
        return message
    if message in {"", "failed", f"failed ({failure.command})"}:
        message = _ending(failure)
    return f"{message} ({failure.command})" if failure.command and failure.command not in message else message


def _ending(failure: StepFailure) -> str:
    if failure.how == "timeout":
        return "timed out"
    if failure.signal is not None:
        return f"ended by signal {failure.signal}"
    if failure.exit_code is not None:
        return f"exit code {failure.exit_code}"
    return failure.how


def why_not(row: RowView) -> str:
    """Returns why a subplan failed, in a few words."""
    if row.failure is not None:
        return what_failed(row.failure)
    if row.message:
        return row.message
    if not row.cause:
        return row.reason or "failed"
    return f"blocked by {row.cause}" if row.reason == "blocked" else f"{row.reason} because of {row.cause}"


def idle_words(row: RowView) -> str:
    """Returns which agent steps changed nothing; empty if there are none."""
    return f"{', '.join(map(step_name, row.idle))} changed nothing" if row.idle else ""


def answer_command(path: str, step: str) -> str:
    return f"weft answer {path}:{step} yes"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# Merging


def arrival(step: str, move: LandedWork) -> str:
    """Returns `landed on main (bd7e5b6)` or `merged into weft/notes/store`."""
    return (
        f"landed on {move.branch} ({move.commit[:7]})"
        if step == InternalStep.LAND
        else f"merged into {move.branch}"
    )


def some(names: Sequence[str], most: int = _FILES) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def first_line(held: HeldWork) -> str:
    """Returns the first line of why the work is held, without the name of the subplan."""
    return held.message.partition("\n")[0].removeprefix(f"{held.subplan} ")


def why_held(held: HeldWork) -> str:
    """Returns why the work is held, in a few words."""
    # Such work lacks nothing but an approval, so its other fields do not explain the wait.
    if held.asks:
        return f"waits to land with {some(held.waits_for)}" if held.waits_for else "waits to land"
    if held.waits_for:
        return f"lands after {some(held.waits_for)}"
    if held.red and held.message.startswith(f"{held.subplan} "):
        return VERIFY_FAILED  # a message about another subject means that verify fails on the target itself
    if held.files:
        return f"{'in conflict' if held.conflict else 'in the way'}: {some(held.files)}"
    return first_line(held)


def ahead(other_subplan: str, files: Sequence[str]) -> str:
    return f"going to conflict with {other_subplan}: {some(files)}"


def few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES])
    return shown if len(names) <= NAMES else f"{shown} … and {len(names) - NAMES:,} more"
