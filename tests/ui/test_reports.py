"""Reports in one file, opened from disk in a browser that has no network."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ui.projects import HOSTILE, make_project, weft

PLAN = """\
weft: 1
plan: night
goal: Twelve slices, of which some fail.
max_parallel: 4
failure_mode: continue_on_error
pools: {db: 1}
subplans:
  - id: store
    subplans:
      - {id: model, steps: [{id: code, run: "echo a > model; cat hostile.txt"}]}
      - {id: disk, depends_on: [model], steps: [{id: code, run: "echo b > disk", pools: [db]}]}
      - {id: search, depends_on: [model], steps: [{id: code, run: "echo c > search", pools: [db]}]}
  - id: cli
    depends_on: [store]
    subplans:
      - {id: parse, steps: [{id: code, run: "echo d > parse"}]}
      - {id: run, depends_on: [parse], steps: [{id: code, run: "echo e > run"}]}
  - {id: web, steps: [{id: code, run: "cat hostile.txt; echo 'error: no such option'; exit 3"}]}
  - {id: docs, depends_on: [web], steps: [{id: code, run: "echo f > docs"}]}
  - {id: one, steps: [{id: code, run: "echo g > one"}]}
  - {id: two, steps: [{id: code, run: "echo h > two"}]}
  - {id: three, steps: [{id: code, run: "echo i > three"}]}
  - {id: four, steps: [{id: code, run: "echo j > four"}]}
  - {id: five, steps: [{id: code, run: "echo k > five"}]}
"""


class Reader:
    """A page that shows a file, and what went wrong in it."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.address = file.as_uri()
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console", lambda message: self.errors.append(message.text) if message.type == "error" else None
        )
        page.goto(self.address)

    def is_alone(self) -> bool:
        """Whether the page has asked for nothing but its own file."""
        others = [request for request in self.requests if not request.startswith(("data:", "blob:"))]
        return {request.partition("#")[0] for request in others} == {self.address}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run of twelve slices, of which two have failed."""
    folder = tmp_path_factory.mktemp("night")
    project = make_project(folder / "night", PLAN)
    weft(project, "run")
    weft(project, "report", "--out", str(folder / "report.html"))
    return folder / "report.html"


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def reader(offline: Page, night: Path) -> Iterator[Reader]:
    reader = Reader(offline, night)
    yield reader
    assert reader.errors == []
    assert reader.is_alone()


def test_a_report_says_on_top_what_landed_and_what_did_not(reader: Reader):
    page = reader.page
    expect(page.get_by_role("heading", level=1, name="night")).to_be_visible()
    expect(page.get_by_text("Landed: 10 subplans")).to_be_visible()
    card = page.locator('article[data-path="web"]')
    expect(card).to_contain_text("error: no such option")
    expect(page.get_by_role("treegrid").get_by_role("row").filter(has_text="docs")).to_contain_text("failed")


@pytest.mark.parametrize("title", ["Timeline", "Graph", "Cost", "Pools", "Conflicts"])
def test_a_report_has_a_page_for_each_section(reader: Reader, title: str):
    reader.page.get_by_role("link", name=title, exact=True).click()
    expect(reader.page.get_by_role("heading", level=1, name=title)).to_be_visible()
    expect(reader.page.get_by_text("Loading …")).to_have_count(0)


def test_the_graph_of_a_report_has_the_states_of_the_slices(reader: Reader):
    reader.page.get_by_role("link", name="Graph", exact=True).click()
    expect(reader.page.get_by_role("button", name="web, failed")).to_be_visible()
    expect(reader.page.get_by_role("button", name="store/disk, completed")).to_be_visible()


def test_a_failed_slice_has_the_end_of_its_log_and_nothing_in_it_runs(reader: Reader):
    page = reader.page
    page.get_by_role("treegrid").get_by_role("link", name="web").click()
    page.get_by_role("link", name="Attempts").click()
    expect(page.locator("main")).to_contain_text(HOSTILE[:20])
    expect(page.locator("main img")).to_have_count(0)
    assert "owned" not in page.title()


def test_a_report_offers_nothing_that_needs_a_server(reader: Reader):
    expect(reader.page.get_by_role("treegrid")).to_be_visible()
    for name in ("Retry", "Pause", "Find Ctrl K"):
        expect(reader.page.get_by_role("button", name=name, exact=True)).to_have_count(0)


def test_a_report_can_be_read_on_a_phone_and_in_the_dark(browser: Browser, night: Path):
    context = browser.new_context(offline=True, color_scheme="dark", viewport={"width": 400, "height": 800})
    reader = Reader(context.new_page(), night)
    expect(reader.page.get_by_role("heading", level=1, name="night")).to_be_visible()
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert reader.page.evaluate(over) == 0
    assert reader.errors == []
    context.close()


def test_a_simulation_is_a_report_of_the_plan(offline: Page, tmp_path: Path):
    project = make_project(tmp_path / "night", PLAN)
    weft(project, "simulate", "--html", str(tmp_path / "forecast.html"))
    reader = Reader(offline, tmp_path / "forecast.html")
    expect(offline.get_by_role("heading", name="Forecast")).to_be_visible()
    expect(offline.get_by_text("in 100 % of runs")).to_be_visible()
    expect(offline.get_by_role("img", name="store/disk", exact=True)).to_be_visible()
    assert reader.errors == []
    assert reader.is_alone()
