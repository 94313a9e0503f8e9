"""Runs of a free-choice workflow net that are likely to end badly: candidates for a refutation.

In a net without cycles they are computed. Let a quantity flow from the source, as in `weft.net.flows`, but split
it by random numbers modulo a prime: at the first cluster, in topological order, with different quantities at its
input places, some run brings more tokens to one place than to another. A backward pass computes for each cluster
the transition that maximizes the difference, and a run that follows these choices ends there with tokens that can
never leave. If no cluster differs, more than one token arrives at the sink, and the run with the most of them
shows it. For nets with cycles there are only attempts: runs towards transitions that earlier runs have not fired,
and random runs. The caller replays each run and checks how it ends.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from weft.net.flows import Side, topological, transition_side
from weft.net.structure import Circuit

PRIME = 2**61 - 1
ATTEMPTS = 24
"""The number of runs tried on a net with cycles."""

Choose = Callable[[int], int]
"""Returns the transition that a cluster is to fire."""


def suspicious_runs(circuit: Circuit) -> Iterator[list[int]]:
    """Yields runs from one token in the source that may end badly, the most promising first."""
    yield []  # some nets have no way to their sink at all
    side = transition_side(circuit)
    order = topological(side)
    if order is not None:
        for goal in _goals(circuit, side, order):
            yield _run_choices(circuit, _best_choices(side, order, goal).__getitem__, depth_first=True)
    yield from _exploring_runs(circuit)


def _goals(circuit: Circuit, side: Side, order: Sequence[int]) -> list[dict[int, int]]:
    """Returns weights of places: a run that brings more than expected to their sum ends badly."""
    numbers = _PseudoRandom()
    arrived = [0] * len(side.cluster_of)
    arrived[circuit.source] = 1
    for cluster in order:
        gates = side.gates[cluster]
        quantity = arrived[gates[0]]
        for gate in gates:
            if arrived[gate] != quantity:
                return [{gates[0]: 1, gate: -1}, {gates[0]: -1, gate: 1}]
        *others, last = side.branches[cluster]
        for branch in others:
            # Random shares, so that two places get equal quantities by accident with probability 1/PRIME only;
            # modulo a prime, so that the numbers stay small.
            share = numbers.next_number() % PRIME
            quantity -= share
            _arrive(arrived, side.feeds[branch], share)
        _arrive(arrived, side.feeds[last], quantity)
    return [{circuit.sink: 1}]


def _arrive(arrived: list[int], gates: Iterable[int], share: int) -> None:
    for gate in gates:
        arrived[gate] = (arrived[gate] + share) % PRIME


def _best_choices(side: Side, order: Sequence[int], goal: Mapping[int, int]) -> list[int]:
    """Returns for each cluster the transition after which most can be brought to the places of the goal."""
    choices = [-1] * len(order)
    worth = [0] * len(side.cluster_of)
    for place, weight in goal.items():
        worth[place] = weight
    for cluster in reversed(order):
        best = None
        for branch in side.branches[cluster]:
            gain = sum(worth[place] for place in side.feeds[branch])
            if best is None or gain > best:
                best, choices[cluster] = gain, branch
        # All input places get their tokens together, so what follows is counted for one of them.
        worth[side.gates[cluster][0]] += best or 0
    return choices


def _exploring_runs(circuit: Circuit) -> Iterator[list[int]]:
    """Yields, in turn, runs towards transitions that have not fired yet and random runs. All are bounded."""
    numbers = _PseudoRandom()
    groups = circuit.clusters.transitions
    home = _towards(circuit, [circuit.closing], [-1] * len(groups))
    fresh = set(range(circuit.closing))
    for attempt in range(ATTEMPTS):
        if attempt % 2:
            yield _run_choices(
                circuit, lambda cluster: groups[cluster][numbers.next_number() % len(groups[cluster])], home
            )
        elif fresh:
            trace = _run_choices(circuit, _towards(circuit, fresh, home).__getitem__, home)
            fresh.difference_update(trace)
            yield trace


def _towards(circuit: Circuit, targets: Iterable[int], otherwise: Sequence[int]) -> list[int]:
    """Returns for each cluster the first transition of a shortest path to one of the targets."""
    of_transition = circuit.clusters.of_transition
    choices = list(otherwise)
    reached_clusters = bytearray(len(choices))
    walk: list[int] = []
    pending = iter(targets)
    while True:
        for transition in pending:
            cluster = of_transition[transition]
            if not reached_clusters[cluster]:
                reached_clusters[cluster] = 1
                choices[cluster] = transition
                walk.append(cluster)
        if not walk:
            return choices
        reached, walk = walk, []
        producers = circuit.wires.producers
        pending = (t for cluster in reached for p in circuit.clusters.places[cluster] for t in producers[p])


def _run_choices(
    circuit: Circuit, choose: Choose, home: Sequence[int] | None = None, *, depth_first: bool = False
) -> list[int]:
    """Fires the chosen transitions until the sink is marked, nothing is enabled, or the run is too long.

    After some firings the choices in `home`, which lead to the sink, replace `choose`.
    """
    game = _ClusterGame(circuit)
    # Long enough to fire every transition several times.
    patience = 4 * len(circuit.net.transition_ids) + 200
    trace: list[int] = []
    while game.ready and not game.tokens[circuit.sink] and len(trace) < 4 * patience:
        cluster = game.ready.pop() if depth_first else game.ready.popleft()
        transition = choose(cluster) if home is None or len(trace) < patience else home[cluster]
        trace.append(transition)
        game.fire(cluster, transition)
    return trace


class _ClusterGame:
    """The token game by clusters, from one token in the source."""

    __slots__ = ("_circuit", "_lacking", "ready", "tokens")

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._lacking = [len(places) for places in circuit.clusters.places]
        self.ready: deque[int] = deque()
        """The enabled clusters, in the order in which they became enabled."""
        self.tokens = [0] * len(circuit.net.place_ids)
        self._put(circuit.source)

    def fire(self, cluster: int, transition: int) -> None:
        """Fires a transition of a cluster that was taken from the ready ones."""
        for place in self._circuit.clusters.places[cluster]:
            self.tokens[place] -= 1
            if not self.tokens[place]:
                self._lacking[cluster] += 1
        if not self._lacking[cluster]:
            self.ready.append(cluster)
        for place, _ in self._circuit.net.outputs[transition]:
            self._put(place)

    def _put(self, place: int) -> None:
        self.tokens[place] += 1
        if self.tokens[place] == 1:
            cluster = self._circuit.clusters.of_place[place]
            self._lacking[cluster] -= 1
            if not self._lacking[cluster]:
                self.ready.append(cluster)


class _PseudoRandom:
    """A reproducible sequence of pseudo-random numbers (Knuth's linear congruential generator)."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = 1

    def next_number(self) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self._state >> 32  # the low bits have a short period
