"""Around the process of a step: its workspace is checked before it, and its changes are recorded after it.

For a step on another machine, the workspace goes there in between, and the work comes back.
"""

from abc import ABC

from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Launch, Merge
from weft.errors import WeftError
from weft.ports.clock import Clock
from weft.ports.machines import MachineLostError
from weft.ports.workspaces import WorkspaceCopies, Workspaces
from weft.runtime.changes import Changes
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory, as_failure, with_error
from weft.runtime.lineage import Lineage
from weft.runtime.machines.far_steps import FarSteps, lost_or_not_started, setup_failed
from weft.runtime.merge_effects import MergeEffects
from weft.runtime.outside_watch import OutsideWatch


class StepEffects(MergeEffects, ABC):
    def __init__(  # noqa: PLR0913 - all that it works with
        self,
        *,
        workspaces: Workspaces,
        jobs: JobFactory,
        lineage: Lineage,
        clock: Clock,
        inbox: Inbox,
        outside: OutsideWatch,
        copies: WorkspaceCopies | None,
    ) -> None:
        super().__init__(workspaces=workspaces, jobs=jobs, lineage=lineage, clock=clock, inbox=inbox)
        self._changes = Changes(
            workspaces, lineage, jobs, precedence=self._precedence, patience=self._patience
        )
        self._outside = outside
        self._far = FarSteps(copies)
        self._launched: dict[str, Launch] = {}
        """The launches with a running job, by the id of the order."""
        self._far_setups: dict[str, Launch] = {}
        """The steps that wait for the set-up of their copies, by the job that does it."""

    # Before a step

    async def _prove(self, launch: Launch) -> None:
        job = self._jobs.id(launch)
        try:
            await self._changes.prove(launch)
            await self._outside.step_starts(launch)
            is_ready = await self._far.send(launch, job)
            setup = None if is_ready else self._jobs.far_setup(launch)
            if not is_ready and setup is None:
                await self._far.accept(launch)
        except (WeftError, OSError) as error:
            self._far.abandon(launch, job)
            self._report(lost_or_not_started(launch, error, at=self.now()))
            return
        if setup is None:
            self._start(launch)
        else:
            self._far_setups[self._jobs.id(setup)] = launch
            self._start(setup)

    def _far_setup_of(self, step: str) -> Launch | None:
        """Returns the set-up that a step waits for, by the id of the step."""
        for job, launch in self._far_setups.items():
            if self._jobs.id(launch) == step:
                return self._launched.get(job)
        return None

    def _ends_far_setup(self, fact: Ended, job: str) -> bool:
        """Handles the end of a job that sets up a copy; returns whether it was such a job."""
        if job not in self._far_setups:
            return False
        self._soon(self._end_far_setup, fact, job)
        return True

    async def _end_far_setup(self, fact: Ended, job: str) -> None:
        """Starts the step whose copy is ready now, or reports why it is not."""
        launch = self._far_setups.pop(job)
        self._to_forget.append(job)
        if fact.how is StepOutcome.DONE:
            try:
                await self._far.accept(launch)
            except (WeftError, OSError) as error:
                fact = lost_or_not_started(launch, error, at=self.now())
            else:
                self._start(launch)
                return
        self._far.reject(launch, self._jobs.id(launch))
        self._report(setup_failed(fact, launch.host))

    # After it

    async def _record(self, launch: Launch, fact: Ended, job: str) -> None:
        if launch.host and fact.how is StepOutcome.LOST:
            # Its processes may still run there. The next attempt has another token and therefore another copy, and
            # what is in this one becomes kept work then.
            self._far.abandon(launch, job)
            self._report_end(fact, job)
            return
        try:
            await self._far.fetch(launch, job)
        except MachineLostError as error:
            self._report_end(replace(fact, how=StepOutcome.LOST, message=str(error)), job)
            return
        except (WeftError, OSError) as error:
            fact = as_failure(with_error(fact, f"its work could not be fetched from {launch.host}", error))
        fact, moves = await self._changes.ended(launch, fact)
        fact = await self._outside.ended(launch, fact)
        self._has_moved(launch, moves)
        self._report_end(fact, job)
        if moves:
            await self._forecast(launch.path)

    async def _release(self, order: Merge) -> None:
        await super()._release(order)
        await self._far.remove(order.path)
