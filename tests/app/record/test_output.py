"""What steps have written, and its last line."""

import os
from pathlib import Path

import pytest

from weft.app.record.output import CHUNK, LOOKED_AT, chunks, last_line, size
from weft.hosts.records import LocalRecords
from weft.ports.host import OutputPart


def records(folder: Path) -> LocalRecords:
    return LocalRecords(folder / "host", folder)


def test_a_file_is_read_from_where_one_was(tmp_path: Path) -> None:
    file = tmp_path / "a.out"
    file.write_bytes(b"x" * CHUNK + b"yz")
    assert list(chunks(records(tmp_path), "a", OutputPart.OUT, 0)) == [b"x" * CHUNK, b"yz"]
    assert list(chunks(records(tmp_path), "a", OutputPart.OUT, CHUNK + 1)) == [b"z"]
    assert list(chunks(records(tmp_path), "a", OutputPart.OUT, CHUNK + 2)) == []
    assert size(records(tmp_path), "a", OutputPart.OUT) == CHUNK + 2


@pytest.mark.parametrize("kind", ["nothing", "pipe", "link", "directory"])
def test_an_output_that_is_no_file_is_empty_and_does_not_block(tmp_path: Path, kind: str) -> None:
    (tmp_path / "secret").write_text("secret\n")
    make = {
        "nothing": lambda path: None,
        "pipe": os.mkfifo,
        "link": lambda path: path.symlink_to("secret"),
        "directory": Path.mkdir,
    }[kind]
    make(tmp_path / "a.out")
    assert list(chunks(records(tmp_path), "a", OutputPart.OUT, 0)) == []
    assert size(records(tmp_path), "a", OutputPart.OUT) == 0
    assert last_line(records(tmp_path), "a") == ""


def test_the_last_line_is_of_what_was_written_to_last(tmp_path: Path) -> None:
    for number, (ending, text) in enumerate(
        [("out", "one\n  two \n\n"), ("err", "oh\rno"), ("out.tail", "\n")]
    ):
        (tmp_path / f"a.{ending}").write_text(text)
        os.utime(tmp_path / f"a.{ending}", (number, number))
    assert last_line(records(tmp_path), "a") == "no"
    os.utime(tmp_path / "a.out", (9, 9))
    assert last_line(records(tmp_path), "a") == "two"


def test_of_a_long_line_only_the_end_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.out").write_text("x" * LOOKED_AT + "y" * LOOKED_AT)
    assert last_line(records(tmp_path), "a") == "y" * LOOKED_AT
