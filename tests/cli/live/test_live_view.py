"""The live view on terminals that are low, or that go away."""

import io
import os
import pty
from pathlib import Path

from app.run_stories import Story, slices
from weft.app.project.places import Places
from weft.app.record.activity import AgentOutputs
from weft.app.views.wording.style import Style
from weft.cells import strip_escapes
from weft.cli.live.live_view import LiveView
from weft.hosts.records import LocalRecords

PLAIN = Style(colours=False)


def story_and_agents(folder: Path) -> tuple[Story, AgentOutputs]:
    story = Story(*slices("a"))
    story.start()
    story.begin("a")
    return story, AgentOutputs(story.plan, Places(folder), LocalRecords(folder / "host", folder))


def test_without_keys_there_is_no_line_of_keys(tmp_path: Path) -> None:
    story, agents = story_and_agents(tmp_path)
    stream = io.StringIO()
    with LiveView(stream, PLAIN, directory=tmp_path, is_own=True) as live:
        live.show(story.view, story.at, agents)
        shown = strip_escapes(stream.getvalue())
    assert "0/1 done" in shown
    assert "q leave" not in shown


def test_a_terminal_that_has_gone_has_no_keys_any_more(tmp_path: Path) -> None:
    story, agents = story_and_agents(tmp_path)
    person, program = pty.openpty()
    os.close(person)
    live = LiveView(io.StringIO(), PLAIN, directory=tmp_path, is_own=True, keys=program)
    with live:
        live.show(story.view, story.at, agents)
    os.close(program)
    assert live.keys is None
    assert not live.is_leaving
