"""A project with the journal of a large run that is half done, as a coordinator that was killed leaves it."""

from contextlib import closing
from pathlib import Path

from weft.engine.messages.events import AnyEvent
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


def write_large_run(folder: Path, *, groups: int = 100, slices: int = 100, part: float = 0.5) -> Path:
    """Writes the plan and a journal with the first `part` of the events of a run, and returns the journal."""
    text = plan_text(groups, slices)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weft.yaml").write_text(text)
    plan = load_plan(text, "weft.yaml")
    events = Simulator(compile_plan(plan), lambda _order: SimulatedEnd()).play().events
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


def _timed(events: list[tuple[float, AnyEvent]]) -> list[tuple[float, AnyEvent]]:
    return [(STARTED_AT + at, event) for at, event in events]
