import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.engine.state.budget import ALERTS, Budget, SettledCost

# The whole, a group with two slices in it, and a slice beside the group.
WHOLE, GROUP, FIRST, SECOND, BESIDE = range(5)
PARENTS = [-1, WHOLE, GROUP, GROUP, WHOLE]


def budget(ceilings: dict[int, int] | None = None) -> Budget:
    return Budget(PARENTS, [(ceilings or {}).get(row) for row in range(5)])


def spend(one: Budget, row: int, *costs: int | None, kind: str = "coder") -> None:
    """Steps for which nothing is reserved."""
    for cost in costs:
        one.open(0, row, 0)
        one.settle(0, cost, kind=kind)


# Sums


def test_what_a_slice_reserves_and_spends_counts_in_every_group_around_it() -> None:
    ceiling = budget()
    ceiling.open(1, FIRST, 50)
    ceiling.open(2, BESIDE, 7)
    assert ceiling.reserved == [57, 50, 50, 0, 7]
    assert ceiling.settle(1, 30) == SettledCost(30)
    assert ceiling.reserved == [7, 0, 0, 0, 7]
    assert ceiling.spent == [30, 30, 30, 0, 0]


def test_a_cost_that_nobody_knows_is_counted_and_is_not_spent() -> None:
    ceiling = budget({GROUP: 10})
    ceiling.open(1, SECOND, 10)
    assert ceiling.settle(1, None).reported is None
    assert (ceiling.spent[WHOLE], ceiling.reserved[WHOLE]) == (0, 0)
    assert ceiling.unknown == [1, 1, 0, 1, 0]
    assert ceiling.alerts() == []


def test_what_was_reserved_for_a_cost_that_nobody_knows_stays_taken() -> None:
    ceiling = budget({GROUP: 10})
    ceiling.open(1, SECOND, 7)
    ceiling.settle(1, None)
    assert ceiling.assumed == [7, 7, 0, 7, 0]
    assert (ceiling.fits(FIRST, 3), ceiling.fits(FIRST, 4)) == (None, GROUP)


def test_a_cost_of_nothing_is_known() -> None:
    ceiling = budget()
    spend(ceiling, FIRST, 0)
    assert ceiling.unknown == [0] * 5


def test_a_step_is_settled_once() -> None:
    ceiling = budget()
    ceiling.open(1, FIRST, 5)
    ceiling.settle(1, 5)
    assert not ceiling.is_open(1)
    with pytest.raises(KeyError):
        ceiling.settle(1, 5)
    assert (ceiling.reserved[WHOLE], ceiling.spent[WHOLE]) == (0, 5)


# While a step runs


def test_what_is_heard_of_a_step_takes_the_place_of_what_was_reserved_for_it() -> None:
    ceiling = budget()
    ceiling.open(1, FIRST, 50)
    ceiling.record(1, 20)
    assert (ceiling.spent, ceiling.reserved) == ([20, 20, 20, 0, 0], [30, 30, 30, 0, 0])
    ceiling.record(1, 60)
    assert (ceiling.spent, ceiling.reserved) == ([60, 60, 60, 0, 0], [0] * 5)
    assert ceiling.so_far(1) == 60


def test_what_is_heard_are_totals_and_they_never_go_down() -> None:
    ceiling = budget()
    ceiling.open(1, FIRST, 50)
    for total in (20, 20, 10):
        ceiling.record(1, total)
    assert (ceiling.spent[WHOLE], ceiling.reserved[WHOLE]) == (20, 30)


@pytest.mark.parametrize("cost", [0, 20, 50, 70])
def test_the_end_settles_what_was_heard_whatever_it_says(cost: int) -> None:
    ceiling = budget()
    ceiling.open(1, FIRST, 50)
    ceiling.record(1, 20)
    assert ceiling.settle(1, cost) == SettledCost(cost)
    assert (ceiling.spent, ceiling.reserved) == ([cost, cost, cost, 0, 0], [0] * 5)


def test_an_end_without_a_word_leaves_what_was_heard_and_the_rest_unknown() -> None:
    ceiling = budget()
    ceiling.open(1, FIRST, 50)
    ceiling.record(1, 20)
    assert ceiling.settle(1, None).reported == 20
    assert (ceiling.spent[WHOLE], ceiling.assumed[WHOLE], ceiling.unknown[WHOLE]) == (20, 30, 1)


def test_what_is_heard_alerts() -> None:
    ceiling = budget({WHOLE: 100})
    ceiling.open(1, FIRST, 50)
    ceiling.record(1, 80)
    assert ceiling.alerts() == [(WHOLE, 75)]
    ceiling.settle(1, 80)
    assert ceiling.alerts() == []


# Estimates


def test_a_step_reserves_what_it_may_cost_at_most() -> None:
    ceiling = budget()
    spend(ceiling, FIRST, 1, 2, 3)
    assert ceiling.estimate("coder", 77, 5) == 77


def test_with_fewer_than_three_costs_known_the_default_is_reserved() -> None:
    ceiling = budget()
    spend(ceiling, FIRST, 90, None, 91, None)
    assert ceiling.estimate("coder", None, 5) == 5


def test_the_costs_of_one_kind_say_nothing_of_another() -> None:
    ceiling = budget()
    spend(ceiling, FIRST, 90, 91, 92)
    assert (ceiling.estimate("coder", None, 5), ceiling.estimate("tester", None, 5)) == (92, 5)


def test_what_is_of_no_kind_says_nothing_of_any() -> None:
    ceiling = budget()
    spend(ceiling, FIRST, 90, 91, 92, kind="")
    assert ceiling.estimate("", None, 5) == 5


@pytest.mark.parametrize(
    ("count", "rank"), [(3, 3), (9, 9), (10, 9), (11, 10), (19, 18), (20, 18), (21, 19), (100, 90)]
)
def test_nine_of_ten_costs_so_far_do_not_pass_what_is_reserved(count: int, rank: int) -> None:
    ceiling = budget()
    costs = list(range(1, count + 1))
    random.Random(count).shuffle(costs)
    spend(ceiling, FIRST, *costs)
    assert ceiling.estimate("coder") == rank


# Ceilings


def test_an_amount_fits_up_to_the_ceiling_and_not_beyond() -> None:
    ceiling = budget({WHOLE: 100})
    spend(ceiling, FIRST, 30)
    ceiling.open(1, SECOND, 20)
    assert ceiling.fits(BESIDE, 50) is None
    assert ceiling.fits(BESIDE, 51) == WHOLE


def test_the_innermost_row_whose_ceiling_would_be_passed_is_named() -> None:
    ceiling = budget({WHOLE: 100, GROUP: 90, SECOND: 40})
    assert ceiling.fits(FIRST, 101) == GROUP
    assert ceiling.fits(SECOND, 101) == SECOND
    assert ceiling.fits(BESIDE, 101) == WHOLE
    ceiling.open(1, BESIDE, 80)
    assert ceiling.fits(SECOND, 30) == WHOLE


def test_the_lowest_ceiling_is_that_of_any_row_around() -> None:
    ceiling = budget({WHOLE: 100, GROUP: 90, SECOND: 95})
    assert [ceiling.lowest_ceiling(row) for row in range(5)] == [100, 90, 90, 90, 100]
    assert budget().lowest_ceiling(FIRST) is None


def test_an_unknown_amount_fits_until_all_is_spent_or_reserved() -> None:
    ceiling = budget({WHOLE: 100})
    ceiling.open(1, FIRST, 99)
    assert ceiling.fits(BESIDE, 0) is None
    ceiling.open(2, FIRST, 1)
    assert ceiling.fits(BESIDE, 0) == WHOLE
    ceiling.settle(1, 10)
    assert ceiling.fits(BESIDE, 0) is None


# Alerts


def test_alerts_are_told_once_when_the_part_is_reached_and_not_before() -> None:
    ceiling = budget({WHOLE: 1000})
    values: list[list[tuple[int, int]]] = []
    for cost in (749, 1, 149, 1, 99, 1, 500):
        spend(ceiling, FIRST, cost)
        values.append(ceiling.alerts())
    assert values == [[], [(WHOLE, 75)], [], [(WHOLE, 90)], [], [(WHOLE, 100)], []]


def test_one_cost_may_cross_several_alerts_of_several_rows() -> None:
    ceiling = budget({WHOLE: 100, GROUP: 95})
    spend(ceiling, FIRST, 95)
    assert ceiling.alerts() == [(GROUP, 75), (GROUP, 90), (GROUP, 100), (WHOLE, 75), (WHOLE, 90)]
    assert ceiling.alerts() == []


def test_what_is_only_reserved_alerts_nobody() -> None:
    ceiling = budget({WHOLE: 100})
    ceiling.open(1, FIRST, 100)
    assert ceiling.alerts() == []


# Random lives, against sums made anew each time


@dataclass
class Step:
    row: int
    estimate: int
    limit: int
    """What it never costs more than."""
    heard: int = 0

    @property
    def reserved(self) -> int:
        return max(0, self.estimate - self.heard)


@dataclass
class Life:
    """Steps of a random plan reserve if they fit, are heard of, and end; all that happened is written down."""

    rng: random.Random
    honest: bool
    """Whether nothing costs more than was reserved for it."""
    ended: list[tuple[int, int]] = field(default_factory=list)
    unknown: list[tuple[int, int]] = field(default_factory=list)
    running: dict[int, Step] = field(default_factory=dict)
    alerts: list[tuple[int, int]] = field(default_factory=list)
    overrun: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng, rows = self.rng, self.rng.randint(1, 12)
        self.parents = [-1, *(rng.randrange(row) for row in range(1, rows))]
        self.ceilings = [rng.choice([None, rng.randint(1, 60)]) for _ in range(rows)]
        self.budget = Budget(self.parents, self.ceilings)

    def around(self, row: int) -> list[int]:
        return [] if row < 0 else [row, *self.around(self.parents[row])]

    def below(self, amounts: list[tuple[int, int]], group: int) -> int:
        return sum(amount for row, amount in amounts if group in self.around(row))

    @property
    def spent(self) -> list[tuple[int, int]]:
        return [*self.ended, *((step.row, step.heard) for step in self.running.values())]

    @property
    def reserved(self) -> list[tuple[int, int]]:
        return [(step.row, step.reserved) for step in self.running.values()]

    def act(self) -> None:
        deeds = [self.begin, self.hear, self.end] if self.running else [self.begin]
        self.rng.choice(deeds)()
        self.alerts += self.budget.alerts()

    def begin(self) -> None:
        row, amount = self.rng.randrange(len(self.parents)), self.rng.randint(1, 20)
        taken = [*self.spent, *self.reserved, *self.unknown, (row, amount)]
        passed = [
            group for group in self.around(row) if self.below(taken, group) > (self.ceilings[group] or 10**9)
        ]
        assert self.budget.fits(row, amount) == next(iter(passed), None)
        if not passed:
            number = self.rng.randrange(10**9)
            self.budget.open(number, row, amount)
            self.running[number] = Step(row, amount, amount if self.honest else 2 * amount)

    def hear(self) -> None:
        number, step = self.rng.choice(list(self.running.items()))
        total = self.rng.randint(0, step.limit)
        self.budget.record(number, total)
        step.heard = max(step.heard, total)

    def end(self) -> None:
        number, step = self.rng.choice(list(self.running.items()))
        del self.running[number]
        cost = self.rng.choice([None, self.rng.randint(step.heard, step.limit)])
        values = self.budget.settle(number, cost).amount
        assert values == (step.heard if cost is None else cost)
        self.ended.append((step.row, values))
        self.overrun.append((step.row, max(0, values - step.estimate)))
        if cost is None:
            self.unknown.append((step.row, step.reserved))


@given(st.integers(0, 2**32), st.booleans())
def test_sums_are_those_of_all_that_is_below_and_reservations_never_go_below_zero(
    seed: int, honest: bool
) -> None:
    life = Life(random.Random(seed), honest)
    rows = range(len(life.parents))
    for _ in range(60):
        life.act()
        assert life.budget.spent == [life.below(life.spent, row) for row in rows]
        assert life.budget.reserved == [life.below(life.reserved, row) for row in rows]
        assert life.budget.assumed == [life.below(life.unknown, row) for row in rows]
        assert min(life.budget.reserved) >= 0


@given(st.integers(0, 2**32))
def test_if_nothing_costs_more_than_was_reserved_no_ceiling_is_passed(seed: int) -> None:
    life = Life(random.Random(seed), honest=True)
    for _ in range(80):
        life.act()
        ceilings = [ceiling or 10**9 for ceiling in life.ceilings]
        assert all(spent <= ceiling for spent, ceiling in zip(life.budget.spent, ceilings, strict=True))


@given(st.integers(0, 2**32))
def test_a_ceiling_is_passed_by_no_more_than_steps_have_cost_beyond_what_was_reserved(seed: int) -> None:
    life = Life(random.Random(seed), honest=False)
    for _ in range(80):
        life.act()
        beyond = [
            *life.overrun,
            *((item.row, max(0, item.heard - item.estimate)) for item in life.running.values()),
        ]
        for row, ceiling in enumerate(life.ceilings):
            assert life.budget.spent[row] <= (ceiling or 10**9) + life.below(beyond, row)


@given(st.integers(0, 2**32))
def test_each_row_alerts_once_for_each_part_that_was_reached_in_order(seed: int) -> None:
    life = Life(random.Random(seed), honest=False)
    for _ in range(80):
        life.act()
    for row, ceiling in enumerate(life.ceilings):
        reached = [p for p in ALERTS if ceiling and life.budget.spent[row] * 100 >= ceiling * p]
        assert [percent for who, percent in life.alerts if who == row] == reached
