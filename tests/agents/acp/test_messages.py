import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.agents.acp.messages import (
    LONGEST_LINE,
    LineDecoder,
    Noise,
    TooLong,
    encode,
    method_not_found,
    request,
    response,
)

MESSAGE = {"jsonrpc": "2.0", "method": "session/update", "params": {"text": "ä\u2028"}}


def test_a_message_is_one_line() -> None:
    line = encode(request(1, "x", {"text": "a\nb"}))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"text": "a\nb"}}


def test_answers_carry_the_number_of_the_question() -> None:
    assert response("q", {})["id"] == "q"
    assert len(method_not_found(7, "x" * 10_000)["error"]["message"]) < 2_000


@given(cuts=st.lists(st.integers(0, 200), max_size=8))
def test_it_does_not_matter_where_the_bytes_are_cut(cuts: list[int]) -> None:
    data = b"warning: x\n" + json.dumps(MESSAGE, ensure_ascii=False).encode() + b"\n\n[1]\n"
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    lines = LineDecoder()
    decoded = [message for start, end in pairwise(places) for message in lines.feed(data[start:end])]
    assert decoded == [Noise("warning: x"), MESSAGE, Noise("[1]")]


@pytest.mark.parametrize("line", [b"{", b"\xff\xfe\x00", b"null", b"[" * 100_000, b"9" * 10_000, b'{"a":'])
def test_what_is_no_object_is_noise(line: bytes) -> None:
    (decoded,) = LineDecoder().feed(line + b"\n")
    assert isinstance(decoded, Noise)
    assert len(decoded.text) <= 1_000


@pytest.mark.parametrize(
    ("head", "is_update"),
    [(b'{"jsonrpc":"2.0", "method" : "session/update","x":"', True), (b'{"id":3,"result":{"x":"', False)],
)
def test_a_line_that_is_too_long_is_reported_at_once_and_not_kept(head: bytes, is_update: bool) -> None:
    lines = LineDecoder()
    assert lines.feed(head) == []
    assert lines.feed(b"x" * LONGEST_LINE) == [TooLong(is_update)]
    assert lines.feed(b"x" * LONGEST_LINE) == []
    assert lines.feed(b'"}}\n{"a": 1}\n') == [{"a": 1}]


def test_a_line_that_is_just_not_too_long_is_read() -> None:
    line = b'"' + b"x" * (LONGEST_LINE - 2) + b'"'
    (decoded,) = LineDecoder().feed(line + b"\n")
    assert isinstance(decoded, Noise)
