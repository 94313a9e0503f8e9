"""Pools, and the lanes of requests that wait for them. `allocator` explains the theory."""

from bisect import bisect_left, insort
from collections.abc import Hashable
from heapq import heapify, heappop, heappush

Claims = tuple[tuple[int, int], ...]
"""Pools with the amount claimed of each, every pool once, in the order in which a run acquires pools."""


class PoolState:
    """A number of tokens, the lanes that claim it, and the lanes that are parked at it."""

    __slots__ = (
        "due", "free", "granted", "kept", "kept_in_all", "lanes", "number", "ordered", "parked", "queues", "size",
    )  # fmt: skip

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self.free = size
        self.ordered = False  # whether keys alone decide here
        self.granted = 0  # how many requests that claim it were granted
        self.kept: dict[Lane, int] = {}  # room for impatient lanes
        self.kept_in_all = 0
        self.parked = 0  # how many lanes are in the queues
        self.queues: dict[int, Queue] = {}  # by the amount wanted, small first
        self.due: list[tuple[int, int, Lane]] = []  # a heap: after which grant to look at a lane
        self.lanes: set[Lane] = set()  # all that claim it

    @property
    def used(self) -> int:
        """The amount in use."""
        return self.size - self.free

    @property
    def waiting(self) -> int:
        """The number of requests in the lanes that are parked at it."""
        waiting = 0
        if self.parked:
            for queue in self.queues.values():
                for request in queue:
                    waiting += request[3].size
        return waiting

    def room_for(self, lane: "Lane") -> int:
        """Returns the free amount that is not kept for others. An impatient lane yields only to earlier ones."""
        if not self.kept:
            return self.free
        turn = lane.turn
        if turn is None:
            return self.free - self.kept_in_all
        before = (
            amount for holder, amount in self.kept.items() if holder.turn is not None and holder.turn < turn
        )
        return self.free - sum(before)

    def keep(self, lane: "Lane", amount: int) -> None:
        if lane not in self.kept:
            self.kept[lane] = amount
            self.kept_in_all += amount

    def unkeep(self, lane: "Lane") -> bool:
        """Releases the room kept for a lane; returns whether there was any."""
        amount = self.kept.pop(lane, 0)
        self.kept_in_all -= amount
        return amount > 0

    def queue(self, amount: int) -> "Queue":
        if amount not in self.queues:
            self.queues = dict(sorted([*self.queues.items(), (amount, [])]))
        return self.queues[amount]

    def best_that_fits(self) -> "Request | None":
        """Returns the best parked request that fits into the room that is not kept for others."""
        room = self.free - self.kept_in_all
        best: Request | None = None
        for amount, queue in self.queues.items():
            if amount > room:
                break
            if queue and (best is None or queue[0] < best):
                best = queue[0]
        return best


class Lane:
    """Requests with the same claims. The best one is the head, which represents the lane in a queue."""

    __slots__ = (
        "_dead", "_rest", "claims", "due", "gate", "head", "needs", "passed", "queue", "since", "turn", "where",
    )  # fmt: skip

    def __init__(
        self, claims: Claims, needs: "tuple[Need, ...]", ready: "Queue", gate: Hashable = None
    ) -> None:
        self.claims = claims
        self.needs = needs
        self.gate = gate  # what its requests have in common that are granted only while that is open
        self.head: Request | None = None
        self.where: PoolState | None = None  # the pool it is parked at
        self.queue = ready  # where its head stands: among the ready, or in a queue of that pool
        self.passed = 0  # how often it was passed over since something of it was granted, and before `since`
        self.since = 0  # the grants of its pool when it was parked there
        self.due = 0  # the number of the note that says when to look at it again
        self.turn: int | None = None  # its number among the impatient, if it is
        self._rest: list[Request] = []  # a heap
        self._dead: set[int] = set()  # numbers of those in the rest that were withdrawn

    @property
    def size(self) -> int:
        """The number of requests in the lane."""
        return (self.head is not None) + len(self._rest) - len(self._dead)

    def move(self, queue: "Queue", where: PoolState | None) -> None:
        """Moves the head to another queue."""
        head = self.head
        assert head is not None
        remove(self.queue, head)
        insort(queue, head)
        self.queue, self.where = queue, where

    def add(self, request: "Request") -> bool:
        """Adds a request; returns whether it is the new head. The lane stays in its queue."""
        head = self.head
        if head is not None:
            if head < request:
                heappush(self._rest, request)
                return False
            heappush(self._rest, head)
            remove(self.queue, head)
        self.head = request
        insort(self.queue, request)
        return True

    def drop_head(self) -> None:
        """Replaces the head by the next request, if there is one. The lane stays in its queue."""
        head, rest, dead = self.head, self._rest, self._dead
        assert head is not None
        remove(self.queue, head)
        self.head = None
        while rest:
            request = heappop(rest)
            if request[1] not in dead:
                self.head = request
                insort(self.queue, request)
                return
            dead.remove(request[1])

    def bury(self, request: "Request") -> None:
        """Marks a request behind the head as withdrawn.

        Removal from a heap is slow, so the heap is rebuilt only when half of its requests are marked.
        """
        dead = self._dead
        dead.add(request[1])
        if len(dead) * 2 > len(self._rest):
            self._rest = [waiting for waiting in self._rest if waiting[1] not in dead]
            heapify(self._rest)
            dead.clear()


Request = tuple[tuple[int, ...], int, int, Lane]
"""Key, serial number of the request, ticket, lane."""

Queue = list[Request]
"""Heads of lanes, best first. Lanes are few, and insertion into a list is fast up to many thousands."""

Need = tuple[PoolState, int, Queue]
"""A pool, the amount claimed of it, and the queue in which to wait for it."""


def remove(queue: Queue, head: Request) -> None:
    """Removes a head from its queue."""
    # Usually it is the first entry.
    del queue[0 if queue[0] is head else bisect_left(queue, head)]
