"""The allocator beside one that looks at everything each time; and how much less it looks at."""

import random
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from engine.run.asking import NARROW, NEVER, SEEDS, grants
from weft.engine.pools.allocator import Allocator
from weft.engine.pools.lanes import Claims


@dataclass
class Naive:
    """The same, by looking at everything each time; room is never kept."""

    free: dict[int, int]
    shut: set[str] = field(default_factory=set)
    asked: dict[int, tuple[tuple[int, ...], int, Claims]] = field(default_factory=dict)
    gates: dict[int, str | None] = field(default_factory=dict)
    count: int = 0

    def ask(self, ticket: int, claims: Claims, key: tuple[int, ...], gate: str | None) -> None:
        self.count += 1
        self.asked[ticket] = (key, self.count, claims)
        self.gates[ticket] = gate

    def opens(self, ticket: int) -> bool:
        return self.gates[ticket] not in self.shut

    def fits(self, ticket: int) -> bool:
        claims = self.asked[ticket][2]
        return self.opens(ticket) and all(self.free[pool] >= amount for pool, amount in claims)

    def best(self) -> int | None:
        return min(filter(self.fits, self.asked), key=lambda ticket: self.asked[ticket], default=None)

    def grant(self, ticket: int) -> Claims:
        _, _, claims = self.asked.pop(ticket)
        for pool, amount in claims:
            self.free[pool] -= amount
        return claims

    def give_back(self, claims: Claims) -> None:
        for pool, amount in claims:
            self.free[pool] += amount


class Scene:
    """A random life of an allocator, beside that of the naive one."""

    def __init__(self, rng: random.Random, *, patience: int) -> None:
        self.rng = rng
        self.sizes = dict(enumerate(rng.choices(range(1, 5), k=rng.randint(1, 4))))
        self.naive = Naive(dict(self.sizes))
        sizes = list(self.sizes.values())
        self.allocator = Allocator(sizes, patience=patience, opens=self.naive.opens)
        self.held: list[Claims] = []
        self.tickets = 0
        self.stalls = 0

    def some_claims(self) -> Claims:
        """Often those of another that waits."""
        rng = self.rng
        if self.naive.asked and rng.random() < 0.7:
            return self.naive.asked[rng.choice(sorted(self.naive.asked))][2]
        pools = sorted(rng.sample(sorted(self.sizes), rng.randint(0, min(3, len(self.sizes)))))
        return tuple((pool, rng.randint(1, min(3, self.sizes[pool]))) for pool in pools)

    def ask(self) -> None:
        claims = self.some_claims()
        key = (self.rng.randint(0, 3), self.rng.randint(0, 3))
        gate = self.rng.choice([None, None, "left", "right"])
        self.allocator.ask(self.tickets, claims, key, gate)
        self.naive.ask(self.tickets, claims, key, gate)
        self.tickets += 1

    def withdraw(self) -> None:
        if self.naive.asked:
            ticket = self.rng.choice(sorted(self.naive.asked))
            self.allocator.withdraw(ticket)
            del self.naive.asked[ticket]

    def give_back(self) -> None:
        if self.held:
            claims = self.held.pop(self.rng.randrange(len(self.held)))
            self.allocator.give_back(claims)
            self.naive.give_back(claims)

    def turn_a_gate(self) -> None:
        self.naive.shut ^= {self.rng.choice(["left", "right"])}
        self.allocator.reopen()

    def change_pools(self) -> None:
        size = self.rng.randint(1, 4)
        pool = self.allocator.add_pool(size)
        assert pool not in self.sizes
        self.sizes[pool] = self.naive.free[pool] = size
        used = {pool for _, _, claims in self.naive.asked.values() for pool, _ in claims}
        used |= {pool for claims in self.held for pool, _ in claims}
        idle = sorted(set(self.sizes) - used)
        if len(idle) > 1:
            gone = self.rng.choice(idle)
            self.allocator.drop_pool(gone)
            del self.sizes[gone], self.naive.free[gone]

    def act(self) -> None:
        acts = [self.ask, self.withdraw, self.give_back, self.turn_a_gate, self.change_pools]
        (act,) = self.rng.choices(acts, [10, 2, 7, 1, 1])
        act()
        assert self.allocator.waiting == len(self.naive.asked)

    def grant(self) -> int | None:
        """One grant, which must have fitted."""
        ticket = self.allocator.next()
        if ticket is not None:
            assert self.naive.fits(ticket)
            self.held.append(self.naive.grant(ticket))
        assert {pool: self.allocator.free(pool) for pool in self.sizes} == self.naive.free
        return ticket

    def grant_the_same(self) -> None:
        best = self.naive.best()
        assert self.grant() == best
        self.stalls += best is None and bool(self.naive.asked)

    def open_all(self) -> None:
        self.naive.shut.clear()
        self.allocator.reopen()


@given(SEEDS)
def test_without_reservations_the_best_that_fits_is_granted_whatever_happened_before(seed: int) -> None:
    scene = Scene(random.Random(seed), patience=NEVER)
    for _ in range(120):
        scene.act()
        for _ in range(scene.rng.choice([0, 1, 1, 9])):
            scene.grant_the_same()
    assert scene.stalls  # the property is about these


@given(SEEDS, st.integers(1, 3))
def test_with_reservations_who_waits_lacks_room_and_all_are_granted_in_the_end(
    seed: int, patience: int
) -> None:
    scene = Scene(random.Random(seed), patience=patience)
    for _ in range(60):
        scene.act()
        while scene.grant() is not None:
            pass
        waiting = [ticket for ticket in scene.naive.asked if scene.naive.opens(ticket)]
        assert all(scene.allocator.lacking(ticket) for ticket in waiting)
    scene.open_all()
    while scene.naive.asked:
        while scene.grant() is not None:
            pass
        assert scene.held or not scene.naive.asked  # else everybody would wait for ever
        scene.give_back()


# Cost


class Counted(int):
    """A number that counts how often such numbers are compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return int(self) == other

    def __lt__(self, other: int) -> bool:
        return int(self) < int(other)

    __hash__ = int.__hash__


def comparisons(allocator: Allocator, lanes: list[Claims], requests: int) -> float:
    """How many there are on the average from one grant to the next, with so many requests in these lanes."""
    rng = random.Random(1)

    def ask(ticket: int) -> None:
        allocator.ask(ticket, lanes[ticket % len(lanes)], (Counted(rng.randrange(10**6)),))

    for ticket in range(requests):
        ask(ticket)
    held = grants(allocator)
    Counted.compared = 0
    for ticket in range(requests, requests + 500):
        ask(ticket)
        allocator.give_back(lanes[held.pop(rng.randrange(len(held))) % len(lanes)])
        held += grants(allocator)
    return Counted.compared / 500


def test_what_a_grant_costs_grows_with_the_logarithm_of_those_who_wait() -> None:
    assert comparisons(Allocator([4]), [NARROW], 20_000) < 100


def test_what_a_grant_costs_hardly_depends_on_how_many_limits_there_are() -> None:
    allocator = Allocator([8])
    lanes: list[Claims] = [((0, 1), (allocator.add_pool(1), 1)) for _ in range(1000)]
    assert comparisons(allocator, lanes, 5_000) < 150
