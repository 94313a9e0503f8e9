"""Keys that are read from a terminal as they are pressed."""

import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.cli.live.keyboard import no_echo, read_keys
from weft.cli.live.live_view import key_descriptor


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """The side of a person, and that of a program."""
    person, program = pty.openpty()
    yield person, program
    for descriptor in (person, program):
        os.close(descriptor)


def test_keys_have_names_and_unknown_codes_are_left_out(terminal: tuple[int, int]) -> None:
    person, program = terminal
    with open(program, "w", closefd=False) as stream, no_echo(stream, single_keys=True):
        assert read_keys(program) == []
        os.write(person, "a?ä\x1b[A\x1bOB\x1b[5~\x1b[6~\t\x1b[15~\x01\n\x1b".encode())
        keys: list[str] = []
        while "escape" not in keys:
            keys += read_keys(program)
    assert keys == ["a", "?", "ä", "up", "down", "pageup", "pagedown", "tab", "enter", "escape"]


def test_the_end_of_a_terminal_is_an_error() -> None:
    person, program = pty.openpty()
    os.close(person)
    with pytest.raises(EOFError):
        read_keys(program)
    os.close(program)


def test_keys_come_from_a_terminal_only(terminal: tuple[int, int], tmp_path: Path) -> None:
    with open(terminal[1], closefd=False) as stream:
        assert key_descriptor(stream) == terminal[1]
    assert key_descriptor(stream) is None  # it is closed
    with (tmp_path / "file").open("w") as file:
        assert key_descriptor(file) is None
