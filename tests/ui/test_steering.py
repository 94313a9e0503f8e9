"""The page beside a run that is under way: buttons, tabs, a killed coordinator, and a page of another site."""

import http.server
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page, expect

from ui.conftest import Visitor
from ui.projects import background_run, coordinator, kill, make_project, server, weft

PLAN = """\
weft: 1
plan: steered
max_parallel: 8
pools: {line: {values: [only]}}
failure_mode: continue_on_error
merge: {mode: manual}
subplans:
  - id: asks
    steps: [{id: gate, action: ask, question: "Publish the notes?"}, {id: publish, run: "echo out > out.txt"}]
  - id: breaks
    steps: [{id: code, run: "echo wrong > b.txt; test -f fixed || exit 4"}]
  - id: works
    steps: [{id: code, run: "echo one > w.txt"}]
  - id: lasts
    steps: [{id: code, run: "sleep 600", pools: [line]}]
  - id: queues
    depends_on: [works]
    steps: [{id: code, run: "echo queued > q.txt", pools: [line]}]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    project = make_project(tmp_path_factory.mktemp("steered") / "steered", PLAN)
    with background_run(project):
        yield project


@pytest.fixture(scope="module")
def url(project: Path) -> Iterator[str]:
    with server(project) as url:
        yield url


@pytest.fixture
def steerer(browser: Browser, url: str) -> Iterator[Visitor]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Visitor(context, url)
    context.close()


def row(page: Page, name: str):
    return page.get_by_role("treegrid").get_by_role("row").filter(has_text=name)


def test_seven_tabs_show_a_change_and_share_one_stream(steerer: Visitor):
    tabs = [steerer.page, *(steerer.tab() for _ in range(6))]
    for tab in tabs:
        tab.goto(f"{steerer.base}/r/last")
        expect(row(tab, "lasts")).to_contain_text("running")
    tabs[6].get_by_role("button", name="Pause", exact=True).click()
    for tab in tabs:
        expect(tab.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    tabs[0].get_by_role("button", name="Resume", exact=True).click()
    for tab in tabs:
        expect(tab.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    assert sum("/stream?" in request for request in steerer.requests) == 1


def test_a_pool_says_what_holds_it_and_what_waits(steerer: Visitor):
    page = steerer.open("/r/last/pools")
    pool = page.locator("section").filter(has=page.get_by_role("heading", name="pools.line"))
    expect(pool).to_contain_text("1 of 1 in use")
    expect(pool).to_contain_text("1 waiting")
    page.get_by_role("link", name="queues").first.click()
    page.get_by_role("link", name="Why").click()
    expect(page.get_by_role("heading", name="No room in pools.line for code")).to_be_visible()
    expect(page.get_by_role("list", name="Held by")).to_contain_text("lasts")


def test_the_net_of_a_slice_shows_the_step_that_runs(steerer: Visitor):
    page = steerer.open("/r/last/graph?mode=net&of=lasts")
    expect(page.get_by_role("img", name="run code#1, under way", exact=True)).to_be_visible()
    page.get_by_role("combobox", name="The net of").fill("queues")
    expect(page.get_by_role("img", name="started, 1 tokens")).to_be_visible()
    expect(page.get_by_role("img", name="under way")).to_have_count(0)


def test_a_question_is_answered_on_its_card(steerer: Visitor):
    page = steerer.open("/r/last")
    card = page.locator('article[data-need="question"]')
    expect(card).to_contain_text("Publish the notes?")
    card.get_by_role("button", name="Yes").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes").click()
    expect(card).to_have_count(0)


def test_another_origin_cannot_steer(steerer: Visitor, tmp_path: Path):
    """A page of another site posts to the server with the cookies of the visitor: it is refused."""
    (tmp_path / "index.html").write_text("<h1>harmless</h1>")

    class Files(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object, **more: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path), **more)  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as attacker:
        Thread(target=attacker.serve_forever, daemon=True).start()
        page = steerer.tab()
        page.goto(f"http://localhost:{attacker.server_port}/index.html")
        page.evaluate(
            """url => fetch(url, {method: "POST", credentials: "include", mode: "no-cors",
               headers: {"Content-Type": "text/plain"}, body: "{}"}).catch(() => null)""",
            f"{steerer.base}/api/v1/runs/last/pause",
        )
        attacker.shutdown()
    page = steerer.open("/r/last")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()


def test_a_killed_coordinator_is_noticed_and_a_new_one_too(steerer: Visitor, project: Path):
    page = steerer.open("/r/last")
    expect(row(page, "lasts")).to_contain_text("running")
    kill(coordinator(project))
    expect(page.get_by_text("no coordinator runs it")).to_be_visible()
    weft(project, "start")
    expect(page.get_by_text("no coordinator runs it")).to_have_count(0)


def test_a_stopped_server_is_named(browser: Browser, project: Path):
    context = browser.new_context()
    with server(project) as url:
        visitor = Visitor(context, url)
        page = visitor.open("/r/last")
        expect(page.get_by_role("treegrid")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("does not answer")
    context.close()
