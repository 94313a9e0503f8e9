"""What stands around the steps: how a slice begins and ends, how a group ends, how results land.

    slice   (ready) ─▶ begin: slots, workspace ─▶ steps … ─▶ (finished) ─▶ close: slots back ─▶ (over) …
               └▶ stop ─▶ (end)                                                … (over) ─┬▶ merge ─▶ (end)
                                                                                         └▶ drop  ─▶ (end)
    group   (ready) ─▶ verify ─▶ (over) ─┬▶ merge ─▶ (end)
                                         └▶ drop  ─▶ (end)

Where an agent is to resolve conflicts, the merge of a slice may go a longer way:

    (over) ─▶ merge ─┬ done, failed ─▶ (end)
                     └ conflict ─▶ (conflict) ─▶ resolve ─ done, failed ─▶ (resolved) ─▶ merge again ─▶ (end)

A slice holds one slot of each limit around it from its beginning to the end of its steps; all are taken at once.
A group takes none: it is there when all that is in it has ended.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.compile.parts import (
    END,
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
from weft.plan.compile.steps import Around, Claims, Track, Way
from weft.plan.model import AgentWork, Ask, Join, Nested, Pipeline, RunCommand, Step, Verify


class Frame(Struct, frozen=True, kw_only=True):
    """What a shape depends on, besides its steps. Equal frames around equal steps give equal shapes."""

    serial: bool
    merges: bool
    """Whether there is a workspace, whose result goes to the branch around it."""
    verifies: bool
    """Whether there is something to verify."""
    infra_retries: int
    retries: int = 0
    max_concurrency: int | None = None
    agents: tuple[tuple[str, int | None], ...] = ()
    """The agent of each step that has one, in order, with the size of its pool."""
    resolver: tuple[str, int | None] | None = None
    """The agent that resolves conflicts, with the size of its pool; None: a person does."""


def slice_shape(
    steps: Sequence[Step], frame: Frame, pipelines: Mapping[str, Pipeline], pool_sizes: Mapping[str, int]
) -> Shape:
    needs = _Needs(frame, pipelines)
    needs.collect(steps)
    shape = ShapeBuilder({name: needs.sizes.get(name) or pool_sizes[name] for name in needs.pools})
    turn: Claims = ((TURN, 1),) if frame.serial else ()
    start, finished = shape.place("started", carries=True), shape.place("finished", carries=True)
    over = shape.place("over", carries=False) if frame.merges else END
    shape.move("stop", Act(Role.STOP), [READY], [END])
    _begin(shape, frame, start, turn)
    shape.move("close", Act(Role.CLOSE), [finished], [over, SLOT])
    if frame.merges:
        _merge(shape, frame, over, turn, _numbered(shape, needs.resolver))
    way = Way(
        pipelines=pipelines,
        verifies=frame.verifies,
        retries=frame.retries,
        infra_retries=frame.infra_retries,
        claims={step: _numbered(shape, claims) + turn for step, claims in needs.claims.items()},
        async_claims=_async_claims(shape, frame) if needs.has_async else (),
        over=over,
    )
    Track(shape, way, steps, Around()).lay(start, finished)
    return shape.shape()


def _numbered(shape: ShapeBuilder, claims: Mapping[str, int]) -> Claims:
    return tuple((shape.pools[name], claims[name]) for name in sorted(claims))


def _async_claims(shape: ShapeBuilder, frame: Frame) -> Claims:
    if frame.max_concurrency is None:
        return ()
    return ((shape.local_pool("async steps", frame.max_concurrency), 1),)


def _begin(shape: ShapeBuilder, frame: Frame, start: int, turn: Claims) -> None:
    """The slots are taken here, and given back where the workspace cannot be had."""
    if not frame.merges:
        shape.move("begin", Act(Role.BEGIN), [READY, SLOT], [start])
        return
    taken: Places = [READY, SLOT]
    for again in range(frame.infra_retries + 1):
        name = f"begin~{again}" if again else "begin"
        if again:
            shape.move(f"stop {name}", Act(Role.STOP), taken, [END, SLOT])
        following = (
            shape.place(f"begin~{again + 1} ready", carries=True) if again < frame.infra_retries else None
        )
        lost: Places = [END, SLOT] if following is None else [following]
        over: Places = [END, SLOT]
        outcomes: list[OutcomeArcs] = [("done", [start]), ("failed", over), ("cancelled", over)]
        outcomes += [("lost", lost), ("infra", lost)]
        shape.choice(name, Act(Role.BEGIN, "workspace", attempt=again + 1), taken, outcomes, turn)
        taken = [] if following is None else [following]


class _Action(Struct, frozen=True):
    """Something that Weft does itself."""

    name: str
    role: Role
    outcomes: tuple[str, ...]
    claims: Claims
    conflict: int | None = None
    """Where a conflict leads, if that is not the end."""
    leaves: int | None = None
    """Where it leads when it is not to be done any more, if that is not the end."""


def _merge(
    shape: ShapeBuilder, frame: Frame, over: int, turn: Claims, resolver: Claims | None = None
) -> None:
    shape.move("drop", Act(Role.DROP), [over], [END])
    merge = _Action("merge", Role.MERGE, ("done", "conflict", "failed"), ((MERGE, 1), *turn))
    if frame.resolver is None or resolver is None:
        _tried(shape, frame, merge, over, END)
        return
    conflict, resolved = shape.place("conflict", carries=False), shape.place("resolved", carries=False)
    _tried(shape, frame, replace(merge, conflict=conflict), over, END)
    shape.move("stop resolve", Act(Role.STOP), [conflict], [END])
    resolve = _Action("resolve", Role.RESOLVE, ("done", "failed"), (*resolver, *turn), leaves=END)
    _tried(shape, frame, resolve, conflict, resolved)
    shape.move("stop merge again", Act(Role.STOP), [resolved], [END])
    _tried(shape, frame, replace(merge, name="merge again"), resolved, END)


def _tried(shape: ShapeBuilder, frame: Frame, action: _Action, ready: int, end: int) -> None:
    """The action, tried again when it was lost; with a way around the later tries."""
    leaves = end if action.leaves is None else action.leaves
    elsewhere = {"conflict": action.conflict, "cancelled": leaves}
    for again in range(frame.infra_retries + 1):
        name = f"{action.name}~{again}" if again else action.name
        if again:
            shape.move(f"stop {name}", Act(Role.STOP), [ready], [leaves])
        last = again == frame.infra_retries
        lost = end if last else shape.place(f"{action.name}~{again + 1} ready", carries=False)
        outcomes = (*action.outcomes, "cancelled")
        arcs: list[OutcomeArcs] = [(outcome, [elsewhere.get(outcome) or end]) for outcome in outcomes]
        arcs += [("lost", [lost]), ("infra", [lost])]
        kind = action.name.partition(" ")[0]
        shape.choice(name, Act(action.role, kind, attempt=again + 1), [ready], arcs, action.claims)
        ready = lost


def group_shape(frame: Frame) -> Shape | None:
    """What a group does when all that is in it has ended; None if there is nothing to do."""
    if not frame.verifies and not frame.merges:
        return None
    shape = ShapeBuilder({})
    turn: Claims = ((TURN, 1),) if frame.serial else ()
    over = READY
    if frame.verifies:
        over = shape.place("over", carries=False) if frame.merges else END
        shape.move("stop", Act(Role.STOP), [READY], [over])
        _tried(shape, frame, _Action("verify", Role.RUN, ("done", "failed"), turn), READY, over)
    if frame.merges:
        _merge(shape, frame, over, turn)
    return shape.shape()


def landing_shape(frame: Frame) -> Shape:
    """How a result gets onto the target: through the landing queue, which takes any number of results at once.

    A landing holds up nothing but the end of the plan.
    """
    shape = ShapeBuilder({})
    turn: Claims = ((TURN, 1),) if frame.serial else ()
    shape.move("drop", Act(Role.DROP), [READY], [END])
    outcomes = ("done", "held", "conflict", "failed")
    _tried(shape, frame, _Action("land", Role.LAND, outcomes, turn), READY, END)
    return shape.shape()


class _Needs:
    """Which pools the steps of a shape claim, each all at once."""

    def __init__(self, frame: Frame, pipelines: Mapping[str, Pipeline]) -> None:
        self.agents = iter(frame.agents)
        self.pipelines = pipelines
        self.claims: dict[int, dict[str, int]] = {}
        self.sizes: dict[str, int] = {}
        """Of the agents' own pools."""
        self.has_async = False
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
                    self.claims[id(step)] = self.of(step)
                case Ask() | Join():
                    pass

    def of(self, step: Step) -> dict[str, int]:
        claims = {f"pool:{name}": count for name, count in step.pools}
        if isinstance(step.body, AgentWork):
            claims |= self.of_agent(*next(self.agents))
        return claims

    def of_agent(self, name: str, size: int | None) -> dict[str, int]:
        if size is None:
            return {}
        self.sizes[f"agent:{name}"] = size
        return {f"agent:{name}": 1}
