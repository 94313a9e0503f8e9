"""The remains of a dead supervisor: its processes are ended, and its jobs count as lost.

Its processes keep running for a while. If the last command of a job has exited with 0 meanwhile, the reaper has
recorded that, and the job has succeeded: all its output is stored. Any other exit says nothing about the work,
because a command also fails if it writes before the reaper reads its output; the result of such a job is unknown.
The same holds for a job that was only about to start: it may have run and ended unnoticed.
"""

import os
import sys
import time

from .log import JobLog, LogHistory, StartedJob, boot, encode
from .processes import Marks, Process, all_processes, find_process
from .reaper import Exits
from .termination import LEFTOVER_GRACE, Termination

_PATIENCE = 20.0
"""Seconds for killed processes to end."""


def end_orphans(history: LogHistory, directory: str) -> None:
    """Ends all processes of unfinished jobs; none is alive when it returns."""
    suspects = _suspects(history)
    if not suspects:
        return
    marks = _marks(suspects, directory)
    ending = Termination(LEFTOVER_GRACE)
    until = time.monotonic() + _PATIENCE
    while ending.signal_all(lambda: _marked_processes(marks)):
        if time.monotonic() > until:
            pids = ", ".join(str(process.pid) for process in _marked_processes(marks))
            sys.exit(f"processes of jobs of an earlier supervisor cannot be ended: {pids}")
        time.sleep(max(0.0, ending.check_at - time.monotonic()))


def left_by(history: LogHistory, directory: str) -> list[Process]:
    """Returns the living processes of jobs without an end."""
    suspects = _suspects(history)
    return _marked_processes(_marks(suspects, directory)) if suspects else []


def _suspects(history: LogHistory) -> dict[str, StartedJob]:
    """Returns the jobs that may have processes: none from before the last boot."""
    current = boot()
    return {
        job: started_job for job, started_job in history.unfinished.items() if started_job.boot == current
    }


def _marks(suspects: dict[str, StartedJob], directory: str) -> Marks:
    marks = Marks(directory)
    for job, started_job in suspects.items():
        marks.add(job, started_job.mark)
        for pid, had_started in started_job.pids:
            process = find_process(pid)
            # Once its leader has gone, a session of that number may belong to another program.
            if process is not None and process.started <= had_started:
                marks.add_session(job, pid)
    return marks


def _marked_processes(marks: Marks) -> list[Process]:
    """Returns all processes with a mark, and all below them."""
    alive = {process.pid: process for process in all_processes() if process.alive}
    below: dict[int, list[Process]] = {}
    for process in alive.values():
        below.setdefault(process.parent, []).append(process)
    # `weft doctor` may itself run inside a step of that supervisor.
    visited = set(_ancestors(alive))
    family: list[Process] = []
    pending = [process for process in alive.values() if marks.owner(process) is not None]
    while pending:
        process = pending.pop()
        if process.pid not in visited:
            visited.add(process.pid)
            family.append(process)
            pending += below.get(process.pid, [])
    return family


def _ancestors(alive: dict[int, Process]) -> list[int]:
    """Returns this process and those above it: the caller is no orphan."""
    pids: list[int] = []
    process = alive.get(os.getpid())
    while process is not None and process.pid not in pids:
        pids.append(process.pid)
        process = alive.get(process.parent)
    return pids


def settle(history: LogHistory, log: JobLog, exits: Exits) -> None:
    """Records an end for each job that has none: it exited with 0 after the supervisor died, or it is lost."""
    for job, started_job in history.unfinished.items():
        ended: dict[str, object] = {
            "id": job,
            "command": max(0, len(started_job.pids) - 1),
            "started_at": started_job.at,
        }
        exited_at = _exited_well(started_job, exits)
        if exited_at is None:
            ended |= {"why": "lost", "message": "the supervisor died while it ran", "ended_at": time.time()}
        else:
            ended |= {"why": "exited", "exit_code": 0, "ended_at": exited_at}
        history.ended[job] = encode(ended)
    if history.unfinished:
        # Synced before anything is reported: a job that was reported as lost may be started again under another
        # id, and must never turn up as running.
        log.add(*(f'{{"ended":{history.ended[job]}}}' for job in history.unfinished))
        log.sync()
        history.unfinished.clear()


def _exited_well(started_job: StartedJob, exits: Exits) -> float | None:
    """Returns when the last command of a job exited with 0; None if it did not, or if that is unknown."""
    # All commands must have been started. A success of the first of three says nothing about the job.
    if not started_job.pids or len(started_job.pids) != started_job.commands:
        return None
    pid, had_started = started_job.pids[-1]
    for started, boot_id, status, at in exits.get(pid, ()):
        # The log has a time at which the command had started already. A later start under the same pid is
        # another process.
        if boot_id == started_job.boot and started <= had_started and status == 0:
            return at
    return None
