"""Flows through a free-choice workflow net: the positive invariants that the rank theorem asks for.

In a free-choice net the transitions of a cluster are enabled together, so every cluster can decide for itself
how it splits what arrives. Close the net by a transition from its sink to its source and let a quantity
flow from the source, each cluster handing some part to each of its transitions. If the net is sound, the
input places of a cluster are marked equally often in every run, hence in the mean over all runs: the same
quantity arrives at all of them, and what leaves the source comes back. The shares of the transitions are
then a positive **T-invariant**. A positive **P-invariant** is found in the same way on the reverse dual, where
places and transitions change roles and arcs their direction: what arrives at the transitions of a cluster
is split among its places. For free-choice nets the dual of a well-formed net is well-formed, and if the
net has no cycle, the closing transition alone marks every siphon of the dual. So one routine serves for
both, on a `Side` of the net. Where there is no cycle it is one pass in topological order; where there
are cycles, the equations are solved by elimination, which needs no subtraction but 1 - x, as in a Markov
chain. Neither result is trusted: whoever asks checks the vector.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import lcm

from msgspec import Struct

from weft.net.structure import Circuit

ELIMINATION_WORK = 4_000_000
"""Most sums and products for a net with cycles: some ten seconds."""


class Side(Struct, frozen=True, kw_only=True):
    """A circuit, seen from its transitions or, as the reverse dual, from its places."""

    branches: Sequence[Sequence[int]]
    """For each cluster, what it splits its quantity among."""
    gates: Sequence[Sequence[int]]
    """For each cluster, where its quantity arrives, all of it at each."""
    feeds: Sequence[Sequence[int]]
    """For each branch, the gates at which its share arrives."""
    cluster_of: Sequence[int]
    """For each gate, its cluster."""
    start: int
    """The cluster from which all flows."""


def transition_side(circuit: Circuit) -> Side:
    groups = circuit.clusters
    return Side(
        branches=groups.transitions,
        gates=groups.places,
        feeds=[[place for place, _ in arcs] for arcs in circuit.net.outputs],
        cluster_of=groups.of_place,
        start=groups.of_place[circuit.source],
    )


def place_side(circuit: Circuit) -> Side:
    groups = circuit.clusters
    return Side(
        branches=groups.places,
        gates=groups.transitions,
        feeds=circuit.wires.producers,
        cluster_of=groups.of_transition,
        start=groups.of_transition[circuit.closing],
    )


def positive_flow(side: Side) -> list[int] | None:
    """A positive number for each branch, an invariant if the net is well-formed; or None.

    To be checked by whoever uses it.
    """
    order = topological(side)
    return _balanced(side) if order is None else _poured(side, order)


def topological(side: Side) -> list[int] | None:
    """The clusters, each after all that feed it, but for the start; None if there are other cycles."""
    cluster_of, feeds = side.cluster_of, side.feeds
    pending = [0] * len(side.gates)
    for gates in feeds:
        for gate in gates:
            pending[cluster_of[gate]] += 1
    pending[side.start] = 0
    order = [side.start]
    for cluster in order:
        for branch in side.branches[cluster]:
            for gate in feeds[branch]:
                fed = cluster_of[gate]
                pending[fed] -= 1
                if not pending[fed]:
                    order.append(fed)
    return order if len(order) == len(pending) else None


def _poured(side: Side, order: Sequence[int]) -> list[int]:
    """What each branch gets when the start has just enough for all: no branch gets less than it needs."""
    shares = _needs(side, order)
    arrived = [0] * len(side.cluster_of)
    arrived[side.gates[side.start][0]] = sum(shares[branch] for branch in side.branches[side.start])
    for cluster in order:
        branches = side.branches[cluster]
        spare = arrived[side.gates[cluster][0]]
        for branch in branches:
            spare -= shares[branch]
        shares[branches[0]] += spare  # somebody has to take it
        for branch in branches:
            given = shares[branch]
            for gate in side.feeds[branch]:
                arrived[gate] += given
    return shares


def _needs(side: Side, order: Sequence[int]) -> list[int]:
    """For each branch, how much it must get so that in the end every branch gets at least 1.

    A gate that is fed by several asks each for its part only: so the numbers stay small, where halving at
    each of a thousand choices would need a thousand bits.
    """
    feeders = [0] * len(side.cluster_of)
    for gates in side.feeds:
        for gate in gates:
            feeders[gate] += 1
    needs = [1] * len(side.feeds)
    asked = [1] * len(side.cluster_of)  # of each feeder, by each gate
    for cluster in reversed(order):
        total = 0
        for branch in side.branches[cluster]:
            for gate in side.feeds[branch]:
                needs[branch] = max(needs[branch], asked[gate])
            total += needs[branch]
        for gate in side.gates[cluster]:
            asked[gate] = -(-total // feeders[gate])  # rounded up
    return needs


# Flows with cycles


def _balanced(side: Side) -> list[int] | None:
    """As `_poured`, for a net with cycles: the quantities of the clusters solve a system of equations."""
    into, out_of = _equations(side)
    eliminated = _eliminate(into, out_of, side.start)
    if eliminated is None or into[side.start].get(side.start) != 1:
        return None
    values = [Fraction(0)] * len(into)
    values[side.start] = Fraction(1)
    for cluster, form in reversed(eliminated):
        values[cluster] = sum((values[other] * factor for other, factor in form.items()), Fraction(0))
    unit = lcm(*(v.denominator * len(b) for v, b in zip(values, side.branches, strict=True)))
    shares = [0] * len(side.feeds)
    for value, branches in zip(values, side.branches, strict=True):
        for branch in branches:
            shares[branch] = int(value * unit / len(branches))
    return shares


def _equations(side: Side) -> tuple[list[dict[int, Fraction]], list[set[int]]]:
    """For each cluster, what of each other's quantity arrives there; and to which others its own goes.

    A cluster with several gates has several equations, of which one is taken: that of the gate by which a
    walk from the start first comes in. So every cluster hangs on the start, and the solution is unique.
    """
    into: list[dict[int, Fraction]] = [{} for _ in side.gates]
    gate_of = [-1] * len(into)
    gate_of[side.start] = side.gates[side.start][0]
    walk = [side.start]
    for cluster in walk:
        for branch in side.branches[cluster]:
            for gate in side.feeds[branch]:
                fed = side.cluster_of[gate]
                if gate_of[fed] < 0:
                    gate_of[fed] = gate
                    walk.append(fed)
    out_of: list[set[int]] = [set() for _ in into]
    for cluster, branches in enumerate(side.branches):
        share = Fraction(1, len(branches))
        for gate in (gate for branch in branches for gate in side.feeds[branch]):
            fed = side.cluster_of[gate]
            if gate_of[fed] == gate:
                into[fed][cluster] = into[fed].get(cluster, 0) + share
                out_of[cluster].add(fed)
    return into, out_of


def _eliminate(
    into: list[dict[int, Fraction]], out_of: list[set[int]], start: int
) -> list[tuple[int, dict[int, Fraction]]] | None:
    """Expresses every cluster but the start by those that are left; None if there is no positive solution."""
    queue = [(len(into[c]) * len(out_of[c]), c) for c in range(len(into)) if c != start]
    heapify(queue)
    eliminated: list[tuple[int, dict[int, Fraction]]] = []
    work = 0
    while queue:
        cost, cluster = heappop(queue)
        actual = len(into[cluster]) * len(out_of[cluster])
        if actual > cost:
            heappush(queue, (actual, cluster))
            continue
        work += actual
        returning = into[cluster].pop(cluster, 0)
        if returning >= 1 or work > ELIMINATION_WORK:
            return None
        form = {other: part / (1 - returning) for other, part in into[cluster].items()}
        eliminated.append((cluster, form))
        _substitute(into, out_of, cluster, form)
    return eliminated


def _substitute(
    into: list[dict[int, Fraction]], out_of: list[set[int]], cluster: int, form: Mapping[int, Fraction]
) -> None:
    for other in form:
        out_of[other].discard(cluster)
    out_of[cluster].discard(cluster)
    for fed in out_of[cluster]:
        parts = into[fed]
        factor = parts.pop(cluster)
        for other, part in form.items():
            parts[other] = parts.get(other, 0) + factor * part
            out_of[other].add(fed)
