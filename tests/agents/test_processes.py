"""What programs of agents do with their processes, seen at the real ones: by stand-ins, on a real host."""

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agents.recorded import OUTPUTS
from contracts.host_contract import end_of, ends
from hosts.places import ENV, Place
from weft.agents.adapters import adapter_of
from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import AgentTask, Launch
from weft.hosts.local import LocalHost
from weft.plan.loader.load import load_plan
from weft.plan.model import Agent
from weft.ports.host import EndReason, JobEnded
from weft.runtime.jobs import JobFactory

pytestmark = pytest.mark.anyio

PLAN = "weft: 1\nplan: p\nisolation: dir\nsubplans: [{id: a, steps: [{id: x, run: x}]}]\n"
GOOSE = OUTPUTS / "goose" / "good.jsonl"


class Bench:
    """Programs in a folder of their own, which go before the real ones."""

    def __init__(self, place: Place, host: LocalHost) -> None:
        self.place = place
        self.host = host
        self._numbers = count(1)
        self._programs = place.root / "bin"
        self._programs.mkdir()
        environ = {"PATH": f"{self._programs}:{ENV['PATH']}"}
        self._jobs = JobFactory(
            run="r",
            plan=load_plan(PLAN),
            plan_dir=place.root,
            logs=place.root,
            records=host,
            adapter_of=adapter_of,
            environ=environ,
        )

    def start(self, use: str, script: str, **more: Any) -> Launch:
        program = self._programs / use
        if not program.exists():
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
        launch = Launch(
            firing=next(self._numbers), execution=1, row=1, path="a", step="work", attempt=1,
            work=AgentTask(agent=Agent(name="coder", use=use), prompt="Do it"),
            **{"timeout": 3600.0, "grace": 0.05, **more},
        )  # fmt: skip
        self.host.start(self._jobs.job(launch, self.place.root))
        return launch

    def name(self, launch: Launch) -> str:
        return self._jobs.id(launch)

    async def end(self, launch: Launch) -> tuple[JobEnded, Ended]:
        return self.judged(launch, await end_of(self.host, self.name(launch)))

    def judged(self, launch: Launch, end: JobEnded) -> tuple[JobEnded, Ended]:
        fact = self._jobs.fact(launch, end, self.place.root, at=end.ended_at, halted=StepOutcome.CANCELLED)
        return end, fact


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    place = Place(tmp_path)
    host = place.host()
    await host.open()
    yield Bench(place, host)
    await place.leave()


async def test_one_that_ignores_sigterm_is_killed_and_its_report_counts(bench: Bench) -> None:
    output_file = OUTPUTS / "opencode" / "good.jsonl"
    launch = bench.start("opencode", f"trap '' TERM\nsed '$d' {output_file}\n{bench.place.gate('tool')}")
    await bench.place.reached("tool")
    bench.host.stop(bench.name(launch))
    end, fact = await bench.end(launch)
    assert (end.why, fact.how) == (EndReason.STOPPED, StepOutcome.CANCELLED)
    assert fact.tokens == 1_050
    assert bench.place.processes() == []


async def test_what_a_tool_has_left_behind_ends_with_the_agent_which_is_done(bench: Bench) -> None:
    child = f"nohup sh -c '{bench.place.gate('child')}' >/dev/null 2>&1 </dev/null &"
    launch = bench.start("goose", f"{child}\ncat {GOOSE}\n{bench.place.gate('tool')}")
    for name in ("child", "tool"):
        await bench.place.reached(name)
    bench.place.release("tool")
    end, fact = await bench.end(launch)
    assert (end.leftovers, fact.how, fact.tokens) == (1, StepOutcome.DONE, 2_100)
    assert fact.message == "it left 1 process running, which Weft ended"
    assert bench.place.processes() == []


@pytest.mark.parametrize("script", ["exec sleep 3600", f"while :; do sed '$d' {GOOSE}; done"])
async def test_one_that_hangs_or_never_ends_is_ended_when_its_time_is_up(bench: Bench, script: str) -> None:
    end, fact = await bench.end(bench.start("goose", script, timeout=0.5))
    assert (end.why, fact.how) == (EndReason.TIMEOUT, StepOutcome.TIMEOUT)
    assert bench.place.processes() == []


async def test_ten_at_once_are_distinguished(bench: Bench) -> None:
    names = [f"r.{number}.1" for number in range(1, 11)]
    for name in names:
        bench.place.gate(name)
    script = f'cat {GOOSE}\nread _ < "{bench.place.root}/$WEFT_JOB.gate"'
    launches = [bench.start("goose", script) for _ in names]
    for name in names:
        await bench.place.reached(name)
    for name in names:
        bench.place.release(name)
    job_ends = await ends(bench.host, len(names))
    facts = [bench.judged(launch, job_ends[bench.name(launch)])[1] for launch in launches]
    assert [fact.how for fact in facts] == [StepOutcome.DONE] * 10
    assert len({fact.session for fact in facts}) == 10
