"""A coordinator with everything around it in memory: journal, host, time. What was done when is on the record."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from pathlib import Path
from threading import Event as Signal
from typing import Any, TypeVar

import anyio
from anyio import from_thread
from msgspec import Struct

from runtime.virtual_host import VirtualHost, VirtualMachine
from stored_events import StoredEvent, all_stored
from weft.agents.adapters import adapter_of
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import kind_of
from weft.engine.messages.events import AnyEvent, Recorded
from weft.engine.messages.facts import AnyFact, EarlierSlice, RefMove, Resumed, RunStarted
from weft.engine.suspects import Suspect
from weft.hosts.records import LocalRecords
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import load_plan
from weft.ports.host import Job
from weft.ports.journal import RunRecord
from weft.ports.target import LandingTarget
from weft.ports.workspaces import (
    Breach,
    ClosedConflict,
    ContinuationResult,
    MergeRequest,
    MergeResult,
    OpenConflict,
    StepWatch,
    StepWork,
    WorkspaceRequest,
    Workspaces,
)
from weft.runtime.coordinator import Coordinator
from weft.runtime.effects import Effects
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory
from weft.runtime.lineage import Lineage
from weft.store.memory import MemoryJournal, MemoryReader, MemoryStore
from weft.workspaces.in_place import InPlaceWorkspaces

RUN = "r1"
_T = TypeVar("_T")


class KilledError(BaseException):
    """Nothing catches this: as if the process had been killed."""


class VirtualClock:
    """A clock on which time passes when a task waits for it."""

    def __init__(self) -> None:
        self._now = 100.0

    def now(self) -> float:
        return self._now

    async def sleep_until(self, at: float) -> None:
        self._now = max(self._now, at)
        await anyio.lowlevel.checkpoint()


class Deed(Struct, frozen=True):
    """Something that has an effect: `append`, `leave`, `start`, `stop`, `forget`; or `ask`, of workspaces."""

    kind: str
    job: str = ""
    kinds: tuple[str, ...] = ()


class NoWorkspaces:
    """Workspaces that only record calls. A ref that has moved stays moved, as on a disk.

    Each of the failures is raised once, by the method of its name. With `history` there are moves to report. The
    operations in `verifies`, such as `merge a` or `land a`, need a verify before they move; those in `overtaken`
    find that many times that their branch has moved meanwhile.
    """

    def __init__(
        self,
        root: Path,
        *,
        history: bool = False,
        verifies: Collection[str] = (),
        overtaken: Mapping[str, int] | None = None,
        failures: Mapping[str, BaseException] | None = None,
    ) -> None:
        self._root = root
        self._history = history
        self._verifies = verifies
        self._overtaken = dict(overtaken or {})
        self._failures = dict(failures or {})
        self._commits = count(1)
        self._behind: set[int] = set()
        self.foreseen: dict[str, Sequence[str]] = {}
        """What is in conflict with whatever is asked about, and the files."""
        self.asked: list[str] = []
        self.removed: list[str] = []
        self.works: list[StepWork] = []
        self.requests: list[MergeRequest] = []
        """To open conflicts."""
        self.conflict = OpenConflict(files=("f",), into="heads/all", branch="heads/a", others=("did b",))
        self.unresolved = ""
        """Why no conflict is ever resolved."""
        self.merging: dict[str, int] = {}
        """What is to be verified, by path."""
        self.published: dict[str, int] = {}
        self.watched: dict[str, StepWatch] = {}
        """Who is watched, by job."""
        self.idle: set[str] = set()
        """Steps that change no file."""
        self.breaches: dict[str, Breach] = {}
        """What steps change that may only read."""
        self.theatre: Theatre | None = None

    def _ask(self, what: str, path: str, answer: Callable[[], _T]) -> _T:
        self.asked.append(f"{what} {path}")

        def act() -> _T:
            if what in self._failures:
                raise self._failures.pop(what)
            return answer()

        assert self.theatre is not None
        return self.theatre.do(Deed("ask", job=f"{what} {path}"), act)

    def _moves(self, name: str) -> tuple[RefMove, ...]:
        return (RefMove(ref=name, before="", after="1"),) if self._history else ()

    def place(self, path: str) -> Path:
        return self._root / "place" / path

    def scratch(self, path: str) -> Path:
        return self._root / "scratch" / path

    def has_history(self, path: str) -> bool:
        return self._history

    def prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        return self._ask("prepare", request.path, lambda: self._moves(f"prepare {request.path}"))

    def continue_after(self, request: WorkspaceRequest, earlier: EarlierSlice) -> ContinuationResult:
        """The worktree of an earlier run is there if that run left a commit."""
        moves = self._moves(f"continue {request.path}")
        return self._ask(
            "continue", request.path, lambda: ContinuationResult(is_kept=bool(earlier.commit), moves=moves)
        )

    def accept(self, path: str) -> None:
        self._ask("accept", path, lambda: None)

    def prove(self, path: str) -> None:
        self._ask("prove", path, lambda: None)

    def is_own(self, path: str) -> bool:
        return True

    def watch(self, watch: StepWatch) -> None:
        self._ask("watch", f"{watch.work.path}:{watch.work.step}", lambda: self._watch(watch))

    def _watch(self, watch: StepWatch) -> None:
        together = watch.beside if watch.reads else ()
        self._unwatch(watch.work.path, but=[job for job in together if job in self.watched])
        self.watched[watch.job] = watch

    def unwatch(self, path: str, jobs: Collection[str]) -> None:
        self._ask("unwatch", path, lambda: self._unwatch(path))

    def _unwatch(self, path: str, but: Collection[str] = ()) -> None:
        for job in [job for job, watch in self.watched.items() if watch.work.path == path]:
            if job not in but:
                del self.watched[job]

    def changed_files(self, path: str, moves: Sequence[RefMove]) -> Sequence[str]:
        return [f"M {move.ref}" for move in moves]

    def has_changed(self, path: str, job: str) -> bool | None:
        return self.watched[job].work.step not in self.idle if job in self.watched else None

    def restore(self, path: str, job: str) -> Breach | None:
        result = self.breaches.get(self.watched[job].work.step) if job in self.watched else None
        return self._ask("restore", path, lambda: result)

    def record(self, work: StepWork) -> Sequence[RefMove]:
        self.works.append(work)
        name = f"{work.path}:{work.step}"
        return self._ask("record", name, lambda: self._moves(f"record {name}"))

    def open_conflict(self, request: MergeRequest, work: StepWork) -> OpenConflict:
        self.works.append(work)
        self.requests.append(request)
        return self._ask("open", request.path, lambda: self.conflict)

    def close_conflict(self, work: StepWork, *, failed: str = "") -> ClosedConflict:
        message = failed or self.unresolved
        moves = self._moves(f"{'keep' if message else 'resolve'} {work.path}")
        return self._ask("close", work.path, lambda: ClosedConflict(message=message, moves=moves))

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        return self._ask("gather", request.path, lambda: self._moves(f"gather {request.path}"))

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:
        return ()

    def merge(self, request: MergeRequest) -> MergeResult:
        return self._ask("merge", request.path, lambda: self._bring("merge", request))

    def _bring(self, what: str, request: MergeRequest) -> MergeResult:
        name = f"{what} {request.path}"
        if name not in self._verifies or name in self.published:
            return MergeResult(moves=self._moves(name))
        self.merging[request.path] = next(self._commits)
        return MergeResult(moves=self._moves(f"follow {request.path}"), verify_in=self.scratch(request.path))

    def lands(self, paths: Sequence[str], act: Callable[[], bool]) -> bool:
        """Results land together."""
        return self._ask("land", " ".join(paths), act)

    def is_overtaken(self, name: str) -> bool:
        """Whether the branch has moved meanwhile, once more."""
        self._overtaken[name] = left = self._overtaken.get(name, 0) - 1
        return left >= 0

    def is_verified(self, name: str) -> bool:
        return name in self._verifies

    def publish(self, path: str) -> MergeResult | None:
        name = f"merge {path}"
        return self._ask("publish", path, lambda: self._published(name, path))

    def _published(self, name: str, path: str) -> MergeResult | None:
        commit = self.merging.get(path)
        if commit is not None and self._overtaken.get(name):
            self._overtaken[name] -= 1
            self._behind.add(commit)
        if commit in self._behind:
            return None
        if commit is not None:
            self.published[name] = self.merging.pop(path)
        return MergeResult(moves=self._moves(name)) if name in self.published else None

    def discard(self, path: str) -> None:
        self._ask("discard", path, lambda: self.merging.pop(path, None))

    def release(self, path: str) -> bool:
        """Beside all else, so its place among what was asked for says nothing."""
        self.removed.append(f"release {path}")
        return True

    def take_commits(self, path: str) -> None:
        """There is no repository."""

    def archive(self, path: str) -> None:
        self.removed.append(f"put away {path}")

    def forecast(self, path: str) -> Mapping[str, Sequence[str]]:
        if "forecast" in self._failures:
            raise self._failures.pop("forecast")
        return self.foreseen


class Theatre:
    """The machine and the book stay; each `run` is another coordinator."""

    def __init__(self, root: Path, text: str, *, workspaces: Workspaces | None = None) -> None:
        """Slices have workspaces if these are given, and worktrees if those have a history."""
        isolation = "none"
        if workspaces is not None:
            isolation = "worktree" if workspaces.has_history("") else "dir"
        self.compiled = compile_plan(load_plan(f"weft: 1\nplan: p\nisolation: {isolation}\n{text}"))
        self.root = root
        self.machine = VirtualMachine()
        self.recorded_run = MemoryStore()
        self.deeds: list[Deed] = []
        self.before: Callable[[Deed], None] = lambda deed: None
        """Called before each deed; what it raises happens instead."""
        self.after: Callable[[Deed], None] = lambda deed: None
        self.clock = VirtualClock()
        self.workspaces = workspaces or InPlaceWorkspaces(root)
        if isinstance(workspaces, NoWorkspaces):
            workspaces.theatre = self
        self.target: LandingTarget | None = None
        if isinstance(workspaces, NoWorkspaces) and workspaces.has_history(""):
            from runtime.memory_target import MemoryTarget  # noqa: PLC0415 - it is about these workspaces

            self.target = MemoryTarget(workspaces, root)
        self.engine = Engine(self.compiled)
        self.coordinator: Coordinator | None = None
        self.continued: tuple[EarlierSlice, ...] = ()
        """What an earlier run did of slices."""

    # --- what is told ---

    def events(self) -> list[StoredEvent]:
        return all_stored(item.event for item in MemoryReader(self.recorded_run).events(RUN))

    def outcomes(self, step: str) -> list[str]:
        return [item.outcome for item in self.events() if (item.kind, item.step) == ("step_finished", step)]

    def ends(self, step: str, subplan: str = "") -> list[dict[str, Any]]:
        """Returns the reported ends."""
        values = [entry for entry in self.events() if (entry.kind, entry.step) == ("step_finished", step)]
        return [item.data for item in values if not subplan or item.subplan == subplan]

    def moves(self, step: str, subplan: str = "") -> list[str]:
        """Returns the names of all refs that it is reported to have moved."""
        return [move["ref"] for data in self.ends(step, subplan) for move in data.get("moves", ())]

    # --- what is done ---

    def do(self, deed: Deed, action: Callable[[], _T]) -> _T:
        self.before(deed)
        self.deeds.append(deed)
        result = action()
        self.after(deed)
        return result

    def stop_while(self, asked: str) -> None:
        """The first time that this is asked of the workspaces, it is answered when the run is to stop."""
        heard = Signal()

        def ask(deed: Deed) -> None:
            if deed.job == asked and not heard.is_set():
                assert self.coordinator is not None
                from_thread.run_sync(self.coordinator.stop)
                assert heard.wait(60.0)

        def look(deed: Deed) -> None:
            if "stopping" in deed.kinds:
                heard.set()

        self.before, self.after = ask, look

    async def run(
        self, listener: Callable[[Sequence[Recorded]], None] = lambda events: None, *, waits: bool = True
    ) -> str:
        """From wherever the book says that it is."""
        self.recorded_run.locked = False  # whoever held it is dead
        journal = NotedJournal(self)
        if RUN not in self.recorded_run.runs:
            journal.add_run(record())
        self.engine, first = self._beginning(journal)
        host = NotedHost(self)
        inbox = Inbox()
        jobs = JobFactory(
            run=RUN, plan=self.compiled.plan, plan_dir=self.root, logs=self.root / "logs",
            records=LocalRecords(self.root / "host", self.root / "logs"), adapter_of=adapter_of, environ={},
        )  # fmt: skip
        effects = Effects(
            host=host,
            workspaces=self.workspaces,
            jobs=jobs,
            lineage=Lineage(self.compiled.plan, self.engine.tracker),
            clock=self.clock,
            inbox=inbox,
        )
        if self.target is not None:
            effects.land_on(self.target, self.compiled.plan, self.engine)
        self.coordinator = Coordinator(
            RUN, self.engine, journal=journal, host=host, effects=effects, inbox=inbox
        )
        return await self.coordinator.run(first, listener=listener, waits=waits)

    def _beginning(self, journal: MemoryJournal) -> tuple[Engine, AnyFact]:
        facts = list(journal.facts(RUN))
        if not facts:
            return Engine(self.compiled), RunStarted(at=self.clock.now(), run=RUN, continued=self.continued)
        engine = Engine(self.compiled, quiet=True)
        for fact in facts:
            engine.apply(fact)
        engine.take_messages()
        engine.speak()
        return engine, Resumed(at=self.clock.now(), epoch=journal.epoch)


def record() -> RunRecord:
    return RunRecord(
        run=RUN, plan="p", file="", directory="", text="", digest="", created_at=0.0, state="running"
    )


class NotedJournal(MemoryJournal):
    def __init__(self, theatre: Theatre) -> None:
        super().__init__(theatre.recorded_run, now=theatre.clock.now())
        self._theatre = theatre

    def append(
        self,
        run: str,
        events: Sequence[tuple[float, AnyEvent]],
        *,
        taken: Sequence[int] = (),
        state: str | None = None,
    ) -> int:
        deed = Deed("append", kinds=tuple(kind_of(event) for _, event in events))
        write = super().append
        return self._theatre.do(deed, lambda: write(run, events, taken=taken, state=state))

    def append_last(self, run: str, events: Sequence[tuple[float, AnyEvent]]) -> int | None:
        self._theatre.before(Deed("leave", kinds=tuple(kind_of(event) for _, event in events)))
        return None if self.requests(run) else self.append(run, events)


class NotedHost(VirtualHost):
    def __init__(self, theatre: Theatre) -> None:
        super().__init__(theatre.machine)
        self._theatre = theatre

    def start(self, job: Job) -> None:
        begin = super().start
        self._theatre.do(Deed("start", job.id), lambda: begin(job))

    def stop(self, job: str, *, grace: float | None = None) -> None:
        end = super().stop
        self._theatre.do(Deed("stop", job), lambda: end(job, grace=grace))

    def forget(self, jobs: Sequence[str]) -> None:
        for job in jobs:
            self._theatre.do(Deed("forget", job), lambda: None)
        super().forget(jobs)


def slices(steps: Mapping[str, str]) -> str:
    """A plan of slices with one step each, which does these words."""
    lines = [f"  - {{id: {name}, steps: [{{id: x, run: {words}}}]}}" for name, words in steps.items()]
    return "\n".join(["subplans:", *lines])
