"""A run as lines of text, for output that is not a terminal: one line for each event of interest to a person."""

from datetime import UTC, datetime, tzinfo
from typing import assert_never

from weft.app.views.holds import held_of
from weft.app.views.landing import move_of
from weft.app.views.push import push_state
from weft.app.views.rows import BECAUSE_OF_OTHERS, HeldWork, RowView
from weft.app.views.run_view import RunView
from weft.app.views.signals import outside_warning
from weft.app.views.wording.hosts import host_change
from weft.app.views.wording.outside_changes import outside_words
from weft.app.views.wording.pushes import push_lines
from weft.app.views.wording.words import (
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
from weft.cli.text.pause_state import PausedSubplans
from weft.engine.messages import events as kinds
from weft.engine.messages.events import AnyEvent, StepEnd, StepFinishedEvent, VerifyOutcome
from weft.engine.messages.facts import ControlState
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.states import SubplanExecutionState as State
from weft.plan.prices import dollars

_QUIET_STEPS = frozenset({InternalStep.WORKSPACE, InternalStep.MERGE, InternalStep.LAND})
"""Steps that are printed only when they fail. The `merge` event reports their success."""
_PAUSED = {
    ControlState.PAUSE: "paused: running steps finish, and nothing new starts",
    ControlState.FREEZE: "frozen: running steps are halted",
    ControlState.STOP: "stopped: running steps are ended; they run again after weft resume",
}
_SKIPPED: dict[str, str] = {
    "condition": "its condition does not hold",
    "dependency": "what it depends on did not succeed",
    "failed": "the pipeline has failed before it",
}


def lines_of(
    event: AnyEvent, at: float, view: RunView, *, quiet: bool = False, zone: tzinfo | None = None
) -> list[str]:
    """Returns the lines for an event that the view has already applied.

    `quiet` keeps only the events that need a person. `zone` is the time zone of the clock, by default that of the
    machine.
    """
    if quiet and not _is_urgent(event, view):
        return []
    is_state = isinstance(event, kinds.SubplanStateEvent) and not quiet
    # The step's own line has just said why; repeating it for the subplan would double every failure.
    is_explained = is_state and _is_explained(view.row(event.subplan))
    text, *more = ("failed" if is_explained else _describe(event, view)).splitlines() or [""]
    if not text:
        return []
    if isinstance(event, kinds.LimitedEvent):
        text += f" until {_clock(event.until, zone, '%H:%M')}"
    return [f"{_clock(at, zone)} {event.subplan or view.plan.id}  {text}", *(f"  | {line}" for line in more)]


def _describe(event: AnyEvent, view: RunView) -> str:  # noqa: C901, PLR0912, PLR0915 - one case a class
    """Returns the text for an event; empty for an event that people need not see."""
    match event:
        case kinds.RunStartedEvent():
            return _run_started(event, view)
        case kinds.RunFinishedEvent():
            return f"{event.outcome} after {span(view.elapsed(0.0))}"
        case kinds.StoppingEvent():
            ended = "at once" if event.now else "gracefully"
            return f"stopping: running steps are ended {ended}; the run can be resumed"
        case kinds.PausedEvent():
            return _PAUSED[event.outcome]
        case kinds.ResumedEvent():
            return "resumes"
        case kinds.RecoveredEvent():
            return _recovered(event, view)
        case kinds.BudgetEvent():
            return _budget(event)
        case kinds.LimitedEvent():
            return f"{' and '.join(event.agents)} {'is' if len(event.agents) == 1 else 'are'} limited"
        case kinds.SubplanStateEvent():
            return _subplan_state(event, view)
        case kinds.AskEvent():
            return _ask(event)
        case kinds.AnsweredEvent():
            return f"{event.step} was answered: {event.outcome}" + (f" ({event.text})" if event.text else "")
        case kinds.StepStartedEvent():
            return "" if event.step in _QUIET_STEPS else f"{_step(event.step, event.attempt)} started"
        case kinds.StepFinishedEvent():
            return _step_finished(event, view)
        case kinds.StepSkippedEvent():
            why = event.message or _SKIPPED.get(event.outcome, event.outcome)
            return f"{_step(event.step, event.attempt)} skipped: {why}"
        case kinds.StepCancelledEvent():
            cause = f" because of {event.cause}" if event.cause else ""
            return f"{_step(event.step, event.attempt)} is being ended{cause}"
        case kinds.MergeEvent():
            return _merge(event)
        case kinds.VerifyEvent():
            return _verify(event, view)
        case kinds.ConflictAheadEvent():
            return _conflict_ahead(event, view)
        case kinds.OutsideChangedEvent():
            return f"warning: {outside_words(outside_warning(event))}"
        case kinds.FeedbackEvent():
            return f"feedback: {event.text}"
        case kinds.LeftOutEvent():
            return f"is left out of {event.group}: {event.message}"
        case kinds.PlacedEvent() | kinds.HostChangedEvent():
            return host_change(event)
        case kinds.PushEvent():
            return "\n".join(push_lines(push_state(event)))
        case (
            kinds.CoordinatorLeftEvent()
            | kinds.WokeEvent()
            | kinds.IgnoredEvent()
            | kinds.SpentEvent()
            | kinds.CostUnknownEvent()
            | kinds.LimitsEndedEvent()
            | kinds.MergeAskedEvent()
            | kinds.PartsEvent()
            | kinds.UnknownEvent()
        ):
            return ""
        case _:
            assert_never(event)


def _clock(at: float, zone: tzinfo | None, form: str = "%H:%M:%S") -> str:
    return datetime.fromtimestamp(at, UTC).astimezone(zone).strftime(form)


def _is_urgent(event: AnyEvent, view: RunView) -> bool:
    match event:
        case kinds.SubplanStateEvent():
            return event.outcome is State.FAILED and view.row(event.subplan).failed_by_itself
        case kinds.StepFinishedEvent():
            return event.outcome is StepEnd.HELD and held_of(event).needs_help
        case kinds.BudgetEvent():
            return event.outcome == "reached"
        case kinds.PushEvent():
            return event.outcome == "failed"
        case kinds.AskEvent() | kinds.LeftOutEvent() | kinds.OutsideChangedEvent():
            return True
        case _:
            kinds.overlook(event)
            return False


# The run


def _run_started(event: kinds.RunStartedEvent, view: RunView) -> str:
    target = view.landings.target
    started = f"run {event.run} started" if event.run else "started"
    return f"{started}; lands on {target}" if target else started


def _recovered(event: kinds.RecoveredEvent, view: RunView) -> str:
    were = "was" if len(event.running) == 1 else "were"
    still = f"; {count(len(event.running), 'step')} {were} under way" if event.running else ""
    paused = "".join(f"; {line}" for line in PausedSubplans(view.control_requests.restraints()).lines())
    return f"resumes after an interruption{still}{paused}"


def _budget(event: kinds.BudgetEvent) -> str:
    if event.outcome == "reset":
        return "budgets count from zero again"
    amount = event.ceiling or 0
    ceiling = f"{amount:,} tokens" if event.unit == "tokens" else dollars(amount)
    if event.outcome == "reached":
        return f"the budget of {ceiling} is reached: nothing new starts"
    return f"{event.percent or 0:.0f} % of the budget of {ceiling} is spent"


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


def _subplan_state(event: kinds.SubplanStateEvent, view: RunView) -> str:
    row = view.row(event.subplan)
    if event.outcome is State.FAILED and row.reason in BECAUSE_OF_OTHERS:
        return why_not(row)
    if event.outcome is State.FAILED:
        where = f" in step {_step(row.failure.step, row.failure.attempt)}" if row.failure else ""
        return f"failed{where}: {why_not(row)}"
    if event.outcome is State.RUNNING:
        return "started"
    return f"{event.outcome}, by an earlier run" if row.carried else event.outcome


def _ask(event: kinds.AskEvent) -> str:
    command = answer_command(event.subplan, event.step)
    first, *more = event.question.splitlines() or [""]
    return "\n".join([f"{event.step} asks: {first}  Answer with: {command} (or no)", *more])


# Steps


def _step(step: str, attempt: int) -> str:
    name = step_name(step)
    return f"{name} (attempt {attempt})" if attempt > 1 else name


def _step_finished(event: StepFinishedEvent, view: RunView) -> str:
    trouble = view.row(event.subplan).trouble
    name = _step(event.step, event.attempt)
    if event.earlier_run:
        return f"{name} {event.outcome}, in run {event.earlier_run}"
    if event.outcome is StepEnd.HELD:
        return _held(name, held_of(event), view.landings.target)
    if event.outcome is StepEnd.CONFLICT and event.conflict:
        return f"{name} met a conflict in {some(event.files)}; an agent resolves it"
    if event.outcome is StepEnd.REJECTED:
        return f"{name} rejected{_in_what(event)}: {event.message}"
    if event.outcome is StepEnd.DONE:
        return "" if event.step in _QUIET_STEPS else f"{name} done{_in_what(event)}{_remarks(event)}"
    if trouble is not None and (trouble.step, trouble.how) == (event.step, event.outcome):
        return f"{name} {'lost' if event.outcome is StepEnd.LOST else 'failed'}: {what_failed(trouble)}"
    return f"{name} {event.outcome}" + (f": {event.message}" if event.message else "")


def _held(name: str, held: HeldWork, target: str) -> str:
    """Returns why the work is held. The summary at the end of the run says what to do about it."""
    if held.asks and target:
        return f"waits to land on {target}"
    if not held.needs_help:
        return why_held(held)
    first = first_line(held).removesuffix(". Nothing has moved.")
    files = [file for file in held.files if file not in first]
    return f"{name} is held: {first}" + (f": {some(files)}" if files else "")


def _in_what(event: StepFinishedEvent) -> str:
    time = f" in {span(event.seconds)}" if event.seconds else ""
    return time + ("" if event.cost is None else f", {dollars(event.cost)}")


def _remarks(event: StepFinishedEvent) -> str:
    """Returns the remarks about a step that succeeded, such as a result file that cannot be read."""
    idle = "; it changed nothing" if event.changed is False else ""
    return idle + (f"; note: {event.message}" if event.message else "")


# Merges


def _merge(event: kinds.MergeEvent) -> str:
    """Returns where the work arrived. Held work was reported when its step ended."""
    move = move_of(event.moves)
    if move is None or event.outcome != "merged":
        return ""
    return f"{arrival(event.step, move)}{f', {event.message}' if event.message else ''}"


def _verify(event: kinds.VerifyEvent, view: RunView) -> str:
    """Returns what the landing queue verified and the outcome. The output is printed with the held result."""
    target = view.landings.target or "the target"
    subject = f"for {some(event.entries)}" if event.entries else f"on {target} at {event.commit[:7]}"
    if event.outcome is VerifyOutcome.STARTED:
        return f"verify started {subject}"
    reason = f": {event.message}" if event.message and event.outcome is not VerifyOutcome.PASSED else ""
    return f"verify {event.outcome} {subject} in {span(event.seconds or 0.0)}{reason}"


def _conflict_ahead(event: kinds.ConflictAheadEvent, view: RunView) -> str:
    if any(view.row(path).held is not None for path in (event.subplan, event.other)):
        return ""  # the conflict has already happened and is reported as held
    if event.outcome == "ahead":
        return f"is {ahead(event.other, event.files)}"
    # After one of the two is merged, the merge of the other reports whether there is a conflict.
    are_running = all(view.row(path).state is State.RUNNING for path in (event.subplan, event.other))
    return f"no longer conflicts with {event.other}" if are_running else ""
