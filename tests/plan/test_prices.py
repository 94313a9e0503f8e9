import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.plan.prices import Price, Usage, cost_of, dollars, price_of

CHEAP = Price(input=1_000_000, output=1_000_000)
DEAR = Price(input=3_000_000, output=15_000_000, cached_input=300_000)


def test_the_first_name_that_fits_one_of_the_names_counts() -> None:
    prices = {"sonnet-4": CHEAP, "sonnet*": DEAR, "coder": CHEAP}
    assert price_of(prices, "sonnet-4", "coder") is CHEAP
    assert price_of(prices, "sonnet-5", "coder") is DEAR
    assert price_of(prices, None, "coder") is CHEAP
    assert price_of(prices, "haiku", "tester") is None
    assert price_of(prices, None, None) is None


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("*", "anything", True),
        ("a*c", "abc", True),
        ("a*c", "ac", True),
        ("a*c", "abcd", False),
        ("a.c", "abc", False),
        ("gpt-5[x]", "gpt-5[x]", True),
        ("Sonnet", "sonnet", False),
    ],
)
def test_only_the_star_stands_for_other_text(pattern: str, name: str, fits: bool) -> None:
    assert (price_of({pattern: CHEAP}, name) is CHEAP) is fits


def test_each_kind_of_tokens_has_its_price() -> None:
    usage = Usage(input=1_000_000, output=100_000, cached_input=2_000_000)
    assert usage.total == 3_100_000
    assert cost_of(DEAR, usage.total, usage) == 3_000_000 + 1_500_000 + 600_000


def test_what_comes_from_a_cache_costs_as_any_input_unless_the_price_says_otherwise() -> None:
    assert cost_of(CHEAP, 5, Usage(cached_input=5)) == 5


def test_tokens_of_an_unknown_kind_cost_as_much_as_the_dearest() -> None:
    assert cost_of(DEAR, 1_000_000, None) == 15_000_000
    assert cost_of(Price(input=5, output=1), 1_000_000, None) == 5


def test_a_part_of_a_micro_dollar_counts_as_one() -> None:
    assert cost_of(Price(input=1, output=0), 1, Usage(input=1)) == 1


@given(*[st.integers(0, 10**9)] * 3)
def test_the_split_never_costs_more_than_the_same_tokens_without_it(
    read: int, wrote: int, cached: int
) -> None:
    usage = Usage(input=read, output=wrote, cached_input=cached)
    assert 0 <= cost_of(DEAR, usage.total, usage) <= cost_of(DEAR, usage.total, None)


# How an amount is printed


@pytest.mark.parametrize(
    ("amount", "printed"),
    [
        (0, "$0.00"),
        (1, "<$0.01"),
        (9_999, "<$0.01"),
        (10_000, "$0.01"),
        (14_999, "$0.01"),
        (15_000, "$0.02"),
        (995_000, "$1.00"),
        (14_200_000, "$14.20"),
        (1_234_567_000_000, "$1,234,567.00"),
    ],
)
def test_an_amount_is_printed_to_the_cent(amount: int, printed: str) -> None:
    assert dollars(amount) == printed


@given(st.integers(1, 10**15))
def test_nothing_that_was_spent_is_printed_as_nothing(amount: int) -> None:
    assert dollars(amount) != dollars(0)
