"""The frame around the steps: how a slice starts and ends, how a group ends, how results land.

    slice   (ready) ─▶ begin: slots, workspace ─▶ steps … ─▶ (finished) ─▶ close: slots back ─▶ (over) …
               └▶ stop ─▶ (end)                                                … (over) ─┬▶ merge ─▶ (end)
                                                                                         └▶ drop  ─▶ (end)
    group   (ready) ─▶ verify ─▶ (over) ─┬▶ merge ─▶ (end)
                                         └▶ drop  ─▶ (end)

If an agent resolves conflicts, the merge of a slice can take a longer way:

    (over) ─▶ merge ─┬ done, failed ─▶ (end)
                     └ conflict ─▶ (conflict) ─▶ resolve ─ done, failed ─▶ (resolved) ─▶ merge again ─▶ (end)

A slice holds one slot of each limit around it from its start to the end of its steps, and takes them all at once.
A group takes none: its own work starts when all its parts have ended.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.compile.actions import ActionKind
from weft.plan.compile.parts import (
    END,
    HOST,
    MERGE,
    READY,
    SLOT,
    TURN,
    Act,
    OutcomeArcs,
    Places,
    Role,
    Shape,
    ShapeBuilder,
)
from weft.plan.compile.steps import Claims, PipelineContext, PipelineNet, ShapeContext
from weft.plan.model import AgentWork, Ask, Join, Nested, Pipeline, RunCommand, Step, Verify


class Frame(Struct, frozen=True, kw_only=True):
    """Everything besides its steps that a shape depends on. Equal frames around equal steps give equal shapes."""

    serial: bool
    merges: bool
    """Whether there is a workspace with a result to merge into the branch around it."""
    verifies: bool
    """Whether there are verify commands."""
    infra_retries: int
    retries: int = 0
    max_concurrency: int | None = None
    agents: tuple[tuple[str, int | None], ...] = ()
    """The agent of each agent step, in order, with the size of its pool."""
    resolver: tuple[str, int | None] | None = None
    """The agent that resolves conflicts, with the size of its pool; None if a person does."""
    takes_host: bool = False
    """Whether steps take a slot of the host of the slice."""
    unlimited_hosts: frozenset[str] = frozenset()
    """The hosts without slots: only this machine, if its entry sets none."""


def slice_shape(
    steps: Sequence[Step], frame: Frame, pipelines: Mapping[str, Pipeline], pool_sizes: Mapping[str, int]
) -> Shape:
    """Returns the shape of a slice with these steps."""
    pool_claims = _PoolClaims(frame, pipelines)
    pool_claims.collect(steps)
    shape = ShapeBuilder(
        {name: pool_claims.sizes.get(name) or pool_sizes.get(name, 1) for name in pool_claims.pools}
    )
    turn: Claims = ((TURN, 1),) if frame.serial else ()
    # The slice holds its slots exactly while a token is in a carrying place.
    start, finished = shape.place("started", carries=True), shape.place("finished", carries=True)
    over = shape.place("over", carries=False) if frame.merges else END
    # A slice that is cancelled before it starts takes no slots.
    shape.move("stop", Act(Role.STOP), [READY], [END])
    _begin(shape, frame, start, turn)
    # Slots are returned before the merge, so that a long merge keeps no other slice from starting.
    shape.move("close", Act(Role.CLOSE), [finished], [over, SLOT])
    if frame.merges:
        _merge(shape, frame, over, turn, _number_claims(shape, pool_claims.resolver))
    context = ShapeContext(
        pipelines=pipelines,
        verifies=frame.verifies,
        retries=frame.retries,
        infra_retries=frame.infra_retries,
        claims={step: _number_claims(shape, claims) + turn for step, claims in pool_claims.claims.items()},
        async_claims=_async_claims(shape, frame) if pool_claims.has_async else (),
        over=over,
    )
    PipelineNet(shape, context, steps, PipelineContext()).build(start, finished)
    return shape.shape()


def _number_claims(shape: ShapeBuilder, claims: Mapping[str, int]) -> Claims:
    return tuple((shape.pools[name], claims[name]) for name in sorted(claims))


def _async_claims(shape: ShapeBuilder, frame: Frame) -> Claims:
    if frame.max_concurrency is None:
        return ()
    return ((shape.local_pool("async steps", frame.max_concurrency), 1),)


def _begin(shape: ShapeBuilder, frame: Frame, start: int, turn: Claims) -> None:
    """Adds the start of a slice: it takes the slots, and returns them if the workspace cannot be created."""
    if not frame.merges:
        shape.move("begin", Act(Role.BEGIN), [READY, SLOT], [start])
        return
    inputs: Places = [READY, SLOT]
    for retry in range(frame.infra_retries + 1):
        name = f"begin~{retry}" if retry else "begin"
        if retry:
            shape.move(f"stop {name}", Act(Role.STOP), inputs, [END, SLOT])
        following = (
            shape.place(f"begin~{retry + 1} ready", carries=True) if retry < frame.infra_retries else None
        )
        lost: Places = [END, SLOT] if following is None else [following]
        over: Places = [END, SLOT]
        outcomes: list[OutcomeArcs] = [("done", [start]), ("failed", over), ("cancelled", over)]
        # A lost or unstartable action counts against `infra_retries`, not as a failure.
        outcomes += [("lost", lost), ("infra", lost)]
        act = Act(Role.BEGIN, ActionKind.WORKSPACE, attempt=retry + 1, rerun=retry)
        shape.choice(name, act, inputs, outcomes, turn)
        inputs = [] if following is None else [following]


class _Action(Struct, frozen=True):
    """Something that Weft does itself."""

    name: str
    role: Role
    kind: ActionKind
    outcomes: tuple[str, ...]
    claims: Claims
    conflict: int | None = None
    """Where a conflict leads, if not to the end."""
    stopped: int | None = None
    """Where the token goes when the action is cancelled or stopped, if not to the end."""


def _merge(
    shape: ShapeBuilder, frame: Frame, over: int, turn: Claims, resolver: Claims | None = None
) -> None:
    shape.move("drop", Act(Role.DROP), [over], [END])
    merge = _Action(
        # The pool `MERGE` has one token per branch: merges into the same branch happen one after the other.
        "merge",
        Role.MERGE,
        ActionKind.MERGE,
        ("done", "conflict", "failed"),
        ((MERGE, 1), *turn),
    )
    if frame.resolver is None or resolver is None:
        _add_tries(shape, frame, merge, over, END)
        return
    conflict, resolved = shape.place("conflict", carries=False), shape.place("resolved", carries=False)
    _add_tries(shape, frame, replace(merge, conflict=conflict), over, END)
    shape.move("stop resolve", Act(Role.STOP), [conflict], [END])
    resolve = _Action(
        "resolve", Role.RESOLVE, ActionKind.RESOLVE, ("done", "failed"), (*resolver, *turn), stopped=END
    )
    _add_tries(shape, frame, resolve, conflict, resolved)
    # Every place needs a way out that takes no time, or a cancelled plan could wait for a merge that never starts.
    shape.move("stop merge again", Act(Role.STOP), [resolved], [END])
    _add_tries(shape, frame, replace(merge, name="merge again"), resolved, END)


def _add_tries(shape: ShapeBuilder, frame: Frame, action: _Action, ready: int, end: int) -> None:
    """Adds the action and its retries after a loss, with a way past each retry."""
    stopped = end if action.stopped is None else action.stopped
    targets = {"conflict": action.conflict, "cancelled": stopped}
    for retry in range(frame.infra_retries + 1):
        name = f"{action.name}~{retry}" if retry else action.name
        if retry:
            shape.move(f"stop {name}", Act(Role.STOP), [ready], [stopped])
        last = retry == frame.infra_retries
        # Each retry has a place of its own; a way back to the same place would be a cycle, and the number of
        # retries unbounded.
        lost = end if last else shape.place(f"{action.name}~{retry + 1} ready", carries=False)
        outcomes = (*action.outcomes, "cancelled")
        arcs: list[OutcomeArcs] = [(outcome, [targets.get(outcome) or end]) for outcome in outcomes]
        arcs += [("lost", [lost]), ("infra", [lost])]
        act = Act(action.role, action.kind, attempt=retry + 1, rerun=retry)
        shape.choice(name, act, [ready], arcs, action.claims)
        ready = lost


def group_shape(frame: Frame) -> Shape | None:
    """Returns what a group does when all its parts have ended; None if there is nothing to do."""
    if not frame.verifies and not frame.merges:
        return None
    shape = ShapeBuilder({})
    turn: Claims = ((TURN, 1),) if frame.serial else ()
    over = READY
    if frame.verifies:
        over = shape.place("over", carries=False) if frame.merges else END
        shape.move("stop", Act(Role.STOP), [READY], [over])
        _add_tries(
            shape,
            frame,
            _Action("verify", Role.RUN, ActionKind.VERIFY, ("done", "failed"), turn),
            READY,
            over,
        )
    if frame.merges:
        _merge(shape, frame, over, turn)
    return shape.shape()


def landing_shape(frame: Frame) -> Shape:
    """Returns how a result lands: through the landing queue, which takes any number of results at once.

    Only the end of the plan waits for a landing.
    """
    shape = ShapeBuilder({})
    turn: Claims = ((TURN, 1),) if frame.serial else ()
    shape.move("drop", Act(Role.DROP), [READY], [END])
    outcomes = ("done", "held", "conflict", "failed")
    _add_tries(shape, frame, _Action("land", Role.LAND, ActionKind.LAND, outcomes, turn), READY, END)
    return shape.shape()


class _PoolClaims:
    """The pools that the steps of a shape claim. A step claims all of its pools at once."""

    def __init__(self, frame: Frame, pipelines: Mapping[str, Pipeline]) -> None:
        self.agents = iter(frame.agents)
        self.pipelines = pipelines
        self.claims: dict[int, dict[str, int]] = {}
        self.sizes: dict[str, int] = {}
        """The sizes of the agents' own pools."""
        self.has_async = False
        self.takes_host, self.unlimited = frame.takes_host, frame.unlimited_hosts
        self.resolver = {} if frame.resolver is None else self.of_agent(*frame.resolver)

    @property
    def pools(self) -> Sequence[str]:
        return sorted({name for claims in (*self.claims.values(), self.resolver) for name in claims})

    def collect(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.has_async |= step.is_async
            match step.body:
                case Nested(pipeline):
                    self.collect(self.pipelines[pipeline].steps)
                case AgentWork() | RunCommand() | Verify():
                    self.claims[id(step)] = self.of_step(step)
                case Ask() | Join():
                    pass

    def of_step(self, step: Step) -> dict[str, int]:
        claims = {f"pool:{name}": count for name, count in step.pools}
        if host := self.host_of(step):
            claims[host] = 1
        if isinstance(step.body, AgentWork):
            # `frame.agents` lists the agents in the order of this walk, so the iterator stays in step with it.
            claims |= self.of_agent(*next(self.agents))
        return claims

    def host_of(self, step: Step) -> str:
        """Returns the pool that stands for the slots of the step's host; empty if it takes none."""
        if step.host is None:
            return HOST if self.takes_host else ""
        is_limited = step.host.labels or not self.unlimited >= set(step.host.names)
        return f"{HOST}{step.host.name}" if is_limited else ""

    def of_agent(self, name: str, size: int | None) -> dict[str, int]:
        if size is None:
            return {}
        self.sizes[f"agent:{name}"] = size
        return {f"agent:{name}": 1}
