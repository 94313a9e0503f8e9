"""Pushes the target after a landing, beside the landing queue.

A slow or failing remote holds up no landing. If the remote is ahead, its branch goes through the queue like a
target that has moved: it is merged and verified before the target moves, and then pushed again. A failure is
reported, and the push is tried again after the next landing and at the end of the run.
"""

from collections.abc import Callable

import anyio
from msgspec.structs import replace

from weft.engine.messages.facts import Pushed
from weft.errors import WeftError
from weft.ports.target import LandingTarget, PushError, RemoteMovedError
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import reason
from weft.runtime.landing_queue.queue import LandingQueue
from weft.threads import run_sync

TRIES = 5
"""How often a remote that is ahead is merged and pushed again."""


class Pusher:
    def __init__(
        self,
        remote: str,
        *,
        target: LandingTarget,
        queue: LandingQueue,
        inbox: Inbox,
        now: Callable[[], float],
        unpushed: str = "",
    ) -> None:
        """`unpushed` is the commit of a landing that an earlier coordinator has not pushed."""
        self._remote = remote
        self._target = target
        self._queue = queue
        self._inbox = inbox
        self._now = now
        self._landing = unpushed
        """The last landing, which is not pushed; empty if all are."""
        self._tried = ""
        """The landing of the last attempt."""
        self._finished = ""
        """The landing of the last attempt at the end of the run."""
        self._is_stopped = False
        self._lock = anyio.Lock()

    def landed(self, commit: str) -> None:
        self._landing = commit

    async def work(self) -> None:
        """Pushes the last landing; one attempt is enough for all landings that came during the one before."""
        async with self._lock:
            if self._landing != self._tried and not self._is_stopped:
                await self._push()

    async def finish(self) -> None:
        """Tries once more at the end of the run, if the last landing is not pushed."""
        async with self._lock:
            if self._landing != self._finished and not self._is_stopped:
                self._finished = self._landing
                await self._push(is_final=True)

    async def stop(self) -> None:
        """Ends the attempt under way, for good. A coordinator that continues the run pushes then."""
        self._is_stopped = True
        if self._lock.locked():
            await run_sync(self._target.hang_up)
        async with self._lock:
            pass

    async def _push(self, *, is_final: bool = False) -> None:
        # Taken before the push: a landing that comes meanwhile is pushed by its own call, which waits for the
        # lock.
        landing = self._tried = self._landing
        if not landing:
            return
        fact = Pushed(at=self._now(), remote=self._remote, landing=landing)
        try:
            commit = await self._push_or_merge()
        except (PushError, WeftError, OSError) as error:
            message, command = _words(error)
            failed = replace(fact, at=self._now(), message=message, command=command, is_final=is_final)
            self._inbox.put(failed)
            return
        if self._landing == landing:
            self._landing = self._tried = ""
        self._inbox.put(replace(fact, at=self._now(), commit=commit))

    async def _push_or_merge(self) -> str:
        for _ in range(TRIES):
            try:
                return await run_sync(self._target.push, self._remote, abandon_on_cancel=True)
            except RemoteMovedError:
                # A push is never forced. The remote's commits go through the queue like a target that has
                # moved.
                await self._queue.absorb(self._remote)
        try:
            return await run_sync(self._target.push, self._remote, abandon_on_cancel=True)
        except RemoteMovedError as error:
            raise PushError(f"remote moved, after {TRIES} merges of its commits: {error}") from error


def _words(error: PushError | WeftError | OSError) -> tuple[str, str]:
    """Returns why the push failed, and the command that pushes later."""
    return (str(error), error.command) if isinstance(error, PushError) else (reason(error), "")
