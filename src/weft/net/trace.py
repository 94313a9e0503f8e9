"""Traces through a net: reconstruct one from a search, and replay it."""

from collections.abc import Iterable
from typing import Literal, Protocol

from weft.errors import NetError, NotEnabledError
from weft.ids import TransitionId
from weft.net.model import Arcs
from weft.net.plain import PlainNet

Tokens = tuple[int, ...]
"""Tokens of each place, by number."""

Limit = Literal["states", "memory"]


class Search(Protocol):
    """A search in progress. Markings are numbered in the order in which breadth-first search reaches them."""

    expanded: int
    """The number of markings, from the first, with all enabled transitions fired."""
    edges: int
    """The number of firings."""
    full: Limit | None
    """The limit that ended the search, if one did."""

    @property
    def states(self) -> int:
        """The number of markings stored so far."""
        ...

    @property
    def dead(self) -> int:
        """The number of markings without an enabled transition."""
        ...

    @property
    def first_dead(self) -> int | None:
        """The number of the first of these."""
        ...

    def step(self) -> None:
        """Expands some more markings. Called while there are any and no limit is reached."""
        ...

    def tokens(self, number: int) -> Tokens:
        """Returns the marking with this number."""
        ...

    def parent(self, number: int) -> int:
        """Returns the marking from which this one was first reached; the initial one is its own parent."""
        ...

    def bounds(self) -> tuple[Tokens, int]:
        """Returns the most tokens in each place, and the most in a marking."""
        ...

    def unfired(self) -> tuple[int, ...]:
        """Returns the transitions that no expanded marking enables."""
        ...


def trace_to(net: PlainNet, engine: Search, number: int) -> tuple[TransitionId, ...]:
    """Returns a shortest trace from the initial marking to the one with this number."""
    trace: list[TransitionId] = []
    while number:
        # The search stores only the parent, so the transition is found by trying all of them.
        before, after = engine.parent(number), engine.tokens(number)
        tokens = engine.tokens(before)
        fired = (
            number_tried
            for number_tried in range(len(net.transition_ids))
            if fire(net, tokens, number_tried) == after
        )
        trace.append(net.transition_ids[next(fired)])
        number = before
    return tuple(reversed(trace))


def fire(net: PlainNet, tokens: Tokens, number: int) -> Tokens | None:
    """Returns the marking after this transition; None if tokens are missing."""
    remaining = list(tokens)
    for place, weight in net.inputs[number]:
        remaining[place] -= weight
        if remaining[place] < 0:
            return None
    for place, weight in net.outputs[number]:
        remaining[place] += weight
    return tuple(remaining)


def replay(net: PlainNet, trace: Iterable[TransitionId]) -> Tokens:
    """Returns the marking that this trace leads to from the initial one."""
    numbers = {id_: number for number, id_ in enumerate(net.transition_ids)}
    tokens = net.initial
    for step, id_ in enumerate(trace, start=1):
        if id_ not in numbers:
            raise NetError(f"step {step} of the trace: the net has no transition {id_!r}")
        after = fire(net, tokens, numbers[id_])
        if after is None:
            missing = _missing(net, tokens, net.inputs[numbers[id_]])
            raise NotEnabledError(f"step {step} of the trace: {id_!r} lacks tokens in {missing}")
        tokens = after
    return tokens


def _missing(net: PlainNet, tokens: Tokens, arcs: Arcs) -> str:
    return ", ".join(repr(str(net.place_ids[place])) for place, weight in arcs if tokens[place] < weight)
