"""A coordinator with everything around it in memory: journal, host, time. What was done when is on the record."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio
from msgspec import Struct

from runtime.virtual_host import VirtualHost, VirtualMachine
from weft.agents.adapters import adapter_of
from weft.engine.run.engine import Engine
from weft.engine.run.events import Event, Recorded
from weft.engine.run.facts import AnyFact, Resumed, RunStarted
from weft.plan.compile.compile import compile_plan
from weft.plan.loading.load import load_plan
from weft.ports.host import Job
from weft.ports.journal import RunRecord
from weft.ports.workspaces import WorkspaceRequest, Workspaces
from weft.runtime.coordinator import Coordinator
from weft.runtime.effects import Effects
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import Jobs
from weft.runtime.lineage import Lineage
from weft.store.memory import Book, MemoryJournal, MemoryReader
from weft.workspaces.in_place import InPlaceWorkspaces

RUN = "r1"


class KilledError(BaseException):
    """Nothing catches this: as if the process had been killed."""


class VirtualClock:
    """Time passes when somebody waits for it."""

    def __init__(self) -> None:
        self._now = 100.0

    def now(self) -> float:
        return self._now

    async def sleep_until(self, at: float) -> None:
        self._now = max(self._now, at)
        await anyio.lowlevel.checkpoint()


class NoWorkspaces(InPlaceWorkspaces):
    """Of all that is asked for nothing is done, but on the record; and one thing may fail."""

    def __init__(self, root: Path, **failures: BaseException) -> None:
        super().__init__(root)
        self._failures = failures
        self.asked: list[str] = []

    def _ask(self, what: str, path: str) -> Path:
        self.asked.append(f"{what} {path}".strip())
        if what in self._failures:
            raise self._failures.pop(what)
        return self.place(path)

    def prepare(self, request: WorkspaceRequest) -> Path:
        return self._ask("prepare", request.path)

    def accept(self, path: str) -> None:
        self._ask("accept", path)

    def keep(self, path: str) -> None:
        self._ask("keep", path)

    def check(self, slices: Sequence[str]) -> None:
        self._ask("check", " ".join(slices))

    def gather(
        self, path: str, slices: Sequence[str], *, copy: Sequence[str] = (), link: Sequence[str] = ()
    ) -> Path:
        return self._ask("gather", path)


class Deed(Struct, frozen=True):
    """Something that has an effect: `append`, `start`, `stop` or `forget`."""

    kind: str
    job: str = ""
    kinds: tuple[str, ...] = ()


class Theatre:
    """The machine and the book stay; each `run` is another coordinator."""

    def __init__(self, root: Path, text: str, *, workspaces: Workspaces | None = None) -> None:
        """Slices have workspaces if these are given."""
        isolation = "none" if workspaces is None else "dir"
        self.compiled = compile_plan(load_plan(f"weft: 1\nplan: p\nisolation: {isolation}\n{text}"))
        self.root = root
        self.machine = VirtualMachine()
        self.book = Book()
        self.deeds: list[Deed] = []
        self.before: Callable[[Deed], None] = lambda deed: None
        """Called before each deed; what it raises happens instead."""
        self.after: Callable[[Deed], None] = lambda deed: None
        self.clock = VirtualClock()
        self.workspaces = workspaces or InPlaceWorkspaces(root)
        self.engine = Engine(self.compiled)
        self.coordinator: Coordinator | None = None

    # --- what is told ---

    def events(self) -> list[Event]:
        return [one.event for one in MemoryReader(self.book).events(RUN)]

    def outcomes(self, step: str) -> list[str]:
        return [one.outcome for one in self.events() if (one.kind, one.step) == ("step_finished", step)]

    # --- what is done ---

    def do(self, deed: Deed, action: Callable[[], object]) -> object:
        self.before(deed)
        self.deeds.append(deed)
        result = action()
        self.after(deed)
        return result

    async def run(
        self, listener: Callable[[Sequence[Recorded]], None] = lambda events: None, *, waits: bool = True
    ) -> str:
        """From wherever the book says that it is."""
        self.book.locked = False  # whoever held it is dead
        journal = NotedJournal(self)
        if RUN not in self.book.runs:
            journal.add_run(record())
        self.engine, first = self._beginning(journal)
        host = NotedHost(self)
        inbox = Inbox()
        jobs = Jobs(
            run=RUN, plan=self.compiled.plan, plan_dir=self.root, logs=self.root / "logs", adapter_of=adapter_of,
            environ={},
        )  # fmt: skip
        effects = Effects(
            host=host,
            workspaces=self.workspaces,
            jobs=jobs,
            lineage=Lineage(self.compiled.plan, self.engine.tracker),
            clock=self.clock,
            inbox=inbox,
        )
        self.coordinator = Coordinator(
            RUN, self.engine, journal=journal, host=host, effects=effects, inbox=inbox
        )
        return await self.coordinator.run(first, listener=listener, waits=waits)

    def _beginning(self, journal: MemoryJournal) -> tuple[Engine, AnyFact]:
        facts = list(journal.facts(RUN))
        if not facts:
            return Engine(self.compiled), RunStarted(at=self.clock.now(), run=RUN)
        engine = Engine(self.compiled, quiet=True)
        for fact in facts:
            engine.apply(fact)
        engine.taken()
        engine.speak()
        return engine, Resumed(at=self.clock.now(), epoch=journal.epoch)


def record() -> RunRecord:
    return RunRecord(
        run=RUN, plan="p", file="", directory="", text="", digest="", created_at=0.0, state="running"
    )


class NotedJournal(MemoryJournal):
    def __init__(self, theatre: Theatre) -> None:
        super().__init__(theatre.book, now=theatre.clock.now())
        self._theatre = theatre

    def append(
        self,
        run: str,
        events: Sequence[tuple[float, Event]],
        *,
        taken: Sequence[int] = (),
        state: str | None = None,
    ) -> int:
        deed = Deed("append", kinds=tuple(event.kind for _, event in events))
        write = super().append
        return self._theatre.do(deed, lambda: write(run, events, taken=taken, state=state))  # type: ignore[return-value]


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
