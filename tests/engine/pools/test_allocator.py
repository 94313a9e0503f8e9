import pytest

from engine.run.asking import NARROW, WIDE, grants
from weft.engine.pools.allocator import Allocator
from weft.engine.pools.lanes import Claims
from weft.engine.pools.leases import Leases

# Order and room


def test_the_smallest_key_is_granted_first_and_ties_go_by_the_order_of_asking() -> None:
    allocator = Allocator([5])
    for ticket, key in enumerate([(2, 0), (1, 9), (1, 9), (1, 3), (0, 7)]):
        allocator.ask(ticket, NARROW, key)
    assert grants(allocator) == [4, 3, 1, 2, 0]


def test_keys_decide_between_different_claims_too() -> None:
    allocator = Allocator([3, 3])
    claims: list[Claims] = [NARROW, ((1, 1),), (), ((0, 1), (1, 1))]
    for ticket, key in enumerate([4, 3, 2, 1]):
        allocator.ask(ticket, claims[ticket], (key,))
    assert grants(allocator) == [3, 2, 1, 0]


def test_a_pool_of_two_lets_two_in_and_the_next_when_one_leaves() -> None:
    allocator = Allocator([2])
    for ticket in range(4):
        allocator.ask(ticket, NARROW, (ticket,))
    assert grants(allocator) == [0, 1]
    assert (allocator.free(0), allocator.size(0), allocator.waiting) == (0, 2, 2)
    allocator.give_back(NARROW)
    assert grants(allocator) == [2]


def test_all_claims_are_granted_at_once_or_none() -> None:
    allocator = Allocator([1, 1])
    allocator.ask(0, NARROW, (0,))
    allocator.ask(1, ((0, 1), (1, 1)), (1,))
    assert grants(allocator) == [0]
    assert allocator.free(1) == 1
    allocator.give_back(NARROW)
    assert grants(allocator) == [1]
    assert (allocator.free(0), allocator.free(1)) == (0, 0)


def test_who_claims_nothing_is_granted_even_if_nothing_is_free() -> None:
    allocator = Allocator([1])
    for ticket, claims in enumerate([NARROW, NARROW, ()]):
        allocator.ask(ticket, claims, (ticket,))
    assert grants(allocator) == [0, 2]


def test_room_that_the_woken_one_cannot_use_goes_to_the_next() -> None:
    # 2 waits for both pools and 3 for the first; 2 is better, but the second pool stays full.
    allocator = Allocator([1, 1])
    for ticket, claims in enumerate([NARROW, ((1, 1),), ((0, 1), (1, 1)), NARROW]):
        allocator.ask(ticket, claims, (ticket,))
    assert grants(allocator) == [0, 1]
    allocator.give_back(NARROW)
    assert grants(allocator) == [3]


def test_a_newcomer_with_a_better_key_stands_before_those_who_wait() -> None:
    allocator = Allocator([1])
    for ticket, key in enumerate([0, 5, 3]):
        allocator.ask(ticket, NARROW, (key,))
    assert grants(allocator) == [0]
    allocator.ask(3, NARROW, (1,))
    allocator.give_back(NARROW)
    assert grants(allocator) == [3]


def test_it_is_told_for_which_pools_a_request_waits() -> None:
    allocator = Allocator([1, 2, 1])
    allocator.ask(0, ((0, 1), (1, 1)), (0,))
    allocator.ask(1, ((0, 1), (1, 2), (2, 1)), (1,))
    grants(allocator)
    assert allocator.lacking(1) == (0, 1)


# Requests and pools that come and go


def test_what_is_withdrawn_is_not_granted_and_its_ticket_may_ask_anew() -> None:
    allocator = Allocator([1])
    for ticket in range(5):
        allocator.ask(ticket, NARROW, (ticket,))
    assert grants(allocator) == [0]
    allocator.withdraw(1)  # the head of those who wait
    allocator.withdraw(3)  # one behind it
    allocator.ask(3, NARROW, (9,))
    order: list[int] = []
    for _ in range(3):
        allocator.give_back(NARROW)
        order += grants(allocator)
    assert order == [2, 4, 3]
    assert allocator.waiting == 0


@pytest.mark.parametrize("granted", [0, 50])
def test_what_was_withdrawn_takes_no_room_in_memory_for_long(granted: int) -> None:
    allocator = Allocator([100])
    for ticket in range(100):
        allocator.ask(ticket, NARROW, (ticket,))
    for ticket in range(1, 50):
        allocator.withdraw(ticket)
    for _ in range(granted):
        allocator.next()
    for ticket in range(50 + granted, 100):
        allocator.withdraw(ticket)
    (lane,) = allocator._lanes.values()
    assert (len(lane._rest), len(lane._dead)) == (0, 0)


def test_a_newcomer_is_better_than_who_was_woken_for_the_room() -> None:
    both = ((0, 1), (1, 1))
    allocator = Allocator([1, 1])
    for ticket, claims in enumerate([NARROW, NARROW, both]):
        allocator.ask(ticket, claims, (ticket,))
    assert grants(allocator) == [0]
    allocator.give_back(NARROW)
    allocator.ask(3, both, (0,))
    assert grants(allocator) == [3]


def test_who_stands_behind_a_request_that_is_withdrawn_when_ready_is_not_forgotten() -> None:
    allocator = Allocator([2])
    for ticket, claims in enumerate([WIDE, NARROW, WIDE]):
        allocator.ask(ticket, claims, (ticket,))
    assert grants(allocator) == [0]
    allocator.give_back(WIDE)  # wakes 1, which then goes away
    allocator.withdraw(1)
    assert grants(allocator) == [2]


def test_a_request_whose_gate_is_shut_waits_aside_until_the_gates_are_asked_again() -> None:
    shut = {1}
    allocator = Allocator([2, 1], opens=lambda ticket: ticket not in shut)
    for ticket, gate in enumerate([None, "gate", None, "gate"]):
        allocator.ask(ticket, NARROW, (ticket,), gate)
    assert grants(allocator) == [0, 2]
    allocator.give_back(NARROW)
    assert grants(allocator) == []  # 3 stands behind 1, at the same gate
    shut.clear()
    assert grants(allocator) == []
    assert allocator.reopen()
    assert grants(allocator) == [1]
    assert not allocator.reopen()


def test_who_stands_before_a_shut_gate_keeps_nobody_waiting() -> None:
    shut = {1}
    allocator = Allocator([2], patience=1, opens=lambda ticket: ticket not in shut)
    allocator.ask(0, NARROW, (0,))
    allocator.ask(1, WIDE, (1,), "gate")
    assert grants(allocator) == [0]
    allocator.ask(2, NARROW, (2,))
    assert grants(allocator) == []  # room is kept for 1, as it is not known yet that its gate is shut
    allocator.give_back(NARROW)
    assert grants(allocator) == [2]


def test_what_waits_at_a_gate_can_be_withdrawn() -> None:
    allocator = Allocator([1], opens=lambda _ticket: False)
    allocator.ask(0, NARROW, (0,), "gate")
    assert grants(allocator) == []
    allocator.withdraw(0)
    assert not allocator.reopen()
    allocator.ask(1, NARROW, (1,))
    assert grants(allocator) == [1]


def test_room_for_a_newcomer_is_what_is_neither_held_nor_kept() -> None:
    allocator = Allocator([3, 1], patience=1)
    allocator.ask(0, WIDE, (0,))
    assert grants(allocator) == [0]
    assert allocator.has_room(((0, 1), (1, 1)))
    assert not allocator.has_room(WIDE)
    allocator.ask(1, WIDE, (1,))
    assert grants(allocator) == []
    assert not allocator.has_room(NARROW)
    assert (allocator.grants_of(0), allocator.grants_of(1)) == (1, 0)


def test_pools_come_and_go_and_their_numbers_are_used_again() -> None:
    allocator = Allocator([4])
    first, second = allocator.add_pool(1), allocator.add_pool(2)
    allocator.ask(0, ((0, 1), (first, 1)), (0,))
    assert (first, second, grants(allocator)) == (1, 2, [0])
    allocator.give_back(((0, 1), (first, 1)))
    allocator.drop_pool(first)
    assert allocator.add_pool(3) == first
    allocator.ask(1, ((0, 1), (first, 1)), (0,))
    allocator.ask(2, ((0, 1), (first, 3)), (1,))
    assert (grants(allocator), allocator.free(first), allocator.lacking(2)) == ([1], 2, (first,))


def test_pools_that_came_and_went_leave_nothing_behind() -> None:
    allocator = Allocator([4])
    for _ in range(10):
        pool = allocator.add_pool(1)
        assert pool == 1
        allocator.ask(0, ((0, 1), (pool, 1)), (0,))
        grants(allocator)
        allocator.give_back(((0, 1), (pool, 1)))
        allocator.drop_pool(pool)
    assert (allocator._lanes, allocator._pools[0].lanes) == ({}, set())


# Mistakes of the caller


def test_a_pool_in_use_is_not_dropped() -> None:
    allocator = Allocator([1, 1])
    allocator.ask(0, NARROW, (0,))
    allocator.ask(1, ((0, 1), (1, 1)), (1,))
    grants(allocator)
    with pytest.raises(ValueError, match="pool 0 is still in use"):
        allocator.drop_pool(0)
    with pytest.raises(ValueError, match="pool 1 is still in use"):
        allocator.drop_pool(1)  # nothing of it is held, but it is asked for


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        (((0, 3),), "can never be granted"),
        (((0, 0),), "can never be granted"),
        (((0, 1), (0, 1)), "claimed twice"),
    ],
)
def test_claims_that_make_no_sense_are_refused(claims: Claims, message: str) -> None:
    allocator = Allocator([2])
    with pytest.raises(ValueError, match=message):
        allocator.ask(0, claims, (0,))
    assert allocator.waiting == 0


def test_a_ticket_waits_once_only() -> None:
    allocator = Allocator([2])
    allocator.ask(0, NARROW, (0,))
    with pytest.raises(ValueError, match="ticket 0 is waiting already"):
        allocator.ask(0, WIDE, (1,))


def test_no_more_is_given_back_than_was_taken() -> None:
    allocator = Allocator([2])
    allocator.ask(0, NARROW, (0,))
    grants(allocator)
    with pytest.raises(ValueError, match="more is returned to pool 0"):
        allocator.give_back(WIDE)


# Things with values of their own


def test_the_first_free_things_are_leased_in_the_order_of_the_plan() -> None:
    leases = Leases({"port": ["8002", "8001", "8003"], "gpu": ["a"]})
    assert leases.take("port", 2) == ("8002", "8001")
    assert leases.take("port", 1) == ("8003",)
    assert leases.take("gpu", 1) == ("a",)
    leases.give_back("port", ["8001", "8002"])
    assert leases.take("port", 1) == ("8002",)
    assert leases.take("port", 1) == ("8001",)


def test_a_value_may_stand_in_a_pool_more_than_once() -> None:
    leases = Leases({"gpu": ["0", "1", "0"]})
    assert leases.take("gpu", 3) == ("0", "1", "0")
    leases.give_back("gpu", ["0", "0", "1"])
    assert leases.take("gpu", 3) == ("0", "1", "0")


def test_no_more_is_leased_than_there_is() -> None:
    leases = Leases({"port": ["8001"]})
    with pytest.raises(ValueError, match="pool 'port' has 1 free values, but 2 are requested"):
        leases.take("port", 2)
    assert leases.take("port", 1) == ("8001",)


def test_only_what_was_leased_is_given_back() -> None:
    leases = Leases({"port": ["8001", "8002"]})
    leases.take("port", 1)
    with pytest.raises(ValueError, match="'8002' of the pool 'port' was not taken"):
        leases.give_back("port", ["8002"])
    leases.give_back("port", ["8001"])
    with pytest.raises(ValueError, match="was not taken"):
        leases.give_back("port", ["8001"])
