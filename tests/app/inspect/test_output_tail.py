"""The end of an output that grows: lines of text, or what an agent does in words."""

import json
from pathlib import Path

import pytest

from weft.app.inspect import output_tail
from weft.app.inspect.output_tail import (
    FIRST_BYTES,
    LONGEST_LINE,
    MOST_AT_ONCE,
    EntryKey,
    PartTail,
    part_tail,
)
from weft.app.record.activity import AgentOutput
from weft.hosts.records import LocalRecords
from weft.ports.host import OutputPart


class Output:
    """The files of a step, and a reader that follows its standard output."""

    def __init__(self, folder: Path, use: str = "") -> None:
        self.folder = folder
        self.records = LocalRecords(folder / "host", folder)
        agent = AgentOutput(records=self.records, output="a", use=use, roots=("/w",)) if use else None
        self.tail: PartTail = part_tail(OutputPart.OUT, agent)
        self.entries: dict[EntryKey, list[str]] = {}

    def write(self, text: str | bytes) -> None:
        with (self.folder / "a.out").open("ab") as file:
            file.write(text.encode() if isinstance(text, str) else text)

    def read(self) -> list[str]:
        """Returns all lines so far, without an entry that is not complete."""
        self.entries |= {key: list(lines) for key, lines in self.tail.read(self.records, "a")}
        return self.lines

    def end(self) -> list[str]:
        self.entries |= {key: list(lines) for key, lines in self.tail.rest()}
        return self.lines

    @property
    def lines(self) -> list[str]:
        return [line for lines in self.entries.values() for line in lines]


@pytest.fixture
def text(tmp_path: Path) -> Output:
    return Output(tmp_path)


@pytest.fixture
def agent(tmp_path: Path) -> Output:
    return Output(tmp_path, "codex")


def item(kind: str, **fields: object) -> str:
    return f"{json.dumps({'type': kind, 'item': fields})}\n"


def message(words: str) -> str:
    return item("item.completed", type="agent_message", text=words)


def command(code: int | None = None) -> str:
    kind = "item.started" if code is None else "item.completed"
    return item(kind, id="i1", type="command_execution", command="make", exit_code=code)


# Text


def test_an_output_that_does_not_exist_has_no_lines(text: Output) -> None:
    assert text.read() == []
    assert text.end() == []
    assert not text.tail.is_cut


def test_each_update_adds_the_complete_lines_and_the_end_adds_the_rest(text: Output) -> None:
    text.write("one\ntw")
    assert text.read() == ["one"]
    assert text.tail.unfinished() == ["tw"]
    text.write("o\nthree")
    assert text.read() == ["one", "two"]
    assert text.end() == ["one", "two", "three"]
    assert text.tail.unfinished() == []
    assert text.end() == ["one", "two", "three"]


def test_a_character_that_arrives_in_two_pieces_is_whole(text: Output) -> None:
    text.write("ä".encode()[:1])
    assert text.read() == []
    text.write("ä".encode()[1:] + b"\n")
    assert text.read() == ["ä"]


def test_of_a_long_output_only_the_end_is_read_and_it_starts_with_a_whole_line(text: Output) -> None:
    lines = [f"line {number}" for number in range(FIRST_BYTES // 8)]
    text.write("\n".join([*lines, ""]))
    shown = text.read()
    assert text.tail.is_cut
    assert 0 < len(shown) < len(lines)
    assert shown == lines[-len(shown) :]


def test_an_output_that_grows_faster_than_it_is_read_continues_near_its_end(text: Output) -> None:
    text.write("first\nhal")
    text.read()
    text.write("f\n" + "x" * MOST_AT_ONCE + "\nlast\n")
    assert text.read() == ["first", "last"]
    assert text.tail.is_cut


def test_a_line_whose_beginning_was_not_read_is_left_out_also_if_it_arrives_in_pieces(text: Output) -> None:
    text.write("x" * (FIRST_BYTES + 10))
    assert text.read() == []
    assert text.tail.unfinished() == []
    text.write("x" * 10)
    assert text.read() == []
    text.write("x\nwhole\n")
    assert text.read() == ["whole"]


def test_a_long_line_is_cut(text: Output) -> None:
    text.write("y" * 2 * LONGEST_LINE + "\n")
    assert text.read() == ["y" * LONGEST_LINE]


# Agents


def test_what_an_agent_does_is_shown_in_words_and_a_result_joins_its_call(agent: Output) -> None:
    agent.write(command() + message("Done.\nReally."))
    assert agent.read() == ["runs make", "says: Done.", "  Really."]
    agent.write(command(2))
    assert agent.read() == ["runs make → exit code 2", "says: Done.", "  Really."]


def test_of_a_long_stream_the_activities_at_the_end_are_read(agent: Output) -> None:
    agent.write(message("x" * FIRST_BYTES) + message("near the end"))
    assert agent.read() == ["says: near the end"]
    assert agent.tail.is_cut
    agent.write(message("new"))
    assert agent.read() == ["says: near the end", "says: new"]


def test_a_line_without_an_end_is_described_when_the_stream_has_ended(agent: Output) -> None:
    agent.write(message("last").rstrip("\n"))
    assert agent.read() == []
    assert agent.end() == ["says: last"]


def test_a_message_in_pieces_is_shown_while_it_arrives(tmp_path: Path) -> None:
    agent = Output(tmp_path, "gemini")
    for piece in ("Hel", "lo"):
        agent.write(
            json.dumps({"type": "message", "role": "assistant", "content": piece, "delta": True}) + "\n"
        )
    assert agent.read() == []
    assert agent.tail.unfinished() == ["says: Hello"]
    assert agent.end() == ["says: Hello"]


@pytest.mark.parametrize("use", ["no-such-agent", "command"])
def test_the_output_of_an_agent_without_a_stream_is_text(tmp_path: Path, use: str) -> None:
    agent = Output(tmp_path, use)
    assert isinstance(agent.tail, output_tail.TextTail)
