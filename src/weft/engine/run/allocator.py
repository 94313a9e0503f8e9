"""Who gets room in the pools next: deterministic, by key, fair, and at a cost that does not grow.

A request names all it wants of all pools. It is granted as a whole or not at all, the smallest key first. Requests
with the same claims are interchangeable as far as room goes, so they share a *lane*, of which only the head
matters. A lane with requests is *ready* (to be tried) or *parked* at one pool that lacks room for it. 100,000
requests behind one pool are one parked lane.

**What holds**: for each parked lane that its pool has room for there is a ready lane with a better head that
claims the same pool. So whoever tries the ready lanes in order finds the best of all that fit, and when none is
ready none fits. What would break it, and the rule against it:

- Room appears, or a ready lane goes away or gets a worse head: the pool wakes the best of those it has room for.
  This forbids the *lost wake-up*, where a waiter is woken, cannot go after all, and the room lies idle.
- A pool wakes only whom it has room for, and a lane parks only where room is lacking. So as long as nothing is
  given back each lane parks once, and two lanes cannot wake each other for ever.

**Wide claims.** Narrow claims can keep a pool so busy that a wide one, or one on several pools, never fits. A lane
that was passed over `patience` times, by others or when it was tried in vain, queues for the *reservation*; there
is one at a time, and others then take only what leaves enough for its holder.

Whoever holds something of one pool may wait for another: a slice has its slot while its step waits for an agent.
If room were kept in all pools at once, the reservation could wait for the slot, and the slice for the agent that
is kept from it, for ever. So claims stand in an order that is the same for all, such that whoever holds a pool
waits only for later ones; and room is kept only up to the first pool that lacks it. Nobody who holds that pool
waits for anything that is kept, so its room comes together; then the next pool is kept, too.

A *closed* pool grants nothing, whatever is free. A lane that claims it has no reservation, for nobody knows how
long the others would have to wait.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush

from weft.engine.run.lanes import Claims, Lane, Need, Pool, Queue, Request

PATIENCE = 16


class Allocator:
    """Grants requests for room in pools."""

    __slots__ = (
        "_asked", "_impatient", "_lanes", "_patience", "_pools", "_ready", "_requests", "_reserved", "_spare",
    )  # fmt: skip

    def __init__(self, sizes: Sequence[int] = (), *, patience: int = PATIENCE) -> None:
        self._patience = patience
        self._pools = {number: Pool(number, size) for number, size in enumerate(sizes)}
        self._spare: list[int] = []  # numbers of pools that were dropped
        self._lanes: dict[Claims, Lane] = {}
        self._requests: dict[int, Request] = {}
        self._asked = 0
        self._ready: Queue = []
        self._impatient: dict[Lane, None] = {}  # as a queue; the first one has the reservation
        self._reserved: Lane | None = None

    # Pools

    def add_pool(self, size: int) -> int:
        """The number of a new pool; it may be that of one that was dropped."""
        number = self._spare.pop() if self._spare else len(self._pools)
        self._pools[number] = Pool(number, size)
        return number

    def drop_pool(self, pool: int) -> None:
        """Forgets a pool of which nothing is held and nothing is asked for."""
        gone = self._pools[pool]
        if gone.free != gone.size or any(lane.head for lane in gone.lanes):
            raise ValueError(f"pool {pool} is still in use")
        for lane in gone.lanes:
            del self._lanes[lane.claims]
            for other, _, _ in lane.needs:
                if other is not gone:
                    other.lanes.remove(lane)
        del self._pools[pool]
        self._spare.append(pool)

    def close_pool(self, pool: int) -> None:
        """Grants nothing of it until it is opened; what is held stays held."""
        closed = self._pools[pool]
        closed.closed = True
        for lane in [lane for lane in self._impatient if lane in closed.lanes]:
            self._calm(lane)
            self._wake_behind(lane)

    def open_pool(self, pool: int) -> None:
        self._pools[pool].closed = False
        self._wake(self._pools[pool])

    def size(self, pool: int) -> int:
        return self._pools[pool].size

    def free(self, pool: int) -> int:
        """What nobody holds, even if the pool is closed or room is kept in it."""
        return self._pools[pool].free

    # Requests

    @property
    def waiting(self) -> int:
        """How many requests are neither granted nor withdrawn."""
        return len(self._requests)

    def ask(self, ticket: int, claims: Claims, key: tuple[int, ...]) -> None:
        """The smallest key goes first; of equal ones, the one that was asked first."""
        if ticket in self._requests:
            raise ValueError(f"ticket {ticket} is waiting already")
        lane = self._lanes.get(claims) or self._new_lane(claims)
        self._asked += 1
        request = self._requests[ticket] = (key, self._asked, ticket, lane)
        if lane.add(request) and lane.where is not None:
            self._wake(lane.where)  # it may be better than who was woken for the room

    def withdraw(self, ticket: int) -> None:
        request = self._requests.pop(ticket)
        lane = request[3]
        head = lane.head
        if request is not head:
            lane.bury(request)
            return
        lane.drop_head()
        if lane.head is None:
            self._retire(lane)
        if lane.where is None:
            self._wake_behind(lane)

    def next(self) -> int | None:
        """Grants the best request that fits, and returns its ticket; None if none fits."""
        ready = self._ready
        while ready:
            request = ready[0]
            need = self._first_lacking(request[3])
            if need is None:
                return self._grant(request)
            self._park(request[3], need)
        return None

    def give_back(self, claims: Claims) -> None:
        """What was granted is free again."""
        for number, amount in claims:
            pool = self._pools[number]
            pool.free += amount
            if pool.free > pool.size:
                raise ValueError(f"more is given back to pool {number} than was taken of it")
            if pool.parked:
                self._wake(pool)

    def lacking(self, ticket: int) -> tuple[int, ...]:
        """The pools for which a request waits."""
        lane = self._requests[ticket][3]
        return tuple(need[0].number for need in lane.needs if self._lacks(lane, need))

    def _new_lane(self, claims: Claims) -> Lane:
        if len({pool for pool, _ in claims}) < len(claims):
            raise ValueError(f"a pool is claimed twice: {claims}")
        if not all(0 < amount <= self._pools[pool].size for pool, amount in claims):
            raise ValueError(f"such claims can never be granted: {claims}")
        pools = [(self._pools[pool], amount) for pool, amount in claims]
        needs = tuple((pool, amount, pool.queue(amount)) for pool, amount in pools)
        lane = self._lanes[claims] = Lane(claims, needs, self._ready)
        for pool, _ in pools:
            pool.lanes.add(lane)
        return lane

    # The lane that is on top of the ready ones

    def _first_lacking(self, lane: Lane) -> Need | None:
        for need in lane.needs:
            if self._lacks(lane, need):
                return need
        return None

    def _lacks(self, lane: Lane, need: Need) -> bool:
        """Whether a pool has no room for it; what is kept for another is no room."""
        pool, amount, _ = need
        room = pool.free if lane is self._reserved else pool.free - pool.kept
        return room < amount or pool.closed

    def _grant(self, request: Request) -> int:
        _, _, ticket, lane = request
        del self._requests[ticket]
        for pool, amount, _ in lane.needs:
            pool.free -= amount
        lane.drop_head()
        self._calm(lane)
        self._pass_over_better(request)
        self._wake_behind(lane)
        return ticket

    def _park(self, lane: Lane, need: Need) -> None:
        pool, _, queue = need
        lane.move(queue, pool)
        pool.parked += 1
        if lane is self._reserved:
            _keep(lane, need)
        else:
            self._pass_over(lane)
        self._wake_behind(lane)

    # Who waits

    def _wake_behind(self, lane: Lane) -> None:
        """The lane is no longer ready, or has a worse head: others may go before it."""
        for pool, _, _ in lane.needs:
            if pool.parked:
                self._wake(pool)

    def _wake(self, pool: Pool) -> None:
        """Makes ready the best one parked here that fits, and the holder of the reservation if it fits."""
        if pool.closed:
            return
        best = pool.best_that_fits()
        if best is not None:
            self._make_ready(best[3])
        reserved = self._reserved
        if reserved is not None and reserved.where is pool and pool.kept <= pool.free:
            self._make_ready(reserved)

    def _make_ready(self, lane: Lane) -> None:
        if lane.where is not None:
            lane.where.parked -= 1
            lane.move(self._ready, None)

    def _retire(self, lane: Lane) -> None:
        """Nobody in the lane wants anything any more."""
        if lane.where is not None:
            lane.where.parked -= 1
            lane.where, lane.queue = None, self._ready
        self._calm(lane)

    # Fairness

    def _pass_over_better(self, granted: Request) -> None:
        """Notes who was passed: lanes with a better head that wait for a pool which the granted one draws on."""
        for pool, _, _ in granted[3].needs:
            if pool.parked:
                for queue in pool.queues.values():
                    if queue and queue[0] < granted:
                        self._pass_over(queue[0][3])

    def _pass_over(self, lane: Lane) -> None:
        lane.passed += 1
        if lane.passed < self._patience or lane in self._impatient:
            return
        if not any(pool.closed for pool, _, _ in lane.needs):
            self._impatient[lane] = None
            if self._reserved is None:
                self._reserve_for_first()

    def _reserve_for_first(self) -> None:
        """The first of the impatient has the reservation. What to keep for it shows when it is tried."""
        self._reserved = next(iter(self._impatient), None)
        if self._reserved is not None:
            self._make_ready(self._reserved)

    def _calm(self, lane: Lane) -> None:
        """It is passed over no longer; if it had the reservation, the next one has it."""
        lane.passed = 0
        if lane in self._impatient:
            del self._impatient[lane]
            if lane is self._reserved:
                for pool, _, _ in lane.needs:
                    pool.kept = 0
                self._reserve_for_first()


def _keep(lane: Lane, last: Need) -> None:
    """Keeps room for the lane in its pools up to this one, the first that lacks it."""
    for pool, amount, _ in lane.needs[: lane.needs.index(last) + 1]:
        pool.kept = amount


class Leases:
    """The things in those pools whose things have values of their own, such as ports."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = {pool: tuple(things) for pool, things in values.items()}
        self._free = {pool: list(range(len(things))) for pool, things in values.items()}  # heaps
        self._taken: dict[tuple[str, str], list[int]] = {}  # a value may stand in a pool more than once

    def take(self, pool: str, count: int) -> tuple[str, ...]:
        """The first free ones, in the order of the plan."""
        free, values = self._free[pool], self._values[pool]
        if count > len(free):
            raise ValueError(f"{count} of the pool {pool!r} are wanted and only {len(free)} are free")
        numbers = [heappop(free) for _ in range(count)]
        for number in numbers:
            self._taken.setdefault((pool, values[number]), []).append(number)
        return tuple(values[number] for number in numbers)

    def give_back(self, pool: str, things: Iterable[str]) -> None:
        for thing in things:
            taken = self._taken.get((pool, thing))
            if not taken:
                raise ValueError(f"{thing!r} of the pool {pool!r} was not taken")
            heappush(self._free[pool], taken.pop())
