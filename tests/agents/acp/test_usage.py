from typing import Any

import pytest

from weft.agents.acp.usage import Spending, split_cost_mark
from weft.plan.prices import Usage


def tokens(usage: object, *, used_tools: bool = False, used: int | None = None) -> object:
    spent = Spending(None)
    spent.update({"used": used})
    spent.end({"usage": usage}, used_tools=used_tools)
    return spent.tokens


def usage(total: int, given: int, made: int, **more: int) -> dict[str, Any]:
    return {"totalTokens": total, "inputTokens": given, "outputTokens": made, **more}


@pytest.mark.parametrize(
    ("told", "known"),
    [
        (usage(11, 10, 1), Usage(input=10, output=1)),
        (
            usage(21, 10, 1, cachedReadTokens=7, cachedWriteTokens=3),
            Usage(input=13, output=1, cached_input=7),
        ),
        (usage(13, 10, 1, thoughtTokens=2), Usage(input=10, output=3)),
        (usage(11, 10, 1, cachedReadTokens=7), Usage(input=3, output=1, cached_input=7)),
        (usage(13, 10, 1, cachedReadTokens=7, thoughtTokens=2), Usage(input=3, output=3, cached_input=7)),
        (usage(11, 10, 1, cachedReadTokens=11), 11),
        (usage(99, 10, 1), 99),
        ({"totalTokens": 5}, 5),
        (usage(0, 0, 0), None),
        ({"inputTokens": 5, "outputTokens": 5}, None),
        ({"totalTokens": "many"}, None),
        ("x", None),
    ],
)
def test_tokens_are_known_by_kind_if_they_add_up(told: object, known: object) -> None:
    assert tokens(told) == known


def test_without_a_word_they_are_not_known() -> None:
    assert tokens(None) is None


def test_those_of_the_last_request_are_not_those_of_the_turn() -> None:
    result = usage(1050, 1000, 50)
    assert tokens(result, used_tools=True, used=1050) is None
    assert tokens(result, used_tools=True, used=1000) is None
    assert tokens(result, used_tools=True, used=999) == Usage(input=1000, output=50)
    assert tokens(result, used_tools=True, used=0) == Usage(input=1000, output=50)
    assert tokens(result, used_tools=True) == Usage(input=1000, output=50)
    assert tokens(result, used_tools=False, used=1050) == Usage(input=1000, output=50)


def test_gemini_reports_them_in_a_place_of_its_own() -> None:
    spent = Spending(None)
    quota = {"token_count": {"input_tokens": 5, "output_tokens": 2}}
    spent.end({"_meta": {"quota": quota}}, used_tools=True)
    assert spent.tokens == Usage(input=5, output=2)


# --- costs ---


def cost(session: str | None, *amounts: object, currency: str = "USD") -> tuple[int | None, str | None]:
    spent = Spending(session)
    for amount in amounts:
        spent.update({"cost": {"amount": amount, "currency": currency}})
    return spent.cost, spent.append_cost_mark("s")


def test_the_cost_of_a_new_conversation_is_its_own() -> None:
    assert cost(None, 0.5, 0.75) == (750_000, "s#cost=750000")


def test_the_cost_of_one_that_continues_is_what_was_added() -> None:
    assert cost("s#cost=500000", 0.75) == (250_000, "s#cost=750000")


def test_what_was_before_and_is_not_known_makes_the_cost_unknown() -> None:
    assert cost("s", 0.75) == (None, "s#cost=750000")


def test_a_total_that_has_become_less_says_nothing() -> None:
    assert cost("s#cost=500000", 0.25) == (None, "s#cost=250000")


@pytest.mark.parametrize("amounts", [(), (0,), (-1,), ("x",)])
def test_without_a_report_nothing_is_known(amounts: tuple[object, ...]) -> None:
    assert cost(None, *amounts) == (None, "s")
    assert cost("s#cost=5", *amounts) == (None, "s#cost=5")


def test_another_currency_is_not_ours() -> None:
    assert cost(None, 5, currency="EUR") == (None, "s")


def test_the_mark_comes_off_again() -> None:
    assert split_cost_mark("a#cost=1#cost=20") == ("a#cost=1", 20)
    assert split_cost_mark("a#b") == ("a#b", None)


def test_a_name_that_cannot_be_written_down_is_none() -> None:
    assert Spending(None).append_cost_mark("a\nb") is None


def test_a_name_that_leaves_no_room_stays_as_it_is() -> None:
    spent = Spending("x#cost=5")
    assert spent.append_cost_mark("n" * 1000) == "n" * 1000
