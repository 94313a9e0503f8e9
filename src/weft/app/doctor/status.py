"""Checks for outdated status files. They mirror the journal, so removing them loses nothing."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, warning
from weft.app.project.suggestions import suggest
from weft.engine.states import SubplanExecutionState
from weft.runtime.status_files import read_status
from weft.safe_files import remove_file

_HELD = frozenset({"held", "conflict"})
_OVER = frozenset(str(state) for state in SubplanExecutionState if state.terminal)


def status_files(context: DoctorContext) -> Iterator[Finding]:
    for file in sorted(context.places.status.glob("*.status.json")):
        reason = _stale(context, file)
        if reason:
            yield warning(
                f"{file} {reason}",
                command=suggest("rm", str(file)).command,
                subject=str(file),
                fix=partial(_remove, context, file),
            )


def _stale(context: DoctorContext, file: Path) -> str:
    """Returns why the status file is outdated; empty if it is not."""
    status = read_status(file)
    if status is None:
        return "cannot be read as a status" if file.exists() else ""
    run, state = str(status.get("run")), str(status.get("state"))
    # An end stays true forever, and a run that works corrects its own files.
    if state in _OVER or context.is_at_work(run):
        return ""
    if run not in context.runs:
        return f"is of run {run}, which the journal does not know"
    if context.runs[run].record.state == "waiting" or state == context.runs[run].record.state:
        return ""  # the run waits and the file has the question, or the file has the state of the run
    if not context.runs[run].has_ended and (status.get("question") or status.get("landing") in _HELD):
        return ""  # the question or the hold still stands
    return f"says `{state}`, and run {run} is not under way ({context.runs[run].record.state})"


def _remove(context: DoctorContext, file: Path) -> None:
    with context.alone():
        # A new context, because the file may have changed meanwhile.
        if _stale(DoctorContext(context.directory, environ=context.environ), file):
            remove_file(file)


CHECKS = (
    Check(
        id="status-files",
        covers="files in `.weft/run` that cannot be read, or that show a subplan as running although its run "
        "is not",
        why="scripts and people read a wrong state there",
        fix_description="removes them; the next run writes them again",
        examine=status_files,
    ),
)
