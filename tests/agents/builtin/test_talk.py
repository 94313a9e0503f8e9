import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.builtin.talks import TALK, saids, texts
from weft.agents.builtin.talk import (
    LEFT_OUT,
    Results,
    Said,
    Talk,
    Used,
    User,
    packed,
    shortened,
    trimmed,
    unpacked,
)

results = st.lists(st.tuples(texts, texts), min_size=1, max_size=3).map(tuple).map(Results)
talks = st.lists(st.one_of(texts.map(User), saids, results), max_size=6).map(tuple)


@given(talks)
def test_a_conversation_comes_back_from_its_file_as_it_was(talk: Talk) -> None:
    assert unpacked(json.loads(json.dumps(packed(talk)))) == talk


def test_what_only_its_provider_understands_comes_back_too() -> None:
    talk = (Said("x", (), "messages", ({"type": "thinking", "signature": "s"},)),)
    assert unpacked(json.loads(json.dumps(packed(talk)))) == talk


@pytest.mark.parametrize("value", [None, 1, {}.keys, [1], [["user"]], [["odd", "x"]], [["said", "x", [1]]]])
def test_what_is_no_conversation_is_told(value: Any) -> None:
    with pytest.raises(ValueError, match="it is no conversation"):
        unpacked(value)


@given(texts, st.integers(0, 30))
def test_text_is_shortened_in_the_middle_and_only_if_it_is_too_long(text: str, most: int) -> None:
    short = shortened(text, most)
    half = most // 2
    assert (short == text) == (len(text) <= most)
    assert short.startswith(text[:half])
    assert short.endswith(text[len(text) - half :])


def test_the_oldest_results_go_first_when_a_conversation_is_long() -> None:
    talk = tuple(Results(((str(number), "x" * 10),)) for number in range(4))
    kept = [result.results[0][1] for result in trimmed(talk, 25) if isinstance(result, Results)]
    assert kept == [LEFT_OUT, LEFT_OUT, "x" * 10, "x" * 10]


def test_the_last_result_stays_whatever_its_size() -> None:
    talk = (Results((("1", "x" * 100),)),)
    assert trimmed(talk, 1) == talk


@given(talks, st.integers(0, 100))
def test_what_is_left_out_leaves_all_else_as_it_was(talk: Talk, most: int) -> None:
    short = trimmed(talk, most)
    ids = [[one[0] for one in message.results] for message in talk if isinstance(message, Results)]
    assert [[one[0] for one in message.results] for message in short if isinstance(message, Results)] == ids
    assert [m for m in short if not isinstance(m, Results)] == [m for m in talk if not isinstance(m, Results)]


def test_a_short_conversation_is_not_touched() -> None:
    assert trimmed(TALK, 1000) == TALK


def test_tokens_add_up_by_kind() -> None:
    assert Used(1, 2, 3) + Used(10, 20, 30) == Used(11, 22, 33)
    with pytest.raises(TypeError):
        Used() + 1
