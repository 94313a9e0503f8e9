"""What can run at once: slices, agents, and claims on pools.

The number of slices is the greatest that the plan's order and its limits allow (`order.width`). The number of
agents is an upper bound: as many slices as possible, those that keep the most agents busy. A pool or a serial
policy may allow fewer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.model import Agent
from weft.plan.order.outline import ROOT
from weft.plan.order.points import After
from weft.plan.order.width import Peak, peak
from weft.plan.report.counts import slot_caps, turns_of
from weft.plan.report.profiles import Profile

MAX_PARALLEL = "max_parallel"
ORDER = "the order of the plan"
SERIAL = "policy: serial"

MOST_ROWS = 2_000
"""In a larger plan, the slices of one agent are assumed to run together as freely as all slices."""


class AgentUse(Struct, frozen=True, kw_only=True):
    """How many of one agent run at once."""

    name: str
    at_most: int
    """How many of it at once."""
    pool: int | None

    def to_json(self) -> dict[str, object]:
        return {"agent": self.name, "at_most": self.at_most, "pool": self.pool}


class Together(Struct, frozen=True, kw_only=True):
    """What can run at once."""

    slices: int
    """No run has more slices at once."""
    reached: int
    """Some run has this many at once."""
    limited_by: str
    """What prevents more; empty if nothing does."""
    serial: bool
    """Whether all slices alternate, step by step."""
    agents: int
    agents_limited_by: str
    each: tuple[AgentUse, ...]

    def to_json(self) -> dict[str, object]:
        return {
            "slices": self.slices,
            "reached": self.reached,
            "limited_by": self.limited_by or None,
            "serial": self.serial,
            "agents": self.agents,
            "agents_limited_by": self.agents_limited_by or None,
            "each": [use.to_json() for use in self.each],
        }


class PoolUse(Struct, frozen=True, kw_only=True):
    """How a pool is used."""

    name: str
    of_agent: bool
    size: int
    steps: int
    slices: int
    """The number of slices that claim it."""
    kept: bool
    """Whether it is proved that the pool is never oversubscribed and everything returns to it."""
    of_host: bool = False
    """Whether it is the slots of a host."""

    def to_json(self) -> dict[str, object]:
        return {
            "pool": self.name,
            "of_agent": self.of_agent,
            "size": self.size,
            "steps": self.steps,
            "slices": self.slices,
            "kept": self.kept,
            **({"of_host": True} if self.of_host else {}),
        }


def _slices_together(compiled: CompiledPlan, after: After, starting: int) -> tuple[Peak, str]:
    """Returns how many slices run at once, and what limits them."""
    outline, caps = compiled.plan.outline, slot_caps(compiled)
    whole = caps[ROOT] or 1
    if starting > whole and not any(caps[1:]):
        return Peak(at_most=whole, reached=whole), MAX_PARALLEL
    width = peak(outline, after, caps)
    if width.at_most == sum(outline.leaves):
        return width, ""
    # If higher caps allow more slices, the caps are the limit; otherwise the order is.
    raised = peak(outline, after, [None if cap is None else cap + 1 for cap in caps])
    return width, MAX_PARALLEL if raised.at_most > width.at_most else ORDER


class _Load(Struct, frozen=True):
    """The slices that can run, by profile."""

    free: Counter[Profile]
    in_turn: list[set[Profile]]
    """For each serial policy, the profiles under it; only one step of them runs at a time."""

    @property
    def serial(self) -> bool:
        return not self.free and len(self.in_turn) == 1

    def most(self, agent: str | None, slices: int) -> int:
        """Returns how many agents, or how many of this agent, run at once in that many slices."""
        weights = Counter[int]()
        for profile, count in self.free.items():
            weights[_weight(profile, agent)] += count
        for profiles in self.in_turn:
            # Under a serial policy one step runs at a time, so it counts as one slice with at most one agent.
            weights[min(1, max(_weight(profile, agent) for profile in profiles))] += 1
        remaining, total = slices, 0
        for weight in sorted(weights, reverse=True):
            running = min(remaining, weights[weight])
            remaining -= running
            total += running * weight
        return total


def _weight(profile: Profile, agent: str | None) -> int:
    return profile.agents if agent is None else profile.agents_by_name.get(agent, 0)


def _load(compiled: CompiledPlan, profiles: Sequence[Profile | None]) -> _Load:
    load = _Load(Counter(), [])
    in_turn: dict[int, set[Profile]] = {}
    for profile, turn in zip(profiles, turns_of(compiled), strict=True):
        if profile is not None and turn < 0:
            load.free[profile] += 1
        elif profile is not None:
            in_turn.setdefault(turn, set()).add(profile)
    load.in_turn.extend(in_turn.values())
    return load


class _Slices(Struct, frozen=True):
    """Computes how many slices run at once, of all or of those with one agent."""

    compiled: CompiledPlan
    after: After
    profiles: Sequence[Profile | None]
    at_most: int
    most_rows: int

    def with_agent(self, name: str) -> int:
        outline = self.compiled.plan.outline
        leaves = [profile is not None and name in profile.agents_by_name for profile in self.profiles]
        if len(leaves) > self.most_rows or leaves == outline.leaves:
            return self.at_most
        # Leaves of other agents count as empty groups, which take part in the order but not in the count.
        others_as_groups = replace(outline, leaves=leaves)
        return peak(others_as_groups, self.after, slot_caps(self.compiled)).at_most


def together(
    compiled: CompiledPlan,
    after: After,
    profiles: Sequence[Profile | None],
    agents: Mapping[str, Agent],
    *,
    starting: int,
    most_rows: int = MOST_ROWS,
) -> Together:
    """Returns what can run at once; `starting` slices can start right away."""
    width, limited_by = _slices_together(compiled, after, starting)
    load, slices = _load(compiled, profiles), _Slices(compiled, after, profiles, width.at_most, most_rows)
    demand = {name: load.most(name, slices.with_agent(name)) for name in agents}
    each = tuple(
        AgentUse(name=name, at_most=min(count, agents[name].pool or count), pool=agents[name].pool)
        for name, count in demand.items()
    )
    scarce = [use.name for use in each if use.at_most < demand[use.name]]
    most, allowed = load.most(None, width.at_most), sum(use.at_most for use in each)
    agents_limited_by = _pools(scarce) if allowed < most else limited_by
    return Together(
        slices=width.at_most,
        reached=width.reached,
        limited_by=limited_by,
        serial=load.serial,
        agents=min(most, allowed),
        agents_limited_by=SERIAL if load.serial else agents_limited_by,
        each=each,
    )


def _pools(names: Sequence[str]) -> str:
    return f"the pool of {names[0]}" if len(names) == 1 else f"the pools of {', '.join(names)}"


def pool_uses(compiled: CompiledPlan, slice_counts: Counter[Profile], *, proved: bool) -> tuple[PoolUse, ...]:
    """Returns the pools of the plan, used or not, and the pools of the agents that are used."""
    sizes = {f"pool:{name}": pool.size for name, pool in compiled.plan.pools.items()} | compiled.pools
    steps: dict[str, set[int]] = {name: set() for name in sizes}
    slices = Counter[str]()
    for profile, count in slice_counts.items():
        for name, claiming in profile.claims.items():
            steps[name] |= claiming
            slices[name] += count
    return tuple(
        PoolUse(
            name=name.partition(":")[2],
            of_agent=name.startswith("agent:"),
            of_host=name.startswith("host:"),
            size=size,
            steps=len(steps[name]),
            slices=slices[name],
            kept=proved,
        )
        for name, size in sizes.items()
    )
