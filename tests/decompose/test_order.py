"""Which groups come first, and which meet without an order."""

from weft.decompose.model import Signals
from weft.decompose.order import Meeting, Order, Ties, order_of


def order(*uses: tuple[int, int], together: tuple[tuple[int, int, int], ...] = ()) -> Order:
    """Of four groups with ten files each: file 23 is in group 2."""
    signals = Signals(paths=(), tokens=(), uses=tuple(sorted(uses)), together=together)
    return order_of(Ties.of(signals), [range(start, start + 10) for start in (0, 10, 20, 30)])


def test_who_uses_comes_after_what_is_used() -> None:
    assert order((0, 10), (25, 1)) == Order(depends_on=((1,), (), (0,), ()), meetings=())


def test_what_follows_is_left_out() -> None:
    assert order((0, 10), (10, 20), (0, 20)).depends_on == ((1,), (2,), (), ())


def test_references_within_a_group_or_to_elsewhere_are_nothing() -> None:
    assert order((0, 1), (0, 99), together=((0, 1, 5), (0, 99, 5))) == order()


def test_both_ways_are_a_risk_and_no_order() -> None:
    found = order((0, 10), (1, 11), (12, 2))
    assert found.depends_on == ((), (), (), ())
    assert found.meetings == (
        Meeting(first=0, second=1, circle=True, links=3, files=((0, 10), (1, 11), (2, 12))),
    )


def test_far_more_one_way_is_an_order_and_the_rest_a_risk() -> None:
    found = order((0, 10), (1, 11), (2, 12), (13, 3))
    assert found.depends_on == ((1,), (), (), ())
    assert found.meetings == (Meeting(first=0, second=1, circle=True, links=1, files=((3, 13),)),)


def test_in_a_circle_the_fewest_references_give_way() -> None:
    found = order((0, 10), (1, 11), (10, 20), (11, 21), (20, 0))
    assert found.depends_on == ((1,), (2,), (), ())
    assert found.meetings == (Meeting(first=0, second=2, circle=True, links=1, files=((0, 20),)),)


def test_changing_together_is_a_risk_where_there_is_no_order() -> None:
    found = order((0, 10), together=((0, 10, 3), (0, 20, 1), (1, 21, 4)))
    assert found.meetings == (Meeting(first=0, second=2, circle=False, links=2, files=((1, 21), (0, 20))),)


def test_only_the_strongest_pairs_are_shown() -> None:
    found = order(together=tuple((file, 10 + file, file + 1) for file in range(8)))
    assert found.meetings[0].links == 8
    assert found.meetings[0].files == ((7, 17), (6, 16), (5, 15), (4, 14), (3, 13))


def test_hundreds_of_groups_in_one_row_are_put_in_order() -> None:
    """Each uses all that come after it, and the last one the first: one way or the other."""
    number = 600
    uses = [(user, used) for user in range(number) for used in range(user + 1, min(number, user + 20))]
    signals = Signals(paths=(), tokens=(), uses=(*uses, (number - 1, 0)))
    found = order_of(Ties.of(signals), [[file] for file in range(number)])
    assert found.depends_on == (*((group + 1,) for group in range(number - 1)), ())
    assert found.meetings == (
        Meeting(first=0, second=number - 1, circle=True, links=1, files=((0, number - 1),)),
    )
