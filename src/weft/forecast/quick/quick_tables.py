"""A plan as tables of numbers and tuples: everything that a quick run reads, looked up beforehand.

The tables follow from those of the engine, and all replications share them.
"""

from math import inf

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.pools.lanes import Claims
from weft.engine.rules.gates import Gate, Gates
from weft.engine.rules.moves import MERGING
from weft.engine.rules.step_result import part_name
from weft.engine.state.engine_state import EngineState, EngineTables, initial_state
from weft.engine.state.script import OutcomeRoute, Script, ShapeTransition
from weft.forecast.estimates import Estimates, WorkEstimate
from weft.forecast.quick.first_draws import FirstDraws
from weft.plan.compile.actions import ActionKind
from weft.plan.compile.parts import READY, Role
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.slices_check import agent_of
from weft.plan.model import AgentWork
from weft.plan.order.outline import ROOT

_INSTANT = frozenset({Role.BEGIN, Role.RUN, Role.WAIT, Role.LAUNCH, Role.ENTER, Role.SETTLE, Role.CLOSE})
"""The roles of transitions without an action that a quick run knows; `RUN` without one is a join."""
_ACTIONS = frozenset(
    {
        ActionKind.AGENT,
        ActionKind.RUN,
        ActionKind.VERIFY,
        ActionKind.WORKSPACE,
        ActionKind.MERGE,
        ActionKind.LAND,
    }
)


class QuickMove(Struct, frozen=True, eq=False, kw_only=True, gc=False):
    """The transition that a token at a place takes."""

    number: int
    shape: int
    inputs: int
    """How many tokens it takes, without those of pools."""
    acts: bool
    """Whether it takes time."""
    is_merge: bool
    comes_first: bool
    """Whether it is a merge or a landing, which get room before steps do."""
    needs_room: bool
    transition: ShapeTransition
    done: OutcomeRoute
    retry: OutcomeRoute | None
    """Where a failure leads if something is tried again; None if it has failed for good."""
    carried: OutcomeRoute | None
    """Where the token goes if an earlier run has completed the subplan."""


class QuickWork(Struct, frozen=True, kw_only=True, gc=False):
    """What a transition of a row executes."""

    number: int
    """Among all works of the plan."""
    estimate: WorkEstimate
    timeout: float
    path: str
    step: str
    branch: tuple[int, str]
    """The row, and the branch of the slice."""
    is_step: bool
    """Whether it is work of the plan, not what Weft runs around it."""
    lands: bool
    agent: str | None = None
    """The name of its agent, if it has one."""
    limits: tuple[int | None, int | None] = (None, None)
    """The most that the agent spends, in micro-dollars and in tokens."""
    reserves: tuple[int, int] = (0, 0)
    """What is reserved for it while its cost is unknown."""


class Candidate(Struct, frozen=True, gc=False):
    """The request of a slice for its slots."""

    claims: Claims
    key: tuple[int, ...]
    gate: Gate


class QuickTables(Struct, frozen=True, kw_only=True):
    """A plan for quick runs."""

    compiled: CompiledPlan
    engine: EngineTables
    moves: list[list[QuickMove | None]]
    """By shape and place."""
    works: list[dict[int, QuickWork]]
    """By row and number of the transition; after the rows come the landings."""
    draws: FirstDraws
    candidates: dict[int, Candidate]
    """By row of a slice."""
    missing: list[int]
    """By row: how many ends it waits for."""
    closes: dict[int, int]
    """By row or landing: the group that waits for its end."""
    landings: dict[int, int]
    """By row: the number of its landing."""
    in_order: list[bool]
    """By row: whether results are merged in plan order."""
    claims: dict[tuple[QuickMove, tuple[int, ...]], Claims] = {}
    """The claims of transitions that slices with the same turn share; filled when needed."""

    @property
    def has_ceilings(self) -> bool:
        return any(ceiling is not None for ceilings in self.engine.ceilings for ceiling in ceilings)


def quick_tables(compiled: CompiledPlan, engine: EngineTables, estimates: Estimates) -> QuickTables | None:
    """Returns the tables of a plan; None if the plan has transitions that quick runs do not know."""
    moves = [_moves(number, script) for number, script in enumerate(engine.scripts)]
    if not all(map(_is_known, engine.scripts)):
        return None
    state = initial_state(compiled, engine, trace=False)
    wiring, rows = compiled.wiring, len(compiled.shape_of)
    collector = _WorkCollector(state, estimates)
    shapes = [
        *zip(range(rows), compiled.shape_of, strict=True),
        *zip(wiring.landings, compiled.landing_shapes, strict=True),
    ]
    works = [
        {} if shape < 0 else collector.works_of(row, engine.scripts[shape], lands=number >= rows)
        for number, (row, shape) in enumerate(shapes)
    ]
    missing = [0] * rows
    missing[ROOT] = 1
    for children in (*wiring.opens, *wiring.followers):
        for row in children:
            missing[row] += 1
    return QuickTables(
        compiled=compiled,
        engine=engine,
        moves=moves,
        works=works,
        draws=FirstDraws([(work.estimate, work.timeout) for work in collector.works]),
        candidates=_candidates(state),
        missing=missing,
        closes={node: group for group, nodes in enumerate(wiring.closes) for node in nodes},
        landings={row: number for number, row in enumerate(wiring.landings)},
        in_order=[scope.settings.merge_order == "sequential" for scope in compiled.plan.scopes],
    )


def _is_known(script: Script) -> bool:
    """Returns whether quick runs know all transitions that a token can take in a shape."""
    for rules in script.place_rules:
        if rules.skip is not None and rules.go is not None:
            return False
        if rules.go is not None:
            act = rules.go.act
            # An agent that resolves a conflict never starts: a forecast has no conflicts.
            is_known = act.role in _INSTANT if act.kind is ActionKind.NONE else act.kind in _ACTIONS
            if not is_known and act.kind is not ActionKind.RESOLVE:
                return False
    return True


def _moves(shape: int, script: Script) -> list[QuickMove | None]:
    moves: dict[int, QuickMove] = {}
    places: list[QuickMove | None] = []
    for rules in script.place_rules:
        # A step that never runs has nothing but a way past it.
        transition = rules.go or rules.skip
        if transition is None:
            places.append(None)
            continue
        if transition.number not in moves:
            carried = None if rules.stop is None else rules.stop.ways["done"]
            moves[transition.number] = _move(shape, transition, carried)
        places.append(moves[transition.number])
    return places


def _move(shape: int, transition: ShapeTransition, carried: OutcomeRoute | None) -> QuickMove:
    act, ways = transition.act, transition.ways
    retry = None
    if act.role is Role.RUN and act.step:
        retry = ways.get("crashed") or (None if "failed" in transition.final else ways.get("failed"))
    return QuickMove(
        number=transition.number,
        shape=shape,
        inputs=len(transition.inputs),
        acts=act.kind is not ActionKind.NONE,
        is_merge=act.role is Role.MERGE,
        comes_first=act.role in MERGING,
        needs_room=bool(transition.claims),
        transition=transition,
        done=ways["done"],
        retry=retry,
        carried=carried,
    )


def _candidates(state: EngineState) -> dict[int, Candidate]:
    gates, candidates = Gates(state), dict[int, Candidate]()
    for row, is_leaf in enumerate(state.plan.outline.leaves):
        if is_leaf:
            script = state.scripts[state.compiled.shape_of[row]]
            begin = script.place_rules[READY].go
            assert begin is not None
            claims = (*state.limits.slots[row], *state.shared_claims(row, script.shape, begin))
            candidates[row] = Candidate(claims, (-state.levels[row], row, begin.number), gates.of(row))
    return candidates


class _WorkCollector:
    """Looks up what each transition executes."""

    def __init__(self, state: EngineState, estimates: Estimates) -> None:
        self._state = state
        self._estimates = estimates
        self.works: list[QuickWork] = []

    def works_of(self, row: int, script: Script, *, lands: bool) -> dict[int, QuickWork]:
        """Returns the works of a row by number of the transition. The copies of a step share its work."""
        works: dict[int, QuickWork] = {}
        by_name: dict[str, QuickWork] = {}
        for rules in script.place_rules:
            transition = rules.go
            if transition is None or transition.act.kind not in _ACTIONS:
                continue
            name = transition.act.step or part_name(transition)
            if name not in by_name:
                by_name[name] = self._work(row, transition, name, lands=lands)
                self.works.append(by_name[name])
            works[transition.number] = by_name[name]
        return works

    def _work(self, row: int, transition: ShapeTransition, name: str, *, lands: bool) -> QuickWork:
        settings = self._state.settings(row)
        if transition.act.step:
            return self._step(row, name)
        return QuickWork(
            number=len(self.works),
            estimate=self._estimates.of_internal(row, name),
            # Workspaces, merges and landings have no time limit.
            timeout=settings.timeout if transition.act.kind is ActionKind.VERIFY else inf,
            path=self._state.path(row),
            step=name,
            branch=(row, ""),
            is_step=False,
            lands=lands,
        )

    def _step(self, row: int, address: str) -> QuickWork:
        state, settings = self._state, self._state.settings(row)
        step, estimate = state.steps_of(row)[address].step, self._estimates.of_step(row, address)
        work = QuickWork(
            number=len(self.works),
            estimate=estimate,
            timeout=settings.timeout if step.timeout is None else step.timeout,
            path=state.path(row),
            step=address,
            branch=(row, estimate.branch),
            is_step=True,
            lands=False,
        )
        if not isinstance(step.body, AgentWork):
            return work
        agent = agent_of(step.body, settings, state.plan.agents)
        assert agent is not None, "a loaded plan has an agent for each step"
        body = step.body
        return replace(
            work,
            agent=agent.name,
            limits=(
                agent.max_cost if body.max_cost is None else body.max_cost,
                agent.max_tokens if body.max_tokens is None else body.max_tokens,
            ),
            reserves=(settings.reserve or 0, settings.reserve_tokens or 0),
        )
