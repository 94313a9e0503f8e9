"""A world whose results land through the real landing queue, with a verify that looks at files."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path

import anyio

from weft.agents.adapters import adapter_of
from weft.engine.messages.facts import Ended, StepOutcome, VerifyStarted
from weft.engine.messages.orders import Land
from weft.engine.states import SubplanExecutionState, SubplanTracker
from weft.hosts.records import LocalRecords
from weft.plan.loader.load import load_plan
from weft.ports.host import EndReason, Job, JobEnded, KnownJobs
from weft.ports.workspaces import HeldError, MergeResult
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory
from weft.runtime.landing_queue.queue import LandingQueue
from weft.runtime.landing_queue.verifier import Verifier
from weft.runtime.landing_queue.verify_rules import VerifyRules
from weft.runtime.lineage import Lineage
from workspaces.worlds import World

Files = dict[str, bytes]

STEP = "steps: [{id: x, run: 'true'}], verify: [slice]"
PLAN = f"""
weft: 1
plan: notes
merge: {{mode: auto, batch: 3}}
verify: [plan]
subplans:
  - id: left
    verify: [group]
    subplans: [{{id: a, {STEP}}}, {{id: b, depends_on: [a], {STEP}}}]
  - id: right
    subplans: [{{id: c, {STEP}}}, {{id: d, depends_on: [/left/a, c], {STEP}}}]
  - {{id: e, {STEP}}}
  - {{id: f, depends_on: [e], {STEP}}}
"""


def files_in(place: Path) -> Files:
    paths = (
        file for file in place.rglob("*") if file.is_file() and ".git" not in file.relative_to(place).parts
    )
    return {str(file.relative_to(place)): file.read_bytes() for file in paths}


def is_green(files: Files) -> bool:
    """What every verify says: some results are green alone, and red together."""
    return not any(b"BAD" in content for content in files.values()) and not {"p", "q"} <= files.keys()


class LookingHost(LocalRecords):
    """Each of its jobs looks at the files in its directory, and ends at once."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "host", folder / "logs")
        self.ends: list[JobEnded] = []
        self.looks = 0

    def prepare(self) -> None:
        pass

    def wait_until_gone(self) -> None:
        pass

    async def open(self) -> KnownJobs:
        return {}

    def start(self, job: Job) -> None:
        self.looks += 1
        code = 0 if is_green(files_in(Path(job.cwd))) else 1
        self.ends.append(JobEnded(id=job.id, why=EndReason.EXITED, exit_code=code))

    def stop(self, job: str, *, grace: float | None = None) -> None:
        raise NotImplementedError

    def freeze(self, job: str) -> None:
        raise NotImplementedError

    def thaw(self, job: str) -> None:
        raise NotImplementedError

    def forget(self, jobs: Sequence[str]) -> None:
        pass

    def ended(self) -> AsyncIterator[Sequence[JobEnded]]:
        raise NotImplementedError

    async def close(self) -> None:
        pass


class LandingWorld(World):
    landed: Collection[str] = ()
    """What the last call of `land_queue` reported as landed."""

    def land_queue(self, *paths: str, not_landed: Sequence[str] = ()) -> MergeResult:
        """These land through the queue, as far as they may. Raises what holds the first, if none of them lands."""
        ends = anyio.run(self._land_queue, list(paths), tuple(not_landed))
        done = [end for end in ends.values() if end.how is StepOutcome.DONE]
        self.landed = [path for path, end in ends.items() if end.how is StepOutcome.DONE]
        for end in ends.values():
            assert end.how in {StepOutcome.DONE, StepOutcome.HELD}, end
            if not done:
                raise HeldError(end.message, end.files, conflict=end.conflict, waits_for=end.waits_for)
        return MergeResult(moves=tuple(move for end in done for move in end.moves))

    async def _land_queue(self, paths: list[str], not_landed: tuple[str, ...]) -> dict[str, Ended]:
        plan = load_plan(PLAN)
        tracker = SubplanTracker(plan.outline.paths[1:])
        for name in plan.outline.paths[1:]:
            tracker.advance(name, SubplanExecutionState.RUNNING)
            tracker.advance(name, SubplanExecutionState.COMPLETED)
        lineage, inbox, host = Lineage(plan, tracker), Inbox(), LookingHost(self.top / ".weft")
        jobs = JobFactory(
            run="r",
            plan=plan,
            plan_dir=self.top,
            logs=self.top / ".weft" / "logs",
            records=host,
            adapter_of=adapter_of,
            environ={},
        )
        verifier = Verifier(
            target=self.workspaces.target,
            host=host,
            jobs=jobs,
            lineage=lineage,
            rules=VerifyRules(plan, tracker, self.top),
            inbox=inbox,
            now=lambda: 0.0,
        )
        reported: dict[int, Ended] = {}
        queue = LandingQueue(
            plan=plan,
            target=self.workspaces.target,
            lineage=lineage,
            verifier=verifier,
            on_target=frozenset,
            is_to_land=lambda row: plan.outline.paths[row] in not_landed,
            now=lambda: 0.0,
            report=lambda fact: reported.update({fact.firing: fact}),
        )
        for number, path in enumerate(paths):
            row = lineage.row(path)
            queue.add(Land(firing=number, execution=2, row=row, path=path))

        async def turn() -> None:
            """What the coordinator does: facts become durable, and ends of jobs are heard."""
            while True:
                await inbox.wait()
                started = [fact for fact in inbox.take() if isinstance(fact, VerifyStarted)]
                verifier.committed()
                while started and not host.ends:
                    await anyio.lowlevel.checkpoint()
                for end in host.ends:
                    verifier.job_ended(end)
                host.ends = []

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn)
            await queue.work()
            tasks.cancel_scope.cancel()
        ends = {paths[number]: fact for number, fact in reported.items()}
        assert not _waits_in_circle({path: end.waits_for for path, end in ends.items()}), ends
        return ends


def _waits_in_circle(waits_for: Mapping[str, Sequence[str]]) -> bool:
    """Whether results that were tried together wait for each other, so that no command lands them."""
    waiting = {path: set(others) for path, others in waits_for.items() if others}
    while ready := [path for path, others in waiting.items() if others.isdisjoint(waiting)]:
        for path in ready:
            del waiting[path]
    return bool(waiting)
