"""What holds room in pools and what waits for it, and where the tokens of a subplan are.

The engine decides by these; views of a run derive them by feeding the facts of its journal into an engine.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from weft.engine.pools.lanes import Claims
from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import PoolRequest, StepFiring, SubplanState
from weft.plan.compile.parts import END, HOST, MERGE, READY, SLOT, TURN, Role
from weft.plan.order.outline import ROOT


class WaitReason(StrEnum):
    """Why work that could go on does not start."""

    ROOM = "room"
    """Pools lack room for it, or other work comes first."""
    BUDGET = "budget"
    """Other steps have reserved the money."""
    LIMIT = "limit"
    """Its agent has met a usage limit."""
    PAUSED = "paused"
    """A person has paused it."""
    HOST = "host"
    """Its host cannot be reached."""


class WaitingWork(Struct, frozen=True, kw_only=True):
    """A slice, a step, a merge or a landing that waits to start."""

    row: int
    step: str
    """Empty for a slice that waits for its slots; otherwise the step, or the role, such as `merge`."""
    reason: WaitReason
    pools: Sequence[str]
    """The names of the pools that lack room for it."""


class HeldRoom(Struct, frozen=True, kw_only=True):
    """A part of a pool that a slice or one of its steps holds."""

    pool: str
    row: int
    step: str
    """Empty for the slots of a slice."""
    amount: int
    items: Sequence[str] = ()
    """The values that the step holds, if the pool has values."""
    execution: tuple[int, int] | None = None
    """The firing and the number of its execution."""


class NetPosition(Struct, frozen=True, kw_only=True):
    """Where a subplan is in the net of its shape."""

    shape: int
    tokens: Mapping[int, int]
    """The tokens at each marked place; of a pool, those that are free."""
    firing: Sequence[int]
    """The transitions that have started and not finished."""


class PoolNames:
    """The names of pools by their numbers, as the plan writes them where it can."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        limits = state.limits
        self._names = {number: name for name, number in (*limits.caps.items(), *limits.named.items())}
        for row, turns in enumerate(limits.turns):
            for number in turns:
                # A group shares its turn with its parts, and comes before them.
                self._names.setdefault(number, f"turn:{state.path(row)}")

    def of(self, number: int) -> str:
        """Returns `slots`, `slots:GROUP`, `agent:NAME`, `pool:NAME`, `turn:GROUP`, `branch:GROUP` or `step`."""
        name = self._names.get(number)
        if name is not None:
            return name
        # Pools of branches and of single slices come and go.
        group = next((group for group, pool in self._state.branches.items() if pool == number), None)
        return "step" if group is None else f"branch:{self._state.path(group)}"


def waiting_work(state: EngineState, names: PoolNames) -> Iterator[WaitingWork]:
    """Yields all work that waits to start: first slices, then the steps of slices that have started."""
    for number, row in state.candidates.items():
        is_paused = number in state.paused
        yield WaitingWork(
            row=row,
            step="",
            reason=WaitReason.PAUSED if is_paused else WaitReason.ROOM,
            pools=() if is_paused else _lacking(state, names, number),
        )
    for number, request in state.requests.items():
        reason = _reason(state, number)
        yield WaitingWork(
            row=request.subplan.row,
            step=_step_of(request),
            reason=reason,
            pools=_lacking(state, names, number) if reason is WaitReason.ROOM else (),
        )


def _reason(state: EngineState, number: int) -> WaitReason:
    if number in state.paused:
        return WaitReason.PAUSED
    if number in state.short:
        return WaitReason.BUDGET
    if number in state.stranded:
        return WaitReason.HOST
    return WaitReason.LIMIT if number in state.throttled else WaitReason.ROOM


def _lacking(state: EngineState, names: PoolNames, number: int) -> tuple[str, ...]:
    return tuple(names.of(pool) for pool in state.allocator.lacking(number))


def _step_of(work: PoolRequest | StepFiring) -> str:
    act = work.move.act
    return "" if act.role is Role.BEGIN else act.step or act.role.value


def held_room(state: EngineState, names: PoolNames) -> Iterator[HeldRoom]:
    """Yields what is held: first the slots of slices, then what their steps hold."""
    for subplan in state.active.values():
        yield from (
            HeldRoom(pool=names.of(pool), row=subplan.row, step="", amount=amount)
            for pool, amount in subplan.slots
        )
    for firing in state.firings.values():
        items = dict(firing.leases)
        for pool, amount in firing.claims:
            name = names.of(pool)
            yield HeldRoom(
                pool=name,
                row=firing.subplan.row,
                step=_step_of(firing),
                amount=amount,
                items=items.get(name.removeprefix("pool:"), ()),
                execution=(firing.serial, firing.execution),
            )


# The net of a subplan


def net_position(state: EngineState, row: int) -> NetPosition | None:
    """Returns where a subplan is in its net; None for a group that does nothing of its own."""
    number = state.compiled.shape_of[row]
    if number < 0:
        return None
    subplan = state.active.get(row)
    tokens = _pool_tokens(state, row, number, subplan)
    if subplan is not None:
        tokens |= dict.fromkeys(_places(subplan), 1)
    elif row != ROOT and state.tracker.state(state.path(row)).terminal:
        tokens[END] = 1
    elif row in state.candidates.values():
        tokens[READY] = 1
    firing = () if subplan is None else [firing.move.number for firing in subplan.firings.values()]
    return NetPosition(shape=number, tokens={place: n for place, n in tokens.items() if n}, firing=firing)


def _places(subplan: SubplanState) -> Iterator[int]:
    yield from subplan.tokens
    for request in subplan.requests.values():
        if request.firing is None:
            yield request.place


def _pool_tokens(state: EngineState, row: int, number: int, subplan: SubplanState | None) -> dict[int, int]:
    """Returns what is free of the pools around a subplan, and of those that are its own."""
    shape, limits, free = state.compiled.shapes[number], state.limits, state.allocator.free
    group = state.plan.outline.parents[row]
    tokens = {
        SLOT: _least(state, limits.slots[row]),
        TURN: min(map(free, limits.turns[row]), default=0),
        MERGE: free(state.branches[group]) if group in state.branches else int(row != ROOT),
    }
    for place, name in enumerate(shape.pools, MERGE + 1):
        host = None if subplan is None else subplan.host
        number_of_pool = limits.named.get(f"host:{host}" if name.startswith(HOST) else name)
        # Without a host, or without slots there, nothing waits for them.
        tokens[place] = 1 if number_of_pool is None else free(number_of_pool)
    for place, size in state.scripts[number].local_pools:
        own = None if subplan is None else subplan.pools.get(place)
        tokens[place] = size if own is None else free(own)
    return tokens


def _least(state: EngineState, slots: Claims) -> int:
    """Returns how many more slices the tightest limit allows."""
    return min((state.allocator.free(pool) for pool, _ in slots), default=0)
