import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.hosts.supervisor.streams import NEVER, OutputLimits, Stream, Tail


@given(st.integers(1, 10), st.lists(st.binary(max_size=25)))
def test_a_tail_holds_the_last_bytes(size: int, parts: list[bytes]) -> None:
    tail = Tail(size)
    for part in parts:
        tail.add(memoryview(part))
    assert tail.content() == b"".join(parts)[-size:]


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Stream]:
    stream = Stream(str(tmp_path / "out"), OutputLimits(head=4, tail=0))
    yield stream
    stream.finish()


def test_without_anything_to_read_it_does_not_wait(stream: Stream) -> None:
    assert stream.read() == -1


def test_a_tail_is_due_some_time_after_there_is_one(stream: Stream, tmp_path: Path) -> None:
    os.write(stream.writer, b"head")
    stream.read()
    assert stream.due == NEVER
    os.write(stream.writer, b"tail")
    stream.read()
    due = stream.due
    os.write(stream.writer, b"more")
    stream.read()
    assert stream.due == due < NEVER
    stream.store_tail()
    assert stream.due == NEVER
    assert [(tmp_path / name).read_bytes() for name in ("out", "out.tail")] == [b"head", b"e"]


def test_a_tail_that_cannot_be_stored_is_said(stream: Stream, tmp_path: Path) -> None:
    (tmp_path / "out.tail").mkdir()
    os.write(stream.writer, b"much more")
    stream.read()
    stream.store_tail()
    assert stream.trouble.endswith("is a directory")
    assert stream.text() == "much more"
