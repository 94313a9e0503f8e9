"""The end of the output of running steps."""

from weft.app.inspect.output_tail import part_tail
from weft.app.record.activity import AgentOutputs
from weft.app.views.run_view import RunView
from weft.engine.messages.step_refs import ExecutionKey, StepRef
from weft.ports.host import OutputPart
from weft.runtime.job_ids import output_name

_PARTS = (OutputPart.ERR, OutputPart.OUT, OutputPart.ERR_TAIL, OutputPart.OUT_TAIL)


def last_lines(view: RunView, agents: AgentOutputs, path: str, most: int) -> list[str]:
    """Returns the last lines that the running steps of a subplan have written; what agents do, in words."""
    lines: list[str] = []
    for step in view.row(path).steps.values():
        output = output_name(
            StepRef(path, step.step, step.attempt, ExecutionKey(step.firing, step.execution))
        )
        agent = agents.of(path, step.agent, output) if step.agent else None
        for part in _PARTS:
            end = part_tail(part, agent)
            entries = dict(end.read(agents.records, output))
            written = [line for entry in entries.values() for line in entry]
            lines += [*written, *end.unfinished()][-most:]
    return lines[-most:]
