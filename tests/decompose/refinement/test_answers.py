"""What is read of an answer, and what is wrong with it."""

from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from decompose.refining.anything import ANSWERS
from weft.decompose.refinement.answers import SCHEMA, FileMove, NewTexts, RefinementAnswer, read_answer

WRONG_KEY = "parts, entry 1 has the key {}; there are part, id, title, prompt"
NO_ID = "`id` of part a is A; an id has up to 64 small letters, digits, - and _, the first a letter or digit"


def test_all_of_it_is_optional() -> None:
    assert read_answer({}) == (RefinementAnswer(), [])


def test_an_answer_is_read() -> None:
    answer, faults = read_answer(
        {
            "parts": [{"part": "a/b", "id": "c-1", "title": " T ", "prompt": "Do\n\tthis.\n"}, {"part": "d"}],
            "moves": [{"file": "x.py", "to": "a/b"}],
        }
    )
    assert answer == RefinementAnswer(
        parts=(NewTexts(part="a/b", id="c-1", title="T", prompt="Do\n\tthis."), NewTexts(part="d")),
        moves=(FileMove(file="x.py", to="a/b"),),
    )
    assert faults == []


def test_all_kinds_of_blanks_are_the_usual_one() -> None:
    (words,) = read_answer({"parts": [{"part": "a", "title": "10\u202f000\u00a0files"}]})[0].parts
    assert words.title == "10 000 files"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "the answer must be an object, and is null"),
        ([], "the answer must be an object, and is a list"),
        ({"part": 1}, "the answer has the key part; there are parts, moves"),
        ({"parts": {}}, "`parts` must be a list, and is an object"),
        ({"moves": "x"}, "`moves` must be a list, and is text"),
        ({"moves": None}, "`moves` must be a list, and is null"),
        ({"parts": ["a"]}, "parts, entry 1 must be an object, and is text"),
        ({"parts": [{"part": "a"}, {"id": "b"}]}, "parts, entry 2 lacks `part`"),
        ({"parts": [{"part": True}]}, "`part` in parts, entry 1 must be text, and is true or false"),
        ({"parts": [{"part": "a", "name": "b"}]}, WRONG_KEY.format("name")),
        ({"parts": [{"part": "a", "\x1b[2J": "b"}]}, WRONG_KEY.format("'\\x1b[2J'")),
        ({"parts": [{"part": "a", "title": 1.5}]}, "`title` of part a must be text, and is a number"),
        ({"parts": [{"part": "a", "id": "A"}]}, NO_ID),
        ({"parts": [{"part": "a", "title": " \u00a0"}]}, "`title` of part a is empty"),
        ({"parts": [{"part": "a", "title": "x" * 201}]},
            "`title` of part a has 201 characters; the limit is 200"),
        ({"parts": [{"part": "a", "title": "x\ny"}]},
            "`title` of part a has the character U+000A, which is not plain text"),
        ({"parts": [{"part": "a", "prompt": "x" * 4001}]},
            "`prompt` of part a has 4,001 characters; the limit is 4,000"),
        ({"parts": [{"part": "a", "prompt": "x\u202ey"}]},
            "`prompt` of part a has the character U+202E, which is not plain text"),
        ({"parts": [{"part": "a" * 99, "prompt": ""}]}, f"`prompt` of part {'a' * 59}… is empty"),
        ({"moves": [{"file": "a"}]}, "moves, entry 1 lacks `to`"),
        ({"moves": [{"file": [], "to": "a"}]}, "`file` in moves, entry 1 must be text, and is a list"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(answer: object, said: str) -> None:
    assert read_answer(answer)[1] == [said]


@pytest.mark.parametrize("name", ["", "-a", "a b", "ä", "a/b", "a\n", "a" * 65, "{{a}}", "_a"])
def test_what_is_no_id_is_refused(name: str) -> None:
    answer, faults = read_answer({"parts": [{"part": "a", "id": name}]})
    assert (answer.parts, len(faults)) == ((NewTexts(part="a"),), 1)


def test_everything_is_said_at_once() -> None:
    faults = read_answer({"x": 1, "parts": [{"part": 1}, {"part": "b", "id": "B", "title": ""}], "moves": 3})[
        1
    ]
    assert len(faults) == 5


@given(ANSWERS)
def test_what_is_taken_fits_the_schema_that_agents_are_shown(value: Any) -> None:
    judge: Any = Draft202012Validator(SCHEMA)
    faults = read_answer(value)[1]
    assert faults or judge.is_valid(value)


@given(ANSWERS)
def test_words_that_are_taken_are_plain(value: Any) -> None:
    for words in read_answer(value)[0].parts:
        for text in (words.id, words.title, (words.prompt or "").replace("\n", "").replace("\t", "")):
            assert (text or "").isprintable()
