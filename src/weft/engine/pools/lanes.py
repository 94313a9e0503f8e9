"""Pools, and the lanes of requests that wait for them; the theory is told in `allocator`."""

from bisect import bisect_left, insort
from collections.abc import Hashable
from heapq import heapify, heappop, heappush

Claims = tuple[tuple[int, int], ...]
"""Pools with the amount wanted of each. No pool twice, and in the order in which a run takes hold of pools."""


class Pool:
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

    def room_for(self, lane: "Lane") -> int:
        """What is free and not kept for others; an impatient lane yields only to those before it."""
        if not self.kept:
            return self.free
        turn = lane.turn
        if turn is None:
            return self.free - self.kept_in_all
        before = (
            amount for other, amount in self.kept.items() if other.turn is not None and other.turn < turn
        )
        return self.free - sum(before)

    def keep(self, lane: "Lane", amount: int) -> None:
        if lane not in self.kept:
            self.kept[lane] = amount
            self.kept_in_all += amount

    def unkeep(self, lane: "Lane") -> bool:
        """Whether something was kept for it."""
        amount = self.kept.pop(lane, 0)
        self.kept_in_all -= amount
        return amount > 0

    def queue(self, amount: int) -> "Queue":
        if amount not in self.queues:
            self.queues = dict(sorted([*self.queues.items(), (amount, [])]))
        return self.queues[amount]

    def best_that_fits(self) -> "Request | None":
        """Of those that are parked here; what is kept for another is no room."""
        room = self.free - self.kept_in_all
        best: Request | None = None
        for amount, queue in self.queues.items():
            if amount > room:
                break
            if queue and (best is None or queue[0] < best):
                best = queue[0]
        return best


class Lane:
    """Requests that claim the same. The best one is the head; it stands in a queue for all of them."""

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
        self.where: Pool | None = None  # the pool it is parked at
        self.queue = ready  # where its head stands: among the ready, or in a queue of that pool
        self.passed = 0  # how often it was passed over since something of it was granted, and before `since`
        self.since = 0  # the grants of its pool when it was parked there
        self.due = 0  # the number of the note that says when to look at it again
        self.turn: int | None = None  # its number among the impatient, if it is
        self._rest: list[Request] = []  # a heap
        self._dead: set[int] = set()  # numbers of those in the rest that were withdrawn

    def move(self, queue: "Queue", where: Pool | None) -> None:
        """To another queue."""
        head = self.head
        assert head is not None
        remove(self.queue, head)
        insort(queue, head)
        self.queue, self.where = queue, where

    def add(self, request: "Request") -> bool:
        """Whether it is the head now. If so, the lane stands where it stood, only higher."""
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
        """The next one is the head, if there is one. The lane stands where it stood, only lower."""
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
        """One of the rest was withdrawn. It is dropped when it is met, or when every second one is dead."""
        dead = self._dead
        dead.add(request[1])
        if len(dead) * 2 > len(self._rest):
            self._rest = [one for one in self._rest if one[1] not in dead]
            heapify(self._rest)
            dead.clear()


Request = tuple[tuple[int, ...], int, int, Lane]
"""Its key, its number in the order of asking, its ticket, its lane."""

Queue = list[Request]
"""Heads of lanes, best first. Lanes are few, and to insert into a list is quick up to many thousands."""

Need = tuple[Pool, int, Queue]
"""A pool, how much of it is wanted, and where to wait for that."""


def remove(queue: Queue, head: Request) -> None:
    """Mostly it is the first there."""
    del queue[0 if queue[0] is head else bisect_left(queue, head)]
