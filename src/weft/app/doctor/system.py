"""Checks of Python, SQLite and limits of the system."""

import os
import resource
import sqlite3
import sys
from collections.abc import Iterator
from typing import TypedDict

from weft.app.doctor.context import Bounds, DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, problem, warning

ENOUGH = 4_096
"""The suggested limit of open files and of processes."""
_LEAST_PYTHON = (3, 11)
_LEAST_SQLITE = (3, 37, 0)


class _Remedy(TypedDict, total=False):
    command: str
    advice: str


def python(_context: DoctorContext) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _LEAST_PYTHON:
        yield problem(f"this is Python {version}", advice="install Python 3.11 or newer", subject="python")
    else:
        yield fine(f"Python {version} ({sys.executable})")


def sqlite(_context: DoctorContext) -> Iterator[Finding]:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < _LEAST_SQLITE:
        yield problem(f"this Python has SQLite {version}", advice="install a newer Python", subject="version")
    elif sqlite3.threadsafety == 0:
        yield problem(
            f"SQLite {version} was built without threads", advice="install another Python", subject="threads"
        )
    else:
        yield fine(f"SQLite {version}")


def proc(_context: DoctorContext) -> Iterator[Finding]:
    if not os.path.exists("/proc/self/stat"):  # noqa: PTH110 - a question about a text
        yield problem("there is no /proc", command="mount -t proc proc /proc", subject="/proc")
    # With `hidepid`, a process of another user looks dead, so a lock or a lease of theirs would seem stale.
    elif not os.access("/proc/1/stat", os.R_OK):
        yield warning(
            "/proc does not show the processes of others (hidepid)",
            command="mount | grep proc",
            subject="/proc",
        )


def limits(context: DoctorContext) -> Iterator[Finding]:
    files, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes, most_processes = resource.getrlimit(resource.RLIMIT_NPROC)
    bounds = context.bounds
    if _is_below(files, bounds.files_warning):
        report = problem if _is_below(files, bounds.files_problem) else warning
        yield report(
            f"a process may have only {files:,} files open",
            **_remedy("-n", files, most_files),
            subject="files",
        )
    if _is_below(processes, bounds.processes):
        yield warning(
            f"you may have only {processes:,} processes",
            **_remedy("-u", processes, most_processes),
            subject="processes",
        )


def _remedy(option: str, limit: int, most: int) -> _Remedy:
    """Returns how to raise a limit. Beyond the hard limit only an administrator can."""
    suggested = ENOUGH if most == resource.RLIM_INFINITY else min(ENOUGH, most)
    if suggested > limit:
        return {"command": f"ulimit {option} {suggested}"}
    return {"advice": f"ask an administrator to raise the hard limit `ulimit -H {option}`"}


def _is_below(limit: int, bound: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < bound


_B = Bounds()
CHECKS = (
    Check(
        id="python",
        covers="Python is 3.11 or newer",
        why="Weft does not run with an older one",
        examine=python,
    ),
    Check(
        id="sqlite",
        covers="SQLite is 3.37 or newer, and was built for threads",
        why="the journal is a database of SQLite",
        examine=sqlite,
    ),
    Check(
        id="proc",
        covers="`/proc` exists (else a problem) and shows all processes (else a warning)",
        why="Weft reads there whether a process is alive and which run it belongs to",
        examine=proc,
    ),
    Check(
        id="limits",
        covers=f"open files: a problem below {_B.files_problem:,}, a warning below {_B.files_warning:,}; "
        f"processes: a warning below {_B.processes:,}",
        why="each step needs some of both",
        examine=limits,
    ),
)
