"""Gates: the needs of the first steps of a slice, namely claims, agents and ceilings.

Slices with the same needs have equal gates, so waiting slices form few lanes in the allocator.
"""

from collections.abc import Iterator

from msgspec import Struct

from weft.engine.pools.lanes import Claims
from weft.engine.state.engine_state import EngineState
from weft.engine.state.script import Script, ShapeTransition
from weft.plan.compile.actions import ActionKind
from weft.plan.compile.parts import READY
from weft.plan.loader.slices_check import agent_of
from weft.plan.model import AgentWork
from weft.plan.placement import slice_hosts


class EntryStep(Struct, frozen=True):
    """A step that a slice can run first."""

    step: str
    claims: Claims
    agent: str = ""
    """The name of its agent, if it has one."""
    hosts: tuple[str, ...] = ()
    """The hosts on which it may run, if all of them have slots."""


class Gate(Struct, frozen=True):
    """The needs of a slice before it can do useful work."""

    entries: tuple[EntryStep, ...]
    """The possible first steps, each with needs; the slice can work if one of them can start."""
    ceilings: tuple[int, ...]
    """The rows around the slice whose budgets count what it spends."""
    works_at_once: bool = False
    """Whether a first step needs nothing but the slots; the fields above are then empty."""
    hosts: tuple[str, ...] = ()
    """The hosts on which the slice may be placed, if that matters; one of them must be in reach."""


class Gates:
    """Computes the gates of slices and caches them."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._cache: dict[tuple[int, int, int], Gate] = {}
        self._by_row: dict[int, Gate] = {}

    def of(self, row: int) -> Gate:
        gate = self._by_row.get(row)
        if gate is None:
            gate = self._by_row[row] = self._shared(row)
        return gate

    def _shared(self, row: int) -> Gate:
        """Returns the gate of all slices with the same shape, settings and ceilings."""
        state, plan = self._state, self._state.plan
        around = row if plan.subplans[row].settings else plan.outline.parents[row]
        key = (state.compiled.shape_of[row], id(plan.scopes[row]), around)
        if key not in self._cache:
            self._cache[key] = self._build(row)
        return self._cache[key]

    def _build(self, row: int) -> Gate:
        entries, state = tuple(self._entries(row)), self._state
        has_hosts = state.scripts[state.compiled.shape_of[row]].shape.has_hosts
        hosts = slice_hosts(state.plan, row) if has_hosts else ()
        if not all(entry.claims or entry.agent or entry.hosts for entry in entries):
            return Gate((), (), works_at_once=True, hosts=hosts)
        ceilings = self._ceilings(row) if any(entry.agent for entry in entries) else ()
        return Gate(entries, ceilings, hosts=hosts)

    def _entries(self, row: int) -> Iterator[EntryStep]:
        state, plan = self._state, self._state.plan
        script = state.scripts[state.compiled.shape_of[row]]
        for move in first_moves(script):
            step, claims = move.act.step, state.pool_claims(script.shape, move)
            hosts = self._hosts(row, move)
            work = state.steps_of(row)[step].step.body if move.act.kind is ActionKind.AGENT else None
            if isinstance(work, AgentWork):
                agent = agent_of(work, state.settings(row), plan.agents)
                assert agent is not None, "a loaded plan has an agent for each step"
                yield EntryStep(step, claims, agent.name, hosts)
            else:
                yield EntryStep(step, claims, hosts=hosts)

    def _hosts(self, row: int, move: ShapeTransition) -> tuple[str, ...]:
        """Returns the hosts on which a first step may run; none if one of them has no slots to wait for."""
        if not move.host:
            return ()
        state = self._state
        choice = state.steps_of(row)[move.act.step].step.host
        hosts = slice_hosts(state.plan, row) if choice is None else choice.candidates(state.plan.hosts)
        return hosts if all(map(state.host_pool, hosts)) else ()

    def _ceilings(self, row: int) -> tuple[int, ...]:
        budgets, parents = (self._state.budget, self._state.token_budget), self._state.plan.outline.parents
        rows: list[int] = []
        while row >= 0:
            if any(budget.ceiling(row) is not None for budget in budgets):
                rows.append(row)
            row = parents[row]
        return tuple(rows)


def first_moves(script: Script) -> Iterator[ShapeTransition]:
    """Yields the actions that can come first; there are several after async or conditional steps."""
    begin = script.place_rules[READY].go
    assert begin is not None
    places = list(begin.ways["done"].places)
    for place in places:  # grows during the iteration
        rules = script.place_rules[place]
        if rules.skip is not None:
            places += rules.skip.ways["done"].places
        if rules.go is None or len(rules.go.inputs) > 1:
            continue
        if rules.go.act.kind:
            yield rules.go
        else:
            places += rules.go.ways["done"].places
