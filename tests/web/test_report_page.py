"""The file of a report: its data are the answers of the API, and nothing in them becomes a script."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.forecast.projects import PlayedProject, played_project
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.report_shapes import ReportFile
from weft.app.report.run_report import run_report
from weft.engine.messages.facts import StepOutcome
from weft.engine.messages.orders import Launch, Ordered
from weft.engine.simulate import SimulatedEnd
from weft.errors import InputError
from weft.web.api.questions import RUN_QUESTIONS, Query
from weft.web.report_page import is_report, report_html

RUN = "20260101-000000-aaaa"
ATTACK = "</script><script>alert(1)</script><!--<script>\u2028"
PLAN = f"""
weft: 1
plan: naps
isolation: dir
subplans:
  - {{id: a, title: {json.dumps(ATTACK)}, prompt: {json.dumps(ATTACK)}, steps: [{{id: work, run: make a}}]}}
  - {{id: b, steps: [{{id: work, run: make b}}]}}
"""
SCRIPT = 'document.title = "</script><!--<script>";\r\n/<\\/SCRIPT>/.test("");'
STYLE = 'a::before { content: "</style>"; }'


class Elements(HTMLParser):
    """The scripts, styles and other elements of a page, as a browser divides it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        elif tag == "style":
            self.styles.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data
        elif self.cdata_elem == "style":
            self.styles[-1] += data


def failing(order: Ordered) -> SimulatedEnd:
    if isinstance(order, Launch) and order.path == "a":
        return SimulatedEnd(seconds=5.0, how=StepOutcome.FAILED, exit_code=1)
    return SimulatedEnd(seconds=10.0 if isinstance(order, Launch) else 0.0)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedProject]:
    with played_project(tmp_path_factory.mktemp("project"), PLAN) as played:
        played.play(RUN, failing, text=PLAN, start=1_000.0)
        yield played


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that is as hard to embed as one can be."""
    folder = tmp_path_factory.mktemp("static")
    (folder / "app.js").write_bytes(SCRIPT.encode())
    (folder / "app.css").write_text(STYLE)
    return folder


@pytest.fixture(scope="module")
def report(project: PlayedProject) -> ReportFile:
    return run_report(project.root, RUN)


def data_of(page: Elements) -> Any:
    attributes, text = page.scripts[0]
    assert attributes["id"] == "weft-report"
    if attributes["type"] == "application/gzip":
        text = gzip.decompress(base64.b64decode(text)).decode()
    return json.loads(text)


@pytest.mark.parametrize(
    ("field", "question"),
    [("timeline", "timeline"), ("costs", "cost"), ("pools", "pools"), ("conflicts", "conflicts")],
)
def test_the_data_are_the_answers_of_the_api(
    project: PlayedProject, report: ReportFile, static: Path, field: str, question: str
) -> None:
    data = data_of(Elements(report_html(report, "", static=static)))
    with closing(LiveRun(project.root, RUN)) as live:
        answer = RUN_QUESTIONS[question](live, Query({"by": "pool"}))
    assert data["run"][field] == json.loads(msgspec.json.encode(answer))


def test_the_snapshot_and_the_details_are_those_of_the_api(
    project: PlayedProject, report: ReportFile, static: Path
) -> None:
    run = data_of(Elements(report_html(report, "", static=static)))["run"]
    with closing(LiveRun(project.root, RUN)) as live:
        snapshot = json.loads(msgspec.json.encode(live.snapshot()))
        detail = json.loads(msgspec.json.encode(RUN_QUESTIONS["subplan"](live, Query({"path": "a"}))))
    for strip in (snapshot["strip"], run["snapshot"]["strip"]):
        del strip["at"]
    assert run["snapshot"] == snapshot
    assert run["details"] == {"a": detail}
    assert run["run"]["state"] == "failed"


def test_hostile_names_do_not_end_the_element_of_the_data(report: ReportFile, static: Path) -> None:
    page = Elements(report_html(report, ATTACK, static=static))
    assert [attributes.get("type") for attributes, _ in page.scripts] == ["application/json", None]
    assert "<" not in page.scripts[0][1]
    data = data_of(page)
    assert data["run"]["details"]["a"]["title"] == ATTACK
    assert data == json.loads(msgspec.json.encode(report))


def test_the_policy_allows_this_script_and_this_style_and_no_request(
    report: ReportFile, static: Path
) -> None:
    page = Elements(report_html(report, "", static=static))
    policy = next(
        attributes["content"] or ""
        for tag, attributes in page.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for name, text in (("script-src", page.scripts[1][1]), ("style-src", page.styles[0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    addresses = [
        attributes[name] for _, attributes in page.tags for name in ("src", "href") if name in attributes
    ]
    assert addresses == ["data:,"]


def test_the_script_means_the_same_as_before(report: ReportFile, static: Path) -> None:
    script = Elements(report_html(report, "", static=static)).scripts[1][1]
    assert re.search(r"<(/script|script|!--)", script, re.IGNORECASE) is None
    assert script.replace("\\x3C", "<") == SCRIPT.replace("\r\n", "\n")


def test_large_data_are_compressed(report: ReportFile, static: Path) -> None:
    large = msgspec.structs.replace(report, version="1" * (1 << 20))
    text = report_html(large, "", static=static)
    page = Elements(text)
    assert page.scripts[0][0]["type"] == "application/gzip"
    assert data_of(page) == json.loads(msgspec.json.encode(large))
    assert len(text) < 100_000


def test_a_report_is_recognised_by_its_start(report: ReportFile, static: Path) -> None:
    assert is_report(report_html(report, ATTACK, static=static)[:1_000])
    assert not is_report("<!doctype html><title>weft report</title>")


def test_without_the_built_page_the_message_says_what_to_type(report: ReportFile, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="type: make setup"):
        report_html(report, "", static=tmp_path)
