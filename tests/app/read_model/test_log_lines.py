"""Lines of stored output, as they were written and as activities of an agent."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.app.read_model.activity_lines import ActivityLines
from weft.app.read_model.log_lines import MOST_BYTES, LineSource, WrittenLines
from weft.app.read_model.stored_stream import StoredStream
from weft.app.record.activity import describer
from weft.hosts.records import LocalRecords
from weft.ports.host import OutputPart


class Output:
    """The stored output of one step."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, *lines: str, ending: str = "out") -> int:
        """Appends to a part, and returns its size."""
        path = self._folder / f"a.{ending}"
        with path.open("a") as file:
            file.writelines(lines)
        return path.stat().st_size

    def stored(self) -> StoredStream:
        return StoredStream(LocalRecords(self._folder / "host", self._folder), "a", "out")

    def written(self, *, is_ended: bool = True) -> LineSource:
        return WrittenLines(self.stored(), "out", is_ended=is_ended)

    def activities(self, *, is_ended: bool = True) -> LineSource:
        describe = describer("codex", OutputPart.OUT)
        assert describe is not None
        return ActivityLines(self.stored(), "out", describe, ("/w",), is_ended=is_ended)


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(tmp_path)


def item(kind: str, **fields: object) -> str:
    return f"{json.dumps({'type': kind, 'item': fields})}\n"


def call(number: int, code: int | None = None) -> str:
    kind = "item.started" if code is None else "item.completed"
    return item(kind, id=f"i{number}", type="command_execution", command=f"make {number}", exit_code=code)


def message(text: str) -> str:
    return item("item.completed", type="agent_message", text=text)


# As they were written


def test_a_line_that_is_still_written_is_shown_when_it_ends(output: Output) -> None:
    size = output.write("first\n", "sec")
    for page in (
        output.written(is_ended=False).forward(0, 9),
        output.written(is_ended=False).backward(size, 9),
    ):
        assert ([line.text for line in page.lines], page.end) == (["first"], 6)
    assert [line.text for line in output.written().forward(0, 9).lines] == ["first", "sec"]


def test_a_line_that_a_byte_cuts_is_shown_as_a_whole(output: Output) -> None:
    output.write("first\n", "second\n", "third\n")
    page = output.written().backward(7, 9)
    assert ([line.text for line in page.lines], page.start, page.end) == (["first", "second"], 0, 13)


def test_a_line_that_fills_a_page_does_not_stop_the_reading(output: Output) -> None:
    output.write("x" * (MOST_BYTES + 5), "\n", "end\n")
    first = output.written(is_ended=False).forward(0, 9)
    second = output.written(is_ended=False).forward(first.end, 9)
    assert (first.end, [line.text for line in second.lines]) == (MOST_BYTES, ["xxxxx", "end"])
    assert first.lines[0].is_cut


# As activities


def test_an_open_call_comes_again_with_its_result(output: Output) -> None:
    start = output.write(message("Hello"))
    size = output.write(call(1))
    page = output.activities(is_ended=False).backward(size, 9)
    assert [(line.text, line.kind) for line in page.lines] == [
        ("says: Hello", "says"),
        ("runs make 1", "tool"),
    ]
    assert (page.start, page.end) == (0, start)
    size = output.write(call(1, 2))
    page = output.activities(is_ended=False).forward(start, 9)
    (line,) = page.lines
    assert (line.at, line.text, line.is_error, page.end) == (start, "runs make 1 → exit code 2", True, size)


def test_all_lines_of_a_text_have_the_byte_of_its_activity_and_numbers(output: Output) -> None:
    start = output.write(call(1, 0))
    size = output.write(message("one\ntwo\nthree"))
    page = output.activities().backward(size, 2)
    assert [(line.at, line.index, line.text) for line in page.lines] == [
        (start, 0, "says: one"),
        (start, 1, "  two"),
        (start, 2, "  three"),
    ]


def test_a_long_stream_is_read_in_both_directions_without_gap_or_overlap(output: Output) -> None:
    size = output.write(*(message(f"line {number} {'x' * 400}") for number in range(3_000)))
    numbers: list[str] = []
    at = 0
    while at < size:
        page = output.activities().forward(at, 700)
        numbers += [line.text.split()[2] for line in page.lines]
        at = page.end
    assert numbers == [str(number) for number in range(3_000)]
    while at > 0:
        page = output.activities().backward(at, 700)
        assert [line.text.split()[2] for line in page.lines] == numbers[-len(page.lines) :]
        del numbers[-len(page.lines) :]
        at = page.start
    assert numbers == []


def test_an_older_page_has_the_results_that_follow_it(output: Output) -> None:
    end = output.write(call(1))
    output.write(call(1, 0), message("done"))
    assert [line.text for line in output.activities().backward(end, 9).lines] == ["runs make 1 → ok"]


@pytest.mark.parametrize("form", [Output.written, Output.activities])
def test_a_very_long_line_does_not_stop_the_reading_backwards(
    output: Output, form: Callable[[Output], LineSource]
) -> None:
    output.write("begin\n")
    at = output.write("y" * (MOST_BYTES * 2), "\n", "end\n")
    starts: list[str] = []
    while at > 0:
        page = form(output).backward(at, 1)
        starts += [line.text[:10] for line in page.lines]
        assert page.start < at
        at = page.start
    assert starts[::2] == ["end", "begin"]


def test_the_rests_of_lines_around_a_gap_are_not_shown(output: Output) -> None:
    output.write(message("first"), message("cut")[:20])
    output.write(message("cut")[-9:], message("last"), ending="out.tail")
    size = output.stored().size
    assert output.stored().gap_at is not None
    assert [line.text for line in output.activities().backward(size, 9).lines] == [
        "says: first",
        "says: last",
    ]


def test_a_search_finds_each_activity_once(output: Output) -> None:
    output.write(call(1), message("make it"), call(1, 0), call(2))
    lines = [line.text for _, lines in output.activities().all_lines(b"make") for line in lines]
    assert sorted(lines) == ["runs make 1 → ok", "runs make 2", "says: make it"]


def test_characters_that_act_on_a_terminal_or_turn_text_around_are_replaced(output: Output) -> None:
    size = output.write(message("\x1b[31mred\x1b[0m \u202egnp.exe <b>bold</b>"))
    (line,) = output.activities().backward(size, 9).lines
    assert line.text == "says: red \N{REPLACEMENT CHARACTER}gnp.exe <b>bold</b>"
