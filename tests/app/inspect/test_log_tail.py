"""The log of a subplan that is followed, over a real journal and real output files."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.run_stories import Story, slices
from weft.app.inspect.log_tail import MOST_EXECUTIONS, MOST_LINES, LogTail
from weft.app.inspect.output_tail import FIRST_BYTES
from weft.app.inspect.running_output import last_lines
from weft.app.project.places import Places
from weft.app.record.activity import AgentOutputs
from weft.engine.messages.events import AnyEvent, StepStartedEvent, execution_of
from weft.engine.messages.step_refs import StepRef
from weft.hosts.records import LocalRecords
from weft.ports.journal import RunRecord
from weft.runtime.job_ids import output_name
from weft.store.sqlite import open_journal

RUN = "20260101-000000-0000"


class Log:
    """A run of one slice `a`, whose events are appended to a journal."""

    def __init__(self, folder: Path) -> None:
        self.story = Story(*slices("a"), agents={"coder": {"use": "codex"}})
        self.folder = folder / "logs"
        (self.folder / "a").mkdir(parents=True)
        self.journal = open_journal(folder / "weft.db", now=0.0)
        self.journal.add_run(
            RunRecord(
                run=RUN,
                plan="notes",
                file="",
                directory="",
                text="",
                digest="",
                created_at=0.0,
                state="running",
            )
        )
        records = LocalRecords(folder / "host", self.folder)
        self.agents = AgentOutputs(self.story.plan, Places(folder), records)
        self.story.begin("a")
        self._append(self.story.told[-1])
        self.tail = LogTail(self.journal, self.agents, RUN, "a")

    def start(self, step: str, attempt: int = 1, **more: object) -> str:
        """Starts a step and returns the name of its output."""
        event = self.story.step("a", step, attempt, **more)
        self._append(event)
        assert isinstance(event, StepStartedEvent)
        return output_name(StepRef("a", step, attempt, execution_of(event)))

    def end(self, step: str, outcome: str = "done", **more: object) -> None:
        self._append(self.story.end("a", step, outcome, **more))

    def _append(self, event: AnyEvent) -> None:
        self.journal.append(RUN, [(self.story.at, event)], state="running")

    def write(self, output: str, text: str, part: str = "out") -> None:
        with (self.folder / f"{output}.{part}").open("a") as file:
            file.write(text)

    def lines(self) -> list[tuple[str, str]]:
        while self.tail.update():
            pass
        return [(line.kind, line.text) for line in self.tail.lines()]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = Log(tmp_path)
    with closing(log.journal):
        yield log


def activity(text: str) -> str:
    return f"{json.dumps({'type': 'item.completed', 'item': {'type': 'agent_message', 'text': text}})}\n"


def test_a_command_is_shown_with_its_output_as_it_is_and_with_its_end(log: Log) -> None:
    output = log.start("check", command="pytest -q")
    assert log.lines() == [("head", "check: pytest -q")]
    log.write(output, '{"type": "item.completed"}\nhalf')
    assert log.lines()[1:] == [("", '{"type": "item.completed"}'), ("", "half")]
    log.end("check", "failed", message="check: exit code 3\nmore")
    assert log.lines()[1:] == [
        ("", '{"type": "item.completed"}'),
        ("", "half"),
        ("failed", "check failed: exit code 3"),
    ]


def test_what_an_agent_does_is_shown_in_words(log: Log) -> None:
    output = log.start("code", attempt=2, agent="coder")
    log.write(output, activity("I start."))
    assert log.lines() == [("head", "code (attempt 2): agent coder"), ("", "says: I start.")]
    log.end("code")
    assert log.lines()[-1] == ("head", "code done")


def test_a_line_that_is_not_complete_is_shown_at_once(log: Log) -> None:
    output = log.start("check", command="x")
    log.lines()
    log.write(output, "Password:")
    assert log.tail.update(has_news=False)
    assert not log.tail.update(has_news=False)
    assert log.tail.lines()[-1].text == "Password:"


def test_an_execution_that_has_ended_is_not_read_again(log: Log) -> None:
    output = log.start("check", command="x")
    log.end("check")
    before = log.lines()
    log.write(output, "too late\n")
    assert log.lines() == before


def test_only_the_last_executions_are_kept(log: Log) -> None:
    for attempt in range(1, MOST_EXECUTIONS + 3):
        log.start("check", attempt, command="x")
        log.end("check", "failed")
    lines = log.lines()
    assert lines[0] == ("gap", "2 earlier; all of them: weft logs a")
    assert lines[1] == ("head", "check (attempt 3): x")


def test_of_many_lines_the_last_ones_are_kept(log: Log) -> None:
    output = log.start("check", command="x")
    log.write(output, "".join(f"{number}\n" for number in range(MOST_LINES + 5)))
    lines = log.lines()
    assert lines[1] == ("gap", "earlier output: weft logs a:check")
    assert lines[2] == ("", "5")
    assert len(lines) == MOST_LINES + 2


def test_the_end_of_an_output_that_was_not_kept_whole_follows_after_a_gap(log: Log) -> None:
    output = log.start("code", agent="coder")
    log.write(output, activity("first"))
    log.write(output, activity("x" * FIRST_BYTES) + activity("last"), "out.tail")
    lines = log.lines()
    assert lines[1] == ("", "says: first")
    assert lines[2][0] == "gap"
    assert "was not kept" in lines[2][1]
    assert lines[3:] == [("", "says: last")]


def test_steps_of_weft_are_shown_if_they_have_output_or_did_not_succeed(log: Log) -> None:
    log.start("@merge")
    log.end("@merge")
    log.start("gate")  # a step without a process has no output
    assert log.lines() == []
    output = log.start("@land")
    log.write(output, "verified\n")
    log.end("@land", "held", message="@land: in conflict")
    assert log.lines() == [("head", "land"), ("", "verified"), ("failed", "land held: in conflict")]


def test_the_live_view_reads_the_last_lines_of_running_steps(log: Log) -> None:
    agent, check = log.start("code", agent="coder"), log.start("check", command="x")
    log.write(agent, activity("one") + activity("two"))
    log.write(check, "three\nfour")
    view = log.story.view
    assert last_lines(view, log.agents, "a", 9) == ["says: one", "says: two", "three", "four"]
    assert last_lines(view, log.agents, "a", 1) == ["four"]
