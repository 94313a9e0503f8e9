"""The state of the engine, shared by its rules.

All rules read the state. A field is changed by the methods of the state, or else by a single rule, so that one
module shows every way in which the field changes.

A rule that moves a token calls `arrive`; a rule that ends a subplan calls `end`. The engine works both queues off
one entry at a time, so that rules need not call each other recursively.
"""

from collections import deque
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import ControlState, EarlierSlice
from weft.engine.messages.failures import Failure
from weft.engine.messages.orders import AnyOrder, Land
from weft.engine.pools.allocator import Allocator
from weft.engine.pools.lanes import Claims
from weft.engine.pools.leases import Leases
from weft.engine.state.budget import Budget
from weft.engine.state.ceilings import Ceilings, ceilings_of
from weft.engine.state.host_states import HostStates
from weft.engine.state.pipelines import PlacedStep, placed_steps
from weft.engine.state.pool_numbers import PoolNumbers, pool_numbers
from weft.engine.state.script import Script, ShapeTransition, script
from weft.engine.state.slice_state import PoolRequest, StepFiring, SubplanState
from weft.engine.states import SubplanTracker
from weft.plan.compile.parts import MERGE, TURN, Shape
from weft.plan.compile.plan_net import CompiledPlan, copy_name
from weft.plan.compile.priorities import priorities
from weft.plan.model import Plan
from weft.plan.placement import slice_hosts, used_hosts
from weft.plan.settings import Settings


class EngineTables(Struct, frozen=True, kw_only=True):
    """What the engine derives from a plan, the same for every run of it."""

    scripts: list[Script]
    levels: list[int]
    limits: PoolNumbers
    ceilings: Ceilings
    steps: dict[tuple[int, bool], Mapping[str, PlacedStep]] = {}
    """The steps of slices, by the identity of their pipeline, with and without verify; filled when needed."""
    claims: dict[tuple[ShapeTransition, tuple[int, ...]], Claims] = {}
    """The claims of transitions that slices with the same turn share; filled when needed."""


class EngineState(Struct, eq=False, kw_only=True):
    """The complete state of a run, as it follows from its facts."""

    compiled: CompiledPlan
    tracker: SubplanTracker
    scripts: list[Script]
    levels: list[int]
    allocator: Allocator
    limits: PoolNumbers
    leases: Leases
    budget: Budget
    token_budget: Budget
    tables: EngineTables
    branches: dict[int, int] = {}
    """By group: the pool of size 1 that lets one merge at a time into its integration branch."""
    run: str = ""
    env: dict[str, str] = {}
    at: float = 0.0
    started_at: float = 0.0
    stopping: bool = False
    stop_asked: bool = False
    """Whether the run stops because a person asked for it."""
    quiet: bool = False
    """Whether events are discarded, as in a replay."""
    orders_nothing: bool = False
    """Whether orders are discarded, as in a replay."""
    carried: frozenset[str] = frozenset()
    continued: dict[str, EarlierSlice] = {}
    """Slices that continue work of an earlier run, by path."""
    feedback: dict[str, str] = {}
    """What people want changed in slices, by path."""
    serial: int = 0
    requests: dict[int, PoolRequest] = {}
    last_request: int = 0
    short: set[int] = set()
    """Requests that wait for money that other steps have reserved, by number."""
    throttled: set[int] = set()
    """Requests that wait for the end of a usage limit, by number."""
    limited: dict[str, float] = {}
    """Accounts of agents that have met a usage limit, each with the time at which it ends."""
    hosts: HostStates
    """Which hosts can be reached."""
    stranded: set[int] = set()
    """Requests that wait for a host which cannot be reached, by number."""
    paused: set[int] = set()
    """Requests and candidates that a person has paused, by number."""
    restrained: dict[int, ControlState] = {}
    """Rows that a person has paused, frozen or stopped."""
    lent: dict[int, int] = {}
    """By the pool of a limit: the number of waiting slices that have lent their slot of it."""
    perhaps_idle: dict[SubplanState, None] = {}
    """Slices that may have nothing running any more, in the order of detection."""
    backlog: dict[SubplanState, None] = {}
    """Slices whose steps have ended and that are about to be merged, in order of arrival."""
    overtaken: set[int] = set()
    """Rows of slices that others have overtaken too often; their first request gets a hold-back."""
    candidates: dict[int, int] = {}
    """The rows of slices that are ready and wait for their slots, by the number of the request."""
    active: dict[int, SubplanState] = {}
    """The subplans that have started and not ended, by row. Landings have the number of rows plus their own."""
    firings: dict[int, StepFiring] = {}
    questions: dict[int, StepFiring] = {}
    """The firings that wait for the answer of a person."""
    held: dict[int, StepFiring] = {}
    """The firings that are held: a person has to act before the next try."""
    agreed: set[int] = set()
    """Rows whose landing a person has approved."""
    landed: set[int] = set()
    """Rows whose landing is over."""
    on_target: set[int] = set()
    """Rows whose work is on the target."""
    part_landings: dict[int, Land] = {}
    """Running landings of completed parts, by serial number. They are not part of the net."""
    joins_queue: bool = False
    """Whether a result has joined the landing queue since the last try of results with a failed verify."""
    merges_only: bool = False
    """Whether only merges and landings may start, while the run is otherwise stopped."""
    failures: dict[int, Failure] = {}
    """By row: why it has failed or is certain to fail."""
    left_out: dict[int, tuple[str, ...]] = {}
    """By group: the paths of the parts that it excludes because they break its verify."""
    gaps: dict[int, Failure] = {}
    """By group with an excluded part inside: why that part is missing."""
    arrivals: deque[tuple[SubplanState, int]] = field(default_factory=deque[tuple[SubplanState, int]])
    ended: deque[SubplanState] = field(default_factory=deque[SubplanState])
    events: list[AnyEvent] = []
    orders: list[AnyOrder] = []
    moves: list[tuple[str, str]] | None = None
    """A trace of the net, if requested: transitions and outcomes. An empty outcome is a start."""

    @property
    def plan(self) -> Plan:
        return self.compiled.plan

    def path(self, row: int) -> str:
        return self.compiled.plan.outline.paths[row]

    def results_in_trouble(self) -> tuple[str, ...]:
        """Returns the paths of the results that cannot land before a person acts."""
        held = (firing for firing in self.held.values() if firing.subplan.landing is not None)
        return tuple(firing.subplan.path for firing in held if not firing.asks and not firing.waits_for)

    def settings(self, row: int) -> Settings:
        return self.compiled.plan.scopes[row].settings

    def token(self, subplan: SubplanState) -> str:
        """Returns what the far side knows the placement of a slice by; empty on this machine."""
        return f"{self.run}.{subplan.row}.{subplan.placement}"

    @property
    def waits_for_hosts(self) -> bool:
        """Whether something waits for a host that cannot be reached."""
        return bool(self.stranded) or (bool(self.candidates) and not self.hosts.all_are_reachable)

    # Messages

    def emit(self, event: AnyEvent) -> None:
        if not self.quiet:
            self.events.append(event)

    def order(self, order: AnyOrder) -> None:
        if not self.orders_nothing:
            self.orders.append(order)

    def take_messages(self) -> tuple[list[AnyEvent], list[AnyOrder]]:
        """Removes and returns the events and orders since the last call."""
        events, orders = self.events, self.orders
        self.events, self.orders = [], []
        return events, orders

    # Changes that several rules make

    def next_serial(self) -> int:
        """Returns the serial number for a new firing."""
        self.serial += 1
        return self.serial

    def next_number(self) -> int:
        """Returns the number for a new request or candidate."""
        self.last_request += 1
        return self.last_request

    def arrive(self, subplan: SubplanState, place: int) -> None:
        """Puts a token down at a place."""
        self.arrivals.append((subplan, place))

    def end(self, subplan: SubplanState) -> None:
        self.ended.append(subplan)

    def note_perhaps_idle(self, subplan: SubplanState) -> None:
        self.perhaps_idle[subplan] = None

    def take_perhaps_idle(self) -> Iterable[SubplanState]:
        subplans, self.perhaps_idle = self.perhaps_idle, {}
        return subplans

    def pause(self, number: int) -> None:
        self.paused.add(number)

    def unpause(self, number: int) -> None:
        self.paused.remove(number)

    def ask(self, firing: StepFiring) -> None:
        """Records a question to a person."""
        self.questions[firing.serial] = firing

    def hold(self, firing: StepFiring) -> None:
        self.held[firing.serial] = firing

    def release(self, firing: StepFiring) -> None:
        """Removes a firing that may wait for a person from the questions and holds."""
        if self.questions or self.held:
            self.questions.pop(firing.serial, None)
            self.held.pop(firing.serial, None)

    def fail_once(self, row: int, failure: Failure) -> None:
        """Records why a row fails, unless an earlier reason is known."""
        self.failures.setdefault(row, failure)

    def fail(self, row: int, failure: Failure) -> None:
        self.failures[row] = failure

    def land(self, rows: Iterable[int]) -> None:
        """Records that the landings of these rows are over."""
        self.landed.update(rows)

    def reach_target(self, rows: Iterable[int]) -> None:
        """Records that the work of these rows is on the target."""
        self.on_target.update(rows)

    def overtake(self, row: int) -> None:
        self.overtaken.add(row)

    def take_overtaken(self, row: int) -> bool:
        """Returns whether others have overtaken the slice too often, and forgets it."""
        is_overtaken = row in self.overtaken
        self.overtaken.discard(row)
        return is_overtaken

    def join_queue(self) -> None:
        """Records that a result has joined the landing queue."""
        self.joins_queue = True

    def take_joins_queue(self) -> bool:
        """Returns whether a result has joined the landing queue since the last call."""
        joins, self.joins_queue = self.joins_queue, False
        return joins

    # The trace

    def saw(self, subplan: SubplanState, name: str, outcome: str) -> None:
        """Adds a transition to the trace; an empty outcome is its start.

        Lending slots is not a transition of the net; the trace shows it as `lent` and `regained`.
        """
        if self.moves is not None:
            landing = " landing" if subplan.landing is not None else ""
            path = subplan.path or "the plan"
            if subplan.script.shape.has_hosts:
                hosts = slice_hosts(self.plan, subplan.row)
                path = copy_name(path, subplan.host or hosts[0], hosts)
            self.moves.append((f"{path}{landing}: {name}", outcome))

    def saw_wiring(self, name: str) -> None:
        if self.moves is not None:
            self.moves += [(name, ""), (name, "done")]

    # Data that slices share

    def steps_of(self, row: int) -> Mapping[str, PlacedStep]:
        plan = self.compiled.plan
        pipeline, verifies = plan.pipeline_of(row), bool(plan.subplans[row].verify)
        key = (id(pipeline), verifies)
        steps = self.tables.steps.get(key)
        if steps is None:
            steps = placed_steps(pipeline.steps, plan.pipelines, verifies=verifies)
            self.tables.steps[key] = steps
        return steps

    def claims(self, subplan: SubplanState, move: ShapeTransition) -> Claims:
        """Returns the tokens that a transition takes from pools while it runs, without slots."""
        if not move.claims:
            return ()
        if move.is_shared:
            return self.shared_claims(subplan.row, subplan.script.shape, move)
        return tuple(
            (pool, weight) for place, weight in move.claims for pool in self._pools(subplan, move, place)
        )

    def shared_claims(self, row: int, shape: Shape, move: ShapeTransition) -> Claims:
        """Returns the claims of a transition that uses no pool of a single slice or group; they are cached."""
        key = (move, self.limits.turns[row])
        claims = self.tables.claims.get(key)
        if claims is None:
            claims = self.tables.claims[key] = tuple(
                (pool, weight) for place, weight in move.claims for pool in self._shared(row, shape, place)
            )
        return claims

    def pool_claims(self, shape: Shape, move: ShapeTransition) -> Claims:
        """Returns the tokens that a transition takes from the pools of the plan and of its agents."""
        pools = range(MERGE + 1, shape.own)
        return tuple(
            (self.limits.named[shape.pools[place - pools.start]], weight)
            for place, weight in move.claims
            if place in pools and shape.pools[place - pools.start] != move.host
        )

    def _shared(self, row: int, shape: Shape, place: int) -> tuple[int, ...]:
        if place == TURN:
            return self.limits.turns[row]
        return (self.limits.named[shape.pools[place - MERGE - 1]],)

    def _pools(self, subplan: SubplanState, move: ShapeTransition, place: int) -> tuple[int, ...]:
        shape = subplan.script.shape
        if place == MERGE:
            return (self._branch(subplan),)
        if MERGE < place < shape.own and shape.pools[place - MERGE - 1] == move.host:
            return self.host_pool(subplan.step_hosts[move.act.step])
        return (subplan.pools[place],) if place >= shape.own else self._shared(subplan.row, shape, place)

    def host_pool(self, host: str) -> tuple[int, ...]:
        """Returns the pool of the slots of a host; nothing for this machine without slots."""
        number = self.limits.named.get(f"host:{host}")
        return () if number is None else (number,)

    def _branch(self, subplan: SubplanState) -> int:
        group = self.compiled.plan.outline.parents[subplan.row]
        if group not in self.branches:
            self.branches[group] = self.allocator.add_pool(1, ordered=True)
        return self.branches[group]


def engine_tables(compiled: CompiledPlan) -> EngineTables:
    return EngineTables(
        scripts=[script(shape) for shape in compiled.shapes],
        levels=priorities(compiled.plan, compiled.after),
        limits=pool_numbers(compiled),
        ceilings=ceilings_of(compiled.plan),
    )


def initial_state(compiled: CompiledPlan, tables: EngineTables | None, *, trace: bool) -> EngineState:
    """Returns the state of a run that has not started; `trace`: it records each transition of the net."""
    plan = compiled.plan
    tables = tables or engine_tables(compiled)
    limits = tables.limits
    money, tokens = tables.ceilings
    values = {name: pool.values for name, pool in plan.pools.items() if pool.values is not None}
    return EngineState(
        compiled=compiled,
        tracker=SubplanTracker(plan.outline.paths[1:]),
        scripts=tables.scripts,
        levels=tables.levels,
        allocator=Allocator(limits.sizes, ordered={turn for turns in limits.turns for turn in turns}),
        limits=limits,
        leases=Leases(values),
        budget=Budget(plan.outline.parents, money),
        token_budget=Budget(plan.outline.parents, tokens),
        tables=tables,
        hosts=HostStates(host.name for host in used_hosts(plan) if not host.is_local),
        moves=[] if trace else None,
    )
