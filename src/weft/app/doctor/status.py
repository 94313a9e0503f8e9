"""Status files that say what is not so any more. They mirror the journal, so nothing is lost with them."""

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


def status_files(ground: DoctorContext) -> Iterator[Finding]:
    for file in sorted(ground.places.status.glob("*.status.json")):
        said = _stale(ground, file)
        if said:
            yield warning(
                f"{file} {said}",
                command=suggest("rm", str(file)).command,
                subject=str(file),
                mend=partial(_remove, ground, file),
            )


def _stale(ground: DoctorContext, file: Path) -> str:
    status = read_status(file)
    if status is None:
        return "cannot be read as a status" if file.exists() else ""
    run, state = str(status.get("run")), str(status.get("state"))
    if state in _OVER or ground.is_at_work(run):
        return ""
    if run not in ground.runs:
        return f"is of run {run}, which the journal does not know"
    if ground.runs[run].record.state == "waiting" or state == ground.runs[run].record.state:
        return ""  # for an answer, and the question is in the file; or it was stopped, and the file says so
    if not ground.runs[run].has_ended and (status.get("question") or status.get("landing") in _HELD):
        return ""  # it is still so
    return f"says `{state}`, and run {run} is not under way ({ground.runs[run].record.state})"


def _remove(ground: DoctorContext, file: Path) -> None:
    with ground.alone():
        if _stale(
            DoctorContext(ground.directory, environ=ground.environ), file
        ):  # it may have changed meanwhile
            remove_file(file)


CHECKS = (
    Check(
        id="status-files",
        looks_at="files in `.weft/run` that say that a subplan is under way though nothing of its run is, or that "
        "cannot be read",
        why="scripts and people take for running what is not",
        mends="removes them; the next run writes them again",
        examine=status_files,
    ),
)
