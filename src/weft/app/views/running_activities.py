"""What the running steps of a run do, for views that are redrawn several times a second.

Output is not an event, because a chatty step would fill the journal. So it is read from the host's records.
"""

from weft.app.project.places import Places
from weft.app.record.activity import AgentOutputs, LastActivity
from weft.app.record.output import last_line
from weft.app.views.rows import RunningStep
from weft.app.views.run_view import RunView
from weft.app.views.wording.activities import current_activity
from weft.engine.messages.step_refs import ExecutionKey, StepRef
from weft.plan.model import Plan
from weft.ports.host import JobRecords
from weft.runtime.job_ids import output_name


class RunningActivities:
    """The last activity of each running step. An update reads only what is new."""

    def __init__(self, plan: Plan, places: Places, records: JobRecords) -> None:
        self._records = records
        self.outputs = AgentOutputs(plan, places, records)
        self._agents: dict[str, LastActivity] = {}

    def update(self, view: RunView, now: float) -> None:
        """Notes in the view what its running steps do."""
        outputs: set[str] = set()
        for path, step in view.under_way():
            ref = StepRef(path, step.step, step.attempt, ExecutionKey(step.firing, step.execution))
            output = output_name(ref)
            outputs.add(output)
            view.note_output(path, step.step, self._words(path, step, output, now))
        for output in self._agents.keys() - outputs:
            del self._agents[output]

    def _words(self, path: str, step: RunningStep, output: str, now: float) -> str:
        if not step.agent:
            return last_line(self._records, output)
        if output not in self._agents:
            self._agents[output] = LastActivity(self.outputs.of(path, step.agent, output))
        glimpse = self._agents[output].update()
        return current_activity(glimpse.activity, glimpse.line, glimpse.silence(step.started_at, now))
