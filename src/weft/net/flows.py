"""Flows through a free-choice workflow net: the positive invariants that the rank theorem asks for.

In a free-choice net the transitions of a cluster are enabled together, so every cluster can decide independently
how to split the quantity that arrives. Close the net by a transition from its sink to its source and let a
quantity flow from the source, where each cluster passes some part to each of its transitions. If the net is sound,
the input places of a cluster are marked equally often in every run, hence in the mean over all runs: the same
quantity arrives at all of them, and the quantity that leaves the source returns. The shares of the transitions are
then a positive **T-invariant**. A positive **P-invariant** is found in the same way on the reverse dual, where
places and transitions exchange roles and arcs reverse direction: the quantity at the transitions of a cluster is
split among its places. For free-choice nets the dual of a well-formed net is well-formed, and if the net has no
cycle, the closing transition alone marks every siphon of the dual. One routine therefore serves for both, on a
`Side` of the net. Without cycles it is one pass in topological order; with cycles the equations are solved by
elimination, which needs no subtraction except 1 - x, as in a Markov chain. Neither result is trusted: the caller
checks the vector.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import lcm

from msgspec import Struct

from weft.net.structure import Circuit

ELIMINATION_WORK = 4_000_000
"""The most additions and multiplications for a net with cycles: about ten seconds."""


class Side(Struct, frozen=True, kw_only=True):
    """A circuit, seen from its transitions or, as the reverse dual, from its places."""

    branches: Sequence[Sequence[int]]
    """For each cluster, the nodes among which it splits its quantity."""
    gates: Sequence[Sequence[int]]
    """For each cluster, the nodes at which its quantity arrives; the whole quantity arrives at each."""
    feeds: Sequence[Sequence[int]]
    """For each branch, the gates at which its share arrives."""
    cluster_of: Sequence[int]
    """For each gate, its cluster."""
    start: int
    """The cluster where the flow starts."""


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
    """Returns a positive number for each branch, an invariant if the net is well-formed; or None.

    The caller must check it.
    """
    order = topological(side)
    return _solve_balance(side) if order is None else _pour(side, order)


def topological(side: Side) -> list[int] | None:
    """Returns the clusters, each after all that feed it, except the start; None if there are other cycles."""
    cluster_of, feeds = side.cluster_of, side.feeds
    pending = [0] * len(side.gates)
    for gates in feeds:
        for gate in gates:
            pending[cluster_of[gate]] += 1
    # The closing transition feeds the start; this cycle is intended.
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


def _pour(side: Side, order: Sequence[int]) -> list[int]:
    """Returns the share of each branch if the start has just enough for all: each gets at least what it needs."""
    shares = _compute_needs(side, order)
    arrived = [0] * len(side.cluster_of)
    arrived[side.gates[side.start][0]] = sum(shares[branch] for branch in side.branches[side.start])
    for cluster in order:
        branches = side.branches[cluster]
        spare = arrived[side.gates[cluster][0]]
        for branch in branches:
            spare -= shares[branch]
        shares[branches[0]] += spare  # the remainder must go to some branch
        for branch in branches:
            share = shares[branch]
            for gate in side.feeds[branch]:
                arrived[gate] += share
    return shares


def _compute_needs(side: Side, order: Sequence[int]) -> list[int]:
    """Returns for each branch the share it must get so that in the end every branch gets at least 1.

    A gate with several feeders requests only a part from each. The numbers therefore stay small, where halving at
    each of a thousand choices would need a thousand bits.
    """
    feeders = [0] * len(side.cluster_of)
    for gates in side.feeds:
        for gate in gates:
            feeders[gate] += 1
    needs = [1] * len(side.feeds)
    requested = [1] * len(side.cluster_of)  # of each feeder, by each gate
    for cluster in reversed(order):
        total = 0
        for branch in side.branches[cluster]:
            for gate in side.feeds[branch]:
                needs[branch] = max(needs[branch], requested[gate])
            total += needs[branch]
        for gate in side.gates[cluster]:
            requested[gate] = -(-total // feeders[gate])  # rounded up
    return needs


# Flows with cycles


def _solve_balance(side: Side) -> list[int] | None:
    """Like `_pour`, for a net with cycles: solves a system of equations for the quantities of the clusters."""
    into, out_of = _equations(side)
    eliminated = _eliminate(into, out_of, side.start)
    # All clusters but the start are expressed by others. What is left says which part of the start's quantity
    # returns to it; in a well-formed net that is all of it.
    if eliminated is None or into[side.start].get(side.start) != 1:
        return None
    values = [Fraction(0)] * len(into)
    values[side.start] = Fraction(1)
    for cluster, form in reversed(eliminated):
        values[cluster] = sum((values[source] * factor for source, factor in form.items()), Fraction(0))
    unit = lcm(*(v.denominator * len(b) for v, b in zip(values, side.branches, strict=True)))
    shares = [0] * len(side.feeds)
    for value, branches in zip(values, side.branches, strict=True):
        for branch in branches:
            shares[branch] = int(value * unit / len(branches))
    return shares


def _equations(side: Side) -> tuple[list[dict[int, Fraction]], list[set[int]]]:
    """Returns for each cluster the share of every other's quantity that arrives there, and the clusters it feeds.

    A cluster with several gates has several equations. Only that of the gate which a walk from the start reaches
    first is used. Every cluster then depends on the start, and the solution is unique.
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
    """Expresses every cluster except the start by the remaining ones; None if there is no positive solution."""
    # Markowitz's rule: the cluster that adds the fewest terms is eliminated first.
    queue = [(len(into[c]) * len(out_of[c]), c) for c in range(len(into)) if c != start]
    heapify(queue)
    eliminated: list[tuple[int, dict[int, Fraction]]] = []
    work = 0
    while queue:
        cost, cluster = heappop(queue)
        actual = len(into[cluster]) * len(out_of[cluster])
        # The cost has grown since the entry was made: queue the cluster again.
        if actual > cost:
            heappush(queue, (actual, cluster))
            continue
        work += actual
        returning = into[cluster].pop(cluster, 0)
        if returning >= 1 or work > ELIMINATION_WORK:
            return None
        form = {source: part / (1 - returning) for source, part in into[cluster].items()}
        eliminated.append((cluster, form))
        _substitute(into, out_of, cluster, form)
    return eliminated


def _substitute(
    into: list[dict[int, Fraction]], out_of: list[set[int]], cluster: int, form: Mapping[int, Fraction]
) -> None:
    for source in form:
        out_of[source].discard(cluster)
    out_of[cluster].discard(cluster)
    for fed in out_of[cluster]:
        parts = into[fed]
        factor = parts.pop(cluster)
        for source, part in form.items():
            parts[source] = parts.get(source, 0) + factor * part
            out_of[source].add(fed)
