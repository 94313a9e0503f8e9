"""Balanced parts with few links between them: METIS behind one function.

METIS gets integers, a fixed seed and nodes in a fixed order, so its result is reproducible. It is called for two
parts at a time. If it makes more at once, one may stay empty, and METIS then prints a warning to standard
output, where Weft prints the plan.
"""

from collections.abc import Sequence

from weft.decompose.split.links import Links

_SEED = 1
_IMBALANCE = (10, 500)
"""In thousandths: the least and the most by which a part may exceed its share."""


def partition(loads: Sequence[int], links: Links, parts: int, *, most: int) -> list[list[int]]:
    """Returns at most `parts` groups of nodes, none empty.

    A node without load goes wherever it cuts least. `most` is the load that a part should not exceed; the
    difference to its share is freedom to cut fewer links.
    """
    groups, pending = list[list[int]](), [(list(range(len(loads))), links, parts)]
    while pending:
        nodes, subgraph, part_count = pending.pop()
        halves = (
            _halves([loads[node] for node in nodes], subgraph, part_count, most) if len(nodes) > 1 else ()
        )
        # METIS put all nodes on one side: the group cannot be split.
        if not halves or not all(halves):
            groups.append(nodes)
            continue
        numbers = (part_count // 2, part_count - part_count // 2)
        groups += [
            [nodes[index] for index in half]
            for half, count in zip(halves, numbers, strict=True)
            if count == 1
        ]
        open_halves = [(half, count) for half, count in zip(halves, numbers, strict=True) if count > 1]
        inner_links = subgraph.within([half for half, _own in open_halves])
        pending += [
            ([nodes[index] for index in half], half_links, count)
            for (half, count), half_links in zip(open_halves, inner_links, strict=True)
        ]
    return groups


def _halves(loads: Sequence[int], links: Links, parts: int, most: int) -> tuple[list[int], list[int]]:
    """Splits the nodes in two; the first half has the load of half of the parts, rounded down."""
    import pymetis  # noqa: PLC0415 - an extra, needed nowhere else

    first = parts // 2 / parts
    result = pymetis.part_graph(
        2,
        adjacency=pymetis.CSRAdjacency(links.starts, links.neighbours),
        vweights=loads,
        eweights=links.weights,
        tpwgts=[first, 1 - first],
        recursive=True,
        options=pymetis.Options(seed=_SEED, ufactor=_imbalance(sum(loads), parts, most)),
    )
    sides: tuple[list[int], list[int]] = ([], [])
    for node, side in enumerate(result.vertex_part):
        sides[side].append(node)
    return sides


def _imbalance(load: int, parts: int, most: int) -> int:
    """Returns the allowed imbalance, divided among the bisections still to come."""
    least, largest = _IMBALANCE
    free = (most * parts / max(1, load)) ** (1 / (parts - 1).bit_length())
    return max(least, min(largest, int(1000 * (free - 1))))
