"""Compiles a plan to its net.

Above the slices, the net is a graph of dependencies: it has a place for each "this starts when that has ended".
Every subplan ends exactly once, whatever its result, so each such place gets one token and gives one. Whether a
slice then runs or is stopped is decided inside its shape. A plan compiles to this graph and to the few shapes of
its subplans. Together they make one net, with a copy of its shape for each subplan.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from weft.plan.compile.frames import Frame, group_shape, landing_shape, slice_shape
from weft.plan.compile.parts import HOST, Shape
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.compile.signature import signature
from weft.plan.compile.wait_graph import wiring_of
from weft.plan.hosts import LOCAL
from weft.plan.loader.slices_check import agent_of, resolver_of
from weft.plan.model import AgentWork, Nested, Pipeline, Plan, Step
from weft.plan.order.outline import ROOT
from weft.plan.order.overlap import serial_predecessors
from weft.plan.placement import has_slots, used_hosts
from weft.plan.settings import Settings


def compile_plan(plan: Plan) -> CompiledPlan:
    """Returns the net of a plan in parts: the shapes of its subplans, and the dependencies between them."""
    after = _serial_order(plan)
    shapes = _Shapes(plan)
    outline = plan.outline
    shape_of = [shapes.number_of(row) for row in range(len(outline.paths))]
    landings = _landings(plan)
    landing_shapes = [shapes.landing(row) for row in landings]
    pools = shapes.pools | {f"host:{host.name}": host.slots or 1 for host in used_hosts(plan)}
    return CompiledPlan(
        plan=plan,
        after=after,
        wiring=wiring_of(outline, after, landings),
        shapes=tuple(shapes.shapes),
        shape_of=shape_of,
        landing_shapes=landing_shapes,
        pools=pools,
    )


def _serial_order(plan: Plan) -> list[tuple[int, ...]]:
    """Returns, for each row, the rows that must end first because of overlapping files."""
    serialize = [scope.settings.overlap == "serialize" for scope in plan.scopes]
    if not any(serialize):
        return [()] * len(plan.subplans)
    return serial_predecessors(plan.outline, [subplan.files for subplan in plan.subplans], serialize)


def _landings(plan: Plan) -> list[int]:
    """Returns the rows that land: top-level subplans as a whole, or each slice by itself."""
    outline, scopes = plan.outline, plan.scopes
    # The whole plan works in the user's own directory, so there is no target to land on.
    if scopes[ROOT].settings.isolation == "none":
        return []
    landings: list[int] = []
    for row in range(1, len(outline.paths)):
        settings = scopes[row].settings
        lands = outline.is_leaf(row) if settings.merge_when == "slice" else outline.parents[row] == ROOT
        # Without isolation there is no branch, so nothing lands.
        if lands and settings.isolation != "none":
            landings.append(row)
    return landings


class _Shapes(Struct):
    """The distinct shapes of a plan, numbered."""

    plan: Plan
    shapes: list[Shape] = field(default_factory=list[Shape])
    pools: dict[str, int] = field(default_factory=dict[str, int])
    _numbers: dict[object, int] = field(default_factory=dict[object, int])
    _by_origin: dict[tuple[int, int, bool], int] = field(default_factory=dict[tuple[int, int, bool], int])
    """Shape numbers by pipeline, settings and verify: slices that share these share a shape."""

    def number_of(self, row: int) -> int:
        """Returns the number of the row's shape; -1 if the row needs none."""
        subplan, scope = self.plan.subplans[row], self.plan.scopes[row]
        verifies = bool(subplan.verify)
        if not self.plan.outline.is_leaf(row):
            # The landing queue runs the verify of the plan before anything lands. Without a branch to land on,
            # the plan's own shape runs it at the end.
            verifies = verifies and not (row == ROOT and scope.settings.has_branch)
            frame = self.frame(scope.settings, verifies=verifies, merges=row != ROOT)
            return self.number_for_key(("group", frame), lambda: group_shape(frame))
        pipeline = self.plan.pipeline_of(row)
        # Slices of one group share their pipeline and scope objects, so most of ten thousand slices need no
        # signature.
        origin = (id(pipeline), id(scope), verifies)
        if origin not in self._by_origin:
            self._by_origin[origin] = self.slice(pipeline, scope.settings, verifies=verifies)
        return self._by_origin[origin]

    def slice(self, pipeline: Pipeline, settings: Settings, *, verifies: bool) -> int:
        agents = tuple(self.agents(pipeline.steps, settings))
        frame = replace(
            self.frame(settings, verifies=verifies),
            retries=settings.retries,
            max_concurrency=settings.max_concurrency,
            agents=agents,
            resolver=self.resolver(settings),
            takes_host=self.takes_host(settings),
            unlimited_hosts=self._unlimited,
        )
        sizes = {f"pool:{name}": pool.size for name, pool in self.plan.pools.items()}
        # Equal steps in different objects, such as two `steps:` lists with the same text, share a shape as well.
        key = ("slice", signature(pipeline.steps, self.plan.pipelines), frame)

        def build() -> Shape:
            return slice_shape(pipeline.steps, frame, self.plan.pipelines, sizes)

        return self.number_for_key(key, build)

    def landing(self, row: int) -> int:
        frame = self.frame(self.plan.scopes[row].settings, verifies=False)
        return self.number_for_key(("landing", frame), lambda: landing_shape(frame))

    def number_for_key(self, key: object, make: Callable[[], Shape | None]) -> int:
        """Returns the number of the shape with this key; builds the shape if it is new."""
        if key not in self._numbers:
            shape = make()
            # `None` is remembered too: a group without verify and merge does nothing of its own.
            self._numbers[key] = -1 if shape is None else len(self.shapes)
            if shape is not None:
                self.shapes.append(shape)
                self.pools.update(
                    (name, size) for name, size in shape.pool_sizes().items() if not name.startswith(HOST)
                )
        return self._numbers[key]

    def frame(self, settings: Settings, *, verifies: bool, merges: bool = True) -> Frame:
        return Frame(
            serial=settings.policy == "serial",
            merges=merges and settings.isolation != "none",
            verifies=verifies,
            infra_retries=settings.infra_retries,
        )

    def takes_host(self, settings: Settings) -> bool:
        hosts = self.plan.hosts
        return any(name in hosts and has_slots(hosts[name]) for name in settings.host.candidates(hosts))

    @property
    def _unlimited(self) -> frozenset[str]:
        hosts = self.plan.hosts
        return frozenset((LOCAL,)) if LOCAL not in hosts or hosts[LOCAL].slots is None else frozenset()

    def resolver(self, settings: Settings) -> tuple[str, int | None] | None:
        if not settings.resolves:
            return None
        agent = resolver_of(settings, self.plan.agents)
        assert agent is not None, "a loaded plan has an agent where one resolves conflicts"
        return agent.name, agent.pool

    def agents(self, steps: Sequence[Step], settings: Settings) -> Iterable[tuple[str, int | None]]:
        """Yields name and pool size of the agent of each agent step, nested pipelines included."""
        for step in steps:
            if isinstance(step.body, Nested):
                yield from self.agents(self.plan.pipelines[step.body.pipeline].steps, settings)
            elif isinstance(step.body, AgentWork):
                agent = agent_of(step.body, settings, self.plan.agents)
                assert agent is not None, "a loaded plan has an agent for each step"
                yield agent.name, agent.pool
