"""A project with the journal of a large run that is half done, as a coordinator that was killed leaves it."""

import random
from contextlib import closing
from pathlib import Path

from weft.engine.messages.events import AnyEvent
from weft.engine.messages.orders import Launch, Order
from weft.engine.simulate import SimulatedEnd, Simulator
from weft.plan.compile.compile import compile_plan
from weft.plan.display.show import record_plan
from weft.plan.loader.load import load_plan
from weft.ports.journal import RunRecord
from weft.store.sqlite import open_journal

RUN = "20260101-000000-0000"
STARTED_AT = 1_767_225_600.0


def plan_text(groups: int, slices: int) -> str:
    """Returns a plan of `groups` groups with `slices` slices each, of three steps."""
    lines = ["weft: 1", "plan: large", "isolation: dir", "max_parallel: 32", "pipelines:", "  work:"]
    lines += [f"    - {{id: {step}, run: 'true'}}" for step in ("code", "test", "review")]
    lines += ["subplans:"]
    for group in range(groups):
        lines += [f"  - id: part-{group:03}", "    subplans:"]
        lines += [f"      - {{id: slice-{number:03}, pipeline: work}}" for number in range(slices)]
    return "\n".join(lines) + "\n"


_WORDS = (
    "cache",
    "delta",
    "event",
    "frame",
    "graph",
    "hash",
    "index",
    "journal",
    "kernel",
    "ledger",
    "merge",
    "row",
)


def detailed_plan_text(groups: int, slices: int) -> str:
    """Returns a plan of as many slices as people and agents write them: with titles, prompts, files and agents."""
    dice = random.Random(1)
    lines = ["weft: 1", "plan: detailed", "isolation: dir", "max_parallel: 32"]
    lines += ["agents: {coder: {use: scripted, script: 'sleep 1', max_cost: 1}}", "pipelines:", "  work:"]
    lines += ["    - {id: code, agent: coder, prompt: '{{ slice.prompt }}'}"]
    lines += ["    - {id: test, run: pytest -q}", "    - {id: review, agent: coder, prompt: Review it.}"]
    lines += ["subplans:"]
    for group in range(groups):
        lines += [f"  - id: {'-'.join(dice.sample(_WORDS, 2))}-{group}", "    subplans:"]
        previous = ""
        for number in range(slices):
            name = f"{'-'.join(dice.sample(_WORDS, 2))}-{number}"
            words = " ".join(dice.choices(_WORDS, k=30))
            lines += [f"      - id: {name}", f"        title: The {' '.join(dice.sample(_WORDS, 3))}"]
            lines += [f"        prompt: Rewrite {words}.", "        pipeline: work"]
            lines += [f"        files: [src/part_{group}/{name}.py, tests/part_{group}/test_{name}.py]"]
            lines += [f"        depends_on: [{previous}]"] if number % 3 else []
            previous = name
    return "\n".join(lines) + "\n"


def write_large_run(
    folder: Path, *, groups: int = 100, slices: int = 100, part: float = 0.5, is_detailed: bool = False
) -> Path:
    """Writes the plan and a journal with the first `part` of the events of a run, and returns the journal."""
    text = detailed_plan_text(groups, slices) if is_detailed else plan_text(groups, slices)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weft.yaml").write_text(text)
    plan = load_plan(text, "weft.yaml")
    events = Simulator(compile_plan(plan), _end).play().events
    path = folder / ".weft" / "weft.db"
    path.parent.mkdir()
    record = RunRecord(
        run=RUN,
        plan=plan.id,
        file="weft.yaml",
        directory=str(folder),
        text=record_plan(plan),
        digest="",
        created_at=STARTED_AT,
        state="running",
    )
    with closing(open_journal(path, now=STARTED_AT)) as journal:
        journal.add_run(record)
        journal.append(RUN, _timed(events[: int(len(events) * part)]), state="running")
    return path


def _end(order: Order) -> SimulatedEnd:
    if isinstance(order, Launch) and order.agent:
        return SimulatedEnd(cost=7_500, tokens=12_345, session=f"0c6e7d9a-{order.firing:08}")
    return SimulatedEnd()


def _timed(events: list[tuple[float, AnyEvent]]) -> list[tuple[float, AnyEvent]]:
    return [(STARTED_AT + at, event) for at, event in events]
