"""What each attempt of a slice has changed."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from ui.conftest import Visitor
from ui.projects import make_project, server, weft

PLAN = """\
weft: 1
plan: tried
merge: {mode: manual}
subplans:
  - id: tries
    steps:
      - {id: work, run: "echo more >> lines; test $(wc -l < lines) -ge 3", on_error: retry, max_retries: 2}
"""


def test_the_changes_of_the_last_attempt_can_be_shown_alone(browser: Browser, tmp_path: Path):
    project = make_project(tmp_path / "tried", PLAN)
    weft(project, "run", "--no-wait")
    with server(project) as url:
        context = browser.new_context()
        page = Visitor(context, url).open("/r/last/s/tries?tab=diff")
        lines = page.locator(".code.mark-added")
        expect(lines).to_have_count(3)
        page.get_by_role("button", name="Since the last attempt").click()
        expect(lines).to_have_count(1)
        context.close()
