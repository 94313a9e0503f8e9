"""Everything about one subplan: its steps and attempts, why it waits, and what can be done with it."""

from collections.abc import Iterator
from itertools import islice
from typing import Literal

from weft.app.read_model.execution_table import ExecutionRecord
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.pool_uses import lacked_pools, wait_sentence, waits_of
from weft.app.read_model.subplan_shapes import Attempt, StepRow, SubplanDetail, WaitLink, Why
from weft.app.views.rows import RowView
from weft.app.views.run_view import RunView
from weft.app.views.snapshot import change_of, shown_state
from weft.app.views.wording.words import some, why_held, why_not
from weft.engine.states import SubplanExecutionState as State
from weft.plan.model import AgentWork, Ask, Join, Nested, RunCommand, Step, Verify
from weft.workspaces.git.base.names import RefNames

_MOST_ATTEMPTS = 500
_MOST_LINKS = 50
_MOST_NEEDED_BY = 100
_TAIL = 40
StepState = Literal["pending", "running", "done", "failed", "skipped"]


def subplan_detail(live: LiveRun, number: int) -> SubplanDetail:
    """Returns the detail of a row."""
    view, row = live.view, live.view.rows[number]
    path, subplan = view.outline.paths[number], view.plan.subplans[number]
    settings = view.plan.scopes[number].settings
    landed = view.landings_by_path.landed.get(path)
    needs = [need for need in live.needs(live.context()) if need.path == path]
    return SubplanDetail(
        path=path,
        row=number,
        title=subplan.title,
        leaf=view.outline.leaves[number],
        state=shown_state(view, row),
        reason=row.reason,
        message=row.message,
        cause=row.cause,
        landing=change_of(view, row).landing,
        commit="" if landed is None else landed.commit,
        branch=RefNames(view.plan.id, settings.branch_prefix).branch(path) if settings.has_branch else "",
        files=subplan.files,
        depends_on=[view.outline.paths[other] for other in view.outline.depends_on[number]],
        needed_by=list(islice(_needed_by(view, number), _MOST_NEEDED_BY)),
        cost=row.cost,
        unknown_costs=row.unknown_costs,
        tokens=row.tokens,
        started_at=row.started_at,
        ended_at=row.ended_at,
        steps=list(_steps(view, row)),
        attempts=[_attempt(live, record) for record in live.history.of(number)[-_MOST_ATTEMPTS:]],
        why=_why(live, row),
        prompt=subplan.prompt or "",
        needs=needs,
        actions=list({action.command: action for need in needs for action in need.actions}.values()),
    )


def _needed_by(view: RunView, number: int) -> Iterator[str]:
    for row, depends_on in enumerate(view.outline.depends_on):
        if number in depends_on:
            yield view.outline.paths[row]


# Steps and attempts


def _steps(view: RunView, row: RowView) -> Iterator[StepRow]:
    if view.outline.leaves[row.number]:
        for step in view.plan.pipeline_of(row.number).steps:
            yield StepRow(name=step.id, state=_step_state(row, step.id), kind=_kind(step))


def _step_state(row: RowView, step: str) -> StepState:
    if any(running.step.partition(".")[0] == step for running in row.steps.values()):
        return "running"
    if step in row.done:
        return "done"
    if row.failure is not None and row.failure.step.partition(".")[0] == step:
        return "failed"
    return "skipped" if row.state is State.COMPLETED else "pending"


def _kind(step: Step) -> str:
    match step.body:
        case AgentWork(agent=agent):
            return f"agent {agent}" if agent else "agent"
        case RunCommand():
            return "run"
        case Verify():
            return "verify"
        case Join():
            return "join"
        case Ask():
            return "question"
        case Nested(pipeline=pipeline):
            return f"pipeline {pipeline}"


def _attempt(live: LiveRun, record: ExecutionRecord) -> Attempt:
    return Attempt(
        step=record.step,
        attempt=record.attempt,
        execution=record.key.execution,
        firing=record.key.firing,
        action=record.action,
        agent=record.agent,
        model=record.model,
        command=record.command,
        started_at=record.started_at,
        ended_at=record.ended_at,
        outcome=record.outcome,
        message=record.message or live.history.rejections.get((record.row, record.step, record.attempt), ""),
        feedback="\n\n".join(filter(None, (_request(live, record), _feedback(live, record)))),
        exit_code=record.exit_code,
        tail=record.tail.splitlines()[-_TAIL:],
        cost=record.cost,
        tokens=record.tokens,
        session=record.session,
        has_output=bool(record.agent or record.command),
    )


def _request(live: LiveRun, record: ExecutionRecord) -> str:
    """Returns what a person wants the agent to change."""
    return live.history.requests.get(record.row, "") if record.agent else ""


def _feedback(live: LiveRun, record: ExecutionRecord) -> str:
    """Returns why the attempt before it did not do: the failure or rejection that ended before it started."""
    if record.attempt <= 1:
        return ""
    before = [
        other
        for other in live.history.of(record.row)
        if other.ended_at is not None and other.ended_at <= record.started_at and other.is_bad
    ]
    if not before:
        return ""
    last = before[-1]
    return "\n".join(filter(None, (f"{last.step}: {last.message or last.outcome}", last.tail)))


# Why


def _why(live: LiveRun, row: RowView) -> Why:
    view, waits = live.view, waits_of(live, row.number)
    links = list(islice(_chain(view, row.number), _MOST_LINKS + 1))
    blockers = list(view.blocked_by(row.number)) if row.state is State.PENDING else []
    return Why(
        sentence=_sentence(view, row, blockers, wait_sentence(waits)),
        chain=links[:_MOST_LINKS],
        more=max(0, len(links) - _MOST_LINKS),
        pools=list(lacked_pools(live, waits)),
    )


def _chain(view: RunView, number: int) -> Iterator[WaitLink]:
    """Yields what a subplan waits for, and what that waits for in turn, each once, the nearest first."""
    if view.rows[number].state is not State.PENDING:
        return
    seen, level, depth = {number}, [number], 0
    while level:
        following: list[int] = []
        for waiting in level:
            for path in view.blocked_by(waiting):
                other = view.row(path).number
                if other not in seen:
                    seen.add(other)
                    following.append(other)
                    yield WaitLink(
                        path=path,
                        state=shown_state(view, view.rows[other]),
                        why=_reason(view, view.rows[other]),
                        depth=depth,
                    )
        level, depth = following, depth + 1


def _reason(view: RunView, row: RowView) -> str:
    """Returns why a subplan has not completed, in one line."""
    if row.state is State.FAILED:
        return why_not(row).partition("\n")[0]
    return change_of(view, row).note or (f"runs {next(iter(row.steps.values())).step}" if row.steps else "")


def _sentence(view: RunView, row: RowView, blockers: list[str], waits: str) -> str:
    if row.questions:
        return "It waits for an answer."
    if row.held is not None:
        return f"It is held: {why_held(row.held)}."
    return _state_sentence(view, row, blockers, waits)


def _state_sentence(view: RunView, row: RowView, blockers: list[str], waits: str) -> str:
    match row.state:
        case State.PENDING if blockers:
            return f"It waits for {some(blockers)}."
        case State.PENDING:
            return waits or "It is ready, and waits for a free slot."
        case State.RUNNING if row.steps:
            return f"It runs {', '.join(step.step.removeprefix('@') for step in row.steps.values())}."
        case State.RUNNING:
            is_group = not view.outline.leaves[row.number]
            return waits or ("Its parts run." if is_group else "Its next step is about to start.")
        case State.COMPLETED:
            return "It is completed."
        case State.FAILED:
            return f"It failed: {why_not(row).partition(chr(10))[0]}."
