"""Checks of supervisors, and of step processes without a supervisor."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.coordinator import abandon
from weft.app.doctor.findings import Check, Finding, problem, warning
from weft.app.project.hosts import host_of
from weft.app.project.suggestions import suggest
from weft.app.run.orphan_cleanup import stop_all_jobs
from weft.hosts.leftovers import (
    StepProcess,
    SupervisorRemains,
    clean_up,
    end_orphans,
    find_step_processes,
)
from weft.terms import FINISHED


def _run_of(supervisor: SupervisorRemains) -> str:
    return supervisor.directory.parent.name


def _resume_command(context: DoctorContext, run: str) -> str:
    """Returns the command that resumes a run; empty for a run that is not in the journal."""
    return context.runs[run].command if run in context.runs else ""


# --- supervisors ---


def supervisor(context: DoctorContext) -> Iterator[Finding]:
    for remains in context.supervisors:
        run = _run_of(remains)
        # The coordinator talks to its supervisor and reports what is wrong with it.
        if context.is_led(run):
            continue
        if remains.process is not None:
            yield from _alone(context, remains, run)
        elif remains.unfinished:
            yield _dead(context, remains, run)
        # Otherwise all its steps have ended: a socket and a heartbeat are left, which do no harm. Processes of
        # its steps would be orphans.


def _dead(context: DoctorContext, remains: SupervisorRemains, run: str) -> Finding:
    """Reports a dead supervisor. The fix does the same clean-up as the next supervisor would."""
    fix = partial(clean_up, context.runs_folder, remains.directory)
    if _is_never_continued(context, run):
        return warning(
            f"the supervisor of run {run}, process {remains.pid}, was killed, and the end of "
            f"{_steps(remains.unfinished)} is unknown",
            command="weft doctor --fix",
            subject=run,
            fix=fix,
        )
    return problem(
        f"the supervisor of run {run}, process {remains.pid}, is dead, and the end of "
        f"{_steps(remains.unfinished)} is unknown",
        command=_resume_command(context, run) or "weft doctor --fix",
        subject=run,
        fix=fix,
    )


def _alone(context: DoctorContext, remains: SupervisorRemains, run: str) -> Iterator[Finding]:
    steps = remains.unfinished
    if not steps:
        return  # it is about to end by itself
    takes_over = _resume_command(context, run)
    if _is_never_continued(context, run) or not takes_over:
        yield problem(
            f"no command continues run {run}, and its supervisor, process {remains.pid}, still has "
            f"{_steps(steps)}{_frozen_remark(remains)}",
            command="weft doctor --fix",
            subject=run,
            fix=partial(_end, context, run),
        )
    else:
        yield warning(
            f"run {run} continues without a coordinator: {_steps(steps)} under supervisor {remains.pid}; "
            f"`{takes_over}` takes over",
            command=takes_over,
            subject=run,
        )


def _frozen_remark(remains: SupervisorRemains) -> str:
    """Returns a remark about the number of frozen steps."""
    frozen = remains.count_frozen()
    return f" ({frozen} of them frozen)" if frozen else ""


def _end(context: DoctorContext, run: str) -> None:
    """Ends the steps through their supervisor, which wakes frozen ones and ends itself then."""
    # Through the supervisor and not by signals from here: only it records how each step ends.
    anyio.run(stop_all_jobs, host_of(context.places, run))
    if run in context.runs and not _has_ended(context, run) and not context.journal_facts.holder_lives:
        abandon(context, run)


def _is_never_continued(context: DoctorContext, run: str) -> bool:
    return _has_ended(context, run) or (run in context.runs and context.runs[run].is_replaced)


def _has_ended(context: DoctorContext, run: str) -> bool:
    return run in context.runs and context.runs[run].record.state in FINISHED


def _steps(jobs: tuple[str, ...]) -> str:
    return "1 step" if len(jobs) == 1 else f"{len(jobs)} steps"


def supervisor_hangs(context: DoctorContext) -> Iterator[Finding]:
    for remains in context.supervisors:
        if remains.process is None:
            continue
        if remains.is_halted:
            yield problem(
                f"the supervisor of run {_run_of(remains)}, process {remains.pid}, was halted by a signal",
                command=f"kill -CONT {remains.pid}",
                subject=str(remains.pid),
            )
        elif remains.beat_at is not None and remains.beat_at < context.now - context.bounds.silence:
            yield problem(
                f"the supervisor of run {_run_of(remains)}, process {remains.pid}, is alive, and its heartbeat "
                f"{remains.heartbeat_file} is {context.now - remains.beat_at:.0f} s old: it hangs, "
                "or cannot write",
                command=suggest("tail", str(remains.log_file)).command,
                subject=str(remains.pid),
            )


# --- orphans ---


def orphans(context: DoctorContext) -> Iterator[Finding]:
    for orphan in _orphans(context):
        job = f" of step {orphan.job}" if orphan.job else ""
        # A frozen process does not take SIGTERM before it is woken, and it must not work any more.
        kill = "kill -KILL" if orphan.is_halted else "kill"
        yield problem(
            f"process {orphan.process.pid} ({orphan.command}){job} is alive, and no supervisor watches it",
            command=f"{kill} {orphan.process.pid}",
            subject=f"{orphan.process.pid}:{orphan.process.started}",
            fix=partial(end_orphans, context.runs_folder, orphan.directory),
        )


def _orphans(context: DoctorContext) -> Iterator[StepProcess]:
    """Yields step processes without a live supervisor or coordinator. A coordinator takes its processes over."""
    supervised = {
        str(remains.directory.resolve()) for remains in context.supervisors if remains.process is not None
    }
    for process in find_step_processes(context.runs_folder, context.supervisors):
        directory = Path(process.directory).resolve()
        # A coordinator that has just started is about to take these processes over.
        if str(directory) not in supervised and not context.is_led(directory.parent.name):
            yield process


CHECKS = (
    Check(
        id="supervisor",
        covers="a supervisor that died while steps ran, that runs steps without a coordinator (a warning), or "
        "that has steps of a run that no command continues",
        why="the supervisor records how steps end; without it their ends are unknown",
        fix_description="if the supervisor died: ends the remaining processes of its steps, which count as lost; "
        "`weft run` "
        "repeats them. If no command continues the run: ends its steps, frozen ones too",
        examine=supervisor,
    ),
    Check(
        id="supervisor-hangs",
        covers="a supervisor that is alive and was halted by a signal, or has written no heartbeat for 60 s",
        why="nothing notices the end or the time limit of a step",
        examine=supervisor_hangs,
    ),
    Check(
        id="orphans",
        covers="processes of steps of a dead supervisor, recognised by `WEFT_HOST` in their environment or by "
        "the other marks of jobs",
        why="they may still change files and cost money, and nothing uses their results",
        fix_description="ends them: SIGTERM, 5 s, SIGKILL; it checks pid and start time of each process just "
        "before",
        examine=orphans,
    ),
)
