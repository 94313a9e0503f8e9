"""What `weft status` reads of a large run, which is not all of it, comes to the same as all of it."""

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from app.books import Written, written
from stored_events import make_event
from weft.app.inspect.overview import overview
from weft.app.inspect.overview_model import Overview
from weft.engine.messages.events import AnyEvent
from weft.plan.display.show import record_plan
from weft.plan.loader.load import load_plan

PATHS = ("a", "b", "g/c", "g/d")
PLAN = """
weft: 1
plan: tried
isolation: worktree
merge: {when: slice, mode: auto}
subplans:
  - {id: a, steps: [{id: work, run: "true"}]}
  - {id: b, steps: [{id: work, run: "true"}]}
  - {id: g, subplans: [{id: c, steps: [{id: work, run: "true"}]}, {id: d, steps: [{id: work, run: "true"}]}]}
"""
Story = list[AnyEvent]


def state(path: str, outcome: str) -> AnyEvent:
    return make_event(kind="subplan_state", subplan=path, outcome=outcome)


def step(kind: str, path: str, name: str, number: int, outcome: str = "") -> AnyEvent:
    data = {"firing": number, "execution": 1}
    return make_event(kind=f"step_{kind}", subplan=path, step=name, attempt=1, outcome=outcome, data=data)


def merge(path: str, name: str, outcome: str, *, red: bool = False) -> list[AnyEvent]:
    """How a merge or a landing ends."""
    data: dict[str, object] = {"message": f"why {path}"} if outcome != "merged" else {}
    data |= {"files": ["one"]} if outcome == "conflict" else {}
    data |= {"red": True} if red else {}
    data |= {"moves": [{"ref": "main", "before": "0" * 40, "after": "1" * 40}]} if outcome == "merged" else {}
    return [
        step("finished", path, name, 2, "done" if outcome == "merged" else "held"),
        make_event(kind="merge", subplan=path, step=name, outcome=outcome, data=data),
    ]


@st.composite
def lives(draw: st.DrawFn, path: str) -> Story:
    """A slice, as far as it got: its step, tries of its merge, tries of its landing."""
    story = [state(path, "running"), step("started", path, "work", 1)]
    tries = st.lists(st.sampled_from(["held", "conflict"]), max_size=2)
    if draw(st.booleans()):
        story += [step("finished", path, "work", 1, "done"), step("started", path, "@merge", 2)]
        for outcome in draw(tries):
            story += [*merge(path, "@merge", outcome), step("started", path, "@merge", 2)]
        if draw(st.booleans()):
            story += [*merge(path, "@merge", "merged"), state(path, "completed")]
            story += [step("started", path, "@land", 2)]
            for outcome in draw(tries):
                story += [
                    *merge(path, "@land", outcome, red=draw(st.booleans())),
                    step("started", path, "@land", 2),
                ]
            story += merge(path, "@land", "merged") if draw(st.booleans()) else []
    return story


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """The lives of all slices, at the same time, with pushes and verifies between."""
    waiting = [draw(lives(path)) for path in PATHS]
    rare = [
        make_event(kind="push", outcome="pushed", data={"remote": "origin", "commit": "1" * 40}),
        make_event(kind="verify", outcome="started", data={"entries": ["a", "b"], "commands": ["x"]}),
        make_event(kind="verify", outcome="failed", data={"entries": ["a"], "message": "it failed (x)"}),
    ]
    story: Story = []
    while any(waiting):
        story.append(draw(st.sampled_from([life for life in waiting if life])).pop(0))
        story += draw(st.lists(st.sampled_from(rare), max_size=1))
    return story


def seen(recorded_run: Written, *, everything: bool) -> Overview:
    with recorded_run.opened() as opened:
        return overview(opened, everything=everything, now=0.0)


@given(stories())
@settings(max_examples=25)
def test_a_part_of_the_journal_tells_the_same_as_all_of_it(story: Story) -> None:
    with (
        TemporaryDirectory() as folder,
        written(Path(folder), text=record_plan(load_plan(PLAN))) as recorded_run,
    ):
        recorded_run.tell(*story)
        part, whole = seen(recorded_run, everything=False), seen(recorded_run, everything=True)
    rows = {row.path: row for row in whole.subplans}
    assert list(part.subplans) == [rows[row.path] for row in part.subplans]
    assert structs.replace(part, subplans=()) == structs.replace(whole, subplans=())


def test_rows_that_are_read_do_not_grow_with_the_slices_that_have_landed(tmp_path: Path) -> None:
    """The rows that SQLite hands over; what it adds up by itself is one row."""
    counts = [_rows_read(tmp_path / str(number), number) for number in (5, 50)]
    assert counts[0] == counts[1]


def _rows_read(root: Path, number: int) -> int:
    slices = "".join(f'  - {{id: s{each}, steps: [{{id: work, run: "true"}}]}}\n' for each in range(number))
    text = f"weft: 1\nplan: tried\nisolation: worktree\nsubplans:\n{slices}"
    rows = 0

    def counted(cursor: sqlite3.Cursor, row: tuple[object, ...]) -> tuple[object, ...]:
        nonlocal rows
        rows += bool(cursor)
        return row

    root.mkdir()
    with written(root, text=record_plan(load_plan(text))) as recorded_run:
        for each in range(number):
            path = f"s{each}"
            recorded_run.tell(
                state(path, "running"), *merge(path, "@merge", "merged"), state(path, "completed")
            )
            recorded_run.tell(step("started", path, "@land", 2), *merge(path, "@land", "merged"))
        with recorded_run.opened() as opened:
            database = opened.journal._database  # type: ignore[attr-defined]
            database.connection.row_factory = counted
            overview(opened, now=0.0)
    return rows
