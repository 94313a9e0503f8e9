"""Pages of logs of a run in a journal."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.forecast.projects import lasting, played_project
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.log_page import LogReader

RUN = "20260101-000000-aaaa"
PLAN = """
weft: 1
plan: naps
isolation: dir
agents: {coder: {use: codex}}
subplans:
  - {id: a, steps: [{id: code, agent: coder, prompt: Do it.}]}
"""
SAID = json.dumps({"type": "item.completed", "item": {"type": "agent_message", "text": "Hello"}})


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[LogReader]:
    with played_project(tmp_path, PLAN) as project:
        project.play(RUN, lasting(10.0), text=PLAN)
    live = LiveRun(tmp_path, RUN)
    row = live.view.row("a").number
    key = next(record.key for record in live.history.of(row) if record.step == "code")
    output = tmp_path / ".weft" / "runs" / RUN / "logs" / "a" / f"code.1.{key.firing}-{key.execution}.out"
    output.parent.mkdir(parents=True)
    output.write_text(f"{SAID}\n")
    yield LogReader(live, row)
    live.close()


@pytest.mark.parametrize(("is_raw", "text"), [(False, "says: Hello"), (True, SAID)])
def test_the_log_of_an_agent_has_its_activities_or_its_stream(
    reader: LogReader, is_raw: bool, text: str
) -> None:
    page = reader.page("", "out", start=None, before=None, lines=10, is_raw=is_raw)
    assert ([line.text for line in page.lines], page.is_raw) == ([text], is_raw)
    assert (page.start, page.end, page.left_out) == (0, page.size, 0)


@pytest.mark.parametrize(("is_raw", "total"), [(False, 0), (True, 1)])
def test_a_search_finds_what_is_shown(reader: LogReader, is_raw: bool, total: int) -> None:
    assert reader.search("", "out", "AGENT_MESSAGE", 0, is_raw=is_raw).total == total
    assert reader.search("", "out", "hello", 0, is_raw=is_raw).total == 1
