"""Moves of the net: taking and placing tokens, requesting and returning room in pools.

The net does not model lending. A firing that waits for the end of a usage limit or for a person lends its
claims. A slice without a running firing lends its slots, whatever it waits for: a limit, a pool, the budget,
a person. The net still counts the tokens as held, but the pools give them to others until there is room for
everything that is needed to continue. So only a slice with a running branch holds tokens while another of its
branches waits.
"""

from weft.engine.pools.lanes import Claims
from weft.engine.rules.backlog import Backlog
from weft.engine.rules.placement import Placement
from weft.engine.state.engine_state import EngineState
from weft.engine.state.script import ShapeTransition
from weft.engine.state.slice_state import PoolRequest, StepFiring, SubplanState
from weft.plan.compile.parts import Role

MERGING = frozenset({Role.MERGE, Role.LAND})
MERGES_FIRST = -(1 << 60)


class Moves:
    """Starts and finishes transitions and keeps the pools in step."""

    def __init__(self, state: EngineState, placement: Placement) -> None:
        self._state = state
        self._placement = placement
        self._backlog = Backlog(state)

    # Instantaneous transitions

    def passes(self, subplan: SubplanState, move: ShapeTransition, outcome: str = "done") -> None:
        """Fires a transition without an action."""
        if self._state.moves is not None:
            self._state.saw(subplan, move.name, "")
        self._put_down(subplan, move, outcome)

    def _put_down(self, subplan: SubplanState, move: ShapeTransition, outcome: str) -> None:
        state = self._state
        if state.moves is not None:
            state.saw(subplan, move.name, outcome)
        way = move.ways[outcome]
        if way.frees:
            self._give_back_slots(subplan)
        for place in way.places:
            state.arrive(subplan, place)
        if way.ends:
            if subplan.pools:
                self._forget_pools(subplan)
            state.end(subplan)

    def _give_back_slots(self, subplan: SubplanState) -> None:
        if subplan.lent:
            self._regained(subplan)
        elif subplan.slots:
            self._state.allocator.give_back(subplan.slots)
            subplan.slots = ()

    def _forget_pools(self, subplan: SubplanState) -> None:
        for pool in subplan.pools.values():
            self._state.allocator.drop_pool(pool)
        subplan.pools.clear()

    # Transitions with an action

    def begins(self, subplan: SubplanState, move: ShapeTransition, claims: Claims) -> StepFiring:
        state = self._state
        if state.moves is not None:
            state.saw(subplan, move.name, "")
        firing = StepFiring(
            serial=state.next_serial(), subplan=subplan, move=move, claims=claims, step=move.act.step
        )
        state.firings[firing.serial] = firing
        subplan.firings[firing.serial] = firing
        self._backlog.began(subplan, move.act.role)
        return firing

    def ends(self, firing: StepFiring) -> None:
        """Removes a firing and returns its claims. `leads` then places its token."""
        state, subplan = self._state, firing.subplan
        del state.firings[firing.serial], subplan.firings[firing.serial]
        state.release(firing)
        state.note_perhaps_idle(subplan)
        if firing.lent:
            self.regains(firing, ())
        self.gives_back(firing)
        self._backlog.remove(subplan)

    def leads(self, firing: StepFiring, outcome: str) -> None:
        self._put_down(firing.subplan, firing.move, outcome)

    def gives_back(self, firing: StepFiring) -> None:
        state = self._state
        if firing.claims:
            state.allocator.give_back(firing.claims)
            firing.claims = ()
        for pool, values in firing.leases:
            state.leases.give_back(pool, values)
        firing.leases = ()

    # Lending

    def lends(self, firing: StepFiring) -> None:
        """Lends the claims of a firing to others until it requests room again."""
        self._state.saw(firing.subplan, firing.move.name, "lent")
        self.gives_back(firing)
        firing.lent = True
        self._state.note_perhaps_idle(firing.subplan)
        self._backlog.remove(firing.subplan)

    def regains(self, firing: StepFiring, claims: Claims) -> None:
        self._state.saw(firing.subplan, firing.move.name, "regained")
        firing.claims, firing.parked, firing.lent = claims, "", False
        self._backlog.began(firing.subplan, firing.move.act.role)

    def lend_slots(self) -> bool:
        """Lends the slots of each slice that has nothing running; returns whether there was any.

        The engine calls this when everything with room has started, so all other work is waiting.
        """
        state = self._state
        if not state.perhaps_idle:
            return False
        idle = [subplan for subplan in state.take_perhaps_idle() if subplan.slots and self._is_idle(subplan)]
        for subplan in idle:
            self._lend_slots(subplan)
        return bool(idle)

    def _is_idle(self, subplan: SubplanState) -> bool:
        for firing in subplan.firings.values():
            if firing.is_under_way or firing.claims:
                return False
        return bool(subplan.firings) or bool(subplan.requests)

    def _lend_slots(self, subplan: SubplanState) -> None:
        state = self._state
        for pool, _ in subplan.slots:
            state.lent[pool] = state.lent.get(pool, 0) + 1
        state.allocator.give_back(subplan.slots)
        subplan.slots, subplan.lent = (), True
        state.saw(subplan, "slots", "lent")
        self._ask_again(subplan, with_slots=False)

    def _regained(self, subplan: SubplanState) -> None:
        state = self._state
        state.saw(subplan, "slots", "regained")
        for pool, _ in state.limits.slots[subplan.row]:
            state.lent[pool] -= 1
        subplan.lent = False

    # Room in pools

    def asks(self, request: PoolRequest) -> None:
        """Adds a request for room."""
        self._ask(self._add(request))

    def waits(self, request: PoolRequest, queue: set[int]) -> None:
        """Adds a request that waits in a queue before it asks for room."""
        queue.add(self._add(request))

    def asks_after(self, queue: set[int]) -> None:
        """Empties a queue; its requests now ask for room."""
        numbers = sorted(queue)
        queue.clear()
        for number in numbers:
            self._ask(number)

    def _add(self, request: PoolRequest) -> int:
        state = self._state
        number = state.next_number()
        state.requests[number] = request
        request.subplan.requests[number] = request
        state.note_perhaps_idle(request.subplan)
        return number

    def _ask(self, number: int) -> None:
        state = self._state
        request = state.requests[number]
        subplan, move = request.subplan, request.move
        if self.is_paused(subplan, move):
            self._pause(number, request)
            return
        if move.host and not self._placement.prepares(subplan, move):
            self._strand(number, request)
            return
        self._backlog.waits(request)
        request.claims = claims = state.claims(subplan, move)
        request.slots = subplan.lent or (move.takes_slot and request.firing is None)
        if request.slots:
            claims = (*state.limits.slots[subplan.row], *claims)
        state.allocator.ask(number, claims, self._rank(number, request))
        if subplan.hurries:
            state.allocator.hurry(number)

    def _strand(self, number: int, request: PoolRequest) -> None:
        """Keeps a request until its host can be reached. It takes no room, and its slice can lend its slots."""
        self._state.note_perhaps_idle(request.subplan)
        self._state.stranded.add(number)
        request.claims, request.slots = (), False
        self._backlog.remove(request.subplan)

    def asks_for_hosts(self) -> None:
        """Repeats the requests whose host may be another one now, or may have come into or out of reach."""
        state = self._state
        for number, request in list(state.requests.items()):
            if not request.move.host or self.waits_elsewhere(number):
                continue
            host = request.subplan.step_hosts[request.move.act.step]
            if request.subplan.host is None or not state.hosts.is_reachable(host):
                self.pauses(number)
        self.asks_after(state.stranded)

    def waits_elsewhere(self, number: int) -> bool:
        """Returns whether a request waits for something other than room."""
        state = self._state
        return any(number in queue for queue in (state.short, state.throttled, state.paused, state.stranded))

    def _pause(self, number: int, request: PoolRequest) -> None:
        state, firing = self._state, request.firing
        state.note_perhaps_idle(request.subplan)
        if request.was_held:  # held again, so that people see it and can ask for it
            assert firing is not None
            self._forget(number)
            firing.parked, firing.is_to_retry = "held", True
            state.hold(firing)
        else:
            state.pause(number)
            request.claims, request.slots = (), False
            self._backlog.remove(request.subplan)

    def is_paused(self, subplan: SubplanState, move: ShapeTransition) -> bool:
        """Returns whether people keep this from starting. A merge or landing that a person asked for may start."""
        state = self._state
        if subplan.row not in state.restrained:
            return False
        return move.act.role not in MERGING or subplan.row not in state.agreed

    def unpause(self, number: int) -> None:
        """Repeats a request that is no longer paused."""
        self._ask(number)

    def pauses(self, number: int) -> None:
        """Withdraws a request that was paused."""
        self._state.allocator.withdraw(number)
        self._ask(number)

    def _rank(self, number: int, request: PoolRequest) -> tuple[int, int, int]:
        """Returns the key of a request. Merges come first, in plan order or in order of arrival."""
        state, row, move = self._state, request.subplan.row, request.move
        if move.act.role in MERGING:
            return (MERGES_FIRST, row if state.settings(row).merge_order == "sequential" else number, 0)
        return (-state.levels[row], row, move.number)

    def granted(self, number: int) -> PoolRequest:
        request = self._forget(number)
        subplan = request.subplan
        subplan.hurries = False
        if request.slots:
            subplan.slots = self._state.limits.slots[subplan.row]
            if subplan.lent:
                self._regained(subplan)
                self._ask_again(subplan, with_slots=True)
        return request

    def _ask_again(self, subplan: SubplanState, *, with_slots: bool) -> None:
        """Repeats the requests of a slice after it lent or regained its slots.

        While the slots are lent, each request includes them; the first that is granted regains them for all.
        """
        state = self._state
        for number, request in list(subplan.requests.items()):
            if not self.waits_elsewhere(number) and request.slots is with_slots:
                state.allocator.withdraw(number)
                self._ask(number)

    def is_merge(self, number: int) -> bool:
        request = self._state.requests.get(number)
        return request is not None and request.move.act.role in MERGING

    def waits_on(self, number: int) -> None:
        """Returns room that was granted and requests it again."""
        state, request = self._state, self._state.requests[number]
        slots = state.limits.slots[request.subplan.row] if request.slots else ()
        state.allocator.give_back((*slots, *request.claims))
        self._ask(number)

    def withdraws(self, number: int) -> PoolRequest:
        state = self._state
        for queue in (state.short, state.throttled, state.paused, state.stranded):
            if number in queue:
                queue.remove(number)
                return self._forget(number)
        state.allocator.withdraw(number)
        return self._forget(number)

    def _forget(self, number: int) -> PoolRequest:
        request = self._state.requests.pop(number)
        del request.subplan.requests[number]
        self._backlog.remove(request.subplan)
        return request
