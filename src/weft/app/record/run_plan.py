"""The plan of a run, loaded from its record: for whoever needs more of it than a look."""

from weft.app.record.journal import RecordedRun
from weft.garbage import without_gc
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan


def plan_of(book: RecordedRun) -> Plan:
    """As it was when the run began."""
    with without_gc():
        return load_plan(book.run.text, book.run.file, surroundings=Surroundings(git=False))
