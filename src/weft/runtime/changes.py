"""The changes of steps in their workspaces: observed from before a step starts, recorded after it has ended.

An agent that should change files and changed none has not failed, but the event says so. A *reader* is a step
with an agent that may only read. If a reader changed anything, it has failed, and its changes are undone.

Parallel steps of a slice share one directory, and a change does not show its author. So a step is held
responsible only if no other step can be: a writer, if it was alone all the time; a reader, if only readers
ran beside it. A step that starts beside others ends the observation of them all, unless all are readers. The
workspace stores this before the step starts, so that a new coordinator judges alike, and keeps the findings
until they are in the journal.
"""

from collections.abc import Sequence
from functools import partial

from anyio import CapacityLimiter, sleep
from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, RefMove
from weft.engine.messages.orders import Launch, LaunchKind
from weft.engine.messages.step_refs import ExecutionKey
from weft.errors import WeftError
from weft.ports.workspaces import Breach, StepChanges, StepWatch, StepWork
from weft.runtime.jobs import JobFactory, as_failure, with_error
from weft.runtime.lineage import Lineage
from weft.runtime.patience import Patience, raise_shortage
from weft.runtime.precedence import Precedence, Urgency
from weft.threads import run_sync

EVERY = 1.0
"""Seconds between checks for commits of running steps."""


class _Step(Struct, eq=False):
    """A step without an end in the journal yet."""

    path: str
    job: str
    reads: bool
    is_mixed: bool = False
    """Whether another step may be the author of changes while it runs."""


class Changes:
    def __init__(
        self,
        workspaces: StepChanges,
        lineage: Lineage,
        jobs: JobFactory,
        *,
        precedence: Precedence,
        patience: Patience,
    ) -> None:
        self._workspaces = workspaces
        self._lineage = lineage
        self._jobs = jobs
        self._precedence = precedence
        self._patience = patience
        self._steps: dict[ExecutionKey, _Step] = {}
        self._under_way: dict[str, list[_Step]] = {}
        """The same, by the path of the slice."""
        self._reported: list[ExecutionKey] = []

    # Before a step

    def register(self, launch: Launch) -> bool:
        """Registers a step; returns whether its workspace must be checked before it starts: then call `prove`."""
        if not self._is_step(launch):
            return False
        step = _Step(launch.path, self._jobs.id(launch), _is_reader(launch))
        together = self._under_way.setdefault(step.path, [])
        together.append(step)
        if len(together) > 1 and not all(member.reads and not member.is_mixed for member in together):
            # Also for the steps that started earlier: from now on this one may be the author.
            for member in together:
                member.is_mixed = True
        self._steps[launch.key] = step
        return self._workspaces.has_history(launch.path) or step.reads or step.is_mixed

    def _is_step(self, launch: Launch) -> bool:
        """Of a slice with a workspace of its own; what Weft does itself has names with @."""
        is_slice = self._lineage.is_slice(launch.row) and launch.kind is LaunchKind.STEP
        return is_slice and self._workspaces.is_own(launch.path)

    def _beside(self, step: _Step) -> tuple[str, ...]:
        return tuple(running.job for running in self._under_way[step.path] if running is not step)

    async def prove(self, launch: Launch) -> None:
        """Checks the workspace before a step starts in it. Raises `WeftError` or `OSError` if it is not usable."""
        await self._precedence.run_sync(Urgency.STEP, self._workspaces.prove, launch.path)
        step = self._steps[launch.key]
        if not step.is_mixed and (step.reads or self._is_to_change(launch)):
            beside = self._beside(step)
            watch = StepWatch(work=work_of(launch), job=step.job, reads=step.reads, beside=beside)
            await self._precedence.run_sync(Urgency.STEP, self._workspaces.watch, watch)
        if step.is_mixed:  # another step may have started meanwhile
            others = self._beside(step)
            await self._precedence.run_sync(Urgency.STEP, self._workspaces.unwatch, launch.path, others)

    # While it runs

    async def watch_commits(self) -> None:
        """Takes the commits of running steps over into the repository, with a short delay."""
        # One at a time, and apart from the threads of the steps: this is a courtesy to people, and must not
        # slow the run down.
        limiter = CapacityLimiter(1)
        while True:
            await sleep(EVERY)
            for path in list(self._under_way):
                if self._workspaces.has_history(path):
                    await run_sync(self._workspaces.take_commits, path, limiter=limiter)

    def _is_to_change(self, launch: Launch) -> bool:
        return _is_to_change(launch) and self._workspaces.has_history(launch.path)

    # After it

    def are_relevant(self, launch: Launch) -> bool:
        """Returns whether the changes of an ended step must be handled: then call `ended`."""
        return self._is_step(launch) and (self._workspaces.has_history(launch.path) or _is_reader(launch))

    async def ended(self, launch: Launch, fact: Ended) -> tuple[Ended, Sequence[RefMove]]:
        """Records the changes of a step, whatever its outcome. Raises the `OSError` of a lasting shortage."""
        work, breach = work_of(launch), None
        if _is_reader(launch):
            try:
                restore = partial(self._workspaces.restore, launch.path, self._jobs.id(launch))
                breach = await self._patience.do(restore)
            except (WeftError, OSError) as error:
                raise_shortage(error)
                return as_failure(
                    with_error(fact, "its changes could not be read, or not be undone", error)
                ), ()
        if breach is not None:
            fact = _broken(fact, breach)
        moves: Sequence[RefMove] = ()
        if self._workspaces.has_history(launch.path):
            try:
                # Recorded even if the step failed: its work is paid for, and the next attempt builds on it.
                moves, changed = await self._patience.do(partial(self._record_changes, launch, work))
            except (WeftError, OSError) as error:
                raise_shortage(error)
                fact = as_failure(with_error(fact, "its changes could not be committed", error))
            else:
                fact = replace(fact, changed=changed)
                if fact.left is not None:
                    fact = await self._precedence.run_sync(
                        Urgency.END, self._with_leftovers, fact, moves, launch.path
                    )
        return fact, (*(breach.moves if breach is not None else ()), *moves)

    def _with_leftovers(self, fact: Ended, moves: Sequence[RefMove], path: str) -> Ended:
        try:
            return replace(fact, left="\n".join(self._workspaces.changed_files(path, moves)))
        except (WeftError, OSError):  # then the notice for the next execution is shorter
            return fact

    def _record_changes(self, launch: Launch, work: StepWork) -> tuple[Sequence[RefMove], bool | None]:
        moves = self._workspaces.record(work)
        if not _is_to_change(launch):
            return moves, None
        return moves, self._workspaces.has_changed(launch.path, self._jobs.id(launch))

    # Until the journal has it

    def reported(self, fact: Ended) -> None:
        self._reported.append(fact.key)

    def committed(self) -> None:
        """Called when all reported ends are in the journal."""
        for execution in self._reported:
            step = self._steps.pop(execution, None)
            if step is not None:
                self._under_way[step.path].remove(step)
                if not self._under_way[step.path]:
                    del self._under_way[step.path]
        self._reported = []


def work_of(launch: Launch) -> StepWork:
    again = f" (attempt {launch.attempt})" if launch.attempt > 1 else ""
    subject = f"{launch.path}: {launch.step}{again}"
    return StepWork(path=launch.path, step=launch.step, attempt=launch.attempt, subject=subject)


def _is_reader(launch: Launch) -> bool:
    return launch.task is not None and launch.task.read_only


def _broken(fact: Ended, breach: Breach) -> Ended:
    message = "; ".join(filter(None, (fact.message, breach.message)))
    return as_failure(replace(fact, message=message, files=breach.files))


def _is_to_change(launch: Launch) -> bool:
    return launch.task is not None and launch.task.is_to_change
