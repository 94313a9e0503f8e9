"""How large a plan is, and the net that would be put together from it."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from weft.plan.compile.compiled import CompiledPlan
from weft.plan.order.outline import ROOT
from weft.plan.report.profiles import Profile


class Counts(Struct, frozen=True, kw_only=True):
    subplans: int
    """Groups and slices, without the plan itself."""
    groups: int
    slices: int
    places: int
    transitions: int
    """Of the net."""

    def to_json(self) -> dict[str, object]:
        return {
            "subplans": self.subplans,
            "groups": self.groups,
            "slices": self.slices,
            "net": {"places": self.places, "transitions": self.transitions},
        }


class PipelineUse(Struct, frozen=True, kw_only=True):
    name: str | None
    """None: steps that stand in the slices themselves."""
    slices: int
    calls: int
    """Agent calls at most, in one of these slices."""

    def to_json(self) -> dict[str, object]:
        return {"pipeline": self.name, "slices": self.slices, "agent_calls_per_slice": self.calls}


def counts(compiled: CompiledPlan) -> Counts:
    leaves = compiled.plan.outline.leaves
    slices = sum(leaves)
    places, transitions = net_size(compiled)
    return Counts(
        subplans=len(leaves) - 1,
        groups=len(leaves) - 1 - slices,
        slices=slices,
        places=places,
        transitions=transitions,
    )


def pipeline_uses(alike: Counter[Profile]) -> tuple[PipelineUse, ...]:
    slices: Counter[str | None] = Counter()
    calls: dict[str | None, int] = {}
    for profile, count in alike.items():
        slices[profile.pipeline] += count
        calls[profile.pipeline] = max(calls.get(profile.pipeline, 0), profile.calls)
    return tuple(PipelineUse(name=name, slices=count, calls=calls[name]) for name, count in slices.items())


def net_size(compiled: CompiledPlan) -> tuple[int, int]:
    """Places and transitions of `compiled.net`, without putting it together."""
    places, transitions = 2, 0  # its start and its end
    wires, outline = compiled.wiring, compiled.plan.outline
    for arcs in (wires.opens, wires.hears, wires.closes):
        places += sum(map(len, arcs))
    places += len(wires.landings) + _limits(compiled) + _branches(compiled)
    gathering = sum(leaf and count > 1 for leaf, count in zip(outline.leaves, _waits(compiled), strict=True))
    groups = len(outline.leaves) - sum(outline.leaves)
    closing = sum(
        not leaf and shape >= 0 for leaf, shape in zip(outline.leaves, compiled.shape_of, strict=True)
    )
    places += gathering + closing
    transitions += gathering + 2 * groups
    copies = Counter(compiled.shape_of) + Counter(compiled.landing_shapes)
    for number, shape in enumerate(compiled.shapes):
        places += copies[number] * (len(shape.net.place_ids) - shape.own)
        transitions += copies[number] * len(shape.net.transition_ids)
    return places, transitions


def _waits(compiled: CompiledPlan) -> list[int]:
    """For how many things each row waits."""
    found = [0] * len(compiled.shape_of)
    for arcs in (compiled.wiring.opens, compiled.wiring.hears):
        for rows in arcs:
            for row in rows:
                found[row] += 1
    return found


def _limits(compiled: CompiledPlan) -> int:
    slots = sum(cap is not None for cap in slot_caps(compiled))
    turns = sum(turn == row for row, turn in enumerate(turns_of(compiled)))
    return slots + turns + len(compiled.pools)


def _branches(compiled: CompiledPlan) -> int:
    """The branches that something is merged into."""
    merging = {number for number, shape in enumerate(compiled.shapes) if shape.merges}
    parents = compiled.plan.outline.parents
    into = {parents[row] for row, shape in enumerate(compiled.shape_of) if shape in merging}
    return len(into)


def slot_caps(compiled: CompiledPlan) -> list[int | None]:
    """Where a limit on slices stands: on the plan, and on groups that set one themselves."""
    plan = compiled.plan
    return [
        plan.scopes[row].settings.max_parallel
        if row == ROOT or ("max_parallel" in subplan.settings and not plan.outline.leaves[row])
        else None
        for row, subplan in enumerate(plan.subplans)
    ]


def turns_of(compiled: CompiledPlan) -> Sequence[int]:
    """For each row, the row whose serial policy it is under; -1 without one."""
    plan, found = compiled.plan, list[int]()
    for row, scope in enumerate(plan.scopes):
        around = found[plan.outline.parents[row]] if row else -1
        serial = scope.settings.policy == "serial"
        found.append(-1 if not serial else row if around < 0 else around)
    return found
