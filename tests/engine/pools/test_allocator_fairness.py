"""Nobody waits for ever: room is kept for who was passed over."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.run.asking import NARROW, NEVER, SEEDS, WIDE, grants
from weft.engine.pools.allocator import Allocator
from weft.engine.pools.lanes import Claims


def rounds_until_granted(allocator: Allocator, claims: Claims, crowd: list[Claims], limit: int) -> int:
    """How long the best request waits. In each round all that was held goes, one by one, and asks again."""
    for member, claim in enumerate(crowd, 1):
        allocator.ask(member, claim, (1,))
    held = grants(allocator)
    allocator.ask(0, claims, (0,))
    for rounds in range(limit):
        for member in list(held):
            held.remove(member)
            allocator.ask(member, crowd[member - 1], (1,))
            allocator.give_back(crowd[member - 1])
            held += grants(allocator)
            if 0 in held:
                return rounds
    return limit


CROWDED = pytest.mark.parametrize(
    ("sizes", "claims", "crowd"),
    [
        ([2], WIDE, [NARROW, NARROW, NARROW]),
        ([4], ((0, 4),), [NARROW, NARROW, NARROW, WIDE]),
        ([1, 1], ((0, 1), (1, 1)), [NARROW, NARROW, ((1, 1),), ((1, 1),)]),
        ([2, 2], ((0, 2), (1, 2)), [*[NARROW] * 3, *[((1, 1),)] * 3]),
    ],
)


@CROWDED
@pytest.mark.parametrize("patience", [4, 16])
def test_the_best_request_is_not_passed_over_for_ever_however_wide(
    sizes: list[int], claims: Claims, crowd: list[Claims], patience: int
) -> None:
    limit = patience + len(claims)
    assert rounds_until_granted(Allocator(sizes, patience=patience), claims, crowd, limit + 1) <= limit


@CROWDED
def test_without_reservations_it_would_starve(sizes: list[int], claims: Claims, crowd: list[Claims]) -> None:
    assert rounds_until_granted(Allocator(sizes, patience=NEVER), claims, crowd, limit=50) == 50


@given(SEEDS, st.integers(1, 4))
def test_no_crowd_keeps_the_best_request_waiting_for_ever(seed: int, patience: int) -> None:
    rng = random.Random(seed)
    sizes = rng.choices(range(1, 5), k=rng.randint(1, 3))

    def some_claims() -> Claims:
        pools = sorted(rng.sample(range(len(sizes)), rng.randint(1, len(sizes))))
        return tuple((pool, rng.randint(1, sizes[pool])) for pool in pools)

    crowd = [some_claims() for _ in range(rng.randint(1, 12))]
    # Before it others may have the reservation, each for as many rounds as it has pools.
    limit = patience + len(sizes) * (len(set(crowd)) + 1)
    allocator = Allocator(sizes, patience=patience)
    assert rounds_until_granted(allocator, some_claims(), crowd, limit + 1) <= limit


def impatient(allocator: Allocator) -> None:
    """0 holds one of the two things in pool 0, and 1 wants both and has a reservation."""
    allocator.ask(0, NARROW, (0,))
    allocator.ask(1, WIDE, (1,))
    assert grants(allocator) == [0]


def test_room_is_kept_for_who_has_the_reservation_until_it_is_granted() -> None:
    allocator = Allocator([2], patience=1)
    impatient(allocator)
    allocator.ask(2, NARROW, (0,))
    assert grants(allocator) == []
    assert (allocator.free(0), allocator.lacking(2), allocator.lacking(1)) == (1, (0,), (0,))
    allocator.give_back(NARROW)
    assert grants(allocator) == [1]
    allocator.give_back(WIDE)
    assert grants(allocator) == [2]


def test_others_take_what_leaves_enough_for_the_reservation() -> None:
    allocator = Allocator([5], patience=1)
    allocator.ask(0, ((0, 2),), (0,))
    allocator.ask(1, ((0, 4),), (1,))
    assert grants(allocator) == [0]
    allocator.ask(2, ((0, 1),), (2,))
    assert grants(allocator) == []
    allocator.give_back(((0, 2),))
    assert grants(allocator) == [1, 2]


def test_a_reservation_ends_when_its_request_is_withdrawn() -> None:
    allocator = Allocator([2], patience=1)
    impatient(allocator)
    allocator.ask(2, NARROW, (2,))
    assert grants(allocator) == []
    allocator.withdraw(1)
    assert grants(allocator) == [2]


def test_who_waited_behind_a_reservation_goes_when_it_ends() -> None:
    allocator = Allocator([2, 1], patience=2)
    allocator.ask(0, NARROW, (0,))
    allocator.ask(1, ((0, 2), (1, 1)), (1,))
    allocator.ask(2, NARROW, (2,))
    assert grants(allocator) == [0, 2]  # 1 was tried in vain and passed over
    allocator.ask(3, NARROW, (3,))
    allocator.give_back(NARROW)
    assert grants(allocator) == []
    allocator.withdraw(1)
    assert grants(allocator) == [3]


def test_who_was_granted_something_needs_patience_anew() -> None:
    allocator = Allocator([2], patience=2)
    for ticket in range(0, 8, 2):
        allocator.ask(ticket, NARROW, (ticket,))
        allocator.ask(ticket + 1, WIDE, (ticket + 1,))
        assert grants(allocator) == [ticket]
        allocator.give_back(NARROW)
        assert grants(allocator) == [ticket + 1]
        allocator.give_back(WIDE)
    for ticket, claims in enumerate([NARROW, WIDE, NARROW], 8):
        allocator.ask(ticket, claims, (ticket,))
    assert grants(allocator) == [8, 10]


def test_who_is_worse_is_not_passed_over_for_ever_by_who_is_better() -> None:
    allocator = Allocator([2], patience=4)
    impatient(allocator)  # not yet: its patience is longer here; it was tried in vain once
    for ticket in (2, 3, 4):
        allocator.ask(ticket, NARROW, (0,))
        assert grants(allocator) == [ticket]
        allocator.give_back(NARROW)
    allocator.ask(5, NARROW, (0,))
    assert grants(allocator) == []
    allocator.give_back(NARROW)
    assert grants(allocator) == [1]


def test_in_an_ordered_pool_the_keys_are_the_law() -> None:
    allocator = Allocator([1, 9], ordered=[0], patience=1)
    allocator.ask(0, NARROW, (0,))
    allocator.ask(1, ((0, 1), (1, 1)), (1,))
    assert grants(allocator) == [0]
    for ticket in range(2, 9):
        allocator.ask(ticket, NARROW, (0,))
        allocator.give_back(NARROW)
        assert grants(allocator) == [ticket]
    allocator.give_back(NARROW)
    assert grants(allocator) == [1]


def test_who_is_in_a_hurry_goes_before_those_with_better_keys() -> None:
    allocator = Allocator([2])
    allocator.ask(0, NARROW, (0,))
    assert grants(allocator) == [0]
    allocator.ask(1, WIDE, (9,))
    allocator.hurry(1)
    allocator.hurry(1)
    allocator.ask(2, NARROW, (0,))
    assert grants(allocator) == []
    allocator.give_back(NARROW)
    assert grants(allocator) == [1]


def test_room_is_kept_for_several_at_once_and_each_yields_only_to_those_before_it() -> None:
    # 2 waits for pool 0 and 3 for pool 1, both impatient; 3 is not held up by what 2 waits for.
    other: Claims = ((1, 1),)
    allocator = Allocator([2, 2], patience=1)
    for ticket, claims in enumerate([NARROW, other, WIDE, ((1, 2),)]):
        allocator.ask(ticket, claims, (ticket,))
    assert grants(allocator) == [0, 1]
    for ticket in (4, 5):
        allocator.ask(ticket, other, (0,))
        assert grants(allocator) == []
    allocator.give_back(other)
    assert grants(allocator) == [3]


@given(SEEDS, st.integers(1, 6))
def test_no_claim_is_passed_over_more_often_than_the_bound_says(seed: int, patience: int) -> None:
    """Whatever the keys. A claim is passed over by what is granted of the first pool that lacks room for it."""
    rng = random.Random(seed)
    sizes = rng.choices(range(1, 5), k=rng.randint(1, 3))
    kinds = list({claims_on(rng, sizes, range(len(sizes))): None for _ in range(rng.randint(2, 7))})
    allocator = Allocator(sizes, patience=patience)
    asked: dict[int, Claims] = {}
    passed: dict[Claims, int] = {}
    held: list[Claims] = []
    # It is passed over until it is impatient, once by each that was so before, and by better claims that are
    # granted between its wake-up and its try.
    bound = patience * max(4, len(kinds)) // 4 + len(kinds) + max(sizes)
    for ticket in range(150):
        asked[ticket] = rng.choice(kinds)
        allocator.ask(ticket, asked[ticket], (rng.randint(0, 3),))
        while held and rng.random() < 0.6:
            allocator.give_back(held.pop(rng.randrange(len(held))))
        lacks = {asked[number]: allocator.lacking(number)[:1] for number in sorted(asked, reverse=True)}
        while (number := allocator.next()) is not None:
            claims = asked.pop(number)
            held.append(claims)
            passed[claims] = 0
            for other in {*asked.values()} - {claims}:
                if set(lacks.get(other, ())) & {pool for pool, _ in claims}:
                    passed[other] = passed.get(other, 0) + 1
                    assert passed[other] <= bound, (other, claims)
            lacks = {asked[number]: allocator.lacking(number)[:1] for number in sorted(asked, reverse=True)}


def test_the_reservation_passes_on_to_the_next_whose_patience_has_ended() -> None:
    allocator = Allocator([3], patience=1)
    for ticket, amount in enumerate([3, 2, 3, 1]):
        allocator.ask(ticket, ((0, amount),), (ticket,))
    assert grants(allocator) == [0]
    allocator.give_back(((0, 3),))
    assert grants(allocator) == [1]  # 3 would fit beside it, but room is kept for 2
    allocator.give_back(((0, 2),))
    assert grants(allocator) == [2]
    allocator.give_back(((0, 3),))
    assert grants(allocator) == [3]


def test_room_is_kept_as_soon_as_the_reservation_has_passed_on() -> None:
    other: Claims = ((1, 1),)
    allocator = Allocator([2, 2], patience=1)
    for ticket, claims in enumerate([NARROW, other, WIDE, ((1, 2),)]):
        allocator.ask(ticket, claims, (ticket,))
    assert grants(allocator) == [0, 1]
    allocator.withdraw(2)  # it had the reservation, and now 3 has it
    allocator.ask(4, other, (4,))
    assert grants(allocator) == []


def test_room_is_kept_only_up_to_the_first_pool_that_lacks_it() -> None:
    # Two slices hold the slots, and their steps wait for agents; a third wants a slot and both agents at once.
    # If the agents were kept for it, the slots would never come back.
    slot, agent = ((0, 1),), ((1, 1),)
    allocator = Allocator([2, 2], patience=1)
    for ticket, claims in enumerate([slot, slot, ((0, 1), (1, 2))]):
        allocator.ask(ticket, claims, (ticket,))
    assert grants(allocator) == [0, 1]
    allocator.ask(3, agent, (3,))
    assert grants(allocator) == [3]
    allocator.give_back(slot)  # now its slot is there, and the agents are kept
    allocator.ask(4, agent, (4,))
    allocator.ask(5, slot, (5,))
    assert grants(allocator) == []
    assert (allocator.lacking(2), allocator.lacking(4), allocator.lacking(5)) == ((1,), (1,), (0,))
    allocator.give_back(agent)
    assert grants(allocator) == [2]


def claims_on(rng: random.Random, sizes: list[int], pools: range) -> Claims:
    chosen = sorted(rng.sample(pools, rng.randint(1, len(pools))))
    return tuple((pool, rng.randint(1, sizes[pool])) for pool in chosen)


@given(SEEDS, st.integers(1, 3))
def test_who_holds_a_pool_while_it_waits_for_later_ones_is_never_locked_out(seed: int, patience: int) -> None:
    # Slices hold slots (of pools 0 and 1) while their steps come and go; some ask for slots and pools at once.
    rng = random.Random(seed)
    sizes = rng.choices(range(1, 4), k=4)
    allocator = Allocator(sizes, patience=patience)
    slots = [claims_on(rng, sizes, range(2)) for _ in range(12)]
    steps = [[claims_on(rng, sizes, range(2, 4)) for _ in range(rng.randint(1, 4))] for _ in slots]
    running: dict[int, Claims] = {}
    asked = {number: (*slot, *rng.choice([(), steps[number][0]])) for number, slot in enumerate(slots)}
    for number, claims in asked.items():
        allocator.ask(number, claims, (number,))
    while asked or running:
        running |= {number: asked.pop(number) for number in grants(allocator)}
        number = rng.choice(sorted(running))  # there is always one
        claims = running.pop(number)
        allocator.give_back(tuple(claim for claim in claims if claim[0] >= 2))
        if steps[number]:
            asked[number] = steps[number].pop()
            allocator.ask(number, asked[number], (number,))
        else:
            allocator.give_back(slots[number])
