"""That a plan can always finish, decided part by part.

The net of a plan is the graph of waiting with a copy of a shape for each subplan. So it is enough to show

1.  of each shape, by itself: without its pools it is a sound workflow net (rank theorem; free-choice nets that
    are sound never have two tokens in one place);
2.  of the graph of waiting: it has no circle, one beginning and one end. As each of its places has one producer
    and one consumer by construction, it is then a marked graph in which everything happens exactly once;
3.  that a sound, safe net may stand for a transition of a sound, safe net: the result is sound again;
4.  of the pools: a step takes all it needs at once, no more than there is, and every outcome gives it back; slots
    are taken before and given back exactly once. So whoever holds something is under way or can go on, and nobody
    waits for ever.

Shapes are few, and the graph takes one pass: a plan of 100,000 slices is proven in about the time it takes to
count them.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from msgspec import Struct

from weft.net.model import Arcs, Net, PlaceKind
from weft.net.plain import unfold
from weft.net.soundness import soundness
from weft.net.verdict import Answer
from weft.plan.compile.compiled import CompiledPlan
from weft.plan.compile.parts import SLOT, Shape
from weft.plan.order.outline import ROOT
from weft.plan.proof.words import ending, pool_in_words, subject

_OPENING, _CLOSING = 2 * ROOT, 2 * ROOT + 1
"""Of the plan itself, as nodes of the graph of waiting."""
_NAMES = 4
_AT = {"beginning": "begins with", "end": "ends with"}


class Proof(Struct, frozen=True, kw_only=True):
    answer: Answer
    why: str
    """The theorems and figures behind it, or what is wrong."""
    trace: tuple[str, ...] = ()
    """Where it is refuted: the steps that lead there, in the plan's own words."""


def prove(compiled: CompiledPlan) -> Proof:
    later, nodes = _graph(compiled)
    fault = _shapes(compiled) or _waiting(compiled, later, nodes) or _pools(compiled)
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


def _shapes(compiled: CompiledPlan) -> Proof | None:
    for number, shape in enumerate(compiled.shapes):
        doubled = _doubled(shape.net)
        if doubled is not None:
            said = f"{doubled!r} has two arcs to one place, which no theorem here is about"
            return Proof(answer=Answer.UNKNOWN, why=f"{_example(compiled, number)}: {said}")
        net = unfold(shape.net).skeleton()
        verdict = soundness(net).verdict
        if verdict.answer is not Answer.PROVED:
            from weft.plan.proof.refutation import explained  # noqa: PLC0415 - rare, and what it imports is much

            why, trace = explained(net, shape, _example(compiled, number), verdict)
            return Proof(answer=verdict.answer, why=why, trace=trace)
    return None


def _doubled(net: Net) -> str | None:
    """A transition that names a place twice: whoever puts nets together must add such weights up."""
    for number, inputs in enumerate(net.inputs):
        for arcs in (inputs, *net.outputs[number]):
            if len({place for place, _ in arcs}) < len(arcs):
                return net.transition_ids[number]
    return None


def _example(compiled: CompiledPlan, number: int) -> str:
    """The path of the first subplan that has the shape."""
    if number in compiled.shape_of:
        return compiled.plan.outline.paths[compiled.shape_of.index(number)] or "the plan"
    landing = compiled.landing_shapes.index(number)
    return compiled.plan.outline.paths[compiled.wiring.landings[landing]]


# The graph of waiting: each group is two nodes, its opening and its closing; all else is one.


def _waiting(compiled: CompiledPlan, later: list[list[int]], nodes: list[int]) -> Proof | None:
    waiting = [0] * len(later)
    for ones in later:
        for one in ones:
            waiting[one] += 1
    sources = [node for node in nodes if not waiting[node]]
    order = list(sources)
    for node in order:  # grows while it is walked
        for one in later[node]:
            waiting[one] -= 1
            if not waiting[one]:
                order.append(one)
    if len(order) < len(nodes):
        return _circle(compiled, later, {node for node in nodes if waiting[node]})
    sinks = [node for node in nodes if not later[node]]
    if sources != [_OPENING]:
        return _not_one(compiled, "beginning", sources)
    return None if sinks == [_CLOSING] else _not_one(compiled, "end", sinks)


def _circle(compiled: CompiledPlan, later: list[list[int]], stuck: set[int]) -> Proof:
    """Goes back from one that waits to one it waits for, until one comes again."""
    waits_for = {one: node for node in sorted(stuck, reverse=True) for one in stuck.intersection(later[node])}
    trail: dict[int, None] = {}
    node = min(waits_for)
    while node not in trail:
        trail[node] = None
        node = waits_for[node]
    circle = list(trail)[list(trail).index(node) :]
    names = [_node_name(compiled, one) for one in (*circle, node)]
    trace = tuple(f"{one} waits for {other}" for one, other in pairwise(names))
    return Proof(answer=Answer.REFUTED, why=f"{names[0]} waits for itself, and so for ever", trace=trace)


def _not_one(compiled: CompiledPlan, what: str, nodes: list[int]) -> Proof:
    named = ", ".join(_node_name(compiled, node) for node in nodes[:_NAMES])
    more = f" and {len(nodes) - _NAMES:,} more" if len(nodes) > _NAMES else ""
    said = f"the plan itself must be its only {what}; this is what it {_AT[what]}: {named}{more}"
    return Proof(answer=Answer.REFUTED, why=said)


def _graph(compiled: CompiledPlan) -> tuple[list[list[int]], list[int]]:
    """For each node those that wait for it, and which nodes there are.

    Node 2·row is the start of a row, 2·row + 1 the closing of a group; landings follow.
    """
    outline, wires = compiled.plan.outline, compiled.wiring
    count = len(outline.paths)
    later: list[list[int]] = [[] for _ in range(2 * count + len(wires.landings))]
    ends = [2 * row if outline.leaves[row] else 2 * row + 1 for row in range(count)]
    ends += range(2 * count, len(later))
    for group, children in enumerate(wires.opens):
        later[2 * group] += [2 * child for child in children]
    for earlier, rows in enumerate(wires.hears):
        later[ends[earlier]] += [2 * row for row in rows]
    for number, row in enumerate(wires.landings):
        later[ends[row]].append(2 * count + number)
    for group, ended in enumerate(wires.closes):
        for one in ended:
            later[ends[one]].append(2 * group + 1)
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


def _pools(compiled: CompiledPlan) -> Proof | None:
    for number, shape in enumerate(compiled.shapes):
        for fault in _pool_faults(shape, compiled.pools):
            return Proof(answer=Answer.REFUTED, why=f"{_example(compiled, number)}: {fault}")
    return None


def _pool_faults(shape: Shape, sizes: Mapping[str, int]) -> Iterator[str]:
    net = shape.net
    pools = {place for place, kind in enumerate(net.place_kinds) if kind is PlaceKind.POOL} - {SLOT}
    for transition, inputs in enumerate(net.inputs):
        who = subject(shape.acts[transition])
        taken = _claims(inputs, pools)
        for place, weight in taken.items():
            size = sizes.get(net.place_ids[place], net.initial[place])
            if weight > size:
                yield f"{who} takes {weight:,} of {_pool(shape, place)}, which has {size:,}"
        for outcome, outputs in zip(net.outcomes[transition], net.outputs[transition], strict=True):
            for place in _unlike(taken, _claims(outputs, pools)):
                yield f"when {who} {ending(outcome)}, {_pool(shape, place)} does not get back what was taken"
            if _slots(shape, outputs) != _slots(shape, inputs):
                yield f"when {who} {ending(outcome)}, the slot of the slice is lost or given back twice"


def _claims(arcs: Arcs, pools: set[int]) -> dict[int, int]:
    return {place: weight for place, weight in arcs if place in pools}


def _unlike(taken: Mapping[int, int], given: Mapping[int, int]) -> list[int]:
    return [place for place in sorted({*taken, *given}) if taken.get(place) != given.get(place)]


def _pool(shape: Shape, place: int) -> str:
    return pool_in_words(shape.net.place_ids[place])


def _slots(shape: Shape, arcs: Arcs) -> int:
    return sum(weight for place, weight in arcs if place == SLOT or place in shape.carriers)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
