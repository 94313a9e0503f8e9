"""The exact rank, against elimination with fractions."""

from fractions import Fraction
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.net.linear import incidence, rank
from weft.testing.skeletons import NetSketch, plan_skeleton, refined_workflow

Matrix = list[list[int]]


def rank_with_fractions(matrix: Matrix) -> int:
    rows = [[Fraction(entry) for entry in row] for row in matrix]
    rank_so_far = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(rank_so_far, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank_so_far], rows[pivot] = rows[pivot], rows[rank_so_far]
        for row_number in range(rank_so_far + 1, len(rows)):
            factor = rows[row_number][column] / rows[rank_so_far][column]
            rows[row_number] = [
                a - factor * b for a, b in zip(rows[row_number], rows[rank_so_far], strict=True)
            ]
        rank_so_far += 1
    return rank_so_far


def sparse(matrix: Matrix) -> list[dict[int, int]]:
    return [dict(enumerate(row)) for row in matrix]


@settings(max_examples=300)
@given(
    st.integers(1, 7).flatmap(
        lambda width: st.lists(st.lists(st.integers(-3, 3), min_size=width, max_size=width), max_size=7)
    )
)
def test_the_rank_is_that_of_elimination_with_fractions(matrix: Matrix) -> None:
    assert rank(sparse(matrix)) == rank_with_fractions(matrix)


def test_the_rank_of_products_is_exact_although_entries_are_large() -> None:
    rng = Random(3)
    for _ in range(200):
        inner = rng.randint(1, 4)
        left_factor = [[rng.randint(-9, 9) for _ in range(inner)] for _ in range(8)]
        right = [[rng.randint(-9, 9) * 7**9 for _ in range(8)] for _ in range(inner)]
        product = [
            [sum(a * b[k] for a, b in zip(row, right, strict=True)) for k in range(8)] for row in left_factor
        ]
        assert rank(sparse(product)) == rank_with_fractions(product) <= inner


def test_a_matrix_that_is_singular_only_modulo_a_prime_has_full_rank() -> None:
    prime = 2**61 - 1
    assert rank([{0: prime, 1: 2 * prime}, {0: 3, 1: 7}]) == 2
    assert rank([{0: 1, 1: 1}, {0: 1, 1: 1 + prime}]) == 2
    assert rank([{0: 2, 1: 3}, {0: 4, 1: 6}]) == 1


def test_no_rows_and_zero_rows_have_rank_zero() -> None:
    assert rank([]) == 0
    assert rank([{}, {3: 0}]) == 0


def test_the_incidence_of_a_transition_leaves_out_what_it_puts_back() -> None:
    sketch = NetSketch()
    sketch.add("t", ["a", "b"], ["b", "c"])
    assert incidence(sketch.net()) == [{0: -1, 2: 1}]


def test_the_rank_of_random_nets_is_exact() -> None:
    rng = Random(4)
    for _ in range(200):
        net = refined_workflow(rng, rng.randint(0, 12))
        rows = incidence(net)
        dense = [[row.get(place, 0) for place in range(len(net.place_ids))] for row in rows]
        assert rank(rows) == rank_with_fractions(dense)


def test_joins_of_thousands_of_places_do_not_fill_the_matrix() -> None:
    # A row of 3,000 entries as a pivot for each of 3,000 others would be 9 million steps at least; here
    # it is the last row, and the timeout of the suite would not be met otherwise.
    sketch = NetSketch()
    names = [f"p{n}" for n in range(3_000)]
    sketch.add("fork", ["source"], names)
    for name in names:
        sketch.add(f"{name}.step", [name], [f"{name}.done"])
    sketch.add("join", [f"{name}.done" for name in names], ["sink"])
    assert rank(incidence(sketch.net())) == 3_002


def test_a_connected_plan_of_steps_that_move_one_token_has_rank_places_less_one() -> None:
    net = plan_skeleton(1, Random(0), steps=4, attempts=4)
    assert rank(incidence(net)) == len(net.place_ids) - 1
