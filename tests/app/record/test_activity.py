"""What agents do, from the stored output of their steps."""

import json
import os
from pathlib import Path

import pytest

from weft.app.project.places import Places
from weft.app.record.activity import (
    PAGE,
    AgentOutput,
    Glimpse,
    LastActivity,
    activities,
    glimpse,
    workspace_roots,
)
from weft.app.views.wording.activities import activity_line, current_activity
from weft.hosts.records import LocalRecords
from weft.ports.activity import Activity, Verb
from weft.ports.host import OutputPart


class Output:
    """The files of a step that runs an agent."""

    def __init__(self, folder: Path, use: str = "codex") -> None:
        self.folder = folder
        records = LocalRecords(folder / "host", folder)
        self.agent = AgentOutput(records=records, output="a", use=use, roots=("/w",))
        self._clock = 0

    def write(self, *lines: str, ending: str = "out") -> int:
        """Appends the lines and returns the size."""
        path = self.folder / f"a.{ending}"
        with path.open("a") as file:
            file.writelines(lines)
        # The clock of a file system may be coarse, so each write sets a time of its own.
        self._clock += 1
        os.utime(path, (self._clock, self._clock))
        return path.stat().st_size

    def shown(self, offset: int = 0, most: int = PAGE) -> tuple[list[str], int]:
        page = activities(self.agent, offset=offset, most=most)
        return [activity_line(activity) for activity in page.activities], page.next_offset


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(tmp_path)


def command(number: int, *, code: int | None = None) -> str:
    item = {"id": f"i{number}", "type": "command_execution", "command": f"make {number}", "exit_code": code}
    kind = "item.started" if code is None else "item.completed"
    return f"{json.dumps({'type': kind, 'item': item})}\n"


def message(text: str) -> str:
    return f"{json.dumps({'type': 'item.completed', 'item': {'type': 'agent_message', 'text': text}})}\n"


def test_a_page_ends_before_the_first_open_call_so_that_the_next_one_has_its_result(output: Output) -> None:
    start = output.write(message("Hello"))
    output.write(command(1), command(2, code=0))
    assert output.shown() == (["says: Hello", "runs make 1", "runs make 2 → ok"], start)
    size = output.write(command(1, code=2))
    assert output.shown(start) == (["runs make 1 → exit code 2", "runs make 2 → ok"], size)
    assert output.shown(size) == ([], size)


def test_a_line_that_is_still_written_waits_for_its_end(output: Output) -> None:
    half = len(message("Hello")) // 2
    output.write(message("Hello")[:half])
    assert output.shown() == ([], 0)
    output.write(message("Hello")[half:])
    assert output.shown()[0] == ["says: Hello"]


def test_a_full_page_goes_forward_although_a_call_is_open(output: Output) -> None:
    most = output.write(command(1), message("x" * 100))
    output.write(message("after"))
    lines, offset = output.shown(most=most)
    assert (len(lines), offset) == (2, most)
    assert output.shown(offset)[0] == ["says: after"]


def test_a_line_that_fills_a_page_is_passed(output: Output) -> None:
    output.write(message("x" * 1000), message("after"))
    offset, seen = 0, list[str]()
    for _ in range(20):
        lines, offset = output.shown(offset, most=200)
        seen += lines
    assert seen[-1] == "says: after"


def test_text_has_no_activities(tmp_path: Path) -> None:
    output = Output(tmp_path, use="command")
    output.write("Hello\n")
    assert output.shown() == ([], 0)
    assert glimpse(output.agent).line == "Hello"


def test_an_agent_of_another_version_is_text(tmp_path: Path) -> None:
    assert Output(tmp_path, use="unheard-of").shown() == ([], 0)


def test_the_last_activity_follows_the_output(output: Output) -> None:
    last = LastActivity(output.agent)
    assert last.update() == Glimpse()
    for line, shown in (
        (command(1), "runs make 1"),
        (command(1, code=0), "runs make 1 → ok"),
        (message("x" * 100_000), f"says: {'x' * 20_000}"),
        (message("Done"), "says: Done"),
    ):
        output.write(line)
        activity = last.update().activity
        assert activity is not None
        assert activity_line(activity) == shown
    assert last.update() == glimpse(output.agent)


def test_the_last_activity_is_found_before_a_long_line(output: Output) -> None:
    output.write(message("Hello"))
    event = {"type": "item.updated", "item": {"type": "other", "text": "x" * 200_000}}
    output.write(f"{json.dumps(event)}\n")
    activity = glimpse(output.agent).activity
    assert activity is not None
    assert activity.object == "Hello"


def test_the_last_activity_of_a_long_output_is_in_its_tail(output: Output) -> None:
    output.write(message("Hello"))
    output.write("cut\n", message("The end"), ending="out.tail")
    activity = glimpse(output.agent).activity
    assert activity is not None
    assert activity.object == "The end"


def test_our_own_agents_report_on_standard_error(tmp_path: Path) -> None:
    output = Output(tmp_path, use="builtin")
    output.write(
        '{"type":"activity","verb":"reads","object":"/w/a.py","is_open":true,"call":"1"}\n', ending="err"
    )
    activity = glimpse(output.agent).activity
    assert activity is not None
    assert activity_line(activity) == "reads a.py"
    assert [activity_line(each) for each in activities(output.agent, OutputPart.ERR).activities] == [
        "reads a.py"
    ]


@pytest.mark.parametrize(("silence", "words"), [(59.0, "reads a.py"), (250.0, "silent 4:10 · reads a.py")])
def test_a_long_silence_is_shown_before_the_last_activity(silence: float, words: str) -> None:
    assert current_activity(Activity(verb=Verb.READS, object="a.py"), "", silence) == words


def test_silence_counts_from_the_last_output_or_the_start() -> None:
    assert Glimpse().silence(100.0, 160.0) == 60.0
    assert Glimpse(changed_at=150.0).silence(100.0, 160.0) == 10.0
    assert Glimpse(changed_at=170.0).silence(100.0, 160.0) == 0.0


def test_the_roots_are_the_worktree_the_workspace_and_the_project(tmp_path: Path) -> None:
    roots = workspace_roots(
        Places(tmp_path), "notes", "store/model", ".weft/worktrees/{{ plan.id }}/{{ slice.path }}"
    )
    assert roots == (
        str(tmp_path / ".weft/worktrees/notes/store.model"),
        str(tmp_path / ".weft/workspaces/notes/store.model"),
        str(tmp_path),
    )
