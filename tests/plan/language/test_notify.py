"""`notify` in plans and configurations: what may be said, and what is told of mistakes."""

import pytest

from weft.plan.display.show import show_plan
from weft.plan.language.notify import EVENTS
from weft.plan.loader.load import load_plan, read_config
from weft.plan.notify import Notify
from weft.plan.text.problems import PlanError

PLAN = "weft: 1\nplan: p\nsubplans: [{id: a, steps: [{id: s, run: make}]}]\n"


def loaded(notify: str, *configs: str) -> tuple[Notify, ...]:
    read = [read_config(text, "config.yaml", "user") for text in configs]
    return load_plan(f"{PLAN}{notify}", configs=read).notify


def test_each_of_several_receivers_gets_its_own_events() -> None:
    assert loaded("notify: {desktop: true}") == (Notify(on=EVENTS, desktop=True),)
    assert loaded("notify: [{on: [gate], run: a b}, {run: [a, b], webhook: 'https://x.org/y?z'}]") == (
        Notify(on=("gate",), run="a b"),
        Notify(on=EVENTS, run=("a", "b"), webhook="https://x.org/y?z"),
    )


def test_the_nearest_setting_counts_even_if_it_names_no_receiver() -> None:
    project, user = "notify: {run: project}", "notify: {run: user}"
    assert loaded("", "max_parallel: 2", user) == (Notify(on=EVENTS, run="user"),)
    assert loaded("", project, user) == (Notify(on=EVENTS, run="project"),)
    assert loaded("notify: []", project, user) == ()
    assert loaded("") == ()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{on: [gates], run: a}", f"on is 'gates'; it must be {' | '.join(EVENTS)}; did you mean 'gate'?"),
        ("{on: [], run: a}", "on is an empty list; at least 1 is needed"),
        ("{on: [gate]}", "notify needs at least one of: run, desktop, webhook"),
        ("{webhok: 'http://x'}", "unknown key 'webhok' in notify; did you mean 'webhook'?"),
        ("[desktop]", "notify is 'desktop'; it must be a mapping with the keys on, run, desktop, webhook"),
    ],
)
def test_what_is_wrong_is_reported(written: str, message: str) -> None:
    with pytest.raises(PlanError) as raised:
        loaded(f"notify: {written}")
    (problem,) = raised.value.problems
    assert problem.message == message


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "x.org",
        "http://",
        "file:///etc/passwd",
        "http://user:password@x",
        "http://x y",
        "http://x:123456",
    ],
)
def test_a_webhook_is_a_plain_url_of_the_web(url: str) -> None:
    with pytest.raises(PlanError) as raised:
        loaded(f"notify: {{webhook: '{url}'}}")
    (problem,) = raised.value.problems
    assert problem.message == f"webhook is '{url}'; it must be a URL that starts with http:// or https://"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "https://[::1]:1/a", "https://x.org?a=b%20c", "http://a-b_c/"]
)
def test_these_are_urls(url: str) -> None:
    assert loaded(f"notify: {{webhook: '{url}'}}")[0].webhook == url


def test_a_plan_is_shown_with_its_receivers_and_their_origin() -> None:
    config = read_config("max_parallel: 2\nnotify: {on: [gate], run: [a, b c]}", "config.yaml", "user")
    shown = show_plan(load_plan(PLAN, configs=[config]))
    assert '# config.yaml:2\nnotify:\n  - "on": [gate]\n    desktop: false\n    run: [a, b c]\n' in shown
