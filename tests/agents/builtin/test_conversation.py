import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.builtin.talks import TALK, saids, texts
from weft.agents.builtin.conversation import (
    OMITTED,
    Conversation,
    ModelMessage,
    TokenCounts,
    ToolResults,
    UserMessage,
    decode_conversation,
    encode_conversation,
    shorten,
    trim_results,
)

results = st.lists(st.tuples(texts, texts), min_size=1, max_size=3).map(tuple).map(ToolResults)
talks = st.lists(st.one_of(texts.map(UserMessage), saids, results), max_size=6).map(tuple)


@given(talks)
def test_a_conversation_comes_back_from_its_file_as_it_was(talk: Conversation) -> None:
    assert decode_conversation(json.loads(json.dumps(encode_conversation(talk)))) == talk


def test_what_only_its_provider_understands_comes_back_too() -> None:
    talk = (ModelMessage("x", (), "messages", ({"type": "thinking", "signature": "s"},)),)
    assert decode_conversation(json.loads(json.dumps(encode_conversation(talk)))) == talk


@pytest.mark.parametrize("value", [None, 1, {}.keys, [1], [["user"]], [["odd", "x"]], [["said", "x", [1]]]])
def test_what_is_no_conversation_is_reported(value: Any) -> None:
    with pytest.raises(ValueError, match="it is no conversation"):
        decode_conversation(value)


@given(texts, st.integers(0, 30))
def test_text_is_shortened_in_the_middle_and_only_if_it_is_too_long(text: str, most: int) -> None:
    short = shorten(text, most)
    half = most // 2
    assert (short == text) == (len(text) <= most)
    assert short.startswith(text[:half])
    assert short.endswith(text[len(text) - half :])


def test_the_oldest_results_go_first_when_a_conversation_is_long() -> None:
    talk = tuple(ToolResults(((str(number), "x" * 10),)) for number in range(4))
    outputs = [result.results[0][1] for result in trim_results(talk, 25) if isinstance(result, ToolResults)]
    assert outputs == [OMITTED, OMITTED, "x" * 10, "x" * 10]


def test_the_last_result_stays_whatever_its_size() -> None:
    talk = (ToolResults((("1", "x" * 100),)),)
    assert trim_results(talk, 1) == talk


@given(talks, st.integers(0, 100))
def test_what_is_left_out_leaves_all_else_as_it_was(talk: Conversation, most: int) -> None:
    short = trim_results(talk, most)
    ids = [[result[0] for result in message.results] for message in talk if isinstance(message, ToolResults)]
    assert [
        [result[0] for result in message.results] for message in short if isinstance(message, ToolResults)
    ] == ids
    assert [m for m in short if not isinstance(m, ToolResults)] == [
        m for m in talk if not isinstance(m, ToolResults)
    ]


def test_a_short_conversation_is_not_touched() -> None:
    assert trim_results(TALK, 1000) == TALK


def test_tokens_add_up_by_kind() -> None:
    assert TokenCounts(1, 2, 3) + TokenCounts(10, 20, 30) == TokenCounts(11, 22, 33)
    with pytest.raises(TypeError):
        TokenCounts() + 1
