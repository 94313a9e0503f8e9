"""All that the engine of a run knows, for its parts to share.

Where a token is put is noted in `arrivals`; who ended, in `ended`; the engine takes both up one by one, so that no
part of it has to call another that may call it back.
"""

from collections import deque
from collections.abc import Mapping

from msgspec import Struct, field

from weft.engine.messages.events import Event
from weft.engine.messages.facts import ControlState, EarlierSlice
from weft.engine.messages.failures import Failure
from weft.engine.messages.orders import AnyOrder, Land
from weft.engine.pools.allocator import Allocator
from weft.engine.pools.lanes import Claims
from weft.engine.pools.leases import Leases
from weft.engine.state.budget import Budget
from weft.engine.state.ceilings import budgets_of
from weft.engine.state.pipelines import PlacedStep, placed_steps
from weft.engine.state.script import Script, ShapeTransition, script
from weft.engine.state.slice_state import PoolRequest, StepFiring, SubplanState
from weft.engine.states import SubplanTracker
from weft.plan.compile.parts import MERGE, TURN, Shape
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.compile.priorities import priorities
from weft.plan.model import Plan
from weft.plan.settings import Settings


class PoolNumbers(Struct, frozen=True, kw_only=True):
    """The pools of a plan, by their numbers in the allocator."""

    sizes: list[int]
    slots: list[Claims]
    """For each row, the slots that it takes: one of each limit around it."""
    turns: list[tuple[int, ...]]
    named: dict[str, int]


class EngineState(Struct, eq=False, kw_only=True):
    compiled: CompiledPlan
    tracker: SubplanTracker
    scripts: list[Script]
    levels: list[int]
    allocator: Allocator
    limits: PoolNumbers
    leases: Leases
    budget: Budget
    token_budget: Budget
    branches: dict[int, int] = {}
    """For each group, the pool that stands for the branch that its parts are merged into."""
    run: str = ""
    env: dict[str, str] = {}
    at: float = 0.0
    started_at: float = 0.0
    stopping: bool = False
    stop_asked: bool = False
    """Whether that is because a person has said so."""
    quiet: bool = False
    """Whether nobody wants to hear the events and orders."""
    carried: frozenset[str] = frozenset()
    continued: dict[str, EarlierSlice] = {}
    """Slices that continue where an earlier run was cut off."""
    serial: int = 0
    tickets: dict[int, PoolRequest] = {}
    next_ticket: int = 0
    short: set[int] = set()
    """Tickets that wait for money that is reserved elsewhere."""
    throttled: set[int] = set()
    """Tickets that wait for the end of a usage limit."""
    limited: dict[str, float] = {}
    """Accounts of agents that have met a usage limit, and until when."""
    paused: set[int] = set()
    """Tickets, and slices that are ready, that wait until people let them go on."""
    restrained: dict[int, ControlState] = {}
    """Rows that people do not want to go on."""
    lent: dict[int, int] = {}
    """By the pool of a limit: how many slices have lent their slots of it to others."""
    perhaps_idle: dict[SubplanState, None] = {}
    """Slices that may have come to wait, in the order in which that was noticed."""
    backlog: dict[SubplanState, None] = {}
    """Slices whose steps have ended and that are about to be merged, in the order in which they came."""
    overtaken: set[int] = set()
    """Rows of slices that were passed over so often that their first step waits no longer than it must."""
    candidates: dict[int, int] = {}
    """Slices that are ready and wait for their slots: their rows, by ticket."""
    plays: dict[int, SubplanState] = {}
    """The plays under way, by row; landings by the number of rows plus their own."""
    firings: dict[int, StepFiring] = {}
    questions: dict[int, StepFiring] = {}
    """Those among the firings that wait for a person."""
    held: dict[int, StepFiring] = {}
    """Those that wait for a person to do something, before they are tried again."""
    agreed: set[int] = set()
    """Rows that a person wants to land."""
    landed: set[int] = set()
    """Rows whose landing is over."""
    on_target: set[int] = set()
    """Rows whose work the target has."""
    part_landings: dict[int, Land] = {}
    """Landings of completed parts that are under way, by number. They are no moves of the net."""
    joins_queue: bool = False
    """Whether a result has joined the landing queue since results with a failed verify were last tried."""
    merges_only: bool = False
    """Whether nothing but merges may begin, while the run is stopped."""
    failures: dict[int, Failure] = {}
    """Of rows: those that have failed, or are certain to."""
    left_out: dict[int, tuple[str, ...]] = {}
    """Of groups that go on without some of what is in them: the paths of these."""
    gaps: dict[int, Failure] = {}
    """Of these groups and those around them: why something is missing."""
    arrivals: deque[tuple[SubplanState, int]] = field(default_factory=deque[tuple[SubplanState, int]])
    ended: deque[SubplanState] = field(default_factory=deque[SubplanState])
    events: list[Event] = []
    orders: list[AnyOrder] = []
    moves: list[tuple[str, str]] | None = None
    """Where someone wants to see every move of the net: the transition and the outcome; empty as it begins."""
    _placed: dict[tuple[int, bool], Mapping[str, PlacedStep]] = {}
    _claims: dict[tuple[ShapeTransition, tuple[int, ...]], Claims] = {}

    @property
    def plan(self) -> Plan:
        return self.compiled.plan

    def path(self, row: int) -> str:
        return self.compiled.plan.outline.paths[row]

    def results_in_trouble(self) -> tuple[str, ...]:
        """The results that cannot land before a person has helped."""
        held = (firing for firing in self.held.values() if firing.play.landing is not None)
        return tuple(firing.play.path for firing in held if not firing.asks and not firing.waits_for)

    def settings(self, row: int) -> Settings:
        return self.compiled.plan.scopes[row].settings

    def tell(self, event: Event) -> None:
        if not self.quiet:
            self.events.append(event)

    def order(self, order: AnyOrder) -> None:
        if not self.quiet:
            self.orders.append(order)

    # For whoever wants to see the moves of the one net

    def saw(self, play: SubplanState, name: str, outcome: str) -> None:
        """Notes a move; an empty outcome is its beginning.

        What is lent while something is waited for is no move: `lent` and `regained` tell of it.
        """
        if self.moves is not None:
            landing = " landing" if play.landing is not None else ""
            self.moves.append((f"{play.path or 'the plan'}{landing}: {name}", outcome))

    def saw_wiring(self, name: str) -> None:
        if self.moves is not None:
            self.moves += [(name, ""), (name, "done")]

    # What slices share

    def steps_of(self, row: int) -> Mapping[str, PlacedStep]:
        plan = self.compiled.plan
        pipeline, verifies = plan.pipeline_of(row), bool(plan.subplans[row].verify)
        key = (id(pipeline), verifies)
        if key not in self._placed:
            self._placed[key] = placed_steps(pipeline.steps, plan.pipelines, verifies=verifies)
        return self._placed[key]

    def claims(self, play: SubplanState, move: ShapeTransition) -> Claims:
        """What a move takes from the pools for as long as it lasts; slots left out."""
        if not move.claims:
            return ()
        if move.is_shared:
            return self.shared_claims(play.row, play.script.shape, move)
        return tuple((pool, weight) for place, weight in move.claims for pool in self._pools(play, place))

    def shared_claims(self, row: int, shape: Shape, move: ShapeTransition) -> Claims:
        """The same, for a move that claims nothing of a slice's or a group's own."""
        key = (move, self.limits.turns[row])
        if key not in self._claims:
            self._claims[key] = tuple(
                (pool, weight) for place, weight in move.claims for pool in self._shared(row, shape, place)
            )
        return self._claims[key]

    def pool_claims(self, shape: Shape, move: ShapeTransition) -> Claims:
        """What a move takes of the pools of the plan and of its agents."""
        pools = range(MERGE + 1, shape.own)
        return tuple(
            (self.limits.named[shape.pools[place - pools.start]], weight)
            for place, weight in move.claims
            if place in pools
        )

    def _shared(self, row: int, shape: Shape, place: int) -> tuple[int, ...]:
        if place == TURN:
            return self.limits.turns[row]
        return (self.limits.named[shape.pools[place - MERGE - 1]],)

    def _pools(self, play: SubplanState, place: int) -> tuple[int, ...]:
        shape = play.script.shape
        if place == MERGE:
            return (self._branch(play),)
        return (play.pools[place],) if place >= shape.own else self._shared(play.row, shape, place)

    def _branch(self, play: SubplanState) -> int:
        group = self.compiled.plan.outline.parents[play.row]
        if group not in self.branches:
            self.branches[group] = self.allocator.add_pool(1, ordered=True)
        return self.branches[group]


def board(compiled: CompiledPlan) -> EngineState:
    plan = compiled.plan
    limits = _limits(compiled)
    budget, token_budget = budgets_of(plan)
    values = {name: pool.values for name, pool in plan.pools.items() if pool.values is not None}
    return EngineState(
        compiled=compiled,
        tracker=SubplanTracker(plan.outline.paths[1:]),
        scripts=[script(shape) for shape in compiled.shapes],
        levels=priorities(plan, compiled.after),
        allocator=Allocator(limits.sizes, ordered={turn for turns in limits.turns for turn in turns}),
        limits=limits,
        leases=Leases(values),
        budget=budget,
        token_budget=token_budget,
    )


def _limits(compiled: CompiledPlan) -> PoolNumbers:
    plan, outline = compiled.plan, compiled.plan.outline
    found = PoolNumbers(sizes=[], slots=[], turns=[], named={})

    def pool(size: int) -> int:
        found.sizes.append(size)
        return len(found.sizes) - 1

    for row, subplan in enumerate(plan.subplans):
        settings, parent = plan.scopes[row].settings, outline.parents[row]
        slots = found.slots[parent] if row else ()
        turn = found.turns[parent] if row else ()
        if not row or ("max_parallel" in subplan.settings and not outline.is_leaf(row)):
            slots = (*slots, (pool(settings.max_parallel), 1))
        if settings.policy != "serial":
            turn = ()
        elif not turn:
            turn = (pool(1),)
        found.slots.append(slots)
        found.turns.append(turn)
    for name, size in compiled.pools.items():
        found.named[name] = pool(size)
    return found
