"""Supervisors, and the processes of steps that nobody looks after."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.coordinator import abandon
from weft.app.doctor.findings import Check, Finding, problem, warning
from weft.app.project.suggestions import suggest
from weft.app.run.orphan_cleanup import end_all
from weft.engine.messages.run_status import FINISHED
from weft.hosts.leftovers import (
    StepProcess,
    SupervisorRemains,
    end_orphans,
    find_step_processes,
    is_halted,
    tidy_up,
)
from weft.hosts.local import LocalHost


def _run_of(supervisor: SupervisorRemains) -> str:
    return supervisor.directory.parent.name


def _resuming(ground: DoctorContext, run: str) -> str:
    """What to type to resume a run; empty for one that the journal does not know."""
    return ground.runs[run].command if run in ground.runs else ""


# --- supervisors ---


def supervisor(ground: DoctorContext) -> Iterator[Finding]:
    for one in ground.supervisors:
        run = _run_of(one)
        if ground.is_led(run):
            continue
        if one.process is not None:
            yield from _alone(ground, one, run)
        else:
            yield _dead(ground, one, run)


def _dead(ground: DoctorContext, one: SupervisorRemains, run: str) -> Finding:
    """It comes to the same whether the next supervisor tidies up, or we do."""
    mend = partial(tidy_up, ground.runs_folder, one.directory)
    if not one.unfinished or _is_never_continued(ground, run):
        return warning(
            f"the supervisor of run {run}, process {one.pid}, was killed, and has left its socket or heartbeat in "
            f"{one.directory}",
            command="weft doctor --fix",
            subject=run,
            mend=mend,
        )
    return problem(
        f"the supervisor of run {run}, process {one.pid}, is gone, and the end of {_steps(one.unfinished)} is not "
        "known",
        command=_resuming(ground, run) or "weft doctor --fix",
        subject=run,
        mend=mend,
    )


def _alone(ground: DoctorContext, one: SupervisorRemains, run: str) -> Iterator[Finding]:
    steps = one.unfinished
    if not steps:
        return  # it goes by itself in a moment
    takes_over = _resuming(ground, run)
    if _is_never_continued(ground, run) or not takes_over:
        yield problem(
            f"no command continues run {run}, and its supervisor, process {one.pid}, still has "
            f"{_steps(steps)}{_halted(steps, one)}",
            command="weft doctor --fix",
            subject=run,
            mend=partial(_end, ground, one, run),
        )
    else:
        yield warning(
            f"run {run} goes on without a coordinator: {_steps(steps)} under supervisor {one.pid}; `{takes_over}` "
            "takes over",
            command=takes_over,
            subject=run,
        )


def _halted(steps: tuple[str, ...], host: SupervisorRemains) -> str:
    """How many of the steps are frozen."""
    pids = (host.history.unfinished[job].pids for job in steps)
    frozen = sum(any(is_halted(pid) for pid, _ in of_job) for of_job in pids)
    return f" ({frozen} of them frozen)" if frozen else ""


def _end(ground: DoctorContext, host: SupervisorRemains, run: str) -> None:
    """Ends the steps through their supervisor, which wakes frozen ones and ends itself then."""
    anyio.run(end_all, LocalHost(host.directory))
    if run in ground.runs and not _has_ended(ground, run) and not ground.told.holder_lives:
        abandon(ground, run)


def _is_never_continued(ground: DoctorContext, run: str) -> bool:
    return _has_ended(ground, run) or (run in ground.runs and ground.runs[run].is_replaced)


def _has_ended(ground: DoctorContext, run: str) -> bool:
    return run in ground.runs and ground.runs[run].record.state in FINISHED


def _steps(jobs: tuple[str, ...]) -> str:
    return "1 step" if len(jobs) == 1 else f"{len(jobs)} steps"


def supervisor_hangs(ground: DoctorContext) -> Iterator[Finding]:
    for one in ground.supervisors:
        if one.process is None:
            continue
        if is_halted(one.pid):
            yield problem(
                f"the supervisor of run {_run_of(one)}, process {one.pid}, was halted by a signal",
                command=f"kill -CONT {one.pid}",
                subject=str(one.pid),
            )
        elif one.beat_at is not None and one.beat_at < ground.now - ground.bounds.silence:
            yield problem(
                f"the supervisor of run {_run_of(one)}, process {one.pid}, is alive, and its heartbeat "
                f"{one.directory / 'heartbeat.json'} is {ground.now - one.beat_at:.0f} s old: it hangs, or "
                "cannot write",
                command=suggest("tail", str(one.directory / "supervisor.log")).command,
                subject=str(one.pid),
            )


# --- orphans ---


def orphans(ground: DoctorContext) -> Iterator[Finding]:
    for one in _orphans(ground):
        job = f" of step {one.job}" if one.job else ""
        # A frozen process does not take SIGTERM before it is woken, and it must not work any more.
        kill = "kill -KILL" if is_halted(one.process.pid) else "kill"
        yield problem(
            f"process {one.process.pid} ({one.command}){job} is alive, and no supervisor watches it",
            command=f"{kill} {one.process.pid}",
            subject=f"{one.process.pid}:{one.process.started}",
            mend=partial(end_orphans, ground.runs_folder, one.directory),
        )


def _orphans(ground: DoctorContext) -> Iterator[StepProcess]:
    """Who has a living supervisor is looked after; so is, in a moment, who has a living coordinator."""
    cared_for = {str(one.directory.resolve()) for one in ground.supervisors if one.process is not None}
    for one in find_step_processes(ground.runs_folder, ground.supervisors):
        directory = Path(one.directory).resolve()
        if str(directory) not in cared_for and not ground.is_led(directory.parent.name):
            yield one


CHECKS = (
    Check(
        id="supervisor",
        looks_at="a supervisor that died while steps ran; one that runs steps without a coordinator (a "
        "warning), or of a run that no command continues, frozen or not",
        why="the supervisor sees how steps end; without it their ends are not known",
        mends="of one that died: ends what is left of its steps, which count as lost; `weft run` does them again. "
        "Of a run that no command continues: ends its steps, frozen ones too",
        examine=supervisor,
    ),
    Check(
        id="supervisor-hangs",
        looks_at="a supervisor that is alive and was halted by a signal, or has written no heartbeat for 60 s",
        why="ends and time limits of steps go unnoticed",
        examine=supervisor_hangs,
    ),
    Check(
        id="orphans",
        looks_at="processes of steps whose supervisor is gone, known by `WEFT_HOST` in their environment, or "
        "by the other marks of jobs",
        why="they may still change files, and cost money, though nobody waits for them",
        mends="ends them: SIGTERM, 5 s, SIGKILL; each proven by pid and start time just before",
        examine=orphans,
    ),
)
