"""What was probably meant by a value that is almost right."""

import pytest

from weft.plan.language.kinds import Boolean, Duration, Integer, Money, Switch, Tokens
from weft.plan.language.reader import BAD, Kind, Reader
from weft.plan.language.slips import (
    boolean_meant,
    dollars_meant,
    duration_meant,
    tokens_meant,
)
from weft.plan.text.document import Document, Scalar

SLIPS = [
    (Money(), "5usd", "5"),
    (Money(), "5 USD", "5"),
    (Money(), "2.50$", "2.50"),
    (Money(), "USD 7", "7"),
    (Money(), "20 dollars", "20"),
    (Tokens(), "5m", "5M"),
    (Tokens(), "2.5 m", "2.5M"),
    (Tokens(), "100K tokens", "100k"),
    (Tokens(), "300 tokens", "300"),
    (Duration(), "30min", "30m"),
    (Duration(), "2 hours", "2h"),
    (Duration(), "90 sec", "90s"),
    (Duration(), "1h30m", "90m"),
    (Duration(), "1 day, 2 hrs", "26h"),
    (Boolean(), "yes", "true"),
    (Boolean(), "Off", "false"),
    (Switch(), "no", "false"),
]


def read(kind: Kind, text: str, style: str = "") -> tuple[object, list[str]]:
    node = Scalar(text, 1, 1, style)
    reader = Reader(Document(file="weft.yaml", text=text, root=node, problems=()))
    return kind.read(node, reader, "key"), [problem.message for problem in reader.problems]


@pytest.mark.parametrize(("kind", "text", "suggestion"), SLIPS)
def test_a_value_that_is_almost_right_gets_a_suggestion_that_is_right(
    kind: Kind, text: str, suggestion: str
) -> None:
    value, messages = read(kind, text)
    assert (value, messages) == (
        BAD,
        [f"key is {text!r}; it must be {kind.words}; did you mean {suggestion}?"],
    )
    value, messages = read(kind, suggestion)
    assert value is not BAD
    assert messages == []


@pytest.mark.parametrize(
    ("kind", "text"), [(Money(), "20"), (Integer(1), "4"), (Tokens(), "300"), (Boolean(), "true")]
)
def test_a_value_in_quotes_is_suggested_without_them(kind: Kind, text: str) -> None:
    value, messages = read(kind, text, "'")
    assert (value, len(messages)) == (BAD, 1)
    assert messages[0].endswith(f"; did you mean {text}, without quotes?")


def test_a_number_in_quotes_that_is_not_allowed_is_not_suggested() -> None:
    assert [read(Integer(1, 32), text, "'")[1] for text in ("33", "-1", "1.5", "x")] == [
        [f"key is {text!r}; it must be a whole number from 1 to 32"] for text in ("33", "-1", "1.5", "x")
    ]


@pytest.mark.parametrize(
    ("suggestion", "texts"),
    [
        (dollars_meant, ["", "0usd", "five", "5 eur", "5,00", "-5usd"]),
        (tokens_meant, ["", "5G", "0k", "1.5", "many"]),
        (duration_meant, ["", "0 min", "soon", "5 weeks", "1s 5ms", "1.5h 1s x", "-5m", "0h0m"]),
        (boolean_meant, ["", "maybe", "1"]),
    ],
)
def test_nothing_is_suggested_for_a_value_that_means_nothing(suggestion: object, texts: list[str]) -> None:
    assert callable(suggestion)
    assert [suggestion(text) for text in texts] == [None] * len(texts)
