"""How wide text is, when it is painted, and where it is broken: one rule for all commands."""

import io
import os
import pty
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest
from click.testing import CliRunner, Result

import weft.cli
from weft.cells import cells
from weft.cli.main import cli
from weft.cli.terminal import (
    NARROWEST,
    WIDEST,
    WITHOUT_TERMINAL,
    Command,
    Paragraph,
    Row,
    forces_colours,
    takes_colours,
    terminal_size,
    text_width,
    wrap_lines,
)


@pytest.fixture
def terminal() -> Iterator[TextIO]:
    """70 columns wide."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 70))
    with os.fdopen(master), os.fdopen(slave, "w") as stream:
        yield stream


FILE = io.StringIO()
XTERM = {"TERM": "xterm"}


# Width


def test_text_is_as_wide_as_the_terminal(terminal: TextIO) -> None:
    assert text_width(terminal, {}) == 70


@pytest.mark.parametrize("stream", [FILE, None])
def test_a_file_has_no_width(stream: TextIO | None) -> None:
    assert text_width(stream, {}) is None


@pytest.mark.parametrize(
    ("columns", "width"),
    [("80", 80), ("20", NARROWEST), ("300", WIDEST), ("0", 70), ("wide", 70), ("-5", 70)],
)
def test_columns_outranks_the_terminal_within_bounds(terminal: TextIO, columns: str, width: int) -> None:
    assert text_width(terminal, {"COLUMNS": columns}) == width


def test_columns_sets_the_width_of_a_file() -> None:
    assert text_width(FILE, {"COLUMNS": "60"}) == 60


def test_a_terminal_that_does_not_know_its_size_has_none() -> None:
    master, slave = pty.openpty()
    with os.fdopen(master), os.fdopen(slave, "w") as stream:
        termios.tcsetwinsize(slave, (0, 0))
        assert terminal_size(stream) is None


# Colours


@pytest.mark.parametrize(
    ("environ", "on_terminal", "in_file"),
    [
        ({}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": "false", "CLICOLOR_FORCE": ""}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"NO_COLOR": "", "FORCE_COLOR": "1"}, True, True),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
    ],
)
def test_no_color_wins_then_force_color_then_the_terminal(
    terminal: TextIO, environ: dict[str, str], on_terminal: bool, in_file: bool
) -> None:
    environ = XTERM | environ
    assert (takes_colours(terminal, environ), takes_colours(FILE, environ)) == (on_terminal, in_file)
    assert takes_colours(None, environ) is forces_colours(environ) is in_file


def test_problems_are_painted_in_a_pipe_if_colours_are_forced(tmp_path: Path) -> None:
    (tmp_path / "weft.yaml").write_text("weft: 1\npolicy: seril\n")
    text = CliRunner(env={"FORCE_COLOR": "1"}).invoke(cli, ["-C", str(tmp_path), "check"]).stderr
    assert "\x1b[31m\x1b[1merror\x1b[0m: policy" in text


# Folding


TEXT = "Start     one two three"


@pytest.mark.parametrize(
    ("line", "width", "lines"),
    [
        (Paragraph(TEXT, hang=12), 18, ["Start     one two", "            three"]),
        (Row(TEXT, hang=2), 13, ["Start     one", "  two three"]),
        (Paragraph(TEXT), 3, ["Start", "one", "two", "three"]),
        (TEXT, 3, [TEXT]),
        (Row(TEXT), None, [TEXT]),
        (Paragraph("word " * 21), None, ["word " * 19 + "word", "word"]),
        (Paragraph("日本 日本 x"), 9, ["日本 日本", "x"]),
        (Paragraph("\x1b[31mone\x1b[0m two"), 7, ["\x1b[31mone\x1b[0m two"]),
        (Paragraph("  inset"), 40, ["  inset"]),
        (
            Paragraph("Not there; type: git add 'a, b' && git commit, and push it."),
            20,
            ["Not there; type:", "git add 'a, b' && git commit,", "and push it."],
        ),
        (Paragraph("To see it, type: weft check x"), 20, ["To see it, type:", "weft check x"]),
        (
            Command("Next weft merge --list", "shows it all", width=24, hang=2),
            30,
            ["Next weft merge --list  shows", "  it all"],
        ),
        (
            Command("Next weft merge --list", "shows it", width=24, hang=2),
            10,
            ["Next weft merge --list", "  shows it"],
        ),
        (Command("weft run", "", width=24), 5, ["weft run"]),
        (Command("weft run", "does it", width=10), None, ["weft run  does it"]),
    ],
)
def test_prose_is_broken_between_words_and_plain_lines_are_not(
    line: str, width: int | None, lines: list[str]
) -> None:
    assert list(wrap_lines([line], width)) == lines


def test_a_file_gets_prose_of_the_usual_width() -> None:
    lines = list(wrap_lines([Paragraph("word " * 100)], None))
    assert max(map(cells, lines)) == WITHOUT_TERMINAL - 1


PLAN = """
weft: 1
plan: tried
isolation: dir
subplans:
  - {id: a-rather-long-name, steps: [{id: work, run: "false"}]}
  - {id: another-long-name, depends_on: [a-rather-long-name], steps: [{id: work, run: "true"}]}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose plan has been run, on a narrow terminal."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "weft.yaml").write_text(PLAN)
    assert narrow(folder, "run", "-q").exit_code == 1
    return folder


def narrow(folder: Path, *command: str) -> Result:
    runner = CliRunner(env={"COLUMNS": "64", "HOME": str(folder), "XDG_CONFIG_HOME": None})
    return runner.invoke(cli, ["-C", str(folder), *command])


@pytest.mark.parametrize(
    "command",
    [["check"], ["check", "-v"], ["check", "--explain", "/"], ["status", "--all"], ["help", "run"], ["config"]],
    ids=" ".join,
)  # fmt: skip
def test_no_command_prints_lines_wider_than_the_terminal(ran: Path, command: list[str]) -> None:
    shown = narrow(ran, *command)
    assert shown.stdout.count("\n") > 3
    text = [line for line in shown.stdout.splitlines() if not line.startswith("weft ")]  # commands stay whole
    assert [line for line in text if cells(line) > 64 and " " in line.strip()] == []


def test_only_one_module_knows_how_wide_text_is() -> None:
    """A constant elsewhere would be a second opinion."""
    folder = Path(next(iter(weft.cli.__path__)))
    sources = {path.name: path.read_text() for path in folder.rglob("*.py") if path.name != "terminal.py"}
    assert [name for name, text in sources.items() if "WIDTH =" in text or "get_terminal_size" in text] == []
