from hypothesis import given
from hypothesis import strategies as st

from weft.app.views.totals import Totals

AMOUNTS = st.none() | st.integers(0, 100)


def test_only_what_has_come_since_the_last_total_is_added() -> None:
    totals = Totals()
    assert not totals
    assert totals.more((1, 1), 5, None) == (5, 0)
    assert totals.more((1, 1), 7, 3) == (2, 3)
    assert (totals.of((1, 1)), totals.of((1, 2)), bool(totals)) == ((7, 3), (0, 0), True)
    assert totals.more((1, 1), 6, None, ended=True) == (-1, 0)
    assert (totals.of((1, 1)), bool(totals)) == ((0, 0), False)


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1))
def test_all_that_has_come_is_the_last_that_was_known(told: list[tuple[int | None, int | None]]) -> None:
    totals = Totals()
    added = [totals.more((1, 1), cost, tokens) for cost, tokens in told]
    last = tuple(
        next((item for item in reversed(column) if item is not None), 0) for column in zip(*told, strict=True)
    )
    assert tuple(map(sum, zip(*added, strict=True))) == last
