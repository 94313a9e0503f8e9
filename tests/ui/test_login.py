"""The page that asks for a passphrase, and what a browser without a session sees."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from ui.projects import server

PASSPHRASE = "correct horse battery"


def test_a_passphrase_lets_a_browser_in_and_leads_to_the_page_it_wanted(browser: Browser, notes: Path):
    with server(notes, passphrase=PASSPHRASE) as url:
        context = browser.new_context(viewport={"width": 400, "height": 800})
        page = context.new_page()
        page.goto(f"{url.partition('/?')[0]}/r/last/s/cli?tab=log")
        page.get_by_label("Passphrase").fill("wrong")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("The passphrase is wrong.")).to_be_visible()
        page.get_by_label("Passphrase").fill(PASSPHRASE)
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("heading", level=1, name="cli")).to_be_visible()
        assert page.url.endswith("/r/last/s/cli?tab=log")
        context.close()


def test_without_a_passphrase_only_the_printed_address_lets_in(browser: Browser, notes_url: str):
    base = notes_url.partition("/?")[0]
    context = browser.new_context()
    page = context.new_page()
    for address in ("/r/last", "/login", "/?token=wrong"):
        page.goto(base + address)
        expect(page.get_by_label("Passphrase")).to_have_count(0)
        expect(page.get_by_text("weft ui").last).to_be_visible()
    assert context.cookies() == []
    context.close()
