"""Status files of a run: for what lasts, what failed and what asks."""

from pathlib import Path

import pytest

from app.run_stories import group, plan_of, slices
from stored_events import make_event
from weft.app.run.status_files import LASTS, StatusMirror
from weft.engine.messages.events import Recorded
from weft.runtime.status_files import StatusFiles, read_status, status_file

PLAN = plan_of(group("g", *slices("a", "b")), group("dir", *slices("a"), isolation="dir"))


class MirroredRun:
    """A mirror that receives events, and the files that it writes."""

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
def mirrored(tmp_path: Path) -> MirroredRun:
    return MirroredRun(tmp_path / "run")


def test_a_slice_that_is_quickly_completed_has_no_file(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    mirrored.mirror.refresh(LASTS / 2)
    mirrored.happens(0.6, "subplan_state", outcome="completed", data={"from": "running"})
    mirrored.mirror.refresh(10.0)
    assert mirrored.status() is None


def test_what_lasts_is_reported_with_its_step(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    mirrored.happens(0.5, "step_started", step="code", attempt=2)
    mirrored.mirror.refresh(LASTS)
    assert mirrored.status() == {
        "weft": 1, "run": "r1", "subplan": "g/a", "updated_at": "1970-01-01T00:00:00.500Z",
        "state": "running", "reason": None, "message": None, "landing": "unmerged", "conflict": [],
        "step": "code", "attempt": 2, "question": None,
    }  # fmt: skip


def test_a_written_status_file_gets_the_final_state(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    mirrored.mirror.refresh(LASTS)
    mirrored.happens(2.0, "step_started", step="code", attempt=1)
    mirrored.happens(3.0, "step_finished", step="code", attempt=1, outcome="done")
    mirrored.happens(3.0, "subplan_state", outcome="completed", data={"from": "running"})
    status = mirrored.status()
    assert status is not None
    assert (status["state"], status["step"]) == ("completed", None)


def test_what_failed_has_a_file_however_quickly(mirrored: MirroredRun) -> None:
    mirrored.happens(
        0.0, "subplan_state", outcome="failed", data={"reason": "error", "message": "exit code 1"}
    )
    status = mirrored.status()
    assert status is not None
    assert (status["state"], status["reason"], status["message"]) == ("failed", "error", "exit code 1")


@pytest.mark.parametrize("reason", ["blocked", "cancelled"])
def test_what_failed_because_of_another_has_none(mirrored: MirroredRun, reason: str) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="failed", data={"reason": reason})
    assert mirrored.status() is None


def test_a_question_is_reported_when_the_run_is_left(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    mirrored.happens(0.1, "ask", step="sure", attempt=1, data={"question": "Go on?"})
    mirrored.happens(0.1, "subplan_state", path="g/b", outcome="running", data={"from": "pending"})
    status = mirrored.status()
    assert status is not None
    assert (status["step"], status["question"]) == ("sure", "Go on?")
    assert read_status(status_file(mirrored.folder, "g/b")) is None


def test_events_of_the_whole_and_of_no_interest_leave_no_file(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "run_started", path="")
    mirrored.happens(0.0, "step_cancelled")
    mirrored.mirror.refresh(10.0)
    assert mirrored.status() is None


def test_a_result_that_lands_at_once_has_no_file(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", path="g", outcome="completed", data={"from": "running"})
    mirrored.happens(0.0, "step_started", path="g", step="@land", attempt=1)
    mirrored.happens(0.0, "step_finished", path="g", step="@land", attempt=1, outcome="done")
    mirrored.mirror.refresh(10.0)
    assert mirrored.status("g") is None


def test_what_is_held_has_a_file_at_once_with_the_files_in_conflict(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    mirrored.happens(0.1, "step_started", step="@merge", attempt=1)
    held = {"message": "it conflicts", "files": ["f.txt"], "conflict": True}
    mirrored.happens(0.2, "step_finished", step="@merge", attempt=1, outcome="held", data=held)
    status = mirrored.status()
    assert status is not None
    assert (status["state"], status["landing"], status["conflict"]) == ("running", "conflict", ["f.txt"])
    assert (status["message"], status["step"]) == ("it conflicts", None)


def test_files_that_are_in_the_way_are_in_no_conflict(mirrored: MirroredRun) -> None:
    held = {"message": "in the way", "files": ["f.txt"]}
    mirrored.happens(0.2, "step_finished", step="@merge", attempt=1, outcome="held", data=held)
    status = mirrored.status()
    assert status is not None
    assert (status["state"], status["landing"], status["conflict"]) == ("running", "held", [])


def test_what_is_merged_after_it_was_held_says_so(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    mirrored.happens(0.2, "step_finished", step="@merge", attempt=1, outcome="held", data={"message": "no"})
    mirrored.happens(0.3, "step_started", step="@merge", attempt=1)
    mirrored.happens(0.4, "step_finished", step="@merge", attempt=1, outcome="done")
    mirrored.happens(0.4, "subplan_state", outcome="completed", data={"from": "running"})
    status = mirrored.status()
    assert status is not None
    assert (status["state"], status["landing"], status["message"]) == ("completed", "merged", None)


def test_a_held_result_has_a_file_until_it_has_landed_and_then_another(
    mirrored: MirroredRun,
) -> None:
    mirrored.happens(0.0, "subplan_state", path="g", outcome="completed", data={"from": "running"})
    held = {"message": "g is ready", "asks": True}
    mirrored.happens(0.1, "step_finished", path="g", step="@land", outcome="held", data=held)
    values = [mirrored.status("g")]
    again = MirroredRun(mirrored.folder)
    again.happens(1.0, "step_started", path="g", step="@land", attempt=1)
    values.append(again.status("g"))
    last = MirroredRun(mirrored.folder)
    last.happens(2.0, "step_finished", path="g", step="@land", attempt=1, outcome="done")
    values.append(last.status("g"))
    assert [(item["state"], item["landing"], item["message"]) for item in values if item is not None] == [
        ("completed", "held", "g is ready"),
        ("completed", "unmerged", None),
        ("completed", "merged", None),
    ]


def test_what_has_no_branch_says_nothing_about_landing(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", path="dir", outcome="running", data={"from": "pending"})
    mirrored.mirror.refresh(LASTS)
    mirrored.happens(2.0, "subplan_state", path="dir", outcome="completed", data={"from": "running"})
    mirrored.happens(2.0, "step_finished", path="dir", step="@land", attempt=1, outcome="done")
    status = mirrored.status("dir")
    assert status is not None
    assert (status["state"], status["landing"], status["conflict"]) == ("completed", None, [])


def test_what_a_dead_coordinator_wrote_is_brought_up_to_date(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    mirrored.mirror.refresh(LASTS)
    mirrored.mirror.close()
    again = MirroredRun(mirrored.folder)
    again.happens(1.0, "subplan_state", outcome="completed", data={"from": "running"})
    status = again.status()
    assert status is not None
    assert status["state"] == "completed"


def test_a_run_that_was_stopped_leaves_no_file_that_says_running(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    mirrored.happens(0.5, "step_started", step="code", attempt=1)
    mirrored.mirror.refresh(LASTS)
    mirrored.happens(2.0, "run_finished", path="", outcome="stopped")
    status = mirrored.status()
    assert status is not None
    assert (status["state"], status["updated_at"]) == ("stopped", "1970-01-01T00:00:02.000Z")


def test_a_file_of_an_earlier_coordinator_does_not_say_running_after_a_stop(
    mirrored: MirroredRun,
) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    mirrored.happens(0.0, "subplan_state", path="g/b", outcome="running", data={"from": "pending"})
    mirrored.happens(0.5, "ask", path="g/b", step="sure", data={"question": "Sure?"})
    mirrored.mirror.refresh(LASTS)
    mirrored.mirror.close()
    later = MirroredRun(mirrored.folder)
    later.happens(2.0, "run_finished", path="", outcome="stopped")
    status, asking = later.status(), later.status("g/b")
    assert status is not None
    assert asking is not None
    assert (status["state"], asking["state"], asking["question"]) == ("stopped", "running", "Sure?")


def test_a_question_stays_in_its_file_when_the_run_is_stopped(mirrored: MirroredRun) -> None:
    mirrored.happens(0.0, "subplan_state", outcome="running", data={"from": "pending"})
    mirrored.happens(0.5, "ask", step="sure", data={"question": "Sure?"})
    mirrored.happens(2.0, "run_finished", path="", outcome="stopped")
    status = mirrored.status()
    assert status is not None
    assert (status["state"], status["question"]) == ("running", "Sure?")
