"""Status files of a run: for what lasts, what failed and what asks."""

from pathlib import Path

import pytest

from app.run_stories import group, plan_of, slices
from stored_events import make_event
from weft.app.run.status_files import LASTS, StatusMirror
from weft.engine.messages.events import Recorded
from weft.runtime.status_files import StatusFiles, read_status, status_file

PLAN = plan_of(group("g", *slices("a", "b")), group("dir", *slices("a"), isolation="dir"))


class Told:
    """A mirror that is told of events, and the files it leaves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mirror = StatusMirror(StatusFiles(folder), "r1", PLAN)

    def happens(self, at: float, kind: str, path: str = "g/a", **more: object) -> None:
        event = make_event(kind=kind, subplan=path, **more)  # type: ignore[arg-type]
        self.mirror.receive([Recorded(seq=1, at=at, run="r1", event=event)])

    def status(self, path: str = "g/a") -> dict[str, object] | None:
        self.mirror.close()
        return read_status(status_file(self.folder, path))


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path / "run")


def test_a_slice_that_is_quickly_completed_has_no_file(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    told.mirror.refresh(LASTS / 2)
    told.happens(0.6, "subplan_state", outcome="completed", data={"from": "running"})
    told.mirror.refresh(10.0)
    assert told.status() is None


def test_what_lasts_is_reported_with_its_step(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    told.happens(0.5, "step_started", step="code", attempt=2)
    told.mirror.refresh(LASTS)
    assert told.status() == {
        "weft": 1, "run": "r1", "subplan": "g/a", "updated_at": "1970-01-01T00:00:00.500Z",
        "state": "running", "reason": None, "message": None, "landing": "unmerged", "conflict": [],
        "step": "code", "attempt": 2, "question": None,
    }  # fmt: skip


def test_a_written_status_file_gets_the_final_state(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    told.mirror.refresh(LASTS)
    told.happens(2.0, "step_started", step="code", attempt=1)
    told.happens(3.0, "step_finished", step="code", attempt=1, outcome="done")
    told.happens(3.0, "subplan_state", outcome="completed", data={"from": "running"})
    status = told.status()
    assert status is not None
    assert (status["state"], status["step"]) == ("completed", None)


def test_what_failed_has_a_file_however_quickly(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="failed", data={"reason": "error", "message": "exit code 1"})
    status = told.status()
    assert status is not None
    assert (status["state"], status["reason"], status["message"]) == ("failed", "error", "exit code 1")


@pytest.mark.parametrize("reason", ["blocked", "cancelled"])
def test_what_failed_because_of_another_has_none(told: Told, reason: str) -> None:
    told.happens(0.0, "subplan_state", outcome="failed", data={"reason": reason})
    assert told.status() is None


def test_a_question_is_reported_when_the_run_is_left(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    told.happens(0.1, "ask", step="sure", attempt=1, data={"question": "Go on?"})
    told.happens(0.1, "subplan_state", path="g/b", outcome="running", data={"from": "pending"})
    status = told.status()
    assert status is not None
    assert (status["step"], status["question"]) == ("sure", "Go on?")
    assert read_status(status_file(told.folder, "g/b")) is None


def test_events_of_the_whole_and_of_no_interest_leave_no_file(told: Told) -> None:
    told.happens(0.0, "run_started", path="")
    told.happens(0.0, "step_cancelled")
    told.mirror.refresh(10.0)
    assert told.status() is None


def test_a_result_that_lands_at_once_has_no_file(told: Told) -> None:
    told.happens(0.0, "subplan_state", path="g", outcome="completed", data={"from": "running"})
    told.happens(0.0, "step_started", path="g", step="@land", attempt=1)
    told.happens(0.0, "step_finished", path="g", step="@land", attempt=1, outcome="done")
    told.mirror.refresh(10.0)
    assert told.status("g") is None


def test_what_is_held_has_a_file_at_once_with_the_files_in_conflict(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    told.happens(0.1, "step_started", step="@merge", attempt=1)
    held = {"message": "it conflicts", "files": ["f.txt"], "conflict": True}
    told.happens(0.2, "step_finished", step="@merge", attempt=1, outcome="held", data=held)
    status = told.status()
    assert status is not None
    assert (status["state"], status["landing"], status["conflict"]) == ("running", "conflict", ["f.txt"])
    assert (status["message"], status["step"]) == ("it conflicts", None)


def test_files_that_are_in_the_way_are_in_no_conflict(told: Told) -> None:
    held = {"message": "in the way", "files": ["f.txt"]}
    told.happens(0.2, "step_finished", step="@merge", attempt=1, outcome="held", data=held)
    status = told.status()
    assert status is not None
    assert (status["state"], status["landing"], status["conflict"]) == ("running", "held", [])


def test_what_is_merged_after_it_was_held_says_so(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    told.happens(0.2, "step_finished", step="@merge", attempt=1, outcome="held", data={"message": "no"})
    told.happens(0.3, "step_started", step="@merge", attempt=1)
    told.happens(0.4, "step_finished", step="@merge", attempt=1, outcome="done")
    told.happens(0.4, "subplan_state", outcome="completed", data={"from": "running"})
    status = told.status()
    assert status is not None
    assert (status["state"], status["landing"], status["message"]) == ("completed", "merged", None)


def test_a_result_that_is_held_has_a_file_until_it_has_landed_and_then_one_that_says_so(told: Told) -> None:
    told.happens(0.0, "subplan_state", path="g", outcome="completed", data={"from": "running"})
    held = {"message": "g is ready", "asks": True}
    told.happens(0.1, "step_finished", path="g", step="@land", outcome="held", data=held)
    found = [told.status("g")]
    again = Told(told.folder)
    again.happens(1.0, "step_started", path="g", step="@land", attempt=1)
    found.append(again.status("g"))
    last = Told(told.folder)
    last.happens(2.0, "step_finished", path="g", step="@land", attempt=1, outcome="done")
    found.append(last.status("g"))
    assert [(one["state"], one["landing"], one["message"]) for one in found if one is not None] == [
        ("completed", "held", "g is ready"),
        ("completed", "unmerged", None),
        ("completed", "merged", None),
    ]


def test_what_has_no_branch_says_nothing_about_landing(told: Told) -> None:
    told.happens(0.0, "subplan_state", path="dir", outcome="running", data={"from": "pending"})
    told.mirror.refresh(LASTS)
    told.happens(2.0, "subplan_state", path="dir", outcome="completed", data={"from": "running"})
    told.happens(2.0, "step_finished", path="dir", step="@land", attempt=1, outcome="done")
    status = told.status("dir")
    assert status is not None
    assert (status["state"], status["landing"], status["conflict"]) == ("completed", None, [])


def test_what_a_dead_coordinator_wrote_is_brought_up_to_date(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    told.mirror.refresh(LASTS)
    told.mirror.close()
    again = Told(told.folder)
    again.happens(1.0, "subplan_state", outcome="completed", data={"from": "running"})
    status = again.status()
    assert status is not None
    assert status["state"] == "completed"


def test_a_run_that_was_stopped_leaves_no_file_that_says_running(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    told.happens(0.5, "step_started", step="code", attempt=1)
    told.mirror.refresh(LASTS)
    told.happens(2.0, "run_finished", path="", outcome="stopped")
    status = told.status()
    assert status is not None
    assert (status["state"], status["updated_at"]) == ("stopped", "1970-01-01T00:00:02.000Z")


def test_a_file_of_an_earlier_coordinator_does_not_say_running_once_the_run_is_stopped(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    told.happens(0.0, "subplan_state", path="g/b", outcome="running", data={"from": "pending"})
    told.happens(0.5, "ask", path="g/b", step="sure", data={"question": "Sure?"})
    told.mirror.refresh(LASTS)
    told.mirror.close()
    later = Told(told.folder)
    later.happens(2.0, "run_finished", path="", outcome="stopped")
    status, asking = later.status(), later.status("g/b")
    assert status is not None
    assert asking is not None
    assert (status["state"], asking["state"], asking["question"]) == ("stopped", "running", "Sure?")


def test_a_question_stays_in_its_file_when_the_run_is_stopped(told: Told) -> None:
    told.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    told.happens(0.5, "ask", step="sure", data={"question": "Sure?"})
    told.happens(2.0, "run_finished", path="", outcome="stopped")
    status = told.status()
    assert status is not None
    assert (status["state"], status["question"]) == ("running", "Sure?")
