"""Comments on the lines of a diff, which go back to the agent as the feedback of a new attempt."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from ui.conftest import Visitor
from ui.projects import background_run, make_project, server, status, wait_for, weft

PLAN = """\
weft: 1
plan: reviewed
merge: {mode: manual}
agents:
  writer: {use: command, command: [sh, -c, "cat >/dev/null; echo first > text.md"]}
subplans:
  - id: draft
    prompt: Write the text.
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = make_project(tmp_path_factory.mktemp("reviewed") / "reviewed", PLAN)
    weft(project, "run", "--no-wait")
    return project


@pytest.fixture
def reviewer(browser: Browser, project: Path) -> Iterator[Visitor]:
    with server(project) as url:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(60_000)
        yield Visitor(context, url)
        context.close()


def feedback(project: Path) -> list[str]:
    """Returns the texts that people have sent back, as the journal has them."""
    lines = weft(project, "events", "--json").splitlines()
    events = [json.loads(line) for line in lines if line.startswith("{")]
    return [event["text"] for event in events if event["event"] == "feedback"]


def test_a_comment_on_a_line_is_the_feedback_of_a_new_attempt(reviewer: Visitor, project: Path):
    page = reviewer.open("/r/last/s/draft?tab=diff")
    page.get_by_role("button", name="Comment on line 1", exact=True).click()
    page.get_by_role("textbox", name="Comment").fill("Say what it is for.")
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("button", name="Send back").click()
    expect(page.get_by_role("button", name="Send back")).to_have_count(0)
    wait_for(lambda: feedback(project), "the feedback in the journal")
    assert feedback(project) == ["text.md:1\n    first\n  Say what it is for."]


ACTIVE = (
    PLAN
    + """\
  - id: lasts
    steps: [{id: code, run: "test -e go || sleep 600"}]
"""
)


def test_comments_stop_an_active_run_and_are_the_feedback_of_the_next_one(browser: Browser, tmp_path: Path):
    project = make_project(tmp_path / "active", ACTIVE)
    with background_run(project), server(project) as url:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        visitor = Visitor(context, url)
        page = visitor.open("/r/last")
        expect(page.get_by_role("row").filter(has_text="draft")).to_contain_text("completed")
        first = status(project)["run"]
        page = visitor.open(f"/r/{first}/s/draft?tab=diff")
        page.get_by_role("button", name="Comment on line 1", exact=True).click()
        page.get_by_role("textbox", name="Comment").fill("Shorter.")
        page.get_by_role("button", name="Keep").click()
        expect(page.get_by_role("region", name="Send back")).to_contain_text("The run is active.")
        page.reload()
        page.get_by_role("button", name="Stop the run and send back").click()
        page.wait_for_url(lambda address: f"/r/{first}/" not in address)
        expect(page.get_by_role("heading", level=1, name="draft")).to_be_visible()
        assert feedback(project) == ["text.md:1\n    first\n  Shorter."]
        assert status(project)["run"] != first
        context.close()
