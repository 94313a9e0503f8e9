"""What a supervisor that died has left: its processes are ended, and its jobs counted as lost.

Their processes go on for a while. If the last command of a job has exited with 0 meanwhile, the reaper has
recorded it, and the job is done: all of its output is stored. Any other exit tells nothing about the work, as a
command also fails if it writes before the reaper reads its output; then what became of the job cannot be known.
That holds for one that was only about to be started, too: it may have run, and ended, before we looked.
"""

import os
import sys
import time

from .ending import LEFTOVER_GRACE, Termination
from .log import JobLog, LogHistory, StartedJob, boot, encode
from .processes import Marks, Process, everyone, look
from .reaper import Exits

_PATIENCE = 20.0
"""Seconds for processes to go that were killed."""


def end_orphans(history: LogHistory, directory: str) -> None:
    """At the return none is alive."""
    suspects = _suspects(history)
    if not suspects:
        return
    marks = _marks(suspects, directory)
    ending = Termination(LEFTOVER_GRACE)
    until = time.monotonic() + _PATIENCE
    while ending.press(lambda: _marked(marks)):
        if time.monotonic() > until:
            pids = ", ".join(str(process.pid) for process in _marked(marks))
            sys.exit(f"processes of jobs of an earlier supervisor cannot be ended: {pids}")
        time.sleep(max(0.0, ending.look_at - time.monotonic()))


def left_by(history: LogHistory, directory: str) -> list[Process]:
    """What is alive of the jobs that have no end."""
    suspects = _suspects(history)
    return _marked(_marks(suspects, directory)) if suspects else []


def _suspects(history: LogHistory) -> dict[str, StartedJob]:
    """The jobs that may have processes: none from before the machine was started."""
    current = boot()
    return {job: begun for job, begun in history.begun.items() if begun.boot == current}


def _marks(suspects: dict[str, StartedJob], directory: str) -> Marks:
    marks = Marks(directory)
    for job, begun in suspects.items():
        marks.add(job, begun.mark)
        for pid, had_started in begun.pids:
            process = look(pid)
            # With its leader gone, a session of that number may be anybody's.
            if process is not None and process.started <= had_started:
                marks.add_session(job, pid)
    return marks


def _marked(marks: Marks) -> list[Process]:
    """All that carry a mark, and all below them."""
    there = {process.pid: process for process in everyone() if process.alive}
    below: dict[int, list[Process]] = {}
    for process in there.values():
        below.setdefault(process.parent, []).append(process)
    passed = set(_ancestors(there))
    found: list[Process] = []
    pending = [process for process in there.values() if marks.owner(process) is not None]
    while pending:
        process = pending.pop()
        if process.pid not in passed:
            passed.add(process.pid)
            found.append(process)
            pending += below.get(process.pid, [])
    return found


def _ancestors(there: dict[int, Process]) -> list[int]:
    """This process and those above it: whoever called us is none of the orphans."""
    found: list[int] = []
    process = there.get(os.getpid())
    while process is not None and process.pid not in found:
        found.append(process.pid)
        process = there.get(process.parent)
    return found


def settle(history: LogHistory, log: JobLog, exits: Exits) -> None:
    """Records an end for each job that has none: it has exited with 0 after the supervisor died, or is lost."""
    for job, begun in history.begun.items():
        ended: dict[str, object] = {
            "id": job,
            "command": max(0, len(begun.pids) - 1),
            "started_at": begun.at,
        }
        exited_at = _exited_well(begun, exits)
        if exited_at is None:
            ended |= {"why": "lost", "message": "the supervisor died while it ran", "ended_at": time.time()}
        else:
            ended |= {"why": "exited", "exit_code": 0, "ended_at": exited_at}
        history.ended[job] = encode(ended)
    if history.begun:
        log.add(*(f'{{"ended":{history.ended[job]}}}' for job in history.begun))
        log.sync()
        history.begun.clear()


def _exited_well(begun: StartedJob, exits: Exits) -> float | None:
    """When the last command of a job exited with 0; None if it did not, or nobody knows."""
    if not begun.pids or len(begun.pids) != begun.commands:
        return None
    pid, had_started = begun.pids[-1]
    for started, in_life, status, at in exits.get(pid, ()):
        if in_life == begun.boot and started <= had_started and status == 0:
            return at
    return None
