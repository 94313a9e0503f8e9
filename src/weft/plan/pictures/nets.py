"""Builds the picture of a net: the flow from its initially marked places, and pools at the end.

Two rules make the picture smaller than the list of arcs. Outcomes that lead to the same place share a line, which
has no label if every outcome leads there. A pool that gets back what a transition takes, whatever the outcome, is
connected to it by one line with two heads.
"""

from collections import deque
from collections.abc import Iterator

from weft.net.formats.labels import drawn_tokens
from weft.net.model import Net, PlaceKind
from weft.plan.pictures.model import Edge, EdgeKind, Node, NodeKind, Picture

_KINDS = {
    PlaceKind.CONTROL: NodeKind.PLACE,
    PlaceKind.RUNNING: NodeKind.RUNNING,
    PlaceKind.POOL: NodeKind.POOL,
    PlaceKind.END: NodeKind.END,
}


def net_picture(net: Net, *, title: str = "") -> Picture:
    """Returns the picture. The common prefix of all ids is left out of the labels, but not of the hints."""
    edges = tuple(edge for number in range(len(net.transition_ids)) for edge in _edges(net, number))
    nodes = {node.id: node for node in _nodes(net)}
    marked = [f"p{place}" for place, tokens in enumerate(net.initial) if tokens]
    pools = {node.id for node in nodes.values() if node.kind is NodeKind.POOL}
    # The order of nodes decides which lines lead back.
    order = _in_flow_order(edges, marked, pools, tuple(nodes))
    return Picture(title=title, nodes=tuple(nodes[id_] for id_ in order), edges=edges)


def _nodes(net: Net) -> Iterator[Node]:
    shared = _common_prefix((*net.place_ids, *net.transition_ids))
    for number, place in enumerate(net.places):
        note = drawn_tokens(place.tokens) if place.tokens else ""
        yield Node(
            id=f"p{number}", label=place.id[shared:], note=note, hint=place.id, kind=_KINDS[place.kind]
        )
    for number, (id_, action) in enumerate(zip(net.transition_ids, net.actions, strict=True)):
        hint = f"{id_}\n{action}" if action else id_
        yield Node(
            id=f"t{number}", label=id_[shared:], note=action or "", hint=hint, kind=NodeKind.TRANSITION
        )


def _common_prefix(ids: tuple[str, ...]) -> int:
    """Returns the length of the prefix that all ids share, up to a `/` or `.`."""
    first, last = min(ids, default=""), max(ids, default="")
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return max(first.rfind("/", 0, same), first.rfind(".", 0, same)) + 1


def _edges(net: Net, number: int) -> Iterator[Edge]:
    inputs = dict(net.inputs[number])
    outputs = _outputs(net, number)
    everything = frozenset(net.outcomes[number])
    for place, weight in inputs.items():
        # Every outcome returns the same amount: one line with two heads says it all.
        if _is_claim(net, place) and outputs.get(place) == {weight: everything}:
            label = _label((), weight)
            yield Edge(source=f"p{place}", target=f"t{number}", label=label, kind=EdgeKind.CLAIM)
            del outputs[place]
        else:
            yield Edge(source=f"p{place}", target=f"t{number}", label=_label((), weight), kind=EdgeKind.ARC)
    for place, weights in outputs.items():
        for weight, names in weights.items():
            shown = () if names == everything else tuple(n for n in net.outcomes[number] if n in names)
            yield Edge(
                source=f"t{number}", target=f"p{place}", label=_label(shown, weight), kind=EdgeKind.ARC
            )


def _outputs(net: Net, number: int) -> dict[int, dict[int, frozenset[str]]]:
    """Returns, for each place and weight, the outcomes that produce it."""
    outputs: dict[int, dict[int, frozenset[str]]] = {}
    for name, arcs in zip(net.outcomes[number], net.outputs[number], strict=True):
        for place, weight in arcs:
            weights = outputs.setdefault(place, {})
            weights[weight] = weights.get(weight, frozenset()) | {name}
    return outputs


def _is_claim(net: Net, place: int) -> bool:
    return net.place_kinds[place] is PlaceKind.POOL


def _label(outcomes: tuple[str, ...], weight: int) -> str:
    return " ".join(filter(None, (", ".join(outcomes), str(weight) if weight > 1 else "")))


def _in_flow_order(
    edges: tuple[Edge, ...], marked: list[str], pools: set[str], ids: tuple[str, ...]
) -> Iterator[str]:
    """Yields the nodes in the order in which the arcs reach them, so that a line back is a loop.

    Pools come last.
    """
    following: dict[str, list[str]] = {id_: [] for id_ in ids}
    for edge in edges:
        following[edge.source].append(edge.target)
    reached = dict.fromkeys([id_ for id_ in marked if id_ not in pools])
    for start in (*reached, *(id_ for id_ in ids if id_ not in pools)):
        waiting = deque([start])
        reached.setdefault(start)
        while waiting:
            fresh = [id_ for id_ in following[waiting.popleft()] if id_ not in reached and id_ not in pools]
            reached.update(dict.fromkeys(fresh))
            waiting.extend(dict.fromkeys(fresh))
    yield from reached
    yield from (id_ for id_ in ids if id_ in pools)
