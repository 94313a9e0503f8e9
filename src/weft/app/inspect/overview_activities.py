"""What running steps do, for `weft status`: only the steps that are listed are looked at."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from weft.app.record.activity import AgentOutput, glimpse, workspace_roots
from weft.app.record.journal import RecordedRun
from weft.app.record.output import last_line
from weft.app.record.run_record import RecordedPlan
from weft.app.views.rows import RunningStep
from weft.app.views.wording.activities import activity_line
from weft.engine.messages.step_refs import ExecutionKey, StepRef
from weft.ports.host import JobRecords
from weft.runtime.job_ids import output_name


class StepActivity(Struct, frozen=True, kw_only=True):
    """What a running step does."""

    words: str
    """Its last activity, or the last line of its output; empty if it has written nothing."""
    heard_at: float | None
    """When the agent last wrote, or started; None for a command."""


def step_activities(
    recorded_run: RecordedRun, plan: RecordedPlan, records: JobRecords, steps: Mapping[str, RunningStep]
) -> Iterator[tuple[str, StepActivity]]:
    """Yields what each step does, with the path of its subplan."""
    for path, step in steps.items():
        ref = StepRef(path, step.step, step.attempt, ExecutionKey(step.firing, step.execution))
        output = output_name(ref)
        if not step.agent:
            yield path, StepActivity(words=last_line(records, output), heard_at=None)
            continue
        roots = workspace_roots(recorded_run.places, plan.id, path, plan.worktrees_of(path))
        agent = AgentOutput(records=records, output=output, use=plan.adapter_of(step.agent), roots=roots)
        seen = glimpse(agent)
        words = seen.line if seen.activity is None else activity_line(seen.activity)
        yield path, StepActivity(words=words, heard_at=max(step.started_at, seen.changed_at or 0.0))
