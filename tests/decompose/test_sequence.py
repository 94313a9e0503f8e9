"""A row of groups in which few references point backwards."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from weft.decompose.sequence import sequence

PAIRS = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])
REFERENCES = st.dictionaries(PAIRS, st.integers(1, 9), max_size=15)


def backwards(row: list[int], references: dict[tuple[int, int], int]) -> int:
    return sum(n for (user, used), n in references.items() if row.index(user) > row.index(used))


def test_without_circles_nothing_points_backwards() -> None:
    references = {(3, 1): 1, (1, 0): 5, (3, 0): 1, (2, 0): 1}
    assert backwards(sequence(4, references), references) == 0


def test_of_a_circle_the_fewest_references_point_backwards() -> None:
    assert sequence(3, {(0, 1): 2, (1, 2): 2, (2, 0): 1}) == [0, 1, 2]
    assert sequence(3, {(0, 1): 2, (1, 2): 1, (2, 0): 2}) == [2, 0, 1]


@given(REFERENCES)
def test_all_groups_are_in_the_row_once_and_never_more_than_half_points_backwards(
    references: dict[tuple[int, int], int],
) -> None:
    row = sequence(6, references)
    assert sorted(row) == list(range(6))
    assert 2 * backwards(row, references) <= sum(references.values())


@given(st.permutations(range(6)), REFERENCES)
def test_what_can_be_in_order_is(order: list[int], references: dict[tuple[int, int], int]) -> None:
    acyclic = {pair: n for pair, n in references.items() if order.index(pair[0]) < order.index(pair[1])}
    assert backwards(sequence(6, acyclic), acyclic) == 0


def test_it_is_near_to_the_best_there_is() -> None:
    references = {(user, used): (3 * user + 5 * used) % 7 + 1 for user, used in permutations(range(6), 2)}
    best = min(backwards(list(row), references) for row in permutations(range(6)))
    assert backwards(sequence(6, references), references) <= 1.2 * best
