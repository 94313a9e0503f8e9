"""Steps whose results were turned down, as people see them."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.run_stories import Story, slices
from cli.running import Project
from store.books import sign
from weft.app.views.rows import StepFailure
from weft.app.views.wording.style import Style
from weft.app.views.wording.words import what_failed
from weft.cli.live.screen import screen
from weft.cli.text.run_summary import summary_lines

RULE = "on_result: step.look.result == 'no' (fail)"
PLAN = """
subplans:
  - id: a
    steps:
      - {id: work, run: "true"}
      - id: look
        run: echo no
        on_result: [{when: "step.look.result == 'no'", action: fail}]
        on_fail: {retry_from: work, max: 1}
"""


def test_a_rejection_is_reported_by_its_rule_alone() -> None:
    failure = StepFailure(step="look", command="agent coder", message=RULE, how="rejected")
    assert what_failed(failure) == RULE


def test_the_live_view_says_why_a_step_is_done_again() -> None:
    story = Story(*slices("a"))
    story.start()
    story.begin("a")
    story.step("a", "check")
    story.end("a", "check", "rejected", message=RULE)
    story.step("a", "code", attempt=2)
    picture = "\n".join(screen(story.view, story.at, (120, 20), Style(colours=False)))
    assert f"again, because check was rejected: {RULE}" in picture


def test_the_live_view_says_why_a_join_sends_the_work_back() -> None:
    story = Story(*slices("a"))
    story.begin("a")
    story.tell("step_finished", "a", "all", outcome="rejected", attempt=1, message=RULE)
    story.step("a", "code", attempt=2)
    picture = "\n".join(screen(story.view, story.at, (120, 20), Style(colours=False)))
    assert f"again, because all was rejected: {RULE}" in picture


def test_the_live_view_and_the_summary_show_the_question_before_the_result() -> None:
    story = Story(*slices("a"))
    story.start()
    story.begin("a")
    story.tell("ask", "a", "look", question="Good?\n(look: on_result: always)\nIts result:\n7", firing=9)
    assert "Good?" in "\n".join(screen(story.view, story.at, (120, 20), Style(colours=False)))
    lines = [line.strip() for line in summary_lines(story.view, story.at)]
    assert lines[2:6] == [
        "Question   a: Good?",
        "| (look: on_result: always)",
        "| Its result:",
        "| 7",
    ]


@pytest.fixture
def ran(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path / "project")
    project.plan(PLAN)
    assert project.weft("run", "-q").exit_code == 1
    yield project
    project.end()


def test_events_and_logs_show_the_rejection(ran: Project) -> None:
    events = [json.loads(line) for line in ran.weft("events", "--json").stdout.splitlines()]
    ends = [event for event in events if event["event"] == "step_finished" and event["step"] == "look"]
    assert [(end["outcome"], end["rejected_by"], end["message"]) for end in ends] == [
        ("rejected", "on_result", RULE)
    ] * 2
    assert f"a:look (attempt 2) rejected: {RULE}" in ran.weft("logs", "a:look").output


def test_a_journal_of_an_older_version_can_be_replayed(ran: Project) -> None:
    assert ran.weft("replay").exit_code == 0
    with closing(sqlite3.connect(ran.journal)) as database, database:
        database.execute(
            "UPDATE events SET outcome = 'done', data = json_remove(data, '$.message', '$.rejected_by', '$.tail')"
            " WHERE outcome = 'rejected'"
        )
    sign(ran.journal)
    assert ran.weft("replay").exit_code == 0
    assert "look done" in ran.weft("events").stdout
