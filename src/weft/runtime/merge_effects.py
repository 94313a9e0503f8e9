"""Merges into the branches of groups, with the verify of the merged result.

If the branch moves during the verify, the merge is repeated, and the verify has another round.
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
from weft.runtime.conflict_resolution import verify_failed
from weft.runtime.end_reports import EndReports
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory, with_error
from weft.runtime.lineage import Lineage
from weft.runtime.patience import raise_shortage
from weft.runtime.precedence import Urgency
from weft.runtime.upkeep import Upkeep
from weft.threads import run_sync


class MergeEffects(EndReports, ABC):
    def __init__(
        self, *, workspaces: Workspaces, jobs: JobFactory, lineage: Lineage, clock: Clock, inbox: Inbox
    ) -> None:
        super().__init__(workspaces=workspaces, clock=clock, inbox=inbox)
        self._jobs = jobs
        self._lineage = lineage
        self._upkeep = Upkeep(workspaces, lineage, self._precedence)
        self._adopted: dict[str, Running | JobEnded] = {}
        """Jobs of an earlier coordinator."""
        self._merges: dict[str, Merge] = {}
        """Merges that are being verified, by the id of the job."""

    @abstractmethod
    def _start(self, launch: Launch) -> None:
        """Starts a process."""

    @abstractmethod
    def _soon(self, work: Callable[..., object], *arguments: object) -> None:
        """Runs a coroutine concurrently."""

    async def _merge(self, order: Merge, number: int) -> None:
        request = self._lineage.merge(order)
        merged = await self._in_thread(order, partial(self._workspaces.merge, request), Urgency.LATER)
        if merged is None:
            return
        self._has_moved(order, merged.moves)
        if merged.verify_in is None:
            self._report(self._ended(order, StepOutcome.DONE))
            # The end is reported first: forecasts and the removal of the worktree take a while, and other
            # slices wait for this one.
            self._soon(self._forecast, order.path)
            await self._release(order)
            return
        launch = self._jobs.verify(order, self._lineage.verify_of(order.row), number)
        self._merges[self._jobs.id(launch)] = order
        self._start(launch)

    async def _verified(self, launch: Launch, fact: Ended, job: str) -> None:
        order = self._merges.pop(job)
        if fact.how is not StepOutcome.DONE:
            fact = await self._discard_result(order, fact)
            self._report_end(verify_failed(fact, order, str(self._workspaces.place(order.path))), job)
            return
        try:
            merged = await self._publish(order, job)
        except (WeftError, OSError) as error:
            raise_shortage(error)
            self._report_end(self._failed(order, error), job)
            return
        if merged is None:  # the branch has moved, so the merge is repeated on the new tip
            await self._merge(order, launch.round + 1)
            # The host forgets this round only after the next one is registered. A new coordinator that finds no
            # round would start with round 0, and the id of that job is already used.
            self._to_forget.append(job)
        else:
            self._has_moved(order, merged.moves)
            self._report_end(fact, job)
            await self._forecast(order.path)
            await self._release(order)

    async def _release(self, order: Merge) -> None:
        """Removes the workspace of a merged slice, unless the plan keeps it."""
        if self._upkeep.is_to_remove(order.row):
            await self._upkeep.release(order.path)

    async def _publish(self, order: Merge, job: str) -> MergeResult | None:
        """Publishes the verified merge; returns None if the merge must be repeated and verified again."""
        if isinstance(self._adopted.get(job), JobEnded):
            # An earlier coordinator may have repeated the merge before it died. The merge that exists now is then
            # another one than this job verified.
            return None
        return await self._patience.do(partial(self._workspaces.publish, order.path))

    async def _discard_result(self, order: Merge, fact: Ended) -> Ended:
        try:
            await run_sync(self._workspaces.discard, order.path)
        except (WeftError, OSError) as error:
            return with_error(fact, "the worktree of the verify could not be removed", error)
        return fact
