"""Balanced parts with little between them: METIS, behind one function.

It is given whole numbers, a fixed seed and nodes in a fixed order, so it answers the same every time. It is asked
for two parts at a time. For more at once it may find that one of them gets no nodes, and says so on standard
output, where a plan is expected.
"""

from collections.abc import Sequence

from weft.decompose.splitting.links import Links

_SEED = 1
_IMBALANCE = (10, 500)
"""In thousandths: how much larger than its share a part may be, at least and at most."""


def partition(loads: Sequence[int], links: Links, parts: int, *, most: int) -> list[list[int]]:
    """Nodes by part, of two or more; none is empty, so there may be fewer.

    A node without load goes wherever it cuts least. `most` is the load that a part should not be above: what that
    is above its share is freedom to cut less.
    """
    found, pending = list[list[int]](), [(list(range(len(loads))), links, parts)]
    while pending:
        nodes, among, number = pending.pop()
        halves = _halves([loads[node] for node in nodes], among, number, most) if len(nodes) > 1 else ()
        if not halves or not all(halves):
            found.append(nodes)
            continue
        numbers = (number // 2, number - number // 2)
        found += [[nodes[at] for at in half] for half, own in zip(halves, numbers, strict=True) if own == 1]
        again = [(half, own) for half, own in zip(halves, numbers, strict=True) if own > 1]
        inside = among.within([half for half, _own in again])
        pending += [
            ([nodes[at] for at in half], theirs, own)
            for (half, own), theirs in zip(again, inside, strict=True)
        ]
    return found


def _halves(loads: Sequence[int], links: Links, parts: int, most: int) -> tuple[list[int], list[int]]:
    """Two parts of the nodes; the first has the load for half of the parts, rounded down."""
    import pymetis  # noqa: PLC0415 - an extra, needed nowhere else

    first = parts // 2 / parts
    answer = pymetis.part_graph(
        2,
        adjacency=pymetis.CSRAdjacency(links.starts, links.neighbours),
        vweights=loads,
        eweights=links.weights,
        tpwgts=[first, 1 - first],
        recursive=True,
        options=pymetis.Options(seed=_SEED, ufactor=_imbalance(sum(loads), parts, most)),
    )
    sides: tuple[list[int], list[int]] = ([], [])
    for node, side in enumerate(answer.vertex_part):
        sides[side].append(node)
    return sides


def _imbalance(load: int, parts: int, most: int) -> int:
    """The freedom there is, shared by as many cuts in two as are still to come."""
    least, largest = _IMBALANCE
    free = (most * parts / max(1, load)) ** (1 / (parts - 1).bit_length())
    return max(least, min(largest, int(1000 * (free - 1))))
