"""A run as lines, for where no terminal is: one for each event that says something to a person."""

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

_NOT_TOLD = frozenset({"@workspace", "@merge", "@land"})
"""Steps that are of interest only when they fail; where they brought something, `merge` tells."""
_SKIPPED = {
    "condition": "its condition does not hold",
    "dependency": "what it depends on did not succeed",
    "failed": "the pipeline has failed before it",
}


def lines_of(
    event: Event, at: float, view: RunView, *, quiet: bool = False, zone: tzinfo | None = None
) -> list[str]:
    """What to print; the view has applied the event already. Quiet: only what somebody has to know or to do.

    The time is that of the zone, or of the machine.
    """
    say = _SAID.get(event.kind)
    if say is None or (quiet and not _is_urgent(event, view)):
        return []
    if event.kind == "subplan_state" and not quiet and _is_known(view.row(event.subplan)):
        say = _failed_as_said
    text, *more = say(event, view).splitlines() or [""]
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
    return f"stopping: what runs is ended {ended}; the run can go on later"


def _paused(event: Event, _view: RunView) -> str:
    return {
        "pause": "paused: what runs comes to the end of its step, and nothing new begins",
        "freeze": "frozen: what runs stands still",
        "stop": "stopped: what runs is ended, and is done again when it goes on",
    }[event.outcome]


def _resumed(_event: Event, _view: RunView) -> str:
    return "goes on"


def _recovered(event: Event, view: RunView) -> str:
    taken = event.data.get("running") or ()
    were = "was" if len(taken) == 1 else "were"
    still = f"; {count(len(taken), 'step')} {were} under way" if taken else ""
    paused = "".join(f"; {line}" for line in PausedSubplans(view.wishes.restraints()).lines())
    return f"goes on after an interruption{still}{paused}"


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


def _is_known(row: RowView) -> bool:
    """Whether a subplan failed because of the step whose line stands just before."""
    failure, trouble = row.failure, row.trouble
    return (
        row.state is State.FAILED
        and failure is not None
        and trouble is not None
        and (failure.step, failure.attempt) == (trouble.step, trouble.attempt)
    )


def _failed_as_said(_event: Event, _view: RunView) -> str:
    return "failed"


def _subplan_state(event: Event, view: RunView) -> str:
    one = view.row(event.subplan)
    if event.outcome == "failed" and one.reason in BECAUSE_OF_OTHERS:
        return why_not(one)
    if event.outcome == "failed":
        where = f" in step {_step(one.failure.step, one.failure.attempt)}" if one.failure else ""
        return f"failed{where}: {why_not(one)}"
    if event.outcome == "running":
        return "started"
    return f"{event.outcome}, by an earlier run" if one.carried else event.outcome


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
    return "" if event.step in _NOT_TOLD else f"{_step(event.step, event.attempt)} started"


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
        return "" if event.step in _NOT_TOLD else f"{name} done{_in_what(event)}{_idle(event)}{_noted(event)}"
    if trouble is not None and (trouble.step, trouble.how) == (event.step, event.outcome):
        return f"{name} {'lost' if event.outcome == 'lost' else 'failed'}: {what_failed(trouble)}"
    message = event.data.get("message")
    return f"{name} {event.outcome}" + (f": {message}" if message else "")


def _held(name: str, held: HeldWork, target: str) -> str:
    """What to do about it is told in the end."""
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
    """What is odd about a step that is done, such as a result file that cannot be read."""
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
    """What is held was told when its step ended."""
    move = move_of(event)
    return "" if move is None or event.outcome != "merged" else arrival(event.step, move)


def _verify(event: Event, view: RunView) -> str:
    """Of the landing queue: what it verified, and how that ended; the output is told where a result is held."""
    data = event.data
    entries = data.get("entries") or ()
    target = view.landings.target or "the target"
    what = f"for {some(entries)}" if entries else f"on {target} at {data.get('commit', '')[:7]}"
    if event.outcome == "started":
        return f"verify started {what}"
    message = data.get("message")
    why = f": {message}" if message and event.outcome != "passed" else ""
    return f"verify {event.outcome} {what} in {span(data.get('seconds', 0.0))}{why}"


def _conflict_ahead(event: Event, view: RunView) -> str:
    other = event.data["other"]
    if any(view.row(path).held is not None for path in (event.subplan, other)):
        return ""  # it has come to that already
    if event.outcome == "ahead":
        return f"is {ahead(other, event.data['files'])}"
    # Once the work of the one is merged, it is the merge of the other that tells.
    are_running = all(view.row(path).state is State.RUNNING for path in (event.subplan, other))
    return f"is not going to conflict with {other} any more" if are_running else ""


def _outside_changed(event: Event, _view: RunView) -> str:
    return f"warning: {outside_words(outside_warning(event.data))}"


def _push(event: Event, _view: RunView) -> str:
    return "\n".join(push_lines(push_state(event.data)))


def _left_out(event: Event, _view: RunView) -> str:
    return f"is left out of {event.data['group']}: {event.data.get('message', '')}"


_SAID: dict[str, Callable[[Event, RunView], str]] = {
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
