"""The structure of a plain net: properties that need no firing.

All functions take time linear in the number of arcs. They use lists instead of recursion, because a plan may be a
chain of a hundred thousand steps.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.ids import TransitionId
from weft.net.model import Arcs
from weft.net.plain import PlainNet


class PlaceArcs(Struct, frozen=True, kw_only=True):
    """The arcs seen from the places, without weights."""

    producers: list[list[int]]
    """For each place, the transitions that put tokens there."""
    consumers: list[list[int]]
    """For each place, the transitions that take tokens from there."""


class FreeChoice(Struct, frozen=True, kw_only=True):
    """Whether a net is free-choice."""

    holds: bool
    why: str
    """The reason; if it does not hold, the first arc or pair of transitions that violates it."""


class WorkflowNet(Struct, frozen=True, kw_only=True):
    """The ends of a workflow net."""

    source: int
    """The one place without producers."""
    sink: int
    """The one place without consumers."""


class NotAWorkflowNet(Struct, frozen=True, kw_only=True):
    """The reason why a net is not a workflow net."""

    why: str


class Clusters(Struct, frozen=True, kw_only=True):
    """The nodes in groups: a place is with its consumers, a transition with its input places."""

    places: list[list[int]]
    """For each cluster its places; none if it is a transition without inputs."""
    transitions: list[list[int]]
    """For each cluster its transitions; none if it is a place without consumers."""
    of_place: list[int]
    of_transition: list[int]

    def __len__(self) -> int:
        return len(self.places)


class Circuit(Struct, frozen=True, kw_only=True):
    """A workflow net, closed: its last transition leads from the sink to the source."""

    net: PlainNet
    source: int
    sink: int
    wires: PlaceArcs
    clusters: Clusters

    @property
    def closing(self) -> int:
        return len(self.net.transition_ids) - 1


def wiring(net: PlainNet) -> PlaceArcs:
    size = len(net.place_ids)
    return PlaceArcs(
        producers=_transitions_by_place(net.outputs, size), consumers=_transitions_by_place(net.inputs, size)
    )


def _transitions_by_place(rows: Sequence[Arcs], size: int) -> list[list[int]]:
    ends: list[list[int]] = [[] for _ in range(size)]
    for transition, arcs in enumerate(rows):
        for place, _ in arcs:
            ends[place].append(transition)
    return ends


def free_choice(net: PlainNet) -> FreeChoice:
    """Returns whether all weights are 1 and transitions that share an input place have the same input places.

    This is *extended* free choice, the class for which Desel and Esparza prove their theorems.
    """
    heavy = _heavy_arc(net)
    if heavy is not None:
        return FreeChoice(holds=False, why=heavy)
    # Comparing all pairs of transitions at a place would be quadratic. Comparing each with the first consumer
    # of its input places is enough.
    first: dict[int, int] = {}
    for transition, arcs in enumerate(net.inputs):
        for place, _ in arcs:
            first.setdefault(place, transition)
    for transition, arcs in enumerate(net.inputs):
        # If one transition is the first consumer of all these inputs and has as many, the sets are equal.
        rivals = {first[place] for place, _ in arcs}
        if len(rivals) > 1 or any(len(net.inputs[rival]) != len(arcs) for rival in rivals):
            return FreeChoice(holds=False, why=_describe_unfree_choice(net, transition, first))
    return FreeChoice(holds=True, why="transitions that share an input place have the same input places")


def _heavy_arc(net: PlainNet) -> str | None:
    for rows in (net.inputs, net.outputs):
        for transition, arcs in enumerate(rows):
            for place, weight in arcs:
                if weight != 1:
                    ends = f"{net.transition_ids[transition]!r} and place {net.place_ids[place]!r}"
                    return f"the arc between transition {ends} has weight {weight}"
    return None


def _describe_unfree_choice(net: PlainNet, transition: int, first: dict[int, int]) -> str:
    needed = {place for place, _ in net.inputs[transition]}
    # At least one of the rivals needs other places; it need not be the rival at the first shared place.
    shared, unshared = next(
        (place, unshared)
        for place in sorted(needed)
        if (unshared := needed ^ {input_place for input_place, _ in net.inputs[first[place]]})
    )
    names = f"{net.transition_ids[first[shared]]!r} and {net.transition_ids[transition]!r}"
    return (
        f"transitions {names} share the input place {net.place_ids[shared]!r}, "
        f"but only one of them needs {net.place_ids[min(unshared)]!r}"
    )


def workflow_net(net: PlainNet, wires: PlaceArcs | None = None) -> WorkflowNet | NotAWorkflowNet:
    """Returns the ends of a net that leads from one place to one place, with every node on the way."""
    wires = wires or wiring(net)
    sources = [place for place, producers in enumerate(wires.producers) if not producers]
    if len(sources) != 1:
        return NotAWorkflowNet(why=_describe_places(net, sources, "a source: a place without producers"))
    sinks = [place for place, consumers in enumerate(wires.consumers) if not consumers]
    if len(sinks) != 1:
        return NotAWorkflowNet(why=_describe_places(net, sinks, "a sink: a place without consumers"))
    source, sink = sources[0], sinks[0]
    ends = f"from the source {net.place_ids[source]!r} to the sink {net.place_ids[sink]!r}"
    for start, steps, arcs in ((source, wires.consumers, net.outputs), (sink, wires.producers, net.inputs)):
        astray = _find_unreached(net, start, steps, arcs)
        if astray is not None:
            return NotAWorkflowNet(why=f"{astray} is on no path {ends}")
    return WorkflowNet(source=source, sink=sink)


def _describe_places(net: PlainNet, places: Sequence[int], role: str) -> str:
    names = ", ".join(repr(net.place_ids[place]) for place in places[:3])
    more = ", …" if len(places) > 3 else ""  # noqa: PLR2004 - as many as are named
    count_text = f"{len(places):,} ({names}{more})" if places else "none"
    return f"a workflow net has exactly one place that is {role}; this net has {count_text}"


def _find_unreached(
    net: PlainNet, start: int, steps: Sequence[Sequence[int]], arcs: Sequence[Arcs]
) -> str | None:
    """Describes a transition that cannot be reached from the place `start` by these steps.

    If there is none, all places are reached too: each but `start` has a transition that leads to it.
    """
    places = bytearray(len(net.place_ids))
    transitions = bytearray(len(net.transition_ids))
    places[start] = 1
    reached = [start]
    for place in reached:
        for transition in steps[place]:
            if transitions[transition]:
                continue
            transitions[transition] = 1
            for target, _ in arcs[transition]:
                if not places[target]:
                    places[target] = 1
                    reached.append(target)
    unreached = transitions.find(0)
    return None if unreached < 0 else f"transition {net.transition_ids[unreached]!r}"


def clusters(net: PlainNet, wires: PlaceArcs | None = None) -> Clusters:
    """Returns the finest grouping in which a place is with its consumers and a transition with its inputs."""
    wires = wires or wiring(net)
    result = Clusters(
        places=[],
        transitions=[],
        of_place=[-1] * len(net.place_ids),
        of_transition=[-1] * len(net.transition_ids),
    )
    for place, cluster in enumerate(result.of_place):
        if cluster < 0:
            _collect_cluster(net, wires.consumers, result, place)
    for transition, cluster in enumerate(result.of_transition):
        if cluster < 0:
            result.of_transition[transition] = len(result)
            result.places.append([])
            result.transitions.append([transition])
    return result


def _collect_cluster(net: PlainNet, consumers: Sequence[Sequence[int]], result: Clusters, first: int) -> None:
    number = len(result)
    places, transitions = [first], list[int]()
    of_place, of_transition = result.of_place, result.of_transition
    of_place[first] = number
    for place in places:
        for transition in consumers[place]:
            if of_transition[transition] >= 0:
                continue
            of_transition[transition] = number
            transitions.append(transition)
            for place_of_input, _ in net.inputs[transition]:
                if of_place[place_of_input] < 0:
                    of_place[place_of_input] = number
                    places.append(place_of_input)
    result.places.append(places)
    result.transitions.append(transitions)


def close(net: PlainNet, shape: WorkflowNet) -> Circuit:
    used_ids = {*net.place_ids, *net.transition_ids}
    # A name that no node of the net has.
    name = "closing"
    while name in used_ids:
        name += "*"
    closed = replace(
        net,
        transition_ids=(*net.transition_ids, TransitionId(name)),
        inputs=(*net.inputs, ((shape.sink, 1),)),
        outputs=(*net.outputs, ((shape.source, 1),)),
    )
    wires = wiring(closed)
    return Circuit(
        net=closed, source=shape.source, sink=shape.sink, wires=wires, clusters=clusters(closed, wires)
    )


def acyclic(net: PlainNet) -> bool:
    """Returns whether no node can be reached from itself."""
    wires = wiring(net)
    producers_left = [len(producers) for producers in wires.producers]
    inputs_left = [len(arcs) for arcs in net.inputs]
    ready = [transition for transition, missing in enumerate(inputs_left) if not missing]
    places = [place for place, missing in enumerate(producers_left) if not missing]
    # The two lists feed each other until both are processed.
    walked = 0
    while places or walked < len(ready):
        while places:
            for transition in wires.consumers[places.pop()]:
                inputs_left[transition] -= 1
                if not inputs_left[transition]:
                    ready.append(transition)
        for transition in ready[walked:]:
            walked += 1
            for place, _ in net.outputs[transition]:
                producers_left[place] -= 1
                if not producers_left[place]:
                    places.append(place)
    return not any(inputs_left) and not any(producers_left)


def unmarked_siphon(net: PlainNet, tokens: Sequence[int], wires: PlaceArcs | None = None) -> list[int]:
    """Returns the largest siphon without a token in this marking; empty if every siphon is marked.

    Places of a siphon get tokens only from transitions that also take from it, so an empty siphon stays empty.
    Starting at the marked places, the algorithm strikes out every place that could get a token if tokens were
    never used up. The remaining places are the largest unmarked siphon.
    """
    wires = wires or wiring(net)
    struck = bytearray(len(net.place_ids))
    lacking = [len(arcs) for arcs in net.inputs]
    walk = [place for place, count in enumerate(tokens) if count]
    walk.extend(place for t, inputs in enumerate(lacking) if not inputs for place, _ in net.outputs[t])
    for place in walk:
        if struck[place]:
            continue
        struck[place] = 1
        for transition in wires.consumers[place]:
            lacking[transition] -= 1
            if not lacking[transition]:
                walk.extend(output for output, _ in net.outputs[transition])
    return [place for place, is_struck in enumerate(struck) if not is_struck]
