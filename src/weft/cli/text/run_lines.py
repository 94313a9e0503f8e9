"""A run as lines of text, for output that is not a terminal: one line for each event of interest to a person."""

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo

from weft.app.views.landing import held_of, move_of
from weft.app.views.push import push_state
from weft.app.views.rows import BECAUSE_OF_OTHERS, HeldWork, RowView
from weft.app.views.run_view import RunView
from weft.app.views.signals import outside_warning
from weft.cli.text.paused import PausedSubplans
from weft.cli.wording.outside_changes import outside_words
from weft.cli.wording.push import push_lines
from weft.cli.wording.words import (
    ahead,
    answer_command,
    arrival,
    count,
    first_line,
    some,
    span,
    step_name,
    what_failed,
    why_held,
    why_not,
)
from weft.engine.messages.events import Event
from weft.engine.messages.failures import REJECTED
from weft.engine.states import SubplanExecutionState as State
from weft.plan.prices import dollars

_QUIET_STEPS = frozenset({"@workspace", "@merge", "@land"})
"""Steps that are printed only when they fail. The `merge` event reports their success."""
_SKIPPED = {
    "condition": "its condition does not hold",
    "dependency": "what it depends on did not succeed",
    "failed": "the pipeline has failed before it",
}


def lines_of(
    event: Event, at: float, view: RunView, *, quiet: bool = False, zone: tzinfo | None = None
) -> list[str]:
    """Returns the lines for an event that the view has already applied.

    `quiet` keeps only the events that need a person. `zone` is the time zone of the clock, by default that of the
    machine.
    """
    describe = _DESCRIPTIONS.get(event.kind)
    if describe is None or (quiet and not _is_urgent(event, view)):
        return []
    if event.kind == "subplan_state" and not quiet and _is_explained(view.row(event.subplan)):
        describe = _failed_briefly
    text, *more = describe(event, view).splitlines() or [""]
    if not text:
        return []
    if event.kind == "limited":
        text += f" until {_clock(event.data['until'], zone, '%H:%M')}"
    return [f"{_clock(at, zone)} {event.subplan or view.plan.id}  {text}", *(f"  | {line}" for line in more)]


def _clock(at: float, zone: tzinfo | None, form: str = "%H:%M:%S") -> str:
    return datetime.fromtimestamp(at, UTC).astimezone(zone).strftime(form)


def _is_urgent(event: Event, view: RunView) -> bool:
    if event.kind == "subplan_state":
        return event.outcome == "failed" and view.row(event.subplan).failed_by_itself
    if event.kind == "step_finished":
        return event.outcome == "held" and held_of(event).needs_help
    return event.kind in {"ask", "left_out", "outside_changed"} or (event.kind, event.outcome) in {
        ("budget", "reached"),
        ("push", "failed"),
    }


# The run


def _run_started(event: Event, view: RunView) -> str:
    target = view.landings.target
    started = f"run {event.data['run']} started" if event.data.get("run") else "started"
    return f"{started}; lands on {target}" if target else started


def _run_finished(event: Event, view: RunView) -> str:
    return f"{event.outcome} after {span(view.elapsed(0.0))}"


def _stopping(event: Event, _view: RunView) -> str:
    ended = "at once" if event.data.get("now") else "gracefully"
    return f"stopping: running steps are ended {ended}; the run can be resumed"


def _paused(event: Event, _view: RunView) -> str:
    return {
        "pause": "paused: running steps finish, and nothing new starts",
        "freeze": "frozen: running steps are halted",
        "stop": "stopped: running steps are ended; they run again after weft resume",
    }[event.outcome]


def _resumed(_event: Event, _view: RunView) -> str:
    return "resumes"


def _recovered(event: Event, view: RunView) -> str:
    running = event.data.get("running") or ()
    were = "was" if len(running) == 1 else "were"
    still = f"; {count(len(running), 'step')} {were} under way" if running else ""
    paused = "".join(f"; {line}" for line in PausedSubplans(view.wishes.restraints()).lines())
    return f"resumes after an interruption{still}{paused}"


def _budget(event: Event, _view: RunView) -> str:
    data = event.data
    if event.outcome == "reset":
        return "budgets count from zero again"
    amount = data.get("ceiling") or 0
    ceiling = f"{amount:,} tokens" if data.get("unit") == "tokens" else dollars(amount)
    if event.outcome == "reached":
        return f"the budget of {ceiling} is reached: nothing new starts"
    return f"{data.get('percent', 0):.0f} % of the budget of {ceiling} is spent"


def _limited(event: Event, _view: RunView) -> str:
    agents = event.data.get("agents") or ()
    return f"{' and '.join(agents)} {'is' if len(agents) == 1 else 'are'} limited"


# Subplans


def _is_explained(row: RowView) -> bool:
    """Returns whether the line just before already gave the step failure that made the subplan fail."""
    failure, trouble = row.failure, row.trouble
    return (
        row.state is State.FAILED
        and failure is not None
        and trouble is not None
        and (failure.step, failure.attempt) == (trouble.step, trouble.attempt)
    )


def _failed_briefly(_event: Event, _view: RunView) -> str:
    return "failed"


def _subplan_state(event: Event, view: RunView) -> str:
    row = view.row(event.subplan)
    if event.outcome == "failed" and row.reason in BECAUSE_OF_OTHERS:
        return why_not(row)
    if event.outcome == "failed":
        where = f" in step {_step(row.failure.step, row.failure.attempt)}" if row.failure else ""
        return f"failed{where}: {why_not(row)}"
    if event.outcome == "running":
        return "started"
    return f"{event.outcome}, by an earlier run" if row.carried else event.outcome


def _ask(event: Event, _view: RunView) -> str:
    command = answer_command(event.subplan, event.step)
    first, *more = str(event.data.get("question", "")).splitlines() or [""]
    return "\n".join([f"{event.step} asks: {first}  Answer with: {command} (or no)", *more])


def _answered(event: Event, _view: RunView) -> str:
    text = event.data.get("text")
    return f"{event.step} was answered: {event.outcome}" + (f" ({text})" if text else "")


# Steps


def _step(step: str, attempt: int) -> str:
    name = step_name(step)
    return f"{name} (attempt {attempt})" if attempt > 1 else name


def _step_started(event: Event, _view: RunView) -> str:
    return "" if event.step in _QUIET_STEPS else f"{_step(event.step, event.attempt)} started"


def _step_finished(event: Event, view: RunView) -> str:
    trouble = view.row(event.subplan).trouble
    name = _step(event.step, event.attempt)
    if "earlier_run" in event.data:
        return f"{name} {event.outcome}, in run {event.data['earlier_run']}"
    if event.outcome == "held":
        return _held(name, held_of(event), view.landings.target)
    if event.outcome == "conflict" and event.data.get("conflict"):
        return f"{name} met a conflict in {some(event.data['files'])}; an agent resolves it"
    if event.outcome == REJECTED:
        return f"{name} rejected{_in_what(event)}: {event.data.get('message', '')}"
    if event.outcome == "done":
        return (
            "" if event.step in _QUIET_STEPS else f"{name} done{_in_what(event)}{_idle(event)}{_noted(event)}"
        )
    if trouble is not None and (trouble.step, trouble.how) == (event.step, event.outcome):
        return f"{name} {'lost' if event.outcome == 'lost' else 'failed'}: {what_failed(trouble)}"
    message = event.data.get("message")
    return f"{name} {event.outcome}" + (f": {message}" if message else "")


def _held(name: str, held: HeldWork, target: str) -> str:
    """Returns why the work is held. The summary at the end of the run says what to do about it."""
    if held.asks and target:
        return f"waits to land on {target}"
    if not held.needs_help:
        return why_held(held)
    first = first_line(held).removesuffix(". Nothing has moved.")
    files = [file for file in held.files if file not in first]
    return f"{name} is held: {first}" + (f": {some(files)}" if files else "")


def _in_what(event: Event) -> str:
    seconds = event.data.get("seconds")
    time = f" in {span(seconds)}" if seconds else ""
    return time + ("" if event.cost is None else f", {dollars(event.cost)}")


def _idle(event: Event) -> str:
    return "; it changed nothing" if event.data.get("changed") is False else ""


def _noted(event: Event) -> str:
    """Returns the remark about a step that succeeded, such as a result file that cannot be read."""
    message = event.data.get("message")
    return f"; note: {message}" if message else ""


def _step_skipped(event: Event, _view: RunView) -> str:
    why = event.data.get("message") or _SKIPPED.get(event.outcome, event.outcome)
    return f"{_step(event.step, event.attempt)} skipped: {why}"


def _step_cancelled(event: Event, _view: RunView) -> str:
    cause = event.data.get("cause")
    return f"{_step(event.step, event.attempt)} is being ended" + (f" because of {cause}" if cause else "")


# Merges


def _merge(event: Event, _view: RunView) -> str:
    """Returns where the work arrived. Held work was reported when its step ended."""
    move = move_of(event)
    return "" if move is None or event.outcome != "merged" else arrival(event.step, move)


def _verify(event: Event, view: RunView) -> str:
    """Returns what the landing queue verified and the outcome. The output is printed with the held result."""
    data = event.data
    entries = data.get("entries") or ()
    target = view.landings.target or "the target"
    subject = f"for {some(entries)}" if entries else f"on {target} at {data.get('commit', '')[:7]}"
    if event.outcome == "started":
        return f"verify started {subject}"
    message = data.get("message")
    reason = f": {message}" if message and event.outcome != "passed" else ""
    return f"verify {event.outcome} {subject} in {span(data.get('seconds', 0.0))}{reason}"


def _conflict_ahead(event: Event, view: RunView) -> str:
    other_path = event.data["other"]
    if any(view.row(path).held is not None for path in (event.subplan, other_path)):
        return ""  # the conflict has already happened and is reported as held
    if event.outcome == "ahead":
        return f"is {ahead(other_path, event.data['files'])}"
    # After one of the two is merged, the merge of the other reports whether there is a conflict.
    are_running = all(view.row(path).state is State.RUNNING for path in (event.subplan, other_path))
    return f"no longer conflicts with {other_path}" if are_running else ""


def _outside_changed(event: Event, _view: RunView) -> str:
    return f"warning: {outside_words(outside_warning(event.data))}"


def _push(event: Event, _view: RunView) -> str:
    return "\n".join(push_lines(push_state(event.data)))


def _left_out(event: Event, _view: RunView) -> str:
    return f"is left out of {event.data['group']}: {event.data.get('message', '')}"


_DESCRIPTIONS: dict[str, Callable[[Event, RunView], str]] = {
    "run_started": _run_started,
    "run_finished": _run_finished,
    "stopping": _stopping,
    "paused": _paused,
    "resumed": _resumed,
    "recovered": _recovered,
    "budget": _budget,
    "limited": _limited,
    "subplan_state": _subplan_state,
    "ask": _ask,
    "answered": _answered,
    "step_started": _step_started,
    "step_finished": _step_finished,
    "step_skipped": _step_skipped,
    "step_cancelled": _step_cancelled,
    "merge": _merge,
    "verify": _verify,
    "conflict_ahead": _conflict_ahead,
    "outside_changed": _outside_changed,
    "left_out": _left_out,
    "push": _push,
}
