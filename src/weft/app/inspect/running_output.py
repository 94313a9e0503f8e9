"""The end of the output of running steps."""

from weft.app.record.output import CHUNK, size
from weft.app.views.run_view import RunView
from weft.engine.messages.step_refs import ExecutionKey, StepRef
from weft.ports.host import JobRecords, OutputPart
from weft.runtime.jobs import output_name

_PARTS = (OutputPart.ERR, OutputPart.OUT, OutputPart.ERR_TAIL, OutputPart.OUT_TAIL)


def last_lines(view: RunView, records: JobRecords, path: str, most: int) -> list[str]:
    """Returns the last lines that the running steps of a subplan have written."""
    lines: list[str] = []
    for step in view.row(path).steps.values():
        ref = StepRef(path, step.step, step.attempt, ExecutionKey(step.firing, step.execution))
        for part in _PARTS:
            length = size(records, output_name(ref), part)
            data = records.read(output_name(ref), part, max(0, length - CHUNK), CHUNK) if length else b""
            lines += data.decode(errors="replace").splitlines()[-most:]
    return lines[-most:]
