"""Chooses the transition that starts next: deterministic, by priority, fair, at a cost that does not grow.

**Order.** Highest priority first, then the order of declaration. An entry also carries the *generation* in
which it was offered, and an older generation goes before a younger one; a generation lasts for as many
firings as the net has transitions. In a net without cycles, where a transition fires once, everything
belongs to one generation and priority alone decides. In a net with cycles, no transition that stays enabled
is passed over for ever: it waits at most until all entries of its own and older generations have started.

**Pools.** Transitions that claim the same amounts from the same pools are interchangeable with respect to
room, so they share a *lane*: a heap in which only the head matters. A lane is *ready* (to be tried), *parked*
at one pool that has too little for it, or *idle*. 100,000 steps behind `max_parallel` are one parked lane.

Two mistakes are easy to make with parked waiters, and the rules here exclude them:

- *Lost wake-up*: a waiter is woken, cannot start after all (stale, outbid, or another pool is empty), and
  the room it was woken for goes unused. Rule: whenever a lane leaves the ready queue, for whatever reason,
  each pool it claims wakes its next waiter that fits. So when `next` returns None, every lane with work
  lacks room in some pool.
- *Ping-pong*: two lanes wake each other for ever. Rule: a pool wakes only lanes that it has room for, and a
  lane parks only at a pool that lacks room for it. As long as no token moves, each lane therefore parks at
  most once, and the loop ends.

**Wide claims.** Narrow claims, and those with better keys, can keep a pool so busy that a wide claim, or one on
several pools, never fits. A lane that was passed over `patience` times gets a *reservation* (the hold-back of
the glossary): from then on others start only if they leave enough for it. There is one reservation at a time, in
the order in which lanes became impatient. Running work never waits for a pool, so enough room is certain to
become free for the reserved lane.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush, heapreplace
from itertools import pairwise

from weft.net.game import Firing, TokenGame
from weft.net.model import Arcs, Net

PATIENCE = 16

_IDLE = -2
_READY = -1

_Queue = list[tuple[int, int]]
"""A heap of (key, lane number). Outdated entries are dropped when they reach the top."""


class _Lane:
    """Offered transitions that claim the same amounts from the same pools, best first."""

    __slots__ = ("claims", "hand", "heap", "key", "number", "passed", "satisfiable", "tried", "where")

    def __init__(self, number: int, claims: Arcs, pool_sizes: Sequence[int]) -> None:
        self.number = number
        self.claims = claims
        self.satisfiable = all(weight <= pool_sizes[pool] for pool, weight in claims)
        self.heap: list[int] = []
        # A key better than all in the heap, kept outside it: most steps start right after they are offered.
        self.hand = -1
        self.where = _IDLE  # or _READY, or the pool it is parked at
        self.key = 0  # of its head: the hand, or else the first of the heap; the lane is queued under it
        self.passed = 0  # how often others started first since it last started a transition
        self.tried = 0  # when it was last tried without success while no other lane waited

    def claim_on(self, pool: int) -> int:
        return next((weight for place, weight in self.claims if place == pool), 0)


class Agenda:
    """Chooses among the enabled transitions of a game. It makes all moves itself, to keep its records current."""

    __slots__ = (
        "_by_rank",
        "_firings_left",
        "_game",
        "_generation",
        "_impatient",
        "_lane_of",
        "_lanes",
        "_missing",
        "_parked",
        "_patience",
        "_queued",
        "_ranks",
        "_ready",
        "_reserved",
        "_size",
        "_tokens",
        "_waiting",
    )  # fmt: skip

    def __init__(self, game: TokenGame, *, manual: Iterable[int] = (), patience: int = PATIENCE) -> None:
        """Transitions in `manual` are never chosen: they start only when the caller calls `fire`."""
        self._game = game
        self._missing, self._tokens = game.missing, game.tokens  # the game's own lists, for faster access
        self._patience = patience
        self._size = len(game.missing) or 1
        self._ranks, self._by_rank = _ranking(game.net.priorities)
        self._generation = 0  # a multiple of size, added to the rank to make a key
        self._firings_left = self._size  # firings until the next generation
        self._queued = bytearray(self._size)  # 1: has an entry in its lane's heap
        for number in manual:
            self._queued[number] = 1
        self._lanes, self._lane_of = _build_lanes(game.claims, game.net)
        self._waiting = _build_queues(self._lanes)
        self._parked = 0  # lanes parked at any pool: where it is 0, pools cost next to nothing
        self._ready: _Queue = []
        self._reserved: _Lane | None = None
        self._impatient: deque[_Lane] = deque()  # lanes that wait for the reservation
        self.offer(game.offered())

    def offer(self, transitions: Iterable[int]) -> None:
        """Adds transitions that have all their control tokens now."""
        queued, ranks = self._queued, self._ranks
        for number in transitions:
            if queued[number]:
                continue
            queued[number] = 1
            key = self._generation + (number if ranks is None else ranks[number])
            lane = self._lanes[self._lane_of[number]]
            # Most entries go behind a better one of their lane and touch nothing else.
            if lane.where != _IDLE and lane.key < key:
                heappush(lane.heap, key)
            else:
                if lane.hand >= 0:
                    heappush(lane.heap, lane.hand)
                lane.hand = key
                self._move_up(lane, key)

    def _move_up(self, lane: _Lane, key: int) -> None:
        """Updates a lane with a better head. It stays in the same queue; its old entry there is outdated."""
        lane.key = key
        ready, where = self._ready, lane.where
        if where == _READY and ready[0][1] == lane.number:
            ready[0] = (key, lane.number)  # to decrease the top of a heap keeps its order
        elif where < 0:
            lane.where = _READY
            heappush(ready, (key, lane.number))
        else:
            heappush(self._waiting[where][lane.claim_on(where)], (key, lane.number))
            self._wake(where)  # there may be room, and this lane may be better than the one woken for it

    def next(self) -> Firing | None:
        """Starts the best enabled transition; None if there is none, or if room is reserved for another lane."""
        ready, lanes = self._ready, self._lanes
        while ready:
            key, number = ready[0]
            lane = lanes[number]
            if lane.where != _READY or lane.key != key:
                heappop(ready)
                continue
            # Check for room before the head, which may be outdated: it is cheaper, and often decides.
            lacking = self._lacking(lane) if lane.claims else None
            if lacking is None:
                rank = key % self._size
                transition = rank if self._by_rank is None else self._by_rank[rank]
                if not self._missing[transition]:
                    return self._begin(lane, transition)
                self._drop_head(lane, transition)
            elif len(ready) == 1 and not self._parked:
                self._note_failed_try(lane)
                return None  # no other lane waits behind it, so it need not be parked
            else:
                self._park(lane, *lacking)
        return self.next() if self._drop_useless_reservation() else None

    def finish(self, firing: Firing, outcome: int | str) -> list[int]:
        """Ends a firing; returns the transitions that it offers, including those in `manual`."""
        game = self._game
        offered = game.finish(firing, outcome)
        if offered:
            self.offer(offered)
        if self._parked:
            waiting = self._waiting
            for place, _ in game.outputs_of(firing, outcome):
                if place in waiting:
                    self._wake(place)
        return offered

    def fire(self, transition: int, outcome: int | str = 0) -> list[int]:
        """Starts and finishes a transition that the caller names."""
        return self.finish(self._game.begin(transition), outcome)

    # The lane on top of the ready queue

    def _begin(self, lane: _Lane, transition: int) -> Firing:
        if lane.claims:
            lane.passed = 0
            if self._parked:
                self._pass_over_waiters(lane)
            if self._reserved is lane:
                self._reserve()
        firing = self._game.begin_enabled(transition)
        # After as many firings as there are transitions, new entries get worse keys than all older ones.
        self._firings_left -= 1
        if not self._firings_left:
            self._firings_left = self._size
            self._generation += self._size
        self._drop_head(lane, transition)
        if not self._missing[transition]:
            self.offer((transition,))
        return firing

    def _drop_head(self, lane: _Lane, transition: int) -> None:
        """Removes the head of a lane. A lane that waits behind it may be better now, so it is woken."""
        heap = lane.heap
        if lane.hand >= 0:
            lane.hand = -1
        else:
            heappop(heap)
        self._queued[transition] = 0
        if heap:
            lane.key = heap[0]
            heapreplace(self._ready, (heap[0], lane.number))
        else:
            heappop(self._ready)
            lane.where = _IDLE
            if self._reserved is lane:
                self._reserve()
        if self._parked:
            self._wake_next(lane)

    def _park(self, lane: _Lane, pool: int, weight: int) -> None:
        """Parks a lane at a pool without room for it, and wakes the next waiter."""
        self._pass_over(lane)
        heappop(self._ready)
        if self._parked:
            self._wake_next(lane)
        lane.where = pool
        self._parked += 1
        heappush(self._waiting[pool][weight], (lane.key, lane.number))

    # Room in pools

    def _lacking(self, lane: _Lane) -> tuple[int, int] | None:
        """Returns the lane's claim on a pool without room for it. Room reserved for another does not count."""
        tokens, reserved = self._tokens, self._reserved
        if reserved is None or reserved is lane:
            for claim in lane.claims:
                if tokens[claim[0]] < claim[1]:
                    return claim
            return None
        for claim in lane.claims:
            if tokens[claim[0]] - reserved.claim_on(claim[0]) < claim[1]:
                return claim
        return None

    def _wake_next(self, lane: _Lane) -> None:
        for pool, _ in lane.claims:
            self._wake(pool)

    def _wake(self, pool: int) -> None:
        """Makes the best lane ready that is parked at this pool and fits."""
        free = self._tokens[pool]
        reserved = self._reserved
        if reserved is not None:
            claim = reserved.claim_on(pool)
            if reserved.where == pool and claim <= free:
                self._make_ready(reserved)
                return
            # The room of the reservation is not offered to others.
            free -= claim
        best: _Lane | None = None
        # One queue per width of claim: the heads of a few queues decide, however many lanes wait.
        for width, queue in self._waiting[pool].items():
            if width > free:
                break
            head = self._front(queue, pool)
            if head is not None and (best is None or head.key < best.key):
                best = head
        if best is not None:
            self._make_ready(best)

    def _make_ready(self, lane: _Lane) -> None:
        lane.where = _READY
        self._parked -= 1
        heappush(self._ready, (lane.key, lane.number))

    def _front(self, queue: _Queue, pool: int) -> _Lane | None:
        """Returns the first lane in a queue of this pool, and drops outdated entries before it."""
        while queue:
            key, number = queue[0]
            lane = self._lanes[number]
            if lane.where == pool and lane.key == key:
                return lane
            heappop(queue)
        return None

    # Fairness

    def _pass_over_waiters(self, winner: _Lane) -> None:
        """Records that the winner, whatever its key, has passed the lanes that wait at its pools.

        Only the best lane of each width counts: the others are behind it anyway.
        """
        for pool, _ in winner.claims:
            for queue in self._waiting[pool].values():
                head = self._front(queue, pool)
                if head is not None:
                    self._pass_over(head)

    def _pass_over(self, lane: _Lane) -> None:
        lane.passed += 1
        if lane.passed == self._patience and lane.satisfiable:
            self._impatient.append(lane)
            if self._reserved is None:
                self._reserve()

    def _note_failed_try(self, lane: _Lane) -> None:
        """Counts the lane as passed over if any transition has started since its last try."""
        now = self._generation - self._firings_left
        if lane.tried != now:
            lane.tried = now
            self._pass_over(lane)

    def _reserve(self) -> None:
        """Reserves room for the lane that has been impatient for the longest time, if there is one."""
        impatient, self._reserved = self._impatient, None
        while impatient and self._reserved is None:
            lane = impatient.popleft()
            if lane.where != _IDLE and lane.passed >= self._patience:
                self._reserved = lane

    def _drop_useless_reservation(self) -> bool:
        """Drops the reservation if nothing is in flight, because no more room will become free for it."""
        if (reserved := self._reserved) is None or self._game.busy:
            return False
        reserved.passed = 0
        self._reserve()
        self._wake_next(reserved)
        return bool(self._ready) or self._drop_useless_reservation()


def _ranking(priorities: Sequence[int]) -> tuple[list[int] | None, list[int] | None]:
    """Returns each transition's rank, and the transitions by rank; None if both are the identity."""
    if all(a >= b for a, b in pairwise(priorities)):
        return None, None
    by_rank = sorted(range(len(priorities)), key=lambda number: (-priorities[number], number))
    ranks = [0] * len(by_rank)
    for rank, number in enumerate(by_rank):
        ranks[number] = rank
    return ranks, by_rank


def _build_lanes(claims: Iterable[Arcs], net: Net) -> tuple[list[_Lane], list[int]]:
    lanes: dict[Arcs, _Lane] = {}
    lane_of: list[int] = []
    for claim in claims:
        lane = lanes.get(claim)
        if lane is None:
            lane = lanes[claim] = _Lane(len(lanes), claim, net.initial)
        lane_of.append(lane.number)
    return list(lanes.values()), lane_of


def _build_queues(lanes: Iterable[_Lane]) -> dict[int, dict[int, _Queue]]:
    """Returns for each pool an empty queue of parked lanes per width of claim, narrow first."""
    widths: dict[int, set[int]] = {}
    for lane in lanes:
        for pool, weight in lane.claims:
            widths.setdefault(pool, set()).add(weight)
    return {pool: {width: [] for width in sorted(pool_widths)} for pool, pool_widths in widths.items()}
