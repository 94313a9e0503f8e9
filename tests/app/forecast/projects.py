"""Projects with runs in their journals that were played in virtual time."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct

from weft.engine.messages.orders import Launch, Ordered
from weft.engine.simulate import SimulatedEnd, Simulator
from weft.plan.compile.compile import compile_plan
from weft.plan.digests import plan_digest
from weft.plan.display.show import record_plan
from weft.plan.loader.load import load_plan
from weft.ports.journal import RunRecord
from weft.store.sqlite import SqliteJournal, open_journal

PLAN = """
weft: 1
plan: naps
isolation: dir
max_parallel: 2
subplans:
  - {id: a, steps: [{id: work, run: make a}]}
  - {id: b, steps: [{id: work, run: make b}]}
  - {id: c, depends_on: [a], steps: [{id: work, run: make c}]}
"""

World = Callable[[Ordered], SimulatedEnd]


def lasting(seconds: float) -> World:
    """A world in which each step takes so long, and the work of Weft itself no time."""
    return lambda order: SimulatedEnd(seconds=seconds if isinstance(order, Launch) else 0.0)


class PlayedProject(Struct):
    """A directory with a plan and a journal."""

    root: Path
    journal: SqliteJournal

    def play(
        self, run: str, world: World, *, text: str = PLAN, start: float = 0.0, until: float | None = None
    ) -> None:
        """Adds a run that starts at a time; with `until`, only what happens in its first seconds."""
        plan = load_plan(text)
        played = Simulator(compile_plan(plan), world).play()
        self.journal.add_run(
            RunRecord(
                run=run,
                plan=plan.id,
                file="weft.yaml",
                directory=str(self.root),
                text=record_plan(plan),
                digest=plan_digest(plan),
                created_at=start,
                state="running" if until is not None else played.state,
            )
        )
        events = [(start + at, event) for at, event in played.events if until is None or at <= until]
        self.journal.append(run, events, state=None if until is not None else played.state)


@contextmanager
def played_project(root: Path, text: str = PLAN) -> Iterator[PlayedProject]:
    (root / "weft.yaml").write_text(text, "utf-8")
    with closing(open_journal(root / ".weft" / "weft.db", now=0.0)) as journal:
        yield PlayedProject(root, journal)
