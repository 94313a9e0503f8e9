"""Reports about orders: each end once, with the refs that the order moved, and forecasts of conflicts."""

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from weft.engine.messages.facts import Ended, RefMove, StepOutcome
from weft.engine.messages.orders import Order
from weft.engine.messages.step_refs import ExecutionKey
from weft.errors import WeftError
from weft.ports.clock import Clock
from weft.ports.workspaces import ConflictError, HeldError, InfraError, Workspaces
from weft.runtime.conflict_outlook import Outlook
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import not_started
from weft.runtime.patience import Patience, raise_shortage
from weft.runtime.precedence import Precedence, Urgency

_T = TypeVar("_T")


class EndReports:
    def __init__(self, *, workspaces: Workspaces, clock: Clock, inbox: Inbox) -> None:
        self._workspaces = workspaces
        self._clock = clock
        self._inbox = inbox
        self._moved: dict[ExecutionKey, tuple[RefMove, ...]] = {}
        """The ref moves of orders that have not ended."""
        self._started_at: dict[ExecutionKey, float] = {}
        """The start times of orders that Weft carries out itself."""
        self._outlook = Outlook()
        self._precedence = Precedence(len(os.sched_getaffinity(0)))
        self._patience = Patience(clock, self._precedence)
        self._to_forget: list[str] = []
        """Jobs with a reported end that may not be in the journal yet."""

    def now(self) -> float:
        return self._clock.now()

    def _report_end(self, fact: Ended, job: str) -> None:
        self._to_forget.append(job)
        self._report(fact)

    def _note_start(self, order: Order) -> None:
        """Notes the start time of an order, for the duration in its report."""
        self._started_at[order.key] = self.now()

    def _report(self, fact: Ended) -> None:
        key = fact.key
        moved, started_at = self._moved.pop(key, ()), self._started_at.pop(key, None)
        if moved:
            # In the order in which they happened: moves of one ref follow on each other.
            fact = replace(fact, moves=(*moved, *fact.moves))
        if started_at is not None:
            fact = replace(fact, seconds=max(0.0, self.now() - started_at))
        self._inbox.put(fact)

    def _has_moved(self, order: Order, moves: Sequence[RefMove]) -> None:
        """Notes ref moves, to report them with the end of the order."""
        key = order.key
        self._moved[key] = (*self._moved.get(key, ()), *moves)

    async def _in_thread(
        self, order: Order, work: Callable[[], _T], urgency: Urgency = Urgency.SLICE
    ) -> _T | None:
        """Returns the result of the work; None if it failed, after reporting the failure.

        Raises the `OSError` of a lasting shortage.
        """
        try:
            return await self._patience.do(work, urgency)
        except (WeftError, OSError) as error:
            raise_shortage(error)
            self._report(self._failed(order, error))
            return None

    def _failed(self, order: Order, error: WeftError | OSError) -> Ended:
        match error:
            case HeldError():
                held = self._ended(order, StepOutcome.HELD, str(error), error.files)
                return replace(held, conflict=error.conflict, waits_for=error.waits_for, asks=error.asks)
            case ConflictError():
                return self._ended(order, StepOutcome.CONFLICT, str(error), error.files)
            case OSError() | InfraError():
                return not_started(order, error, at=self.now())
            case _:
                return self._ended(order, StepOutcome.FAILED, str(error))

    def _ended(
        self,
        order: Order,
        how: StepOutcome,
        message: str = "",
        files: Sequence[str] = (),
    ) -> Ended:
        return Ended(
            at=self.now(),
            firing=order.firing,
            execution=order.execution,
            how=how,
            message=message,
            files=tuple(files),
        )

    async def _forecast(self, path: str) -> None:
        """Reports conflicts between running subplans early, when they are cheap to resolve."""
        if not self._workspaces.has_history(path):
            return
        try:
            conflicts = await self._precedence.run_sync(Urgency.LATER, self._workspaces.forecast, path)
        except (WeftError, OSError):  # the forecast is optional; the merge reports real conflicts
            return
        for news in self._outlook.news(path, conflicts, at=self.now()):
            self._inbox.put(news)
