"""Reports of agents about their spending while they run."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from weft.agents.adapters import adapter_of
from weft.engine.engine import Engine
from weft.engine.messages.facts import AnyFact, RunStarted, Spent
from weft.engine.messages.orders import Launch
from weft.hosts.records import LocalRecords
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import Surroundings, load_plan
from weft.ports.agent import AgentAdapter, Progress, ProgressSource
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory
from weft.runtime.meter import MOST, SECONDS, Meter

HEAD = """
weft: 1
plan: p
isolation: none
policy: serial
agents: {coder: {use: command, command: x, model: large}}
subplans: [{id: a, prompt: x, steps: [{id: work, prompt: x}, {id: more, prompt: x}]}]
"""


SILENT = replace(adapter_of("command"), progress=None)
"""An adapter without progress reports."""


def speaking(heard: list[str]) -> AgentAdapter:
    """An adapter with progress reports on standard output."""

    def progress(_call: object, text: str) -> Progress | None:
        heard.append(text)
        return Progress(cost=len(text))

    return replace(SILENT, progress=progress, progress_in=ProgressSource.STDOUT)


class Bench:
    """An engine with one agent under way, and a meter that looks at it."""

    def __init__(self, folder: Path, more: str = "", adapter: AgentAdapter | None = None) -> None:
        plan = load_plan(HEAD + more, surroundings=Surroundings(git=False))
        self.engine = Engine(compile_plan(plan))
        self.engine.apply(RunStarted(at=0.0, run="r"))
        self.inbox = Inbox()
        self.at = 100.0
        self.facts: list[AnyFact] = []
        chosen = adapter_of if adapter is None else lambda _name: adapter
        self.jobs = JobFactory(
            run="r",
            plan=plan,
            plan_dir=folder,
            logs=folder / "logs",
            records=LocalRecords(folder / "host", folder / "logs"),
            adapter_of=chosen,
            environ={},
        )
        (self.launch,) = [order for order in self.engine.in_flight if isinstance(order, Launch)]
        self.running = [self.launch]
        job = self.jobs.job(self.launch, folder) if adapter is None else None
        self.file = folder / "logs" / "a" / "work.1.1-1.result.json"
        assert job is None or job.env["WEFT_RESULT"] == str(self.file)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.meter = self.new_meter()

    def new_meter(self) -> Meter:
        def launches() -> Iterator[tuple[Launch, Path]]:
            return ((launch, Path("/")) for launch in self.running)

        return Meter(self.engine, self.jobs, self.inbox, launches=launches, now=lambda: self.at)

    def write(self, text: str) -> None:
        """As a whole, and never mistaken for what was there before."""
        aside = self.file.with_suffix(".new")
        aside.write_text(text, encoding="utf-8")
        os.utime(aside, ns=(0, len(self.facts) + int(self.at * 1000)))
        aside.replace(self.file)

    def tell(self, **values: object) -> None:
        self.write(json.dumps(values))

    def look(self, *, after: float = 1.0) -> list[tuple[int | None, int | None]]:
        """Reads once; returns the cost and tokens that the engine receives."""
        self.at += after
        self.meter.read_all()
        heard = self.inbox.take()
        for fact in heard:
            self.engine.apply(fact)
        self.facts += heard
        assert all(isinstance(fact, Spent) and fact.at == self.at for fact in heard)
        return [(fact.cost, fact.tokens) for fact in heard if isinstance(fact, Spent)]


def test_the_first_amount_of_an_agent_is_reported_at_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert bench.look() == []
    bench.tell(cost_usd=0.25, tokens=700)
    assert bench.look() == [(250_000, 700)]
    assert bench.engine.spent_so_far(bench.launch.firing) == (250_000, 700)


def test_what_is_known_is_not_reported_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.tell(cost_usd=0.25)
    assert bench.look() == [(250_000, None)]
    bench.tell(cost_usd=0.25)
    assert bench.look(after=60.0) == []
    bench.tell(cost_usd=0.1)
    assert bench.look(after=60.0) == []


def test_small_amounts_are_reported_after_a_while_and_large_ones_at_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "budget: 10")
    bench.tell(cost_usd=0.01)
    assert bench.look() == [(10_000, None)]
    bench.tell(cost_usd=0.10)
    assert bench.look() == []
    bench.tell(cost_usd=0.11)
    assert bench.look() == [(110_000, None)]
    bench.tell(cost_usd=0.12)
    assert bench.look() == []
    assert bench.look(after=SECONDS) == [(120_000, None)]


def test_much_is_a_hundredth_of_the_nearest_ceiling_in_its_own_unit(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "budget: {tokens: 1000}")
    bench.tell(cost_usd=5, tokens=1)
    assert bench.look() == [(5_000_000, 1)]
    bench.tell(cost_usd=9, tokens=10)
    assert bench.look() == []
    bench.tell(cost_usd=9, tokens=11)
    assert bench.look() == [(9_000_000, 11)]


def test_when_one_amount_is_reported_all_are(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "budget: 10")
    other = Launch(firing=1, execution=2, row=1, path="a", step="work", attempt=1, timeout=1, grace=1,
                   work=bench.launch.work)  # fmt: skip
    bench.tell(cost_usd=0.01)
    assert bench.look() == [(10_000, None)]
    bench.tell(cost_usd=0.02)
    bench.file.with_name("work.1.1-2.result.json").write_text('{"tokens": 5}', encoding="utf-8")
    assert bench.look() == []
    bench.running.append(other)
    assert bench.look() == [(20_000, None), (None, 5)]


def test_lines_may_be_added_one_by_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write('{"cost_usd": 0.1}\n{"cost_usd": 0.3, "tokens": 9}\n{"cost_u')
    assert bench.look() == [(300_000, 9)]


def test_of_a_long_file_the_last_lines_are_read(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("\n".join(json.dumps({"cost_usd": number, "result": "x" * 99}) for number in range(2000)))
    assert bench.file.stat().st_size > MOST
    assert bench.look() == [(1_999_000_000, None)]


def test_a_file_that_is_half_written_or_is_no_file_changes_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.tell(cost_usd=0.25)
    bench.look()
    for text in ("", "{", '{"cost_usd": "much"}', '{"cost_usd": -1}', "[]", "\0"):
        bench.write(text)
        assert bench.look(after=60.0) == []
    bench.file.unlink()
    assert bench.look(after=60.0) == []
    bench.file.mkdir()
    assert bench.look(after=60.0) == []
    bench.file.rmdir()
    bench.tell(cost_usd=0.5)
    assert bench.look(after=60.0) == [(500_000, None)]


def test_a_successor_reports_only_new_amounts(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.tell(cost_usd=0.25)
    bench.look()
    bench.meter = bench.new_meter()
    assert bench.look() == []
    bench.tell(cost_usd=0.5)
    assert bench.look() == [(500_000, None)]


def test_nothing_is_reported_for_ended_agents(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.look()
    bench.tell(cost_usd=0.25)
    bench.running.clear()
    assert bench.look() == []


def test_tokens_have_a_price_if_there_is_one_for_the_model_or_the_agent(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "prices: {lar*: {input: 3, output: 15}}")
    bench.tell(tokens={"input": 1000, "output": 100})
    assert bench.look() == [(4_500, 1_100)]


def test_an_agent_that_reports_only_at_its_end_is_not_read(tmp_path: Path) -> None:
    bench = Bench(tmp_path, adapter=SILENT)
    bench.tell(cost_usd=0.25)
    assert bench.look() == []


def test_an_adapter_may_read_standard_output_instead(tmp_path: Path) -> None:
    bench = Bench(tmp_path, adapter=speaking([]))
    bench.file.with_name("work.1.1-1.out").write_text("hello", encoding="utf-8")
    assert bench.look() == [(5, None)]


def test_a_file_that_has_not_changed_is_not_read(tmp_path: Path) -> None:
    heard: list[str] = []
    bench = Bench(tmp_path, adapter=speaking(heard))
    bench.file.with_name("work.1.1-1.out").write_text("hello", encoding="utf-8")
    for _ in range(3):
        bench.look()
    assert heard == ["hello"]


def test_an_amount_that_was_too_small_is_reported_later_whatever_the_file_holds_then(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "budget: 100")
    bench.tell(cost_usd=0.01)
    bench.look()
    bench.tell(cost_usd=0.02)
    assert bench.look() == []
    bench.write("{")
    assert bench.look(after=SECONDS) == [(20_000, None)]
