"""Snapshots and increments: what pages and `weft top` show of a run."""

from random import Random

import pytest

from app.run_stories import Story, group, slices
from sim.random_plans import random_plan
from sim.random_worlds import Chances, RandomWorld
from weft.app.views.needs import needs_of
from weft.app.views.run_view import RunView
from weft.app.views.snapshot import (
    RunContext,
    change_of,
    changed_rows,
    changes_of,
    columns_of,
    shown_state,
    strip_of,
    take_snapshot,
)
from weft.app.views.snapshot_model import RowChange
from weft.app.views.wording.row_words import row_words
from weft.engine.messages.events import AnyEvent
from weft.engine.simulate import Simulator


def context(story: Story, *, is_active: bool = True) -> RunContext:
    return RunContext(run="r1", state=story.view.state, is_active=is_active, created_at=1_000.0, now=story.at)


def rows_now(view: RunView) -> list[RowChange]:
    return [change_of(view, row) for row in view.rows]


def events_of(seed: int) -> tuple[RunView, list[tuple[float, AnyEvent]]]:
    """A random run of a random plan, with holds, questions, pauses and deaths of the coordinator."""
    random = Random(f"snapshot {seed}")
    compiled = random_plan(random)
    world = RandomWorld(f"snapshot {seed}", random.choice([0.0, 0.2, 0.5]))
    paths = list(map(str, compiled.plan.outline.paths))
    chances = Chances(dies=0.05, stops=0.02, says=0.1)
    simulator = Simulator(
        compiled, world.happens, person=world.replies, interruptions=chances.interruptions(f"{seed}", paths)
    )
    return RunView(compiled.plan), simulator.play().events


@pytest.mark.parametrize("seed", range(40))
def test_increments_on_a_snapshot_give_the_snapshot_after_every_event(seed: int) -> None:
    view, events = events_of(seed)
    rows = rows_now(view)
    for at, event in events:
        view.apply(event, at)
        for change in changes_of(view, changed_rows(view, event)):
            rows[change.row] = change
        assert rows == rows_now(view), f"seed {seed}, event {view.seq}: {event}"


def test_columns_have_the_values_of_the_rows() -> None:
    story = Story(group("store", *slices("model"), *slices("disk", depends_on=["model"])))
    story.start()
    story.begin("store", "store/model")
    story.step("store/model", "code", attempt=2, agent="coder")
    columns = columns_of(story.view)
    assert columns.path == ["", "store", "store/model", "store/disk"]
    assert columns.parent == [-1, 0, 1, 1]
    assert columns.depends_on == [(), (), (), (2,)]
    assert columns.state == ["pending", "running", "running", "pending"]
    assert (columns.step, columns.attempt) == ({2: "code"}, {2: 2})
    assert columns.step_total == [0, 0, 3, 3]


def test_the_strip_counts_each_slice_once() -> None:
    story = Story(*slices("a", "b", "c", "d"))
    story.start()
    story.begin("a", "b", "c")
    story.tell("ask", "a", "gate", firing=9, question="Go on?")
    story.fail("b")
    story.fail("c", reason="blocked", cause="b")
    counts = strip_of(story.view, context(story), []).counts
    assert counts["asking"] == counts["failed"] == counts["blocked"] == counts["pending"] == 1
    assert sum(counts.values()) == 4


def test_a_slice_that_is_retried_is_no_longer_counted_as_blocked() -> None:
    story = Story(*slices("a"))
    story.begin("a")
    story.fail("a", reason="blocked", cause="b")
    story.begin("a")
    assert strip_of(story.view, context(story), []).counts == {
        "pending": 0, "running": 1, "completed": 0, "failed": 0, "asking": 0, "held": 0, "conflict": 0,
        "blocked": 0,
    }  # fmt: skip


def test_what_a_person_is_needed_for_hides_the_state() -> None:
    story = Story(*slices("a"))
    story.begin("a")
    assert shown_state(story.view, story.view.row("a")) == "running"
    story.step("a", "@merge")
    story.end("a", "@merge", "held", message="a cannot be merged", conflict=True, files=["x.py"])
    assert shown_state(story.view, story.view.row("a")) == "conflict"


def test_a_group_in_which_nothing_is_under_way_shows_what_a_person_is_needed_for() -> None:
    story = Story(group("g", *slices("a", "b")))
    story.begin("g")
    for path in ("g/a", "g/b"):
        story.begin(path)
        story.step(path, "@merge")
    story.end("g/a", "@merge", "held", message="g/a cannot be merged", conflict=True, files=["x.py"])
    assert shown_state(story.view, story.view.row("g")) == "running"
    story.end("g/b", "@merge", "held", message="g/b cannot be merged", conflict=True, files=["x.py"])
    assert shown_state(story.view, story.view.row("g")) == "conflict"
    assert row_words(story.view, story.view.row("g").number, 0.0, is_tree=True).sign == "conflict"


def test_time_does_not_pass_for_a_run_without_a_coordinator() -> None:
    story = Story(*slices("a"))
    story.start()
    story.wait(10)
    story.begin("a")
    story.wait(1_000)
    assert strip_of(story.view, context(story), []).seconds == 1_010
    assert strip_of(story.view, context(story, is_active=False), []).seconds == 10


def test_a_snapshot_has_the_number_of_its_last_event_and_its_needs() -> None:
    story = Story(*slices("a"))
    story.start()
    story.begin("a")
    story.fail("a", message="no disk")
    needs = needs_of(story.view, story.at, is_active=True)
    snapshot = take_snapshot(story.view, context(story), needs)
    assert snapshot.seq == 3
    assert (snapshot.strip.needs, [need.title for need in snapshot.needs]) == (1, ["no disk"])


def test_a_pause_of_a_group_changes_everything_in_it() -> None:
    story = Story(group("g", *slices("a", "b")), *slices("c"))
    event = story.tell("paused", "g", outcome="pause")
    changes = changes_of(story.view, changed_rows(story.view, event))
    assert [(change.row, change.paused, change.note) for change in changes] == [
        (1, True, "paused"),
        (2, True, "paused"),
        (3, True, "paused"),
    ]


def test_work_that_is_only_in_its_group_is_merged_and_not_landed() -> None:
    story = Story(group("store", *slices("model")), *slices("cli"), isolation="worktree")
    story.start()
    story.begin("store", "store/model", "cli")
    story.complete("store/model", "store", "cli")
    assert columns_of(story.view).landing == {1: "unmerged", 2: "merged", 3: "unmerged"}
    for path in ("store", "cli"):
        story.step(path, "@land")
        story.end(path, "@land")
    assert columns_of(story.view).landing == {1: "landed", 2: "merged", 3: "landed"}
