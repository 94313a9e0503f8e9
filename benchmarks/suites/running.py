"""Runs of plans: as processes, and the parts of them that a long run repeats."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.compare.going import WEFT, steps_plan, write_plan
from benchmarks.compare.processes import Cost, cost_of
from weft.engine.engine import Engine
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import AnyFact
from weft.engine.simulate import SimulatedEnd, Simulator
from weft.garbage import without_gc
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import load_plan
from weft.ports.journal import RunRecord
from weft.store.sqlite import open_journal

RUN = "r"


def compiled(slices: int, steps: int) -> CompiledPlan:
    return compile_plan(load_plan(steps_plan(slices, steps=steps)))


def played(plan: CompiledPlan) -> tuple[Sequence[AnyFact], Sequence[tuple[float, AnyEvent]]]:
    """What happens in a run in which all goes well."""
    run = Simulator(plan, lambda _ordered: SimulatedEnd()).play()
    assert run.state == "completed"
    return run.facts, run.events


def replayed(plan: CompiledPlan, facts: Sequence[AnyFact]) -> Engine:
    """As after the death of a coordinator."""
    engine = Engine(plan, quiet=True)
    for fact in facts:
        engine.apply(fact)
    assert engine.state == "completed"
    return engine


def run_of(slices: int) -> Cost:
    with TemporaryDirectory() as parent:
        folder = Path(parent, "plan")
        write_plan(folder, steps_plan(slices))
        return cost_of((*WEFT, "--quiet"), folder)


class FifteenSubplansAsProcesses:
    """The plan of the demonstration, but for the work: from the command to its end."""

    timeout = 300

    def track_seconds(self) -> float:
        return run_of(15).wall

    track_seconds.unit = "s"  # type: ignore[attr-defined]

    def track_seconds_of_cpu(self) -> float:
        """Of the coordinator, its supervisor and the steps."""
        return run_of(15).cpu

    track_seconds_of_cpu.unit = "s"  # type: ignore[attr-defined]


class PlayingFacts:
    """What the engine makes of facts: live, with events and orders, and again when a run goes on."""

    params = ((10, 1_000), (1, 10))
    param_names = ("slices", "steps")
    timeout = 300

    def setup(self, slices: int, steps: int) -> None:
        self.plan = compiled(slices, steps)
        self.facts, _ = played(self.plan)

    def time_simulated(self, *_: object) -> object:
        with without_gc():
            return played(self.plan)

    def time_replayed(self, *_: object) -> Engine:
        with without_gc():
            return replayed(self.plan, self.facts)


class Journal:
    """Events, durably written, so many at a time: 1,000 in all."""

    params = (10, 100)
    param_names = ("events",)
    timeout = 300

    def setup(self, events: int) -> None:
        _, happened = played(compiled(250, 1))
        self.turns = [happened[start : start + events] for start in range(0, 1_000, events)]

    def time_append(self, *_: object) -> int:
        with (
            TemporaryDirectory() as parent,
            closing(open_journal(Path(parent, "weft.db"), now=0.0)) as journal,
        ):
            journal.add_run(
                RunRecord(
                    run=RUN,
                    plan="p",
                    file="",
                    directory="",
                    text="",
                    digest="",
                    created_at=0.0,
                    state="running",
                )
            )
            return [journal.append(RUN, turn) for turn in self.turns][-1]
