"""The check whether the agents of slices can get the feedback of a person."""

from collections.abc import Mapping

from weft.app.history.completed_work import kept_of
from weft.app.history.earlier_runs import earlier_runs
from weft.app.history.requested_changes import steps_of
from weft.app.record.journal import RecordedRun
from weft.engine.state.change_requests import requested_steps
from weft.errors import InputError
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan


def refuse_feedback(recorded_run: RecordedRun, states: Mapping[str, str]) -> None:
    """Raises `InputError` if a subplan, given with its state, has no agent that could change its work."""
    record = recorded_run.run
    plan = load_plan(record.text, record.file, surroundings=Surroundings(git=False))
    rows = {str(path): row for row, path in enumerate(plan.outline.paths)}
    for path in states:
        if not plan.outline.leaves[rows[path]]:
            parts = (str(plan.outline.paths[row]) for row in plan.outline.below(rows[path]))
            example = next(part for part in parts if plan.outline.leaves[rows[part]])
            raise InputError(
                f"{path} is a group, and feedback is for the agent of a slice; name a slice, such as {example}"
            )
        if not requested_steps(steps_of(plan, path)):
            raise InputError(
                f"{path} has no step with an agent that could read the feedback; to retry it if it has failed, "
                f"type: weft retry {path}"
            )
    completed = [path for path, state in states.items() if state == "completed"]
    if completed:
        _refuse_completed(recorded_run, plan, {path: rows[path] for path in completed})


def _refuse_completed(recorded_run: RecordedRun, plan: Plan, rows: Mapping[str, int]) -> None:
    journal = recorded_run.journal
    landed = kept_of(plan, journal, earlier_runs(journal, plan.id)).landed
    for path, row in rows.items():
        if any(f"{path}/".startswith(f"{place}/") for place in landed):
            raise InputError(
                f"{path} has landed, so its work is on your branch; for further changes, add a slice to the plan, "
                f"then type: {recorded_run.start_command()}"
            )
        if not plan.scopes[row].settings.has_branch:
            raise InputError(
                f"{path} is completed and has no branch of its own, so its work is in place already; for further "
                f"changes, add a slice to the plan, then type: {recorded_run.start_command()}"
            )
