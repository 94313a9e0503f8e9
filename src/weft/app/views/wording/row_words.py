"""The words about a subplan: its sign, name, step, time, cost and what is worth knowing of it.

The table of the live view and the tree of `weft top` show them; only the layout differs.
"""

from collections.abc import Sequence
from itertools import islice

from msgspec import Struct

from weft.app.views.rows import LeftOut, RowView, RunningStep
from weft.app.views.run_view import RunView, Tally
from weft.app.views.wording.signs import counted
from weft.app.views.wording.words import (
    clock,
    count,
    idle_words,
    span,
    spent_shortly,
    step_name,
    what_failed,
    why_held,
    why_not,
)
from weft.engine.messages.events import StepEnd
from weft.engine.messages.facts import ControlState
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.states import SubplanExecutionState as State
from weft.plan.order.outline import ROOT

_WANTED = {
    ControlState.GO: "",
    ControlState.PAUSE: "paused",
    ControlState.FREEZE: "frozen",
    ControlState.STOP: "stopped",
}
_BLOCKERS = 2
_COUNTED = (State.RUNNING, State.FAILED, State.PENDING, State.COMPLETED)
"""In this order."""


class RowWords(Struct, frozen=True, kw_only=True):
    """The texts about one subplan."""

    sign: str
    """A key of `SIGNS`."""
    name: str
    is_group: bool = False
    step: str = ""
    time: str = ""
    cost: str = ""
    detail: str = ""
    style: str = "dim"
    """Of the detail."""


def tally_words(tally: Tally, held: int = 0) -> list[str]:
    """Returns phrases such as `3 running`, without states that no slice has.

    Held slices count as running elsewhere.
    """
    numbers = {**tally, State.RUNNING: tally[State.RUNNING] - held}
    words = [counted(state, numbers[state]) for state in _COUNTED if numbers[state] > 0]
    return [f"{held:,} held", *words] if held else words


def row_words(view: RunView, row: int, now: float, *, is_tree: bool) -> RowWords:
    row_view = view.rows[row]
    name = _name(view, row, is_tree=is_tree)
    # From the most urgent to the least: what needs a person hides everything else about the row.
    if row in view.row_index.held:
        return _held(view, row, name, now)
    if not view.outline.leaves[row]:
        return _group(view, row, name, now)
    if row_view.questions:
        step, question = next(iter(row_view.questions.items()))
        time = clock(max(0.0, now - question.asked_at))
        return RowWords(sign="asking", name=name, step=step, time=time, cost=spent_shortly(row_view),
                    detail=question.headline, style="yellow")  # fmt: skip
    if row_view.steps:
        return _working(view, row, name, now)
    if row_view.state is State.PENDING:
        return RowWords(sign="pending", name=name, detail=wanted_word(view, row) or _waits_for(view, row))
    if row_view.state is State.RUNNING:
        detail = wanted_word(view, row) or _idle(view, row_view, now)
        return RowWords(sign="running", name=name, cost=spent_shortly(row_view), detail=detail)
    return _ended(view, row, name, now)


def wanted_word(view: RunView, row: int) -> str:
    """Returns the state that a person requested for the subplan; empty if it is to continue."""
    return _WANTED[view.control_requests.of(view.outline.paths[row])] if view.control_requests else ""


def _name(view: RunView, row: int, *, is_tree: bool) -> str:
    if row == ROOT:
        return view.plan.id
    path = view.outline.paths[row]
    depth = path.count("/")
    return "  " * depth + view.plan.subplans[row].id if is_tree else path


def _held(view: RunView, row: int, name: str, now: float) -> RowWords:
    row_view = view.rows[row]
    assert row_view.held is not None
    return RowWords(
        sign=row_view.landing,
        name=name,
        is_group=not view.outline.leaves[row],
        step=step_name(row_view.held.step),
        time=clock(max(0.0, now - row_view.held_at)),
        cost=spent_shortly(row_view),
        detail=why_held(row_view.held),
        style="red" if row_view.held.conflict else "yellow",
    )


def _working(view: RunView, row: int, name: str, now: float) -> RowWords:
    row_view, subplan = view.rows[row], view.plan.subplans[row]
    steps = list(row_view.steps.values())
    title = subplan.title if subplan.title != subplan.id else ""
    detail, style = _last_word(steps) or _why_again(row_view, steps) or title, "dim"
    place = view.landings.place(row) if any(step.step == InternalStep.LAND for step in steps) else ""
    detail = place or detail
    requested = wanted_word(view, row)
    if requested:
        detail, style = requested if requested != "paused" else "pauses after this step", "yellow"
    cancelled_by = next((step.cancelled_by for step in steps if step.cancelled_by), "")
    if cancelled_by:
        # The latest reason wins: a step that is being ended no longer pauses.
        detail, style = f"is being ended because of {cancelled_by}", "yellow"
    return RowWords(
        sign="running",
        name=name,
        is_group=not view.outline.leaves[row],
        step=", ".join(_attempt(view, row, step) for step in steps),
        time=clock(max(0.0, now - min(step.started_at for step in steps))),
        cost=spent_shortly(row_view),
        detail=detail,
        style=style,
    )


def _attempt(view: RunView, row: int, step: RunningStep) -> str:
    return step_name(step.step, step.attempt, view.most_attempts(row, step.step))


def _last_word(steps: Sequence[RunningStep]) -> str:
    return next((step.output for step in reversed(steps) if step.output), "")


def _why_again(row_view: RowView, steps: Sequence[RunningStep]) -> str:
    """Returns why a step is repeated, for the time until it has output of its own."""
    if row_view.trouble is None or all(step.attempt == 1 for step in steps):
        return ""
    ended = "was rejected" if row_view.trouble.how == StepEnd.REJECTED else "failed"
    return f"again, because {step_name(row_view.trouble.step)} {ended}: {what_failed(row_view.trouble)}"


def _idle(view: RunView, row_view: RowView, now: float) -> str:
    if row_view.limited_until is not None and row_view.limited_until > now:
        return f"waits for a usage limit to end, in {span(row_view.limited_until - now)}"
    settings = view.plan.scopes[ROOT].settings
    has_ceiling = settings.budget is not None or settings.budget_tokens is not None
    return f"waits for a free slot{', a pool or the budget' if has_ceiling else ' or pool'}"


def _waits_for(view: RunView, row: int) -> str:
    blockers = list(islice(view.blocked_by(row), _BLOCKERS + 1))
    if not blockers:
        return "ready"
    more = " and others" if len(blockers) > _BLOCKERS else ""
    return f"waits for {', '.join(blockers[:_BLOCKERS])}{more}"


def _ended(view: RunView, row: int, name: str, now: float) -> RowWords:
    row_view = view.rows[row]
    seconds = row_view.seconds(now)
    time = "" if seconds is None or row_view.carried else clock(seconds)
    cost = spent_shortly(row_view)
    if row_view.left_out is not None:
        return _left_out(row_view, row_view.left_out, name, time)
    if row_view.state is State.COMPLETED:
        detail = _landing(view, row) or ("done by an earlier run" if row_view.carried else "")
        detail = "; ".join(filter(None, (detail, idle_words(row_view))))
        return RowWords(sign="completed", name=name, time=time, cost=cost, detail=detail)
    step = "" if row_view.failure is None else step_name(row_view.failure.step, row_view.failure.attempt)
    style = "red" if row_view.failed_by_itself else "dim"
    detail = "; ".join(filter(None, (why_not(row_view), idle_words(row_view))))
    return RowWords(sign="failed", name=name, step=step, time=time, cost=cost, detail=detail, style=style)


def _left_out(row_view: RowView, left_out: LeftOut, name: str, time: str) -> RowWords:
    because = "with it" if left_out.is_culprit else "with what it is built on"
    detail = f"left out: {because}, `verify` of {left_out.group} fails"
    return RowWords(
        sign="held", name=name, time=time, cost=spent_shortly(row_view), detail=detail, style="yellow"
    )


def _landing(view: RunView, row: int) -> str:
    held = view.rows[row].held
    if held is not None:
        return why_held(held)
    return view.landings.place(row)


def _group(view: RunView, row: int, name: str, now: float) -> RowWords:
    row_view, tally = view.rows[row], view.tallies[row]
    slices = sum(tally.values())
    if row_view.steps:
        return _working(view, row, name, now)
    if row_view.state is State.PENDING and tally[State.PENDING] == slices:
        detail = f"{count(slices, 'slice')}, {_waits_for(view, row)}"
        return RowWords(sign="pending", name=name, is_group=True, detail=detail)
    seconds = row_view.seconds(now)
    time = "" if seconds is None or row_view.carried else clock(seconds)
    if row_view.left_out is not None:
        return _left_out(row_view, row_view.left_out, name, time)
    words = tally_words({**tally, State.COMPLETED: 0}, view.held_slices(row))
    detail = ", ".join(words) or _landing(view, row)
    if row_view.failure is not None:
        detail = why_not(row_view)
    needed = view.needed_in(row)
    waits_as = "running" if needed is None else "asking" if needed.questions else needed.landing
    return RowWords(
        sign=row_view.state if row_view.state.terminal else waits_as,
        name=name,
        is_group=True,
        step=f"{tally[State.COMPLETED]:,}/{slices:,}",
        time=time,
        cost=spent_shortly(row_view),
        detail=detail,
        style="red" if row_view.failure is not None else "dim",
    )
