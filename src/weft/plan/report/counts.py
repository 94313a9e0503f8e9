"""The size of a plan, and of the net that would be assembled from it."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.order.outline import ROOT
from weft.plan.report.profiles import Profile


class Counts(Struct, frozen=True, kw_only=True):
    """The size of a plan and its net."""

    subplans: int
    """Groups and slices, without the plan itself."""
    groups: int
    slices: int
    places: int
    transitions: int
    """Transitions of the net."""

    def to_json(self) -> dict[str, object]:
        return {
            "subplans": self.subplans,
            "groups": self.groups,
            "slices": self.slices,
            "net": {"places": self.places, "transitions": self.transitions},
        }


class PipelineUse(Struct, frozen=True, kw_only=True):
    """How many slices use a pipeline."""

    name: str | None
    """None for steps that are written in the slices themselves."""
    slices: int
    calls: int
    """The most agent calls in one of these slices."""

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


def pipeline_uses(slice_counts: Counter[Profile]) -> tuple[PipelineUse, ...]:
    slices: Counter[str | None] = Counter()
    calls: dict[str | None, int] = {}
    for profile, count in slice_counts.items():
        slices[profile.pipeline] += count
        calls[profile.pipeline] = max(calls.get(profile.pipeline, 0), profile.calls)
    return tuple(PipelineUse(name=name, slices=count, calls=calls[name]) for name, count in slices.items())


def net_size(compiled: CompiledPlan) -> tuple[int, int]:
    """Returns the number of places and transitions of `compiled.net`, without assembling it."""
    places, transitions = 2, 0  # the start and the end of the plan
    wires, outline = compiled.wiring, compiled.plan.outline
    for arcs in (wires.opens, wires.followers, wires.closes):
        places += sum(map(len, arcs))
    places += len(wires.landings) + _limits(compiled) + _branches(compiled)
    # A slice with one predecessor starts from that place itself; only several need a joining transition.
    joins = sum(leaf and count > 1 for leaf, count in zip(outline.leaves, _waits(compiled), strict=True))
    groups = len(outline.leaves) - sum(outline.leaves)
    closing = sum(
        not leaf and shape >= 0 for leaf, shape in zip(outline.leaves, compiled.shape_of, strict=True)
    )
    places += joins + closing
    # Each group has one transition that opens it and one that closes it.
    transitions += joins + 2 * groups
    # Each copy adds the shape's own places and all its transitions.
    copies = Counter(compiled.shape_of) + Counter(compiled.landing_shapes)
    for number, shape in enumerate(compiled.shapes):
        places += copies[number] * (len(shape.net.place_ids) - shape.own)
        transitions += copies[number] * len(shape.net.transition_ids)
    return places, transitions


def _waits(compiled: CompiledPlan) -> list[int]:
    """Returns how many places each row waits for."""
    counts_by_row = [0] * len(compiled.shape_of)
    for arcs in (compiled.wiring.opens, compiled.wiring.followers):
        for rows in arcs:
            for row in rows:
                counts_by_row[row] += 1
    return counts_by_row


def _limits(compiled: CompiledPlan) -> int:
    slots = sum(cap is not None for cap in slot_caps(compiled))
    turns = sum(turn == row for row, turn in enumerate(turns_of(compiled)))
    return slots + turns + len(compiled.pools)


def _branches(compiled: CompiledPlan) -> int:
    """Returns the number of branches that something is merged into."""
    merging = {number for number, shape in enumerate(compiled.shapes) if shape.merges}
    parents = compiled.plan.outline.parents
    into = {parents[row] for row, shape in enumerate(compiled.shape_of) if shape in merging}
    return len(into)


def slot_caps(compiled: CompiledPlan) -> list[int | None]:
    """Returns the limits on slices by row: that of the plan, and those that groups set themselves."""
    plan = compiled.plan
    return [
        plan.scopes[row].settings.max_parallel
        if row == ROOT or ("max_parallel" in subplan.settings and not plan.outline.leaves[row])
        else None
        for row, subplan in enumerate(plan.subplans)
    ]


def turns_of(compiled: CompiledPlan) -> Sequence[int]:
    """Returns, for each row, the row with the serial policy that applies to it; -1 if there is none."""
    plan, turns = compiled.plan, list[int]()
    for row, scope in enumerate(plan.scopes):
        outer = turns[plan.outline.parents[row]] if row else -1
        serial = scope.settings.policy == "serial"
        # The outermost serial group has the only turn: a serial group within it takes the same one.
        turns.append(-1 if not serial else row if outer < 0 else outer)
    return turns
