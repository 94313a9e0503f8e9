"""The token game: the semantics of a net, move by move.

`begin` takes a transition's tokens and returns a firing; `finish` ends that firing with one of the
declared outcomes and puts its tokens down. There is no clock, no randomness and no waiting here. Everything
that executes a net (a run, a simulation, a replay of the journal) makes its moves through this class. A move
that the net does not allow raises an error and changes nothing.

Enabledness is maintained, never searched for. Each transition counts its input arcs that are not covered. A
place updates only its own consumers, and only when its tokens cross the weight of their arc. The cost of a move
therefore depends on the adjacent arcs, not on the size of the net. Pools are the exception that keeps this true:
every step of a plan is a consumer of `max_parallel`, so a pool updates no consumer. A transition is *offered*
when its control arcs are covered. Whether the pools have room is checked when it is about to start (by `Agenda`,
which records which transition waits for which pool).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

from weft.errors import NetError, NotEnabledError, NotRunningError, UnknownOutcomeError
from weft.net.model import Arcs, Marking, Net, PlaceKind


class Firing(NamedTuple):
    """A transition that has started and not finished: the receipt for the tokens it holds."""

    serial: int
    transition: int


_new = cast("Callable[..., Firing]", tuple.__new__)
"""Creates a firing in half the time of a call of its class."""


class TokenGame:
    """A net and the tokens in it. Transitions and places are named by their numbers."""

    __slots__ = (
        "_consumers", "_outputs", "_running", "_serial", "claims", "control_inputs", "missing", "net", "tokens",
    )  # fmt: skip

    def __init__(self, net: Net, marking: Marking | None = None) -> None:
        self.net = net
        self._outputs = net.outputs
        self.control_inputs, self.claims = _split_inputs(net)
        """Input arcs from control places, and from pools, of each transition."""
        self._consumers = _consumers(net, self.control_inputs)
        self.missing = [len(arcs) for arcs in self.control_inputs]
        """The number of control arcs of each transition that are not covered; 0 means offered."""
        self.tokens = [0] * len(net.place_ids)
        self._running: dict[int, int] = {}
        self._serial = 0
        if marking is None:
            self._deposit(tuple((place, count) for place, count in enumerate(net.initial) if count))
        else:
            self._restore(marking)

    def _restore(self, marking: Marking) -> None:
        for place, count in marking.tokens.items():
            self._deposit(((self.net.place_number(place), count),))
        for transition, count in marking.running.items():
            number = self.net.transition_number(transition)
            for _ in range(count):
                self._serial += 1
                self._running[self._serial] = number

    # Reading

    def offered(self) -> Iterator[int]:
        """Yields the transitions with all their control tokens, whatever the pools hold."""
        return (number for number, missing in enumerate(self.missing) if not missing)

    def enabled(self) -> Iterator[int]:
        """Yields the transitions that may start now."""
        return (number for number in self.offered() if self.has_room(self.claims[number]))

    def has_room(self, claims: Arcs) -> bool:
        """Returns whether the pools hold the tokens of all of these arcs."""
        tokens = self.tokens
        return all(tokens[pool] >= weight for pool, weight in claims)

    @property
    def busy(self) -> bool:
        """Whether anything is in flight."""
        return bool(self._running)

    @property
    def firings(self) -> tuple[Firing, ...]:
        """The firings in flight, in the order of their start."""
        return tuple(Firing(serial, number) for serial, number in self._running.items())

    def marking(self) -> Marking:
        """Returns the present tokens and firings in flight."""
        running = Counter(self.net.transition_ids[number] for number in self._running.values())
        return Marking(self.net.marking(self.tokens).tokens, running)

    def outputs_of(self, firing: Firing, outcome: int | str) -> Arcs:
        """Returns the arcs along which the firing puts tokens if it ends with this outcome."""
        transition = firing[1]
        return self._outputs[transition][self._outcome_number(transition, outcome)]

    # Moves

    def begin(self, transition: int) -> Firing:
        """Takes the tokens of the transition's input arcs, pools included, all at once."""
        if not 0 <= transition < len(self.missing):
            raise NetError(f"the net has no transition number {transition}")
        if self.missing[transition] or not self.has_room(self.claims[transition]):
            raise NotEnabledError(self._describe_shortage(transition))
        return self.begin_enabled(transition)

    def begin_enabled(self, transition: int) -> Firing:
        """`begin` without the checks, for a caller that has just checked that the transition is enabled."""
        tokens, missing, consumers = self.tokens, self.missing, self._consumers
        for place, weight in self.control_inputs[transition]:
            before = tokens[place]
            after = tokens[place] = before - weight
            for consumer, needed in consumers[place]:
                # The arc was covered before and is not any more. Consumers with another weight are not touched.
                if after < needed <= before:
                    missing[consumer] += 1
        # Pools update no consumer; the agenda looks at them before each start.
        for pool, weight in self.claims[transition]:
            tokens[pool] -= weight
        self._serial = serial = self._serial + 1
        self._running[serial] = transition
        return _new(Firing, (serial, transition))

    def finish(self, firing: Firing, outcome: int | str) -> list[int]:
        """Ends the firing and puts its tokens down; returns the transitions that become offered by that."""
        serial, transition = firing
        if self._running.get(serial) != transition:
            raise NotRunningError(f"no firing {serial} of {self._name(transition)} is in flight")
        number = 0 if outcome == 0 else self._outcome_number(transition, outcome)  # outcome 0 always exists
        del self._running[serial]
        return self._deposit(self._outputs[transition][number])

    def _deposit(self, arcs: Arcs) -> list[int]:
        tokens, missing, consumers = self.tokens, self.missing, self._consumers
        offered: list[int] = []
        for place, weight in arcs:
            before = tokens[place]
            after = tokens[place] = before + weight
            for consumer, needed in consumers[place]:
                if before < needed <= after:
                    missing[consumer] -= 1
                    if not missing[consumer]:
                        offered.append(consumer)
        return offered

    # Error messages

    def _outcome_number(self, transition: int, outcome: int | str) -> int:
        names = self.net.outcomes[transition]
        for number, name in enumerate(names):
            if outcome in {name, number}:
                return number
        raise UnknownOutcomeError(
            f"{self._name(transition)} has no outcome {outcome!r}; it declares: {', '.join(names)}"
        )

    def _name(self, transition: int) -> str:
        exists = 0 <= transition < len(self.net.transition_ids)
        return repr(self.net.transition_ids[transition]) if exists else f"transition number {transition}"

    def _describe_shortage(self, transition: int) -> str:
        shortages = [
            f"{self.net.place_ids[place]!r} holds {self.tokens[place]} of {weight}"
            for place, weight in self.net.inputs[transition]
            if self.tokens[place] < weight
        ]
        return f"{self._name(transition)} is not enabled: {', '.join(shortages)}"


def _split_inputs(net: Net) -> tuple[list[Arcs], list[Arcs]]:
    pools = {place for place, kind in enumerate(net.place_kinds) if kind is PlaceKind.POOL}
    control: list[Arcs] = []
    claims: list[Arcs] = []
    if not pools:
        return list(net.inputs), [()] * len(net.inputs)
    # Equal tuples are stored once: in a plan of 100,000 steps nearly all claims are the same.
    shared_arcs: dict[Arcs, Arcs] = {arcs: arcs for arcs in net.inputs if len(arcs) == 1}
    for arcs in net.inputs:
        claim = tuple([arc for arc in arcs if arc[0] in pools])
        if claim:
            needed = tuple([arc for arc in arcs if arc[0] not in pools])
            control.append(shared_arcs.setdefault(needed, needed))
            claims.append(shared_arcs.setdefault(claim, claim))
        else:
            control.append(arcs)
            claims.append(())
    return control, claims


def _consumers(net: Net, control_inputs: list[Arcs]) -> list[tuple[tuple[int, int], ...]]:
    """Returns for each control place its consumers: (transition, weight of the arc)."""
    consumers: list[list[tuple[int, int]]] = [[] for _ in net.place_ids]
    for number, arcs in enumerate(control_inputs):
        # Most arcs have weight 1 and share one tuple, which saves memory in large nets.
        entry = (number, 1)
        for place, weight in arcs:
            consumers[place].append(entry if weight == 1 else (number, weight))
    return [tuple(entries) for entries in consumers]
