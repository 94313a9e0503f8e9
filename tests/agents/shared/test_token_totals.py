from hypothesis import given
from hypothesis import strategies as st

from weft.agents.shared.token_totals import append_usage_mark, split_usage_mark, sum_usage, usage_since
from weft.plan.prices import Usage

USAGES = st.builds(Usage, **{kind: st.integers(0, 10**11) for kind in ("input", "output", "cached_input")})
NAMES = st.text(min_size=1)


@given(NAMES, USAGES)
def test_a_session_carries_what_it_has_used(name: str, total: Usage) -> None:
    assert split_usage_mark(append_usage_mark(name, total, before=None)) == (name, total)


@given(NAMES, USAGES, USAGES)
def test_a_call_has_used_what_came_since(name: str, before: Usage, more: Usage) -> None:
    session = append_usage_mark(name, before, before=None)
    now = sum_usage([before, more])
    assert usage_since(session, now) == more


def test_a_first_call_has_used_all_there_is() -> None:
    assert usage_since(None, Usage(input=3)) == Usage(input=3)
    assert usage_since("S#1/1/1", None) is None


def test_usage_is_unknown_without_an_earlier_total() -> None:
    assert usage_since("S", Usage(input=3)) is None
    assert append_usage_mark("S", None, before="S") == "S"


def test_a_total_that_has_become_smaller_says_nothing() -> None:
    assert usage_since("S#4/0/0", Usage(input=3)) is None


def test_a_call_that_reported_nothing_is_counted_with_the_next() -> None:
    assert append_usage_mark("S", None, before=None) == "S#0/0/0"
    assert append_usage_mark("T", None, before="S#1/2/3") == "T#1/2/3"


def test_a_sum_of_nothing_is_unknown() -> None:
    assert sum_usage([None]) is None
    assert sum_usage([None, Usage(input=1)]) == Usage(input=1)
