"""Decide soundness on all reachable markings. Tests compare the faster theorems with this.

A net that starts in its initial marking and should end with one token in the place `final` is sound if

- from every reachable marking the final marking can be reached,
- no reachable marking has that token and others beside it, and
- every transition is enabled in some reachable marking.

The markings that can still end are found backwards from the final marking. The arcs between markings need not be
stored for this: a transition is undone by taking its outputs and returning its inputs, and the result counts if it
is among the reached markings.
"""

from collections.abc import Iterator

from weft.errors import NetError
from weft.ids import TransitionId
from weft.net.explore import MAX_BYTES
from weft.net.explore_python import PackedTransition, PythonEngine, pack_rule
from weft.net.packing import effects
from weft.net.plain import PlainNet
from weft.net.trace import replay, trace_to
from weft.net.verdict import Answer, Verdict


def sound_by_states(net: PlainNet, *, final: int, max_states: int) -> Verdict:
    """Decides soundness by visiting every reachable marking; unknown if there are too many."""
    if not 0 <= final < len(net.place_ids):
        raise NetError(f"the final place has number {final}; the net has {len(net.place_ids)} places")
    engine = PythonEngine(net, max_states=max_states, max_bytes=MAX_BYTES)
    while engine.expanded < engine.states and engine.full is None:
        engine.step()
    return _Judge(net, final, engine).verdict()


class _Judge:
    def __init__(self, net: PlainNet, final: int, engine: PythonEngine) -> None:
        self._net, self._engine = net, engine
        self._final_id = net.place_ids[final]
        # As the engine packs them: the places, then the sum of all tokens.
        single = [0] * (len(net.place_ids) + 1)
        single[final] = 1
        (self._token,) = engine.layout.pack(single)
        single[-1] = 1
        (self._final,) = engine.layout.pack(single)

    def verdict(self) -> Verdict:
        states = f"{self._engine.states:,} states"
        if self._engine.full is not None:
            offending = min(self._certain(), default=None)
            if offending is None:
                return Verdict(answer=Answer.UNKNOWN, why=f"unknown after {states}")
            return self._refutation(offending)
        offending = next(self._offending(), None)
        if offending is not None:
            return self._refutation(offending)
        if dead := [self._net.transition_ids[number] for number in self._engine.unfired()]:
            return Verdict(answer=Answer.REFUTED, why=f"{_describe_dead(dead)} in none of the {states}")
        why = f"each of the {states} can still end properly, and every transition is enabled in one of them"
        return Verdict(answer=Answer.PROVED, why=why)

    def _offending(self) -> Iterator[int]:
        """Yields the numbers of the markings that break soundness, nearest first; the search was complete."""
        can_end = self._can_end()
        for number, marking in enumerate(self._engine.order):
            if marking not in can_end or self._covers_final(marking):
                yield number

    def _certain(self) -> Iterator[int]:
        """Yields the numbers of markings that break soundness even if the search is incomplete."""
        order = self._engine.order
        yield from (number for number, marking in enumerate(order) if self._covers_final(marking))
        yield from (number for number in self._engine.dead_numbers if order[number] != self._final)

    def _covers_final(self, marking: int) -> bool:
        (guards,) = self._engine.layout.guards
        return ((marking | guards) - self._token) & guards == guards and marking != self._final

    def _can_end(self) -> set[int]:
        """Returns the reached markings from which the final marking can be reached."""
        (guards,) = self._engine.layout.guards
        reached = self._engine.seen
        backward_rules = self._reverse_rules()
        can_end = {self._final} & reached
        pending = list(can_end)
        while pending:
            marking = pending.pop()
            guarded = marking | guards
            predecessors = [
                marking + change for needed, change in backward_rules if (guarded - needed) & guards == guards
            ]
            for predecessor in predecessors:
                # Undoing a transition can lead to a marking that no run reaches, so only reached ones count.
                if predecessor in reached and predecessor not in can_end:
                    can_end.add(predecessor)
                    pending.append(predecessor)
        return can_end

    def _reverse_rules(self) -> list[PackedTransition]:
        """Returns the reversed transitions, which take outputs and return inputs."""
        rules: list[PackedTransition] = []
        for outputs, effect in zip(self._net.outputs, effects(self._net), strict=True):
            reverse_change = tuple((place, -tokens) for place, tokens in effect.change)
            rules.append(pack_rule(self._engine.layout, outputs, reverse_change))
        return rules

    def _refutation(self, number: int) -> Verdict:
        tokens = self._engine.tokens(number)
        trace = trace_to(self._net, self._engine, number)
        replayed = replay(self._net, trace)
        # A refutation must not depend on the search engine being correct: the trace is replayed.
        assert replayed == tokens
        marking_text = ", ".join(f"{id_}: {n}" for id_, n in self._net.marking(tokens).tokens.items())
        if self._covers_final(self._engine.order[number]):
            problem = f"the end {self._final_id!r} is marked and more tokens are left"
        elif number in self._engine.dead_numbers:
            problem = "no transition is enabled and it is not the end"
        else:
            problem = f"the end, one token in {self._final_id!r} alone, can no longer be reached"
        return Verdict(
            answer=Answer.REFUTED,
            why=f"after {_firings(len(trace))}, in ({marking_text or 'no tokens'}), {problem}",
            trace=trace,
        )


def _firings(count: int) -> str:
    return "1 firing" if count == 1 else f"{count:,} firings"


def _describe_dead(dead: list[TransitionId]) -> str:
    if len(dead) == 1:
        return f"the transition {dead[0]!r} is enabled"
    return f"the transitions {', '.join(map(repr, dead))} are enabled"
