"""Properties of a net decided on all its reachable markings: the judge of the faster theorems.

A net that begins in its initial marking and should end in one token on the place `final` is sound if

- from every reachable marking the final marking can be reached,
- no reachable marking has that token and others beside it, and
- every transition is enabled in some reachable marking.

Which markings can end is found backwards, from the final marking on. The arcs between markings need not
be stored for this: a transition is undone by taking its outputs and giving back its inputs, and what
comes out counts if it was among the markings reached.
"""

from collections.abc import Iterator

from weft.errors import NetError
from weft.ids import TransitionId
from weft.net.explore import MAX_BYTES
from weft.net.explore_python import PythonEngine, Rule, pack_rule
from weft.net.packing import effects
from weft.net.plain import PlainNet
from weft.net.trace import replay, trace_to
from weft.net.verdict import Answer, Verdict


def sound_by_states(net: PlainNet, *, final: int, max_states: int) -> Verdict:
    """Decide soundness by visiting every reachable marking; unknown if there are too many."""
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
            return self._refuted(offending)
        offending = next(self._offending(), None)
        if offending is not None:
            return self._refuted(offending)
        if dead := [self._net.transition_ids[number] for number in self._engine.unfired()]:
            return Verdict(answer=Answer.REFUTED, why=f"{_said(dead)} in none of the {states}")
        why = f"each of the {states} can still end properly, and every transition is enabled in one of them"
        return Verdict(answer=Answer.PROVED, why=why)

    def _offending(self) -> Iterator[int]:
        """Numbers of the markings that break soundness, nearest first; the search was complete."""
        can_end = self._can_end()
        for number, marking in enumerate(self._engine.order):
            if marking not in can_end or self._covers_final(marking):
                yield number

    def _certain(self) -> Iterator[int]:
        """Numbers of the markings that break soundness whatever else there is to be seen."""
        order = self._engine.order
        yield from (number for number, marking in enumerate(order) if self._covers_final(marking))
        yield from (number for number in self._engine.dead_numbers if order[number] != self._final)

    def _covers_final(self, marking: int) -> bool:
        (guards,) = self._engine.layout.guards
        return ((marking | guards) - self._token) & guards == guards and marking != self._final

    def _can_end(self) -> set[int]:
        """The reached markings from which the final marking can be reached."""
        (guards,) = self._engine.layout.guards
        seen = self._engine.seen
        undone = self._undoing()
        ending = {self._final} & seen
        waiting = list(ending)
        while waiting:
            marking = waiting.pop()
            guarded = marking | guards
            before = [marking + change for taken, change in undone if (guarded - taken) & guards == guards]
            for earlier in before:
                if earlier in seen and earlier not in ending:
                    ending.add(earlier)
                    waiting.append(earlier)
        return ending

    def _undoing(self) -> list[Rule]:
        """The transitions backwards: they take what was given."""
        rules: list[Rule] = []
        for given, effect in zip(self._net.outputs, effects(self._net), strict=True):
            back = tuple((place, -tokens) for place, tokens in effect.change)
            rules.append(pack_rule(self._engine.layout, given, back))
        return rules

    def _refuted(self, number: int) -> Verdict:
        tokens = self._engine.tokens(number)
        trace = trace_to(self._net, self._engine, number)
        reached = replay(self._net, trace)
        assert reached == tokens
        where = ", ".join(f"{id_}: {n}" for id_, n in self._net.marking(tokens).tokens.items())
        if self._covers_final(self._engine.order[number]):
            what = f"the end {self._final_id!r} is marked and more tokens are left"
        elif number in self._engine.dead_numbers:
            what = "no transition is enabled and it is not the end"
        else:
            what = f"the end, one token in {self._final_id!r} alone, can no longer be reached"
        return Verdict(
            answer=Answer.REFUTED,
            why=f"after {_firings(len(trace))}, in ({where or 'no tokens'}), {what}",
            trace=trace,
        )


def _firings(count: int) -> str:
    return "1 firing" if count == 1 else f"{count:,} firings"


def _said(dead: list[TransitionId]) -> str:
    if len(dead) == 1:
        return f"the transition {dead[0]!r} is enabled"
    return f"the transitions {', '.join(map(repr, dead))} are enabled"
