"""Check that the programs of a plan's commands exist.

A missing program is a refusal only where a run is certain to fail: the command is simple, nothing before it can
install the program, and the plan does not allow it to fail. Everything else is a warning, or is not judged.
"""

import os
import posixpath
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from weft.app.preflight.findings import PreflightFinding, refusal, warning
from weft.app.preflight.plan_commands import PlannedCommand, is_initial, planned_commands
from weft.app.project.shell_words import required_program
from weft.plan.model import Plan
from weft.plan.order.globs import matches
from weft.search_path import search_path

_NAMED = 3
"""The most users of a program that a message names; it counts the others."""
_SHELL = "/bin/sh"
_ENVIRONMENTS = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Directories that an activated environment puts on the PATH."""

Files = Callable[[str], str]
"""Judges a path in the workspace that a slice starts with. Returns what is wrong with it and how to fix it, as the
rest of a sentence that starts with "which"; empty if nothing is wrong."""


class _Need(Struct, frozen=True, kw_only=True):
    """A program that a command needs."""

    program: str
    planned: PlannedCommand

    @property
    def is_path(self) -> bool:
        """Whether it is a path in the workspace."""
        return "/" in self.program and not self.program.startswith("/")


def program_findings(
    plan: Plan, folder: Path, environ: Mapping[str, str], *, files: Files, done: Collection[str] = ()
) -> Iterator[PreflightFinding]:
    """Yields the missing programs. `files` judges paths in the workspace; `folder` holds the plan."""
    needs = [*_needs(plan, done)]
    yield from _of_the_machine([need for need in needs if not need.is_path], folder, environ)
    yield from _of_the_workspace(plan, [need for need in needs if need.is_path], files, done)


def _needs(plan: Plan, done: Collection[str]) -> Iterator[_Need]:
    for planned in planned_commands(plan, done):
        program = required_program(planned.command)
        if program is not None:
            yield _Need(program=program, planned=planned)


# On the machine


def _of_the_machine(
    needs: Iterable[_Need], folder: Path, environ: Mapping[str, str]
) -> Iterator[PreflightFinding]:
    path = search_path(environ)
    users: dict[str, list[PlannedCommand]] = {}
    for need in needs:
        if not need.planned.has_own_path:
            users.setdefault(need.program, []).append(need.planned)
    for program, planned in users.items():
        if _is_there(program, planned, path):
            continue
        # One certain failure refuses the run, since the money that other slices spend before it would be wasted.
        is_certain = any(not command.may_be_installed and not command.may_be_skipped for command in planned)
        where = "does not exist, or cannot be executed" if "/" in program else "is not on the PATH"
        message = f"{_users(planned)} needs {program}, which {where}; {_advice(program, folder)}"
        if is_certain:
            yield refusal("program", message)
        else:
            yield warning("program", f"{message} (unless a command before it does)")


def _is_there(program: str, planned: Iterable[PlannedCommand], path: str) -> bool:
    if shutil.which(program, path=path) is not None:
        return True
    # The shell of the step may have a builtin that Weft's list lacks.
    return all(isinstance(command.command, str) for command in planned) and _is_known_to_shell(program, path)


def _is_known_to_shell(program: str, path: str) -> bool:
    asked = subprocess.run(  # noqa: S603 - a fixed text; the word is a parameter of it
        [_SHELL, "-c", 'command -v "$1"', _SHELL, program],
        env={"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return asked.returncode == 0


def _advice(program: str, folder: Path) -> str:
    for place in _ENVIRONMENTS:
        if os.access(folder / place / program, os.X_OK):
            return f"it is in {place}: put that on the PATH, by typing: export PATH={folder / place}:$PATH"
    return "install it, or write another command"


# In the workspace


def _of_the_workspace(
    plan: Plan, needs: Iterable[_Need], files: Files, done: Collection[str]
) -> Iterator[PreflightFinding]:
    users: dict[tuple[str, str], list[PlannedCommand]] = {}
    for need in needs:
        trouble = "" if _is_brought(plan, need) else files(need.program)
        if trouble:
            users.setdefault((need.program, trouble), []).append(need.planned)
    broken = {
        command.row
        for planned in users.values()
        for command in planned
        if command.is_first and not command.may_be_skipped
    }
    # A slice that starts may create the file, and one that an earlier run completed may have created it.
    rows = range(len(plan.subplans))
    initial = {row for row in rows if plan.outline.is_leaf(row) and is_initial(plan, row)}
    # Only if every slice that can start now fails at its first process, no slice can ever create the missing file.
    is_certain = bool(initial) and initial == broken and not done
    for (program, trouble), planned in users.items():
        fails = is_certain and any(command.row in broken and command.is_first for command in planned)
        message = f"{_users(planned)} needs {program}, which {trouble}"
        yield refusal("file", message) if fails else warning("file", f"{message} (unless a step makes it)")


def _is_brought(plan: Plan, need: _Need) -> bool:
    """Returns whether `copy` or `link` names the file, or a directory around it."""
    settings, path = plan.scopes[need.planned.row].settings, PurePosixPath(posixpath.normpath(need.program))
    places = [place.as_posix() for place in (path, *path.parents)][:-1]
    return any(matches(glob, place) for glob in (*settings.copy, *settings.link) for place in places)


def _users(planned: Iterable[PlannedCommand]) -> str:
    purposes = list(dict.fromkeys(command.purpose for command in planned))
    first = ", ".join(purposes[:_NAMED])
    return f"{first} and {len(purposes) - _NAMED} more" if len(purposes) > _NAMED else first
