"""What is left of runs on this machine: supervisors, processes, directories."""

import os
from pathlib import Path
from typing import Any

from weft.hosts.supervisor.log import LogHistory
from weft.hosts.supervisor.orphans import left_by
from weft.hosts.supervisor.processes import find_process
from weft.safe_files import locate

from .context import FarContext
from .errors import FarProblemError

_Answer = tuple[dict[str, Any], Path | None]


def list_remains(context: FarContext, arguments: dict[str, Any], payload: Path | None) -> _Answer:  # noqa: ARG001
    """Arguments: `runs`, the ids of the runs that the coordinator asks about."""
    examined = [
        _examine(context, run) for run in arguments["runs"] if os.path.lexists(context.directory_of(run))
    ]
    return {"runs": examined}, None


def _examine(context: FarContext, run: str) -> dict[str, Any]:
    directory = context.directory_of(run) / ".weft" / "host"
    history = LogHistory()
    history.read(str(directory / "log"))
    supervisor = _living_supervisor(history)
    orphans = left_by(history, str(directory)) if supervisor is None else []
    return {
        "run": run,
        "directory": str(context.directory_of(run)),
        "supervisor": supervisor,
        "jobs": sorted(history.unfinished),
        "orphans": [process.pid for process in orphans],
    }


def _living_supervisor(history: LogHistory) -> int | None:
    if history.writer is None or not history.is_of_this_life:
        return None
    pid, started = history.writer
    process = find_process(pid)
    return pid if process is not None and process.alive and process.started == started else None


def remove_run(context: FarContext, arguments: dict[str, Any], payload: Path | None) -> _Answer:  # noqa: ARG001
    """Removes the directory of a run; refuses while processes of it are alive."""
    run = str(arguments["run"])
    directory = context.directory_of(run)
    if not os.path.lexists(directory):
        return {"removed": False}, None
    remains = _examine(context, run)
    if remains["orphans"] or (remains["supervisor"] and remains["jobs"]):
        raise FarProblemError(f"jobs of the run {run} are alive on {context.node}", kind="machine")
    tree, path = locate(directory)
    tree.remove_tree(path)
    return {"removed": True}, None
