"""Merges into the branches of groups, with the verify of what has come together.

A merge whose branch moved while it was verified is made again, and has another round of the verify.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Launch, Merge
from weft.errors import WeftError
from weft.ports.clock import Clock
from weft.ports.host import JobEnded, Running
from weft.ports.workspaces import MergeResult, Workspaces
from weft.runtime.conflict_resolution import red
from weft.runtime.end_reports import EndReports
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory, but
from weft.runtime.lineage import Lineage
from weft.runtime.upkeep import Upkeep
from weft.threads import run_sync


class MergeEffects(EndReports, ABC):
    def __init__(
        self, *, workspaces: Workspaces, jobs: JobFactory, lineage: Lineage, clock: Clock, inbox: Inbox
    ) -> None:
        super().__init__(workspaces=workspaces, clock=clock, inbox=inbox)
        self._jobs = jobs
        self._lineage = lineage
        self._upkeep = Upkeep(workspaces, lineage)
        self._found: dict[str, Running | JobEnded] = {}
        """Jobs of an earlier coordinator."""
        self._merges: dict[str, Merge] = {}
        """Merges that are being verified, by the id of the job."""

    @abstractmethod
    def _start(self, launch: Launch) -> None:
        """Starts a process."""

    @abstractmethod
    def _soon(self, work: Callable[..., object], *arguments: object) -> None:
        """Has a coroutine run beside the others."""

    async def _merge(self, order: Merge, number: int) -> None:
        request = self._lineage.merge(order)
        merged = await self._in_thread(order, partial(self._workspaces.merge, request))
        if merged is None:
            return
        self._has_moved(order, merged.moves)
        if merged.verify_in is None:
            self._report(self._ended(order, StepOutcome.DONE))
            self._soon(self._foresee, order.path)
            await self._release(order)
            return
        launch = self._jobs.verify(order, self._lineage.verify_of(order.row), number)
        self._merges[self._jobs.id(launch)] = order
        self._start(launch)

    async def _verified(self, launch: Launch, fact: Ended, job: str) -> None:
        order = self._merges.pop(job)
        if fact.how is not StepOutcome.DONE:
            fact = await self._discarded(order, fact)
            self._report_end(red(fact, order, str(self._workspaces.place(order.path))), job)
            return
        try:
            merged = await self._publish(order, job)
        except (WeftError, OSError) as error:
            self._report_end(self._failed(order, error), job)
            return
        if merged is None:  # it has to be made anew, with what came meanwhile
            await self._merge(order, launch.round + 1)
            # Only now: who does not find this round would begin with the first, and its id has been used.
            self._unsafe.append(job)
        else:
            self._has_moved(order, merged.moves)
            self._report_end(fact, job)
            await self._foresee(order.path)
            await self._release(order)

    async def _release(self, order: Merge) -> None:
        """Nothing needs the workspace of a slice any more once that is merged."""
        if self._upkeep.wants_removed(order.row):
            await self._upkeep.release(order.path)

    async def _publish(self, order: Merge, job: str) -> MergeResult | None:
        """None if the merge has to be repeated and verified."""
        if isinstance(self._found.get(job), JobEnded):
            # Whoever was here before may have made it anew already, and what is there now was never verified.
            return None
        return await run_sync(self._workspaces.publish, order.path)

    async def _discarded(self, order: Merge, fact: Ended) -> Ended:
        try:
            await run_sync(self._workspaces.discard, order.path)
        except (WeftError, OSError) as error:
            return but(fact, "the worktree of the verify could not be removed", error)
        return fact
