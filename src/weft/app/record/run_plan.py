"""The complete plan of a run, loaded from its record. `run_record` is the faster, partial form."""

from weft.app.record.journal import RecordedRun
from weft.garbage import without_gc
from weft.plan.loader.record import load_record
from weft.plan.model import Plan


def plan_of(recorded_run: RecordedRun) -> Plan:
    """Returns the plan as it was when the run started, without the positions of its parts in the file."""
    with without_gc():
        return load_record(recorded_run.run.text, recorded_run.run.file)
