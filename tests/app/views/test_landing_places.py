"""The places of results on their way to the target, as a view and `weft status` tell them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.books import Written, written
from app.run_stories import Story, slices
from stored_events import make_event
from weft.app.inspect.overview import overview
from weft.app.inspect.overview_model import Overview
from weft.app.views.push import PushState
from weft.engine.messages.events import AnyEvent
from weft.plan.display.show import record_plan
from weft.plan.loader.load import load_plan

NAMES = ("a", "b", "c")
PLAN = """
weft: 1
plan: tried
isolation: worktree
verify: make check
merge: {mode: auto}
subplans:
  - {id: a, steps: [{id: work, run: "true"}]}
  - {id: b, steps: [{id: work, run: "true"}]}
  - {id: c, steps: [{id: work, run: "true"}]}
"""
MOVES = [{"ref": "refs/heads/main", "before": "b" * 40, "after": "abc1234" + "0" * 33}]
RED = (
    "a does not land on main: `verify` fails with it: exit code 2 (make check)\n  | one\n  | two\n"
    "commit a fix to branch weft/tried/a, then type: weft merge a"
)
RED_BASE = (
    "`verify` already fails on main at abc1234: exit code 2 (make check)\n"
    "  | one\nfix main, then type: weft merge"
)


def verify(outcome: str, *entries: str, **data: Any) -> AnyEvent:
    table = {"entries": list(entries), "commands": ["make check"], "commit": "abc1234", **data}
    return make_event(kind="verify", step="@land", outcome=outcome, data=table)


def land(path: str) -> AnyEvent:
    data = {"firing": NAMES.index(path) + 1, "execution": 1}
    return make_event(kind="step_started", subplan=path, step="@land", attempt=1, data=data)


def end(path: str, outcome: str = "done", **data: Any) -> list[AnyEvent]:
    """The end of a landing, and what it says of the merge."""
    firing = NAMES.index(path) + 1
    merge = "merged" if outcome == "done" else outcome
    return [
        make_event(
            kind="step_finished", subplan=path, step="@land", outcome=outcome, data={"firing": firing, **data}
        ),
        make_event(kind="merge", subplan=path, step="@land", outcome=merge, data=data),
    ]


def completed(*paths: str) -> list[AnyEvent]:
    states = ("running", "completed")
    return [
        make_event(kind="subplan_state", subplan=path, outcome=state) for path in paths for state in states
    ]


@pytest.fixture
def recorded_run(tmp_path: Path) -> Iterator[Written]:
    with written(tmp_path, text=record_plan(load_plan(PLAN))) as made:
        yield made


class Seen:
    """The same events in a view and in a journal."""

    def __init__(self, recorded_run: Written) -> None:
        self.recorded_run = recorded_run
        self.story = Story(*slices(*NAMES))

    def tell(self, *events: AnyEvent) -> None:
        self.recorded_run.tell(*events)
        for event in events:
            self.story.view.apply(event, 1.0)

    def overview(self, *, everything: bool = True) -> Overview:
        with self.recorded_run.opened() as opened:
            return overview(opened, everything=everything)

    def places(self) -> list[str]:
        rows = {row.path: row.landing_place or "" for row in self.overview().subplans}
        view = self.story.view
        assert {path: view.landings.place(row) for row, path in enumerate(view.outline.paths) if row} == rows
        return [rows[path] for path in NAMES]


@pytest.fixture
def seen(recorded_run: Written) -> Seen:
    return Seen(recorded_run)


def test_a_result_is_queued_then_verified_with_others_then_landed(seen: Seen) -> None:
    seen.tell(*completed(*NAMES))
    assert seen.places() == ["", "", ""]
    seen.tell(*map(land, NAMES))
    assert seen.places() == ["queued to land"] * 3
    seen.tell(verify("started", "a", "b"))
    assert seen.places() == ["verifying with 1 other", "verifying with 1 other", "queued to land"]
    seen.tell(verify("passed", "a", "b", seconds=1.0))
    assert seen.places() == ["queued to land"] * 3
    seen.tell(*end("a", moves=MOVES), *end("b", moves=MOVES), verify("started", "c"))
    assert seen.places() == ["landed abc1234", "landed abc1234", "verifying"]
    seen.tell(verify("started", *NAMES))
    assert seen.places()[2] == "verifying with 2 others"


def test_what_is_in_the_queue_is_listed_without_everything(seen: Seen) -> None:
    seen.tell(*completed(*NAMES), *map(land, NAMES), *end("a", moves=MOVES))
    assert [row.path for row in seen.overview(everything=False).subplans] == ["b", "c"]


def test_a_result_that_fails_a_verify_is_held_until_it_is_tried_again(seen: Seen) -> None:
    seen.tell(
        *completed("a"), land("a"), verify("started", "a"), verify("failed", "a", message="exit code 2")
    )
    seen.tell(*end("a", "held", message=RED, red=True))
    assert seen.places()[0] == "held: verify failed"
    seen.tell(land("a"))
    assert seen.places()[0] == "queued to land"
    seen.tell(*end("a", "held", message="in the way", files=["x"]))
    assert seen.places()[0] == ""


def test_a_verify_that_keeps_a_result_from_landing_is_listed_with_what_to_type(seen: Seen) -> None:
    seen.tell(*completed("a"), land("a"), verify("started", "a"))
    seen.tell(verify("failed", "a", message="exit code 2 (make check)", tail="one\ntwo"))
    (failed,) = seen.overview().verifies
    assert (failed.entries, failed.command, failed.tail, failed.fix) == (("a",), "make check", "one\ntwo", "")
    seen.tell(*end("a", "held", message=RED, red=True))
    (failed,) = seen.overview().verifies
    assert (failed.entries, failed.command, failed.tail) == (("a",), "make check", "one\ntwo")
    assert failed.message == RED.splitlines()[0]
    assert failed.fix == "commit a fix to branch weft/tried/a, then type: weft merge a"
    seen.tell(land("a"), verify("started", "a"), verify("passed", "a"), *end("a", moves=MOVES))
    assert seen.overview().verifies == ()


def test_a_verify_that_fails_on_the_target_is_listed_once_for_all_that_it_keeps(seen: Seen) -> None:
    seen.tell(*completed("a", "b"), land("a"), land("b"))
    seen.tell(*end("a", "held", message=RED_BASE, red=True), *end("b", "held", message=RED_BASE, red=True))
    (failed,) = seen.overview().verifies
    assert failed.entries == ("a", "b")
    assert failed.message.startswith("`verify` already fails on main at abc1234")
    assert failed.fix == "fix main, then type: weft merge"


def test_a_verify_that_was_stopped_says_nothing_against_a_result(seen: Seen) -> None:
    seen.tell(*completed("a"), land("a"), verify("started", "a"), verify("stopped", "a", message="moved"))
    assert seen.overview().verifies == ()
    assert seen.places()[0] == "queued to land"


def test_the_last_push_counts_until_another_result_lands(seen: Seen) -> None:
    seen.tell(*completed("a"), land("a"), *end("a", moves=MOVES))
    assert (seen.overview().push, seen.story.view.landings.push) == (None, None)
    data = {"remote": "origin", "commit": "", "message": "no", "command": "git push", "final": True}
    seen.tell(make_event(kind="push", outcome="failed", data=data))
    failed = PushState(remote="origin", message="no", command="git push", is_final=True)
    assert (seen.overview().push, seen.story.view.landings.push) == (failed, failed)
    seen.tell(make_event(kind="push", outcome="pushed", data={"remote": "origin", "commit": "abc"}))
    pushed = PushState(remote="origin", commit="abc")
    assert (seen.overview().push, seen.story.view.landings.push) == (pushed, pushed)
    seen.tell(*completed("b"), land("b"), *end("b", moves=MOVES))
    assert (seen.overview().push, seen.story.view.landings.push) == (None, None)
