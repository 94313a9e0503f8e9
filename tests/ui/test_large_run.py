"""The page of a run with 10,000 slices: it shows few of them at once, and finds all."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ui.conftest import Visitor
from ui.projects import ENVIRONMENT, ROOT, server

MOST_ROWS = 80
PYTHON = ROOT / ".venv" / "bin" / "python"
# The environment of the browser has no Weft.
WRITE = """\
import sys
from pathlib import Path
from benchmarks.large_run import write_large_run
write_large_run(Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def large(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    project = tmp_path_factory.mktemp("large") / "large"
    subprocess.run([PYTHON, "-c", WRITE, project], cwd=ROOT, env=ENVIRONMENT, check=True)
    make_repository(project)
    with server(project) as url:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(60_000)
        yield Visitor(context, url)
        context.close()


def make_repository(place: Path) -> None:
    """A folder of its own: no repository around it decides where the project is."""
    subprocess.run(["git", "init", "--quiet"], cwd=place, env=ENVIRONMENT, check=True)


def count_rows(page: Page) -> int:
    return page.get_by_role("treegrid").get_by_role("row").count()


def test_ten_thousand_slices_are_a_window_of_rows(large: Visitor):
    page = large.open("/r/last")
    tree = page.get_by_role("treegrid", name="Subplans")
    expect(tree).to_be_visible()
    page.get_by_role("checkbox", name="Show finished").check()
    expect(tree).to_have_attribute("aria-rowcount", "10101")  # with 100 groups and the head
    assert 0 < count_rows(page) <= MOST_ROWS
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    expect(tree.get_by_role("row").filter(has_text="slice-099")).to_have_count(1)
    assert count_rows(page) <= MOST_ROWS
    assert large.errors == []


def test_one_of_ten_thousand_slices_is_found_and_opened(large: Visitor):
    page = large.open("/r/last")
    page.get_by_role("searchbox", name="Filter by path").fill("part-099/slice-042")
    row = page.get_by_role("treegrid").get_by_role("row").filter(has_text="slice-042")
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1, name="part-099/slice-042")).to_be_visible()


def test_the_graph_of_ten_thousand_slices_is_folded_and_can_be_unfolded(large: Visitor):
    page = large.open("/r/last/graph")
    boxes = page.get_by_role("region", name="What depends on what").get_by_role("button")
    expect(boxes.first).to_be_visible()
    assert boxes.count() <= MOST_ROWS
    boxes.filter(has_text="part-000").click()
    page.get_by_role("button", name="part-003, ").click()
    page.get_by_role("button", name="part-003/slice-000").click()
    page.get_by_role("button", name="part-003/slice-002, completed").click()
    expect(page.get_by_role("heading", level=1, name="part-003/slice-002")).to_be_visible()
    assert large.errors == []


def test_the_timeline_of_ten_thousand_slices_is_drawn(large: Visitor):
    page = large.open("/r/last/timeline")
    expect(page.get_by_role("heading", level=1, name="Timeline")).to_be_visible()
    expect(page.locator("canvas").first).to_be_visible()
    expect(page.get_by_text("Loading …")).to_have_count(0)
    assert large.errors == []
