"""Which of several parts come first."""

from weft.decompose.order import compute_order


def after(parts: int, *uses: tuple[int, int], **times: int) -> dict[int, list[int]]:
    """Whom each comes after; `times`: how many references there are from one to the other, `_01=3`."""
    references = dict.fromkeys(uses, 1) | {(int(pair[1]), int(pair[2])): n for pair, n in times.items()}
    order = compute_order(parts, references)
    place = {part: at for at, part in enumerate(order.used_first)}
    predecessors = {
        number: [earlier for earlier in range(parts) if order.is_after(number, earlier)]
        for number in range(parts)
    }
    assert all(place[earlier] < place[item] for item, others in predecessors.items() for earlier in others)
    return {entry: others for entry, others in predecessors.items() if others}


def test_a_part_comes_after_what_it_uses_directly_and_indirectly() -> None:
    assert after(4, (0, 1), (2, 0)) == {0: [1], 2: [0, 1]}


def test_both_ways_are_no_order() -> None:
    assert after(2, _01=2, _10=1) == {}


def test_far_more_one_way_is_an_order() -> None:
    assert after(2, _01=3, _10=1) == {0: [1]}


def test_in_a_circle_the_fewest_references_give_way() -> None:
    assert after(3, _01=2, _12=2, _20=1) == {0: [1, 2], 1: [2]}


def test_hundreds_in_one_row_are_put_in_order() -> None:
    """Each uses all that come after it, and the last one the first: one way or the other."""
    number = 600
    uses = [(user, used) for user in range(number) for used in range(user + 1, min(number, user + 20))]
    order = compute_order(number, dict.fromkeys([*uses, (number - 1, 0)], 1))
    assert order.used_first == [*reversed(range(number))]
    assert order.is_after(0, number - 1)
    assert not order.is_after(number - 1, 0)
