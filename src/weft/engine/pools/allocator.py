"""The choice of the request that gets room in the pools next: deterministic, by key, fair and fast.

A request claims amounts of several pools. It is granted as a whole or not at all, the smallest key first. Requests
with the same claims need the same room, so they share a *lane*, and only the head of a lane matters. A lane with
requests is *ready* (to be tried) or *parked* at one pool that lacks room for it. 100,000 requests behind one pool
are one parked lane.

**Invariant**: for each parked lane that its pool has room for, there is a ready lane with a better head that
claims the same pool. So trying the ready lanes in order finds the best request that fits, and if none is ready,
none fits. These rules preserve the invariant:

- Room appears, or a ready lane goes away or gets a worse head: the pool wakes the best of those it has room for.
  This prevents the *lost wake-up*, where a waiter is woken, cannot proceed after all, and the room stays unused.
- A pool wakes only lanes it has room for, and a lane parks only where room is lacking. So as long as nothing is
  returned, each lane parks once, and two lanes cannot wake each other for ever.

**The bypass bound.** Narrow claims can keep a pool so busy that a wide one, or one on several pools, never fits;
claims with better keys can take all the room that ever appears. A grant that draws on the pool where a lane is
parked passes that lane over, whatever their keys; so does a try in vain. A lane that was passed over `patience`
times becomes *impatient*: others may take only what leaves enough for it. Where more than four lanes wait at one
pool the bound grows with their number, or their order would be that of their age and the keys would mean nothing.

Several lanes may be impatient at once. They stand in the order in which they became so, and each one yields only
to those before it; so the first is held up by running work alone.

A request may wait for one pool while its slice holds something of another: a slice has its slot while one of its
branches works and the next waits for an agent. If room were kept in all pools at once, the impatient lane could
wait for the slot, and the slice for the agent that is kept from it, for ever. So claims stand in an order that is
the same for all, such that the holder of a pool waits only for later ones; and room is kept only up to the first
pool that lacks it. Take the last pool at which an impatient lane is parked, and the first such lane there: nothing
is kept in later pools, so what its pool lent comes back, and nothing before it takes the room. Then it is granted,
or parked at a later pool.

In an *ordered* pool only the keys count, as for the turn of a serial group: there no lane is passed over.

**Gates.** A request may have a gate, which is checked before it is granted even if there is room. While the gate
is shut, its lane waits aside and blocks no other lane; `reopen` checks all gates again.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heappop, heappush

from weft.engine.pools.lanes import Claims, Lane, Need, PoolState, Queue, Request

PATIENCE = 16
FEW_LANES = 4
"""Up to so many lanes at a pool, patience is what it is; beyond that it grows with their number."""

_GATE = -1


class Allocator:
    """Grants requests for room in pools."""

    __slots__ = (
        "_asked", "_gate", "_impatient", "_lanes", "_noted", "_patience", "_pools", "_pressing",
        "_ready", "_requests", "_spare", "_turns", "opens",
    )  # fmt: skip

    def __init__(
        self,
        sizes: Sequence[int] = (),
        *,
        ordered: Iterable[int] = (),
        patience: int = PATIENCE,
        opens: Callable[[int], bool] = lambda _ticket: True,
    ) -> None:
        """`ordered`: pools in which the keys alone decide. `opens`: whether the gate of a ticket is open now."""
        self._patience = patience
        self.opens = opens
        self._pools = {number: PoolState(number, size) for number, size in enumerate(sizes)}
        for number in ordered:
            self._pools[number].ordered = True
        self._gate = PoolState(_GATE, 0)  # where lanes stand whose gate is shut
        self._spare: list[int] = []  # numbers of pools that were dropped
        self._lanes: dict[tuple[Claims, Hashable], Lane] = {}
        self._requests: dict[int, Request] = {}
        self._asked = 0
        self._ready: Queue = []
        self._impatient: dict[Lane, None] = {}  # in the order in which they became so
        self._pressing: list[tuple[int, Lane]] = []  # a heap, by turn: impatient lanes to be tried
        self._turns = 0
        self._noted = 0

    # Pools

    def add_pool(self, size: int, *, ordered: bool = False) -> int:
        """Adds a pool and returns its number, which may be that of a dropped pool."""
        number = self._spare.pop() if self._spare else len(self._pools)
        self._pools[number] = pool = PoolState(number, size)
        pool.ordered = ordered
        return number

    def drop_pool(self, pool: int) -> None:
        """Removes a pool that no firing holds and no request claims."""
        gone = self._pools[pool]
        if gone.free != gone.size or any(lane.head for lane in gone.lanes):
            raise ValueError(f"pool {pool} is still in use")
        for lane in gone.lanes:
            del self._lanes[lane.claims, lane.gate]
            for pool_of_lane, _, _ in lane.needs:
                if pool_of_lane is not gone:
                    pool_of_lane.lanes.remove(lane)
        del self._pools[pool]
        self._spare.append(pool)

    def size(self, pool: int) -> int:
        return self._pools[pool].size

    def free(self, pool: int) -> int:
        """Returns the amount that no firing holds, including room kept for impatient lanes."""
        return self._pools[pool].free

    def pool(self, number: int) -> PoolState:
        """Returns the state of a pool, for reading."""
        return self._pools[number]

    def grants_of(self, pool: int) -> int:
        """Returns the number of granted requests that claimed the pool."""
        return self._pools[pool].granted

    def has_room(self, claims: Claims) -> bool:
        """Returns whether a new request with these claims would be granted now."""
        for number, amount in claims:
            pool = self._pools[number]
            if pool.free - pool.kept_in_all < amount:
                return False
        return True

    # Requests

    @property
    def waiting(self) -> int:
        """The number of requests that are neither granted nor withdrawn."""
        return len(self._requests)

    def ask(self, ticket: int, claims: Claims, key: tuple[int, ...], gate: Hashable = None) -> None:
        """Adds a request. The smallest key is served first; equal keys are served in order of arrival.

        Requests with equal claims and gates share a lane; the gate is asked only for the head of the lane.
        """
        if ticket in self._requests:
            raise ValueError(f"ticket {ticket} is waiting already")
        lane = self._lanes.get((claims, gate)) or self._new_lane(claims, gate)
        self._asked += 1
        request = self._requests[ticket] = (key, self._asked, ticket, lane)
        if lane.add(request) and lane.where is not None:
            self._wake(lane.where)  # it may be better than the lane that was woken for the room

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
        # The lane may have been woken for room that it no longer needs; the lanes parked behind it can use it.
        if lane.where is None:
            self._wake_behind(lane)

    def next(self) -> int | None:
        """Grants the best request that fits and returns its ticket; None if none fits.

        Impatient lanes come first.
        """
        ready, pressing = self._ready, self._pressing
        while ready:
            lane = (self._first_pressing() if pressing else None) or ready[0][3]
            assert lane.head is not None
            need = self._first_lacking(lane)
            if need is not None:
                self._park(lane, need)
            elif lane.gate is not None and not self.opens(lane.head[2]):
                self._shut_out(lane)
            else:
                return self._grant(lane.head)
        return None

    def _first_pressing(self) -> Lane | None:
        """Returns the first impatient lane that is ready."""
        pressing = self._pressing
        while pressing:
            turn, lane = pressing[0]
            # Entries are not removed when a lane parks or becomes patient, so outdated ones are dropped here.
            if lane.turn == turn and lane.where is None and lane.head is not None:
                return lane
            heappop(pressing)
        return None

    def give_back(self, claims: Claims) -> None:
        """Returns granted room to the pools."""
        for number, amount in claims:
            pool = self._pools[number]
            pool.free += amount
            if pool.free > pool.size:
                raise ValueError(f"more is returned to pool {number} than was taken from it")
            if pool.parked:
                self._wake(pool)

    def hurry(self, ticket: int) -> None:
        """Makes the lane of a request impatient at once."""
        lane = self._requests[ticket][3]
        if lane.turn is None:
            self._becomes_impatient(lane)

    def reopen(self) -> bool:
        """Asks every shut gate again; returns whether any lane is to be tried.

        A lane that now lacks room is tried, too: it then waits for that room instead.
        """
        if not self._gate.parked:
            return False
        shut = [request for queue in self._gate.queues.values() for request in queue]
        is_any = False
        for _, _, ticket, lane in shut:
            if self._first_lacking(lane) is not None or self.opens(ticket):
                self._make_ready(lane)
                is_any = True
        return is_any

    def lacking(self, ticket: int) -> tuple[int, ...]:
        """Returns the pools for which a request waits."""
        lane = self._requests[ticket][3]
        return tuple(need[0].number for need in lane.needs if self._lacks(lane, need))

    def _new_lane(self, claims: Claims, gate: Hashable) -> Lane:
        if len({pool for pool, _ in claims}) < len(claims):
            raise ValueError(f"a pool is claimed twice: {claims}")
        if not all(0 < amount <= self._pools[pool].size for pool, amount in claims):
            raise ValueError(f"such claims can never be granted: {claims}")
        pools = [(self._pools[pool], amount) for pool, amount in claims]
        needs = tuple((pool, amount, pool.queue(amount)) for pool, amount in pools)
        lane = self._lanes[claims, gate] = Lane(claims, needs, self._ready, gate)
        for pool, _ in pools:
            pool.lanes.add(lane)
        return lane

    # The lane that is tried

    def _first_lacking(self, lane: Lane) -> Need | None:
        for need in lane.needs:
            pool = need[0]
            if (pool.room_for(lane) if pool.kept else pool.free) < need[1]:
                return need
        return None

    def _lacks(self, lane: Lane, need: Need) -> bool:
        """Returns whether a pool lacks room for the lane. Room kept for another lane does not count."""
        pool, amount, _ = need
        return pool.room_for(lane) < amount

    def _grant(self, request: Request) -> int:
        _, _, ticket, lane = request
        del self._requests[ticket]
        for pool, amount, _ in lane.needs:
            pool.free -= amount
            pool.granted += 1
        lane.drop_head()
        self._calm(lane)
        for pool, _, _ in lane.needs:
            if pool.parked:
                self._pass_over(pool)
        self._wake_behind(lane)
        return ticket

    def _park(self, lane: Lane, need: Need) -> None:
        pool, _, queue = need
        lane.move(queue, pool)
        pool.parked += 1
        lane.since = pool.granted
        if lane.turn is not None:
            _keep(lane, need)
        elif not pool.ordered:
            lane.passed += 1
            self._look_at(lane, pool)
        self._wake_behind(lane)

    def _shut_out(self, lane: Lane) -> None:
        """Parks a lane at its gate and releases the room kept for it, which would lie idle."""
        self._calm(lane)
        lane.move(self._gate.queue(0), self._gate)
        self._gate.parked += 1
        lane.since = 0
        self._wake_behind(lane)

    # Waiting lanes

    def _wake_behind(self, lane: Lane) -> None:
        """Wakes lanes at the pools of a lane that is no longer ready or has a worse head."""
        for pool, _, _ in lane.needs:
            if pool.parked:
                self._wake(pool)

    def _wake(self, pool: PoolState) -> None:
        """Makes ready the best parked lane that fits, and each impatient lane that fits."""
        if pool is self._gate:
            return
        best = pool.best_that_fits()
        if best is not None:
            self._make_ready(best[3])
        for lane, amount in list(pool.kept.items()) if pool.kept else ():
            if lane.where is pool and pool.room_for(lane) >= amount:
                self._make_ready(lane)

    def _make_ready(self, lane: Lane) -> None:
        where = lane.where
        if where is None:
            return
        self._leave(lane, where)
        lane.move(self._ready, None)
        if lane.turn is not None:
            heappush(self._pressing, (lane.turn, lane))

    def _leave(self, lane: Lane, pool: PoolState) -> None:
        pool.parked -= 1
        if not pool.ordered:
            lane.passed += pool.granted - lane.since

    def _retire(self, lane: Lane) -> None:
        """Takes an empty lane out of its queue."""
        if lane.where is not None:
            self._leave(lane, lane.where)
            lane.where, lane.queue = None, self._ready
        self._calm(lane)

    # The bypass bound

    def _note(self, lane: Lane, pool: PoolState, due: int) -> None:
        """Schedules a check of a parked lane after a certain number of grants of the pool."""
        self._noted += 1
        lane.due = self._noted
        heappush(pool.due, (due, self._noted, lane))

    def _pass_over(self, pool: PoolState) -> None:
        """Checks the parked lanes that are due after a grant of the pool."""
        due = pool.due
        while due and due[0][0] <= pool.granted:
            _, number, lane = heappop(due)
            if lane.where is pool and lane.due == number and lane.turn is None:
                self._look_at(lane, pool)

    def _look_at(self, lane: Lane, pool: PoolState) -> None:
        """Makes a parked lane impatient if it was passed over too often; otherwise schedules the next check."""
        most = self._patience * max(FEW_LANES, pool.parked) // FEW_LANES
        missing = most - lane.passed - (pool.granted - lane.since)
        if missing > 0:
            self._note(lane, pool, pool.granted + missing)
        else:
            self._becomes_impatient(lane)

    def _becomes_impatient(self, lane: Lane) -> None:
        """Keeps room for a lane from now on."""
        self._turns += 1
        lane.turn = self._turns
        self._impatient[lane] = None
        need = self._first_lacking(lane)
        if lane.needs:
            _keep(lane, need or lane.needs[-1])
        if lane.where is None:
            heappush(self._pressing, (lane.turn, lane))
        elif lane.where is not self._gate and (need is None or need[0] is not lane.where):
            self._make_ready(lane)

    def _calm(self, lane: Lane) -> None:
        """Resets the count of a lane and releases the room kept for it."""
        lane.passed = 0
        if lane.turn is not None:
            del self._impatient[lane]
            lane.turn = None
            for pool, _, _ in lane.needs:
                if pool.unkeep(lane) and pool.parked:
                    self._wake(pool)


def _keep(lane: Lane, last: Need) -> None:
    """Keeps room for the lane in its pools up to `last`, the first that lacks room, and in no later one.

    The caller wakes the lanes that can use room which is no longer kept.
    """
    keeps = True
    for need in lane.needs:
        pool, amount, _ = need
        if keeps:
            pool.keep(lane, amount)
        else:
            pool.unkeep(lane)
        keeps = keeps and need is not last
