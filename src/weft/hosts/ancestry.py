"""The steps of runs that a process is part of, whatever it has done to its environment.

A step can clear its environment, start sessions and daemons; it cannot change its ancestors. Every process of a
step is a descendant of a supervisor, which is a subreaper: a process that loses its parent becomes a child of the
supervisor and not of init. So the walk from a process up to its supervisor finds the step. The command line of the
supervisor names its directory, and that names the run.

The walk fails in two cases: a sandbox hides the processes outside of it, and a supervisor may have been killed.
For these the environment of the remaining ancestors and the mark of the job (`supervisor.processes`) decide.

Between the process and the supervisor, the variables of the process nearest to the supervisor count: a step may
start `weft` with other values.
"""

import os
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from weft.hosts.supervisor.log import LogHistory
from weft.hosts.supervisor.processes import Process, find_process, has_mark, mark_of, now, read

_PROGRAM = "/weft/hosts/supervisor/__main__.py"
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class EnclosingStep(Struct, frozen=True, kw_only=True):
    """A step that a process is part of; what is unknown is empty."""

    host: Path | None = None
    """The directory of its supervisor."""
    run: str = ""
    subplan: str | None = None
    """The path; empty for a step of the whole plan, and None if it is unknown."""
    job: str = ""
    started_at: float = 0.0
    """When its first known process started, in seconds since the epoch."""


def find_enclosing_steps(pid: int | None = None) -> list[EnclosingStep]:
    """Returns the steps that the process, or the current one, is part of, innermost first."""
    pid = os.getpid() if pid is None else pid
    steps: list[EnclosingStep] = []
    below: list[Process] = []
    for process in _line_of(pid):
        host = _supervisor_directory(process.pid)
        if host is None:
            below.append(process)
        elif below:  # else it is the reaper above a supervisor, which has the same command line
            steps.append(_step(below, host))
            below = []
    rest = _step(below, None)
    if rest.host is not None or rest.run:
        steps.append(rest)
    if not steps and has_mark(pid):
        steps.append(EnclosingStep())
    return steps


def _line_of(pid: int) -> Iterator[Process]:
    """Yields the process, its parent, and so on."""
    # Each look is separate, so a process can end and its pid be reused in between; a loop must not hang this
    # walk.
    visited: set[int] = set()
    process = find_process(pid)
    while process is not None and process.pid not in visited:
        visited.add(process.pid)
        yield process
        process = find_process(process.parent)


def _supervisor_directory(pid: int) -> Path | None:
    """Returns the directory that a supervisor serves; None if the process is not a supervisor."""
    # The supervisor's command line is its program and then its directory; see `hosts.reach`.
    words = os.fsdecode(read(f"/proc/{pid}/cmdline")).split("\0")
    for word, following in pairwise(words):
        if word.endswith(_PROGRAM):
            return Path(following)
    return None


def _step(processes: list[Process], host: Path | None) -> EnclosingStep:
    """Returns the step of these processes; the last one is the nearest to the supervisor."""
    variables: Mapping[str, str] = {}
    for process in reversed(processes):
        variables = variables_of(process.pid)
        # /proc/PID/environ shows the environment at exec. The process nearest to the supervisor was started by
        # it, so its variables are set by the supervisor; later ones may be a step's.
        if "WEFT_JOB" in variables:
            break
    else:
        variables = {}
    host_variable = variables.get("WEFT_HOST")
    place = host or (Path(host_variable) if host_variable else None)
    job = variables.get("WEFT_JOB", "") or _recorded_job(place, processes)
    return EnclosingStep(
        host=place,
        run=variables.get("WEFT_RUN", "") or ("" if place is None else place.parent.name),
        subplan=variables.get("WEFT_SUBPLAN"),
        job=job,
        started_at=min((_started_at(process) for process in processes), default=0.0),
    )


def variables_of(pid: int) -> dict[str, str]:
    """Returns Weft's variables in the environment that a process was started with."""
    parts = os.fsdecode(read(f"/proc/{pid}/environ")).split("\0")
    return {name: value for name, _, value in (part.partition("=") for part in parts) if name[:5] == "WEFT_"}


def _recorded_job(host: Path | None, processes: list[Process]) -> str:
    """Returns the job of these processes by their mark, from the supervisor's log; empty if it has none."""
    if host is None:
        return ""
    history = LogHistory()
    history.read(str(host / "log"))
    marks = {mark_of(process.pid) for process in processes}
    return next((job for job, started_job in history.unfinished.items() if started_job.mark in marks), "")


def _started_at(process: Process) -> float:
    return time.time() - (now() - process.started) / _TICKS_PER_SECOND
