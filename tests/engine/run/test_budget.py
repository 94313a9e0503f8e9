import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.engine.run.budget import ALERTS, Budget

# The whole, a group with two slices in it, and a slice beside the group.
WHOLE, GROUP, FIRST, SECOND, BESIDE = range(5)
PARENTS = [-1, WHOLE, GROUP, GROUP, WHOLE]


def budget(ceilings: dict[int, int] | None = None, *, default: int = 0) -> Budget:
    return Budget(PARENTS, [(ceilings or {}).get(row) for row in range(5)], default=default)


# Sums


def test_what_a_slice_reserves_and_spends_counts_in_every_group_around_it() -> None:
    one = budget()
    one.reserve(FIRST, 50)
    one.reserve(BESIDE, 7)
    assert one.reserved == [57, 50, 50, 0, 7]
    one.settle(FIRST, 50, 30, "coder")
    assert one.reserved == [7, 0, 0, 0, 7]
    assert one.spent == [30, 30, 30, 0, 0]


def test_a_cost_that_nobody_knows_is_counted_and_is_not_spent() -> None:
    one = budget({GROUP: 10})
    one.reserve(SECOND, 10)
    one.settle(SECOND, 10, None, "coder")
    assert (one.spent[WHOLE], one.reserved[WHOLE]) == (0, 0)
    assert one.unknown == [1, 1, 0, 1, 0]
    assert one.alerts() == []


def test_a_cost_of_nothing_is_known() -> None:
    one = budget()
    one.settle(FIRST, 0, 0, "coder")
    assert one.unknown == [0] * 5


def test_no_more_is_settled_than_was_reserved() -> None:
    one = budget()
    one.reserve(FIRST, 5)
    one.reserve(SECOND, 5)
    with pytest.raises(ValueError, match="row 2 has less than 6 micro-dollars reserved"):
        one.settle(FIRST, 6, 6, "coder")
    assert (one.reserved[WHOLE], one.spent[WHOLE]) == (10, 0)


# Estimates


def test_a_step_reserves_what_it_may_cost_at_most() -> None:
    one = budget(default=5)
    for cost in (1, 2, 3):
        one.settle(FIRST, 0, cost, "coder")
    assert one.estimate("coder", 77) == 77


def test_with_fewer_than_three_costs_known_the_default_is_reserved() -> None:
    one = budget(default=5)
    for cost in (90, None, 91, None):
        one.settle(FIRST, 0, cost, "coder")
    assert one.estimate("coder") == 5


def test_the_costs_of_one_kind_say_nothing_of_another() -> None:
    one = budget(default=5)
    for cost in (90, 91, 92):
        one.settle(FIRST, 0, cost, "coder")
    assert (one.estimate("coder"), one.estimate("tester")) == (92, 5)


@pytest.mark.parametrize(
    ("count", "rank"), [(3, 3), (9, 9), (10, 9), (11, 10), (19, 18), (20, 18), (21, 19), (100, 90)]
)
def test_nine_of_ten_costs_so_far_do_not_pass_what_is_reserved(count: int, rank: int) -> None:
    one = budget()
    costs = list(range(1, count + 1))
    random.Random(count).shuffle(costs)
    for cost in costs:
        one.settle(FIRST, 0, cost, "coder")
    assert one.estimate("coder") == rank


# Ceilings


def test_an_amount_fits_up_to_the_ceiling_and_not_beyond() -> None:
    one = budget({WHOLE: 100})
    one.settle(FIRST, 0, 30, "coder")
    one.reserve(SECOND, 20)
    assert one.fits(BESIDE, 50) is None
    assert one.fits(BESIDE, 51) == WHOLE


def test_the_innermost_row_whose_ceiling_would_be_passed_is_named() -> None:
    one = budget({WHOLE: 100, GROUP: 90, SECOND: 40})
    assert one.fits(FIRST, 101) == GROUP
    assert one.fits(SECOND, 101) == SECOND
    assert one.fits(BESIDE, 101) == WHOLE
    one.reserve(BESIDE, 80)
    assert one.fits(SECOND, 30) == WHOLE


def test_an_unknown_amount_fits_until_all_is_spent_or_reserved() -> None:
    one = budget({WHOLE: 100})
    one.reserve(FIRST, 99)
    assert one.fits(BESIDE, 0) is None
    one.reserve(FIRST, 1)
    assert one.fits(BESIDE, 0) == WHOLE
    one.settle(FIRST, 100, 10, "coder")
    assert one.fits(BESIDE, 0) is None


# Alerts


def test_alerts_are_told_once_when_the_part_is_reached_and_not_before() -> None:
    one = budget({WHOLE: 1000})
    told: list[list[tuple[int, int]]] = []
    for cost in (749, 1, 149, 1, 99, 1, 500):
        one.settle(FIRST, 0, cost, "coder")
        told.append(one.alerts())
    assert told == [[], [(WHOLE, 75)], [], [(WHOLE, 90)], [], [(WHOLE, 100)], []]


def test_one_cost_may_cross_several_alerts_of_several_rows() -> None:
    one = budget({WHOLE: 100, GROUP: 95})
    one.settle(FIRST, 0, 95, "coder")
    assert one.alerts() == [(GROUP, 75), (GROUP, 90), (GROUP, 100), (WHOLE, 75), (WHOLE, 90)]
    assert one.alerts() == []


def test_what_is_only_reserved_alerts_nobody() -> None:
    one = budget({WHOLE: 100})
    one.reserve(FIRST, 100)
    assert one.alerts() == []


# Random lives, against sums made anew each time


@dataclass
class Life:
    """Steps of a random plan reserve if they fit, and end; all that happened is written down."""

    rng: random.Random
    honest: bool
    """Whether nothing costs more than was reserved for it."""
    spent: list[tuple[int, int]] = field(default_factory=list)
    running: list[tuple[int, int]] = field(default_factory=list)
    alerts: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng, rows = self.rng, self.rng.randint(1, 12)
        self.parents = [-1, *(rng.randrange(row) for row in range(1, rows))]
        self.ceilings = [rng.choice([None, rng.randint(1, 60)]) for _ in range(rows)]
        self.budget = Budget(self.parents, self.ceilings)

    def around(self, row: int) -> list[int]:
        return [] if row < 0 else [row, *self.around(self.parents[row])]

    def below(self, amounts: list[tuple[int, int]], group: int) -> int:
        return sum(amount for row, amount in amounts if group in self.around(row))

    def act(self) -> None:
        if self.running and self.rng.random() < 0.5:
            self.end()
        else:
            self.begin()

    def begin(self) -> None:
        row, amount = self.rng.randrange(len(self.parents)), self.rng.randint(1, 20)
        passed = [
            group
            for group in self.around(row)
            if self.below([*self.spent, *self.running, (row, amount)], group)
            > (self.ceilings[group] or 10**9)
        ]
        assert self.budget.fits(row, amount) == next(iter(passed), None)
        if not passed:
            self.budget.reserve(row, amount)
            self.running.append((row, amount))

    def end(self) -> None:
        row, amount = self.running.pop(self.rng.randrange(len(self.running)))
        cost = self.rng.choice([None, self.rng.randint(0, amount if self.honest else 2 * amount)])
        self.budget.settle(row, amount, cost, "coder")
        self.spent.append((row, cost or 0))
        self.alerts += self.budget.alerts()


@given(st.integers(0, 2**32), st.booleans())
def test_sums_are_those_of_all_that_is_below_and_reservations_never_go_below_zero(
    seed: int, honest: bool
) -> None:
    life = Life(random.Random(seed), honest)
    rows = range(len(life.parents))
    for _ in range(40):
        life.act()
        assert life.budget.spent == [life.below(life.spent, row) for row in rows]
        assert life.budget.reserved == [life.below(life.running, row) for row in rows]
        assert min(life.budget.reserved) >= 0


@given(st.integers(0, 2**32))
def test_if_nothing_costs_more_than_was_reserved_no_ceiling_is_passed(seed: int) -> None:
    life = Life(random.Random(seed), honest=True)
    for _ in range(60):
        life.act()
        ceilings = [ceiling or 10**9 for ceiling in life.ceilings]
        assert all(spent <= ceiling for spent, ceiling in zip(life.budget.spent, ceilings, strict=True))


@given(st.integers(0, 2**32))
def test_each_row_alerts_once_for_each_part_that_was_reached_in_order(seed: int) -> None:
    life = Life(random.Random(seed), honest=False)
    for _ in range(60):
        life.act()
    for row, ceiling in enumerate(life.ceilings):
        reached = [p for p in ALERTS if ceiling and life.budget.spent[row] * 100 >= ceiling * p]
        assert [percent for who, percent in life.alerts if who == row] == reached
