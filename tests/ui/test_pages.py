"""Every route of the page, by role and text, against a real run that is over."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ui.conftest import Visitor
from ui.projects import ROOT

AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
ROUTES = {
    "/runs": "Runs",
    "/plan": "Plan",
    "/r/last": "notes",
    "/r/last/s/cli?tab=log": "cli",
    "/r/last/s/store/model?tab=diff": "store/model",
    "/r/last/s/cli?tab=attempts": "cli",
    "/r/last/s/docs?tab=why": "docs",
    "/r/last/timeline": "Timeline",
    "/r/last/graph": "Graph",
    "/r/last/graph?mode=net&of=cli": "Graph",
    "/r/last/cost": "Cost",
    "/r/last/pools": "Pools",
    "/r/last/conflicts": "Conflicts",
    "/r/last/events": "Events",
}


def loaded(page: Page, title: str) -> None:
    expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()
    expect(page.get_by_text("Loading …")).to_have_count(0)


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_shows_its_title_without_an_error(visitor: Visitor, route: str):
    loaded(visitor.open(route), ROUTES[route])
    assert visitor.errors == []


def test_the_first_address_leads_to_the_runs_and_has_no_token(visitor: Visitor):
    expect(visitor.page.get_by_role("heading", level=1, name="Runs")).to_be_visible()
    assert "token" not in visitor.page.url
    visitor.page.get_by_role("link", name="notes").click()
    loaded(visitor.page, "notes")


def test_the_overview_has_cards_and_a_tree_grid(visitor: Visitor):
    page = visitor.open("/r/last")
    card = page.locator('article[data-path="cli"]')
    expect(card).to_contain_text("error: no such option")
    expect(card.get_by_role("button", name="Retry")).to_be_visible()
    tree = page.get_by_role("treegrid", name="Subplans")
    row = tree.get_by_role("row").filter(has_text="docs")
    expect(row).to_contain_text("failed")
    expect(tree.get_by_role("row").filter(has_text="model")).to_have_attribute("aria-level", "2")
    expect(page).to_have_title(re.compile("need"))


def test_work_that_is_only_in_its_group_is_shown_and_not_called_landed(visitor: Visitor):
    page = visitor.open("/r/last")
    row = page.get_by_role("row").filter(has_text="model")
    expect(row).to_contain_text("merged into store, not landed yet")
    visitor.open("/r/last/s/store/model?tab=why")
    expect(page.get_by_role("region", name="The subplan")).to_contain_text(
        "merged into store, not landed yet"
    )


def test_a_count_filters_the_tree(visitor: Visitor):
    page = visitor.open("/r/last")
    tree = page.get_by_role("treegrid")
    page.get_by_role("button", name="2 completed").click()
    expect(tree.get_by_role("row").filter(has_text="cli")).to_have_count(0)
    expect(tree.get_by_role("row").filter(has_text="model")).to_have_count(1)
    page.get_by_role("searchbox", name="Filter by path").fill("disk")
    expect(tree.get_by_role("row").filter(has_text="model")).to_have_count(0)


def test_keys_move_open_and_lead_back(visitor: Visitor):
    page = visitor.open("/r/last")
    loaded(page, "notes")
    page.keyboard.press("e")
    expect(page.locator('[aria-selected="true"]')).to_contain_text("cli")
    page.keyboard.press("Enter")
    loaded(page, "cli")
    page.keyboard.press("D")
    expect(page.get_by_role("link", name="Diff")).to_have_attribute("aria-current", "page")
    page.keyboard.press("Escape")
    loaded(page, "notes")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_the_palette_opens_a_slice_by_its_name(visitor: Visitor):
    page = visitor.open("/r/last")
    loaded(page, "notes")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("disk")
    page.keyboard.press("Enter")
    loaded(page, "store/disk")


def test_a_log_has_its_lines_errors_and_a_search_with_counts(visitor: Visitor):
    page = visitor.open("/r/last/s/cli?tab=log")
    log = page.get_by_role("log")
    expect(log).to_contain_text("error: no such option")
    page.get_by_role("searchbox", name="Search the log").fill("o")
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 matching lines")).to_be_visible()
    page.get_by_role("button", name="error: no such option").click()
    expect(page).to_have_url(re.compile(r"line=4"))


def test_hostile_output_stays_text(visitor: Visitor):
    page = visitor.open("/r/last/s/store/model?tab=log")
    log = page.get_by_role("log")
    expect(log).to_contain_text("<img src=x onerror=document.title='owned'> red ⟨U+202E⟩gnp.exe")
    expect(log.locator(".ansi-red")).to_have_text("red")
    assert page.locator("main img").count() == 0
    assert "owned" not in page.title()


def test_a_diff_shows_the_file_that_was_added(visitor: Visitor):
    page = visitor.open("/r/last/s/store/model?tab=diff")
    expect(page.get_by_role("list", name="Changed files")).to_contain_text("model.py")
    expect(page.locator(".code.mark-added")).to_contain_text("class Note")


def test_a_box_of_the_graph_has_the_state_of_its_slice_and_opens_it(visitor: Visitor):
    page = visitor.open("/r/last/graph")
    expect(page.get_by_role("button", name="store/model, completed")).to_be_visible()
    page.get_by_role("button", name="cli, failed").press("Enter")
    expect(page.get_by_role("heading", level=1, name="cli")).to_be_visible()


def test_a_frame_of_the_graph_opens_its_group(visitor: Visitor):
    page = visitor.open("/r/last/graph")
    page.get_by_role("button", name="store, completed").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="cli, failed")).to_have_count(0)
    expect(page.get_by_role("button", name="store/disk, completed")).to_be_visible()
    page.get_by_role("link", name="Whole plan").click()
    expect(page.get_by_role("button", name="cli, failed")).to_be_visible()


def test_the_graph_is_there_before_the_run(visitor: Visitor):
    page = visitor.open("/plan")
    expect(page.get_by_role("button", name="store/model", exact=True)).to_be_visible()
    page.get_by_role("button", name="store", exact=True).press("Enter")
    expect(page.get_by_role("button", name="docs", exact=True)).to_have_count(0)


def test_an_unknown_run_or_page_is_named(visitor: Visitor):
    page = visitor.open("/r/20990101-000000-0000")
    expect(page.get_by_role("alert")).to_contain_text("20990101-000000-0000")
    for address in ("/nothing/here", "/r/last/graphs"):
        visitor.open(address)
        expect(page.get_by_role("alert")).to_contain_text("no such page")


def test_no_request_leaves_this_machine(visitor: Visitor):
    for route, title in ROUTES.items():
        loaded(visitor.open(route), title)
    assert {
        request for request in visitor.requests if not request.startswith((visitor.base, "data:", "blob:"))
    } == set()


@pytest.mark.parametrize("width", [400, 900])
@pytest.mark.parametrize(
    "route", ["/runs", "/r/last", "/r/last/s/cli?tab=log", "/r/last/s/store/model?tab=diff"]
)
def test_a_narrow_window_does_not_scroll_sideways(visitor: Visitor, route: str, width: int):
    page = visitor.open(route)
    page.set_viewport_size({"width": width, "height": 800})
    loaded(page, ROUTES[route])
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: npm found no registry")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, notes_url: str, scheme: str):
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": 1280, "height": 800}, bypass_csp=True
    )
    visitor = Visitor(context, notes_url)
    violations = []
    for route, title in ROUTES.items():
        loaded(visitor.open(route), title)
        visitor.page.add_script_tag(path=AXE)
        result = visitor.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        violations += [
            (route, violation["id"], [node["html"][:150] for node in violation["nodes"][:3]])
            for violation in result["violations"]
            if violation["impact"] in {"serious", "critical"}
        ]
    context.close()
    assert violations == []


def test_the_theme_switch_overrides_the_system(visitor: Visitor, notes: Path):
    page = visitor.open("/runs")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(colour) != light
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
