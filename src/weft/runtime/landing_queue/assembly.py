"""The landing of results, put together: the queue, its verifies, and the push after a landing."""

from collections.abc import Callable

from anyio.abc import TaskGroup

from weft.engine.engine import Engine
from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Halt, Land
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.ports.host import Host, JobEnded, KnownJobs
from weft.ports.target import LandingTarget
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory
from weft.runtime.landing_queue.pusher import Pusher
from weft.runtime.landing_queue.queue import LandingQueue
from weft.runtime.landing_queue.verifier import Verifier
from weft.runtime.landing_queue.verify_rules import VerifyRules
from weft.runtime.lineage import Lineage


class LandingAssembly:
    def __init__(  # noqa: PLR0913 - by name, all of them
        self,
        *,
        plan: Plan,
        target: LandingTarget,
        engine: Engine,
        host: Host,
        jobs: JobFactory,
        lineage: Lineage,
        inbox: Inbox,
        now: Callable[[], float],
        report: Callable[[Ended], None],
    ) -> None:
        self._verifier = Verifier(
            target=target,
            host=host,
            jobs=jobs,
            lineage=lineage,
            rules=VerifyRules(plan, engine.tracker, jobs.plan_dir),
            inbox=inbox,
            now=now,
            verified=engine.landing_record.verified,
            pending=engine.landing_record.verifying,
        )
        self._queue = LandingQueue(
            plan=plan,
            target=target,
            lineage=lineage,
            verifier=self._verifier,
            on_target=lambda: engine.on_target,
            is_to_land=engine.landing_record.is_to_land,
            now=now,
            report=report,
            landed=self._push_landed,
        )
        push = plan.scopes[ROOT].settings.merge_push
        self._pusher = (
            Pusher(
                "true" if push is True else str(push),
                target=target,
                queue=self._queue,
                inbox=inbox,
                now=now,
                unpushed=engine.landing_record.unpushed,
            )
            if push
            else None
        )
        self._tasks: TaskGroup | None = None

    def work_in(self, tasks: TaskGroup) -> None:
        self._tasks = tasks

    def add(self, order: Land) -> None:
        assert self._tasks is not None
        self._queue.add(order)
        self._tasks.start_soon(self._queue.work)

    def halt(self, order: Halt) -> None:
        self._queue.halt(order.firing, order.execution, StepOutcome(order.how), now=order.now)

    def take_over(self, jobs: KnownJobs) -> set[str]:
        """Adopts the jobs that an earlier coordinator left, and returns their ids."""
        return self._verifier.take_over(jobs)

    def job_ended(self, ended: JobEnded) -> bool:
        """Returns whether it was a job of a landing."""
        return self._verifier.job_ended(ended)

    def committed(self) -> list[str]:
        """Called when all facts of the inbox are in the journal. Returns jobs that the host may forget."""
        return self._verifier.committed()

    def _push_landed(self, commit: str) -> None:
        if self._pusher is not None:
            assert self._tasks is not None
            self._pusher.landed(commit)
            self._tasks.start_soon(self._pusher.work)

    async def finish(self, *, stops: bool) -> None:
        """Pushes what could not be pushed before; with `stops` it ends a push that is under way."""
        if self._pusher is None:
            return
        if stops:
            await self._pusher.stop()
        else:
            await self._pusher.finish()
