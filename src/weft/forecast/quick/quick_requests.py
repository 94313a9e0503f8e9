"""Requests for room in a quick run: slots, pools, merges, and who gets them.

Copies the rules of `engine.rules.moves`, `admission` and `backlog`; the allocator is the engine's own.
"""

from weft.engine.pools.allocator import PATIENCE, Allocator
from weft.engine.pools.lanes import Claims
from weft.engine.rules.gates import EntryStep
from weft.engine.rules.moves import MERGES_FIRST
from weft.forecast.quick.quick_budget import QuickBudget
from weft.forecast.quick.quick_state import QuickRequest, QuickSubplan
from weft.forecast.quick.quick_tables import QuickMove, QuickTables
from weft.plan.compile.parts import MERGE, TURN


class QuickRequests:
    """The requests that wait, and the slots that waiting slices have lent."""

    def __init__(self, tables: QuickTables, budget: QuickBudget | None) -> None:
        limits, outline = tables.engine.limits, tables.compiled.plan.outline
        self._tables = tables
        self._budget = budget
        self._limits = limits
        self._slots, self._turns = limits.slots, limits.turns
        self._levels, self._parents = tables.engine.levels, outline.parents
        ordered = {turn for turns in limits.turns for turn in turns}
        self.allocator = Allocator(limits.sizes, ordered=ordered, opens=self._opens)
        self._number = 0
        self._candidates: dict[int, int] = {}
        """The rows of slices that wait for their slots, by number of the request."""
        self._requests: dict[int, QuickRequest] = {}
        self._perhaps_idle: dict[QuickSubplan, None] = {}
        self._backlog: dict[QuickSubplan, None] = {}
        """Slices whose steps have ended and that are about to be merged."""
        self._lent: dict[int, int] = {}
        """By pool: the number of slices that have lent their slot of it."""
        self._overtaken: set[int] = set()
        self._since: dict[int, int] = {}
        self._branches: dict[int, int] = {}
        """By group: the pool of size 1 for merges into its branch."""

    # Asking

    def ask_for_slots(self, row: int) -> None:
        """Adds the request of a slice that may start."""
        self._number = number = self._number + 1
        self._candidates[number] = row
        candidate = self._tables.candidates[row]
        self.allocator.ask(number, candidate.claims, candidate.key, candidate.gate)

    def ask(self, subplan: QuickSubplan, move: QuickMove) -> None:
        """Adds the request of a transition."""
        self._number = number = self._number + 1
        request = QuickRequest(subplan, move, self.claims(subplan, move))
        self._requests[number] = subplan.requests[number] = request
        self._perhaps_idle[subplan] = None
        self._ask(number, request)

    def _ask(self, number: int, request: QuickRequest) -> None:
        subplan, move, claims = request.subplan, request.move, request.claims
        row = subplan.row
        if move.is_merge and subplan.is_slice and not self._turns[row]:
            self._backlog[subplan] = None
        request.with_slots = subplan.has_lent
        if subplan.has_lent:
            claims = (*self._slots[row], *claims)
        if move.comes_first:
            key = (MERGES_FIRST, row if self._tables.in_order[row] else number, 0)
        else:
            key = (-self._levels[row], row, move.number)
        self.allocator.ask(number, claims, key)
        if subplan.hurries:
            self.allocator.hurry(number)

    def claims(self, subplan: QuickSubplan, move: QuickMove) -> Claims:
        """Returns the tokens that a transition takes from pools while it runs, without slots."""
        if not move.needs_room:
            return ()
        if not move.transition.is_shared:
            return self._new_claims(subplan, move)
        key = (move, self._turns[subplan.row])
        cache = self._tables.claims
        claims = cache.get(key)
        if claims is None:
            claims = cache[key] = self._new_claims(subplan, move)
        return claims

    def _new_claims(self, subplan: QuickSubplan, move: QuickMove) -> Claims:
        return tuple(
            (pool, weight)
            for place, weight in move.transition.claims
            for pool in self._pools(subplan, move.shape, place)
        )

    def _pools(self, subplan: QuickSubplan, shape_number: int, place: int) -> tuple[int, ...]:
        shape = self._tables.compiled.shapes[shape_number]
        if place == MERGE:
            group = self._parents[subplan.row]
            if group not in self._branches:
                self._branches[group] = self.allocator.add_pool(1, ordered=True)
            return (self._branches[group],)
        if place >= shape.own:
            return (subplan.pools[place],)
        if place == TURN:
            return self._turns[subplan.row]
        return (self._limits.named[shape.pools[place - MERGE - 1]],)

    # Granting

    def admitted(self, number: int) -> int | None:
        """Returns the row of a slice whose slots were granted; None if another request was granted."""
        return self._candidates.pop(number, None)

    def take_slots(self, subplan: QuickSubplan) -> None:
        """Gives a new slice the slots that were granted, and its own pools."""
        row = subplan.row
        subplan.has_slots = True
        if row in self._overtaken:
            self._overtaken.remove(row)
            subplan.hurries = True
        script = self._tables.engine.scripts[self._tables.compiled.shape_of[row]]
        for place, size in script.local_pools:
            subplan.pools[place] = self.allocator.add_pool(size)

    def granted(self, number: int) -> QuickRequest:
        """Removes and returns a request that was granted."""
        request = self._requests.pop(number)
        subplan = request.subplan
        del subplan.requests[number]
        self._backlog.pop(subplan, None)
        subplan.hurries = False
        if request.with_slots:
            subplan.has_slots = True
            if subplan.has_lent:
                self._regain(subplan)
                self._ask_again(subplan, with_slots=True)
        return request

    # Starts and ends

    def note_merge(self, subplan: QuickSubplan) -> None:
        """Notes that a merge starts."""
        if subplan.is_slice:
            self._backlog[subplan] = None

    def note_end(self, subplan: QuickSubplan, claims: Claims) -> None:
        """Returns the room of an execution that has ended."""
        self._perhaps_idle[subplan] = None
        if claims:
            self.allocator.give_back(claims)
        self._backlog.pop(subplan, None)

    def free_slots(self, subplan: QuickSubplan) -> None:
        if subplan.has_lent:
            self._regain(subplan)
        elif subplan.has_slots:
            self.allocator.give_back(self._slots[subplan.row])
            subplan.has_slots = False

    def drop_pools(self, subplan: QuickSubplan) -> None:
        for pool in subplan.pools.values():
            self.allocator.drop_pool(pool)
        subplan.pools.clear()

    # Lending

    def lend_slots(self) -> bool:
        """Lends the slots of each slice that has nothing running; returns whether there was any."""
        if not self._perhaps_idle:
            return False
        subplans, self._perhaps_idle = self._perhaps_idle, {}
        idle = [
            subplan for subplan in subplans if subplan.has_slots and not subplan.running and subplan.requests
        ]
        for subplan in idle:
            slots = self._slots[subplan.row]
            for pool, _ in slots:
                self._lent[pool] = self._lent.get(pool, 0) + 1
            self.allocator.give_back(slots)
            subplan.has_slots, subplan.has_lent = False, True
            self._ask_again(subplan, with_slots=False)
        return bool(idle)

    def _regain(self, subplan: QuickSubplan) -> None:
        for pool, _ in self._slots[subplan.row]:
            self._lent[pool] -= 1
        subplan.has_lent = False

    def _ask_again(self, subplan: QuickSubplan, *, with_slots: bool) -> None:
        for number, request in list(subplan.requests.items()):
            if request.with_slots is with_slots:
                self.allocator.withdraw(number)
                self._ask(number, request)

    # Admission

    def _opens(self, number: int) -> bool:
        """Returns whether a slice for which there are slots may start now."""
        row = self._candidates[number]
        if self._backlog and not self._leaves_place(row):
            return False
        opens = self._is_within_limits(row) or self._can_work(row)
        if opens:
            self._since.pop(row, None)
        return opens

    def _leaves_place(self, row: int) -> bool:
        """Returns whether each limit around a slice has a place for it beside the backlog."""
        allocator = self.allocator
        most = {pool: allocator.free(pool) + allocator.size(pool) // 2 for pool, _ in self._slots[row]}
        if len(self._backlog) < min(most.values()):
            return True
        for subplan in self._backlog:
            for pool, _ in self._slots[subplan.row]:
                if pool in most:
                    most[pool] -= 1
        return all(places > 0 for places in most.values())

    def _is_within_limits(self, row: int) -> bool:
        free, lent = self.allocator.free, self._lent
        return all(free(pool) > lent.get(pool, 0) for pool, _ in self._slots[row])

    def _can_work(self, row: int) -> bool:
        gate = self._tables.candidates[row].gate
        if gate.works_at_once:
            return True
        able = gate.entries
        if self._budget is not None:
            able = tuple(entry for entry in able if not self._waits_for_money(row, entry))
        for entry in able:
            if self.allocator.has_room(entry.claims):
                return True
        return bool(able) and self._is_passed_over(row, able[0].claims)

    def _waits_for_money(self, row: int, entry: EntryStep) -> bool:
        if not entry.agent:
            return False
        assert self._budget is not None
        works = self._tables.works[row].values()
        return self._budget.would_wait(next(work for work in works if work.step == entry.step))

    def _is_passed_over(self, row: int, claims: Claims) -> bool:
        granted = 0
        for pool, _ in claims:
            granted += self.allocator.grants_of(pool)
        if granted - self._since.setdefault(row, granted) < PATIENCE:
            return False
        self._overtaken.add(row)
        return True
