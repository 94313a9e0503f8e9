"""The browser, and a project with a finished run that most tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from ui.chromium import FLAGS, find_chromium
from ui.projects import NOTES, make_project, server, weft

# A busy machine makes a test slow, not red.
expect.set_options(timeout=60_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium: set WEFT_CHROMIUM, or install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose run is over: one slice failed, one is blocked, two are completed."""
    project = make_project(tmp_path_factory.mktemp("notes") / "notes", NOTES)
    weft(project, "run")
    return project


@pytest.fixture(scope="session")
def notes_url(notes: Path) -> Iterator[str]:
    with server(notes) as url:
        yield url


class Visitor:
    """A browser window that has been let in, and the requests that it made."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context = context
        self.base = url.partition("/?")[0]
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page = self.tab()
        self.page.goto(url)

    def tab(self) -> Page:
        page = self.context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console", lambda message: self.errors.append(message.text) if message.type == "error" else None
        )
        return page

    def open(self, address: str) -> Page:
        self.page.goto(self.base + address)
        return self.page


@pytest.fixture
def visitor(browser: Browser, notes_url: str) -> Iterator[Visitor]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(60_000)
    yield Visitor(context, notes_url)
    context.close()
