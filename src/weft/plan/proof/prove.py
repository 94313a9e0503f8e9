"""Proves part by part that a plan can always finish.

The net of a plan is the graph of dependencies with a copy of a shape for each subplan. So it is enough to show
that

1. each shape by itself, without its pools, is a sound workflow net (rank theorem; a sound free-choice net never
   has two tokens in one place);
2. the graph of dependencies has no cycle, one start and one end. As each of its places has one producer and one
   consumer by construction, it is then a marked graph in which everything happens exactly once;
3. a sound, safe net may replace a transition of a sound, safe net: the result is sound again;
4. a step takes all it needs from pools at once, no more than there is, and every outcome returns it; slots are
   taken before and returned exactly once. So the holder of a resource runs or can continue, and nothing waits
   forever.

There are few shapes, and the graph takes one pass: a plan of 100,000 slices is proved in about the time it takes
to count them.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from msgspec import Struct

from weft.net.model import Arcs, Net, PlaceKind
from weft.net.plain import unfold
from weft.net.soundness import soundness
from weft.net.verdict import Answer
from weft.plan.compile.parts import SLOT, Shape
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.order.outline import ROOT
from weft.plan.proof.words import ending_words, pool_in_words, subject

_OPENING, _CLOSING = 2 * ROOT, 2 * ROOT + 1
"""The nodes of the plan itself in the graph of dependencies."""
_NAMES = 4
_AT = {"beginning": "begins with", "end": "ends with"}


class Proof(Struct, frozen=True, kw_only=True):
    """The answer to whether a plan can always finish."""

    answer: Answer
    why: str
    """The theorems and figures behind it, or what is wrong."""
    trace: tuple[str, ...] = ()
    """The steps that lead to the fault, in terms of the plan, if the answer is refuted."""


def prove(compiled: CompiledPlan) -> Proof:
    later, nodes = _graph(compiled)
    # Each part assumes the ones before: the graph is a marked graph only if the shapes are sound.
    fault = _shape_fault(compiled) or _dependency_fault(compiled, later, nodes) or _pool_fault(compiled)
    if fault is not None:
        return fault
    return Proof(
        answer=Answer.PROVED,
        why=(
            f"{_count(len(compiled.shapes), 'shape')} of subplans, each a sound free-choice workflow net (rank "
            f"theorem); above them an acyclic marked graph of {len(nodes):,} nodes and {sum(map(len, later)):,} "
            "places with one source and one sink; sound, safe nets in place of its transitions keep it sound; all "
            "claims on pools come back"
        ),
    )


def _shape_fault(compiled: CompiledPlan) -> Proof | None:
    for number, shape in enumerate(compiled.shapes):
        doubled = _double_arc(shape.net)
        if doubled is not None:
            message = f"{doubled!r} has two arcs to one place, which no theorem here covers"
            return Proof(answer=Answer.UNKNOWN, why=f"{_example(compiled, number)}: {message}")
        # Pools are handled separately, because the rank theorem needs a workflow net.
        net = unfold(shape.net).skeleton()
        verdict = soundness(net).verdict
        if verdict.answer is not Answer.PROVED:
            from weft.plan.proof.refutation import explain_refutation  # noqa: PLC0415 - rarely needed, slow to import

            why, trace = explain_refutation(net, shape, _example(compiled, number), verdict)
            return Proof(answer=verdict.answer, why=why, trace=trace)
    return None


def _double_arc(net: Net) -> str | None:
    """Returns a transition with two arcs to one place instead of one arc with their weight; or None."""
    for number, inputs in enumerate(net.inputs):
        for arcs in (inputs, *net.outputs[number]):
            if len({place for place, _ in arcs}) < len(arcs):
                return net.transition_ids[number]
    return None


def _example(compiled: CompiledPlan, number: int) -> str:
    """Returns the path of the first subplan with the shape."""
    if number in compiled.shape_of:
        return compiled.plan.outline.paths[compiled.shape_of.index(number)] or "the plan"
    landing = compiled.landing_shapes.index(number)
    return compiled.plan.outline.paths[compiled.wiring.landings[landing]]


# The graph of dependencies: a group is two nodes, its opening and its closing; everything else is one.


def _dependency_fault(compiled: CompiledPlan, later: list[list[int]], nodes: list[int]) -> Proof | None:
    waiting = [0] * len(later)
    for followers in later:
        for follower in followers:
            waiting[follower] += 1
    sources = [node for node in nodes if not waiting[node]]
    order = list(sources)
    for node in order:  # grows while it is walked
        for follower in later[node]:
            waiting[follower] -= 1
            if not waiting[follower]:
                order.append(follower)
    # Nodes that were never released wait for each other.
    if len(order) < len(nodes):
        return _cycle(compiled, later, {node for node in nodes if waiting[node]})
    sinks = [node for node in nodes if not later[node]]
    if sources != [_OPENING]:
        return _not_one(compiled, "beginning", sources)
    return None if sinks == [_CLOSING] else _not_one(compiled, "end", sinks)


def _cycle(compiled: CompiledPlan, later: list[list[int]], stuck: set[int]) -> Proof:
    """Returns a refutation: follows the stuck nodes backwards until one repeats."""
    waits_for = {
        follower: node for node in sorted(stuck, reverse=True) for follower in stuck.intersection(later[node])
    }
    trail: dict[int, None] = {}
    node = min(waits_for)
    while node not in trail:
        trail[node] = None
        node = waits_for[node]
    cycle = list(trail)[list(trail).index(node) :]
    names = [_node_name(compiled, member) for member in (*cycle, node)]
    trace = tuple(f"{later_name} waits for {earlier_name}" for later_name, earlier_name in pairwise(names))
    return Proof(answer=Answer.REFUTED, why=f"{names[0]} waits for itself, so it never starts", trace=trace)


def _not_one(compiled: CompiledPlan, end_name: str, nodes: list[int]) -> Proof:
    named = ", ".join(_node_name(compiled, node) for node in nodes[:_NAMES])
    more = f" and {len(nodes) - _NAMES:,} more" if len(nodes) > _NAMES else ""
    message = f"the plan itself must be its only {end_name}; this is what it {_AT[end_name]}: {named}{more}"
    return Proof(answer=Answer.REFUTED, why=message)


def _graph(compiled: CompiledPlan) -> tuple[list[list[int]], list[int]]:
    """Returns, for each node, the nodes that wait for it, and the list of nodes.

    Node 2·row is the start of a row, 2·row + 1 the closing of a group; landings follow.
    """
    outline, wires = compiled.plan.outline, compiled.wiring
    count = len(outline.paths)
    later: list[list[int]] = [[] for _ in range(2 * count + len(wires.landings))]
    ends = [2 * row if outline.leaves[row] else 2 * row + 1 for row in range(count)]
    ends += range(2 * count, len(later))
    for group, children in enumerate(wires.opens):
        later[2 * group] += [2 * child for child in children]
    for earlier, rows in enumerate(wires.followers):
        later[ends[earlier]] += [2 * row for row in rows]
    for number, row in enumerate(wires.landings):
        later[ends[row]].append(2 * count + number)
    for group, ended in enumerate(wires.closes):
        for end in ended:
            later[ends[end]].append(2 * group + 1)
    nodes = [
        node
        for row in range(count)
        for node in ((2 * row,) if outline.leaves[row] else (2 * row, 2 * row + 1))
    ]
    return later, [*nodes, *range(2 * count, len(later))]


def _node_name(compiled: CompiledPlan, node: int) -> str:
    paths = compiled.plan.outline.paths
    if node >= 2 * len(paths):
        return f"the landing of {paths[compiled.wiring.landings[node - 2 * len(paths)]]}"
    name = paths[node // 2] or "the plan"
    return f"the end of {name}" if node % 2 else name


# Pools.


def _pool_fault(compiled: CompiledPlan) -> Proof | None:
    for number, shape in enumerate(compiled.shapes):
        for fault in _pool_faults(shape, compiled.pools):
            return Proof(answer=Answer.REFUTED, why=f"{_example(compiled, number)}: {fault}")
    return None


def _pool_faults(shape: Shape, sizes: Mapping[str, int]) -> Iterator[str]:
    net = shape.net
    # Slots are not returned by the transition that takes them, but carried along with the cursor; they are counted
    # below.
    pools = {place for place, kind in enumerate(net.place_kinds) if kind is PlaceKind.POOL} - {SLOT}
    for transition, inputs in enumerate(net.inputs):
        actor = subject(shape.acts[transition])
        claimed = _claims(inputs, pools)
        for place, weight in claimed.items():
            # A pool of the plan has its size there; others belong to the shape alone.
            size = sizes.get(net.place_ids[place], net.initial[place])
            if weight > size:
                yield f"{actor} takes {weight:,} of {_pool(shape, place)}, which has {size:,}"
        for outcome, outputs in zip(net.outcomes[transition], net.outputs[transition], strict=True):
            end = f"when {actor} {ending_words(outcome)}"
            for place in _differences(claimed, _claims(outputs, pools)):
                yield f"{end}, {_pool(shape, place)} does not get back what was taken"
            if _slots(shape, outputs) != _slots(shape, inputs):
                yield f"{end}, the slot of the slice is lost or returned twice"


def _claims(arcs: Arcs, pools: set[int]) -> dict[int, int]:
    return {place: weight for place, weight in arcs if place in pools}


def _differences(before: Mapping[int, int], after: Mapping[int, int]) -> list[int]:
    return [place for place in sorted({*before, *after}) if before.get(place) != after.get(place)]


def _pool(shape: Shape, place: int) -> str:
    return pool_in_words(shape.net.place_ids[place])


def _slots(shape: Shape, arcs: Arcs) -> int:
    return sum(weight for place, weight in arcs if place == SLOT or place in shape.carriers)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
