"""A process in the background: where it writes, and how it says that it is ready."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.app.run.background import ReadyMessage

WRITES = """
import os, sys
from pathlib import Path
from weft.app.run.background import RotatingLog
log = RotatingLog(Path(sys.argv[1]), most=20, kept=2)
log.take_over()
for number in range(int(sys.argv[2])):
    os.write(2 - number % 2, f"line {number} .......\\n".encode())
    log.rotate_if_long()
"""


def write(path: Path, lines: int) -> None:
    subprocess.run([sys.executable, "-c", WRITES, str(path), str(lines)], check=True)


def logs(path: Path) -> dict[str, list[str]]:
    return {
        item.name: [line.split()[1] for line in item.read_text().splitlines()]
        for item in sorted(path.parent.iterdir())
    }


def test_what_grows_too_long_is_put_aside_and_the_oldest_goes(tmp_path: Path) -> None:
    write(tmp_path / "log", 9)
    assert logs(tmp_path / "log") == {"log": ["8"], "log.1": ["6", "7"], "log.2": ["4", "5"]}


def test_the_next_one_continues_where_the_last_one_was(tmp_path: Path) -> None:
    write(tmp_path / "log", 1)
    write(tmp_path / "log", 1)
    assert logs(tmp_path / "log") == {"log": [], "log.1": ["0", "0"]}


def test_what_cannot_be_put_aside_continues_to_grow(tmp_path: Path) -> None:
    for name in ("log.1", "log.2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "full").touch()
    write(tmp_path / "log", 5)
    assert len((tmp_path / "log").read_text().splitlines()) == 5


def test_a_word_is_said_once() -> None:
    reader, writer = os.pipe()
    word = ReadyMessage(writer)
    word.send(run="r1")
    word.send(run="r2")
    with open(reader, "rb") as pipe:  # noqa: PTH123
        assert json.loads(pipe.read()) == {"run": "r1"}


def test_a_message_without_a_reader_is_no_trouble() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ReadyMessage(writer).send(run="r1")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(writer)
