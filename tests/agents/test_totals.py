from hypothesis import given
from hypothesis import strategies as st

from weft.agents.totals import marked, together, unmarked, used_since
from weft.plan.prices import Usage

USAGES = st.builds(Usage, **{kind: st.integers(0, 10**11) for kind in ("input", "output", "cached_input")})
NAMES = st.text(min_size=1)


@given(NAMES, USAGES)
def test_a_session_carries_what_it_has_used(name: str, total: Usage) -> None:
    assert unmarked(marked(name, total, before=None)) == (name, total)


@given(NAMES, USAGES, USAGES)
def test_a_call_has_used_what_came_since(name: str, before: Usage, more: Usage) -> None:
    session = marked(name, before, before=None)
    now = together([before, more])
    assert used_since(session, now) == more


def test_a_first_call_has_used_all_there_is() -> None:
    assert used_since(None, Usage(input=3)) == Usage(input=3)
    assert used_since("S#1/1/1", None) is None


def test_what_was_used_before_nobody_told_is_unknown() -> None:
    assert used_since("S", Usage(input=3)) is None
    assert marked("S", None, before="S") == "S"


def test_a_total_that_has_become_smaller_says_nothing() -> None:
    assert used_since("S#4/0/0", Usage(input=3)) is None


def test_a_call_that_told_nothing_is_counted_with_the_next() -> None:
    assert marked("S", None, before=None) == "S#0/0/0"
    assert marked("T", None, before="S#1/2/3") == "T#1/2/3"


def test_a_sum_of_nothing_is_unknown() -> None:
    assert together([None]) is None
    assert together([None, Usage(input=1)]) == Usage(input=1)
