"""Steps on other machines: before such a step the workspace goes there, and after it the work comes back.

Parallel steps of a slice share one copy of its workspace. A copy in which a step works is not sent again: the
files there are newer than those here, and the next step finds what its neighbours have left, as on this machine.

A machine that cannot be reached says nothing about its steps, so an exchange is tried again until the machine
answers or counts as lost. All exchanges can be repeated.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

import anyio
from anyio import CapacityLimiter
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Launch
from weft.errors import WeftError
from weft.ports.host import KnownJobs, Running
from weft.ports.machines import MachineLostError, UnreachableError
from weft.ports.workspaces import PlacedSlice, WorkspaceCopies
from weft.runtime.job_ids import without_round
from weft.runtime.jobs import not_started
from weft.threads import run_sync

_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 5.0
_THREADS = 16
"""How many exchanges run at the same time. Other work of the coordinator has threads of its own."""

_T = TypeVar("_T")


class FarSteps:
    """The exchanges of a run. It does nothing for steps on this machine."""

    def __init__(self, copies: WorkspaceCopies | None) -> None:
        """`copies` is None if no step runs elsewhere."""
        self._copies = copies
        self._threads: CapacityLimiter | None = None
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        """For each slice: an exchange at a time."""
        self._working: defaultdict[PlacedSlice, set[str]] = defaultdict(set)
        """The jobs that work in each copy."""
        self._ready: set[PlacedSlice] = set()
        """Copies with a complete set-up."""
        self._set_ups: dict[PlacedSlice, anyio.Event] = {}
        """Set when the set-up of a copy, which is under way, has ended."""
        self._of_slice: defaultdict[str, set[PlacedSlice]] = defaultdict(set)

    async def send(self, launch: Launch, job: str) -> bool:
        """Makes the copy ready for a step; returns False if the caller has to run the set-up there first.

        Then the caller also calls `accept` or `reject`. Of several steps that start together, one gets that
        answer, and the others wait. Raises `MachineLostError`, another `WeftError` or `OSError`.
        """
        placed = placement_of(launch)
        if self._copies is None or placed is None:
            return True
        while True:
            async with self._locks[launch.path]:
                if not self._working[placed]:
                    if await self._repeat(self._copies.send, placed):
                        self._ready.add(placed)
                    self._of_slice[launch.path].add(placed)
                under_way = self._set_ups.get(placed)
                if under_way is None:
                    self._working[placed].add(job)
                    if placed in self._ready:
                        return True
                    self._set_ups[placed] = anyio.Event()
                    return False
            await under_way.wait()

    async def accept(self, launch: Launch) -> None:
        """Records that the set-up of the copy is complete. Raises as `send` does."""
        placed = placement_of(launch)
        if self._copies is not None and placed is not None:
            try:
                await self._repeat(self._copies.accept, placed)
                self._ready.add(placed)
            finally:
                self._end_set_up(placed)

    def reject(self, launch: Launch, job: str) -> None:
        """Records that the set-up has failed, so that the step does not start. The next step tries it again."""
        placed = placement_of(launch)
        if placed is not None:
            self._working[placed].discard(job)
            self._end_set_up(placed)

    def _end_set_up(self, placed: PlacedSlice) -> None:
        event = self._set_ups.pop(placed, None)
        if event is not None:
            event.set()

    async def fetch(self, launch: Launch, job: str) -> None:
        """Fetches what an ended step has left. Raises as `send` does."""
        placed = placement_of(launch)
        if self._copies is None or placed is None:
            return
        async with self._locks[launch.path]:
            try:
                await self._repeat(self._copies.fetch, placed)
            finally:
                self._working[placed].discard(job)

    def abandon(self, launch: Launch, job: str) -> None:
        """Forgets a step that was not started, or that counts as lost."""
        placed = placement_of(launch)
        if placed is not None:
            self._working[placed].discard(job)

    async def remove(self, path: str) -> None:
        """Removes the copies of a slice that has ended; one that cannot be removed goes with the run."""
        for placed in self._of_slice.pop(path, ()):
            if self._copies is not None and not self._working.pop(placed, ()):
                with suppress(WeftError, OSError):
                    await run_sync(self._copies.remove, placed, limiter=self._limiter)

    async def keep_stale_work(self, host: str, machine: str, placements: Mapping[str, str]) -> None:
        """Keeps what a machine has of other placements. If it does not answer now, it will be asked again."""
        if self._copies is not None:
            work = partial(self._copies.keep_stale_work, host, machine, placements)
            with suppress(WeftError, OSError):
                await run_sync(work, limiter=self._limiter)

    async def _repeat(self, exchange: Callable[[PlacedSlice], _T], placed: PlacedSlice) -> _T:
        pause = _FIRST_PAUSE
        while True:
            try:
                return await run_sync(exchange, placed, limiter=self._limiter)
            except UnreachableError:
                await anyio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    @property
    def _limiter(self) -> CapacityLimiter:
        if self._threads is None:
            self._threads = CapacityLimiter(_THREADS)
        return self._threads


def placement_of(launch: Launch) -> PlacedSlice | None:
    """Returns where a step works; None for this machine."""
    if not launch.host:
        return None
    return PlacedSlice(path=launch.path, host=launch.host, token=launch.token)


def stale_jobs(jobs: KnownJobs, own: Collection[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Returns the running and the ended jobs of a machine that are not among those of present orders.

    The others need nothing. Their orders are carried out again after a restart; a machine starts no job twice, and
    then reports the end of a job that has already ended.
    """
    stale = [job for job in jobs if job not in own and without_round(job) not in own]
    running = [job for job in stale if isinstance(jobs[job], Running)]
    return running, [job for job in stale if job not in running]


def lost_or_not_started(launch: Launch, error: WeftError | OSError, *, at: float) -> Ended:
    """Returns the end of a step that could not start on its machine."""
    fact = not_started(launch, error, at=at)
    return replace(fact, how=StepOutcome.LOST) if isinstance(error, MachineLostError) else fact


def setup_failed(fact: Ended, host: str) -> Ended:
    """Returns the end of a step whose set-up has ended with this fact, unless it was stopped."""
    if fact.how is not StepOutcome.FAILED:
        return fact
    message = "; ".join(filter(None, (f"the set-up on {host} failed", fact.message)))
    return replace(fact, how=StepOutcome.INFRA, message=message)
