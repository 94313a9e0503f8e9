"""The limits of Weft commands inside a step: they show the step's own subplan and change nothing.

A step that could stop its run, answer the question of another slice or approve commands would take decisions that
belong to a person. Each command that changes a run or a project is therefore refused inside a step:

- everywhere, if the environment says that this is a step;
- also without that, if the ancestors of the process are a step (`weft.hosts.ancestry`), in the project of that
  step, in all of its worktrees, and in every project that is older than the step.

This leaves a project that a step makes for itself: the tests of a program that uses Weft, as Weft's own do, run
Weft in temporary directories. Such a test removes the variables of the step from the environment first.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weft.app.project.places import FOLDER, Places, absolute, project_of
from weft.engine.messages.events import StepStartedEvent
from weft.errors import InputError
from weft.hosts.ancestry import EnclosingStep, find_enclosing_steps
from weft.ports.journal import JournalReader
from weft.runtime.environment import inside_step
from weft.runtime.job_ids import parse_job_id
from weft.safe_files import read_text

FindSteps = Callable[[], Sequence[EnclosingStep]]
_SLACK = 0.1
"""Seconds by which the clocks of files and of processes may differ."""


# --- changes ---


def refuse_inside_step(
    folder: Path,
    command: str,
    environ: Mapping[str, str] = os.environ,
    *,
    find_steps: FindSteps = find_enclosing_steps,
) -> None:
    """Raises `InputError` if this process is part of a step that must not change the project of the folder."""
    # The environment is checked first, because it is cheap and names the subplan. A step that clears its
    # environment is found by its ancestors.
    declared = inside_step(environ)
    if declared is not None:
        raise _refusal(command, environ.get("WEFT_RUN", ""), declared)
    steps = find_steps()
    if steps:
        project = project_of(absolute(folder)).project
        for step in steps:
            if not _is_of_the_step(project, step):
                raise _refusal(command, step.run, step.subplan)


def _refusal(command: str, run: str, subplan: str | None) -> InputError:
    where = f"a step of {subplan}" if subplan else "a step"
    return InputError(
        f"`{command}` is refused inside {where}{f' (run {run})' if run else ''}: a step cannot change a run or a "
        "project; a person types it in a terminal of their own"
    )


def _is_of_the_step(project: Path, step: EnclosingStep) -> bool:
    """Returns whether the project was created during the step and is separate from the step's own project."""
    if step.host is None:
        return False
    own = project_of_host(step.host)
    if own is None or project.resolve().is_relative_to(own.resolve()):
        return False
    # A worktree of the step's repository lies elsewhere on the disk, but is the same work.
    if set(_repositories(own)) & set(_repositories(project)):
        return False
    return _oldest_entry(project / FOLDER) >= step.started_at - _SLACK


def project_of_host(host: Path) -> Path | None:
    """Returns the project that a supervisor's directory belongs to."""
    return next((place.parent for place in host.parents if place.name == FOLDER), None)


def _repositories(project: Path) -> Iterator[Path]:
    """Yields the git directories of all repositories around a directory; for a worktree, that of the main one."""
    for place in (project, *project.parents):
        git = place / ".git"
        if git.is_dir():
            yield git.resolve()
            continue
        try:
            pointer = read_text(git)
        except (OSError, UnicodeDecodeError):
            continue
        else:
            directory = (place / pointer.removeprefix("gitdir:").strip()).resolve()
            yield directory.parents[1] if directory.parent.name == "worktrees" else directory


def _oldest_entry(folder: Path) -> float:
    """Returns the change time of the oldest entry; infinity if there is none.

    The change time of a file cannot be set: a project that has been used before the step has such entries, also if
    its files are copied or touched later.
    """
    try:
        times = [entry.stat(follow_symlinks=False).st_ctime for entry in os.scandir(folder)]
    except (FileNotFoundError, NotADirectoryError):
        return float("inf")
    # Unreadable counts as old, so that the command is refused.
    except OSError:
        return 0.0
    return min(times, default=float("inf"))


# --- views ---


class VisibleRun(Struct, frozen=True):
    """The run, and the part of it, that this process may see."""

    run: str | None
    """The id of the run; None for the last run."""
    subplan: str
    """The visible subplan; empty for the whole run."""


def find_sight(
    places: Places,
    journal: JournalReader,
    run: str | None,
    environ: Mapping[str, str] = os.environ,
    *,
    find_steps: FindSteps = find_enclosing_steps,
) -> VisibleRun:
    """Returns the visible part of the named run: all of it or, inside a step, only the step's subplan."""
    # The ancestors come first: a process can change its environment, but not its parents.
    step = _step_in(places, find_steps()) or _declared_step(journal, environ)
    if step is None:
        return VisibleRun(run, "")
    if run not in {None, step.run}:
        raise InputError(f"inside a step only its own run can be seen: {step.run}, and not {run}")
    subplan = _recorded_subplan(journal, step) if step.subplan is None else step.subplan
    if subplan is None:
        raise InputError(
            "inside a step only its own subplan can be seen, and it is unknown which one that is"
        )
    return VisibleRun(step.run, subplan)


def _step_in(places: Places, steps: Sequence[EnclosingStep]) -> EnclosingStep | None:
    """Returns the innermost step of this project that the process is part of."""
    for step in steps:
        own = None if step.host is None else project_of_host(step.host)
        if own is not None and own.resolve() == places.project.resolve():
            return step
    return None


def _declared_step(journal: JournalReader, environ: Mapping[str, str]) -> EnclosingStep | None:
    """Returns the step that the environment names, if its run is in this journal."""
    declared, run = inside_step(environ), environ.get("WEFT_RUN", "")
    if declared is None or not run or journal.record(run) is None:
        return None
    return EnclosingStep(run=run, subplan=declared)


def _recorded_subplan(journal: JournalReader, step: EnclosingStep) -> str | None:
    """Returns the subplan of the step's job, from the journal."""
    job = parse_job_id(step.job)
    if job is None or job.run != step.run:
        return None
    for recorded in journal.events(step.run):
        event = recorded.event
        if isinstance(event, StepStartedEvent) and event.firing == job.firing:
            return event.subplan
    return None
