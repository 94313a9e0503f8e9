"""Single moves, as SNAKES plays them: the same transitions enabled and the same marking after each.

SNAKES is slow and simple: it asks each transition anew whether the tokens of its inputs are there. We keep
counts up to date, and leave pools out of them. So what we keep is compared with what is there.
"""

from collections.abc import Iterator
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from snakes import nets as sn
from snakes.pnml import loads

from strategies import nets
from weft.ids import OutcomeName
from weft.net.formats import write_pnml
from weft.net.game import TokenGame
from weft.net.model import Arcs, Net
from weft.net.plain import FIRED, PlainNet, unfold

STEPS = 25
NO_BINDING = sn.Substitution()

# The same nets in each run; a few of them are slow to draw.
EXAMPLES = settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


class SnakesGame:
    """A net of SNAKES's, asked and told by names."""

    def __init__(self, net: sn.PetriNet) -> None:
        self._net = net

    def enabled(self) -> set[str]:
        return {t.name for t in self._net.transition() if t.enabled(NO_BINDING)}

    def fire(self, transition: str) -> None:
        self._net.transition(transition).fire(NO_BINDING)

    def marking(self) -> dict[str, int]:
        return {place: len(tokens) for place, tokens in self._net.get_marking().items()}


def read_by_snakes(net: PlainNet) -> SnakesGame:
    return SnakesGame(loads(write_pnml(net)))


def built_in_snakes(net: PlainNet) -> SnakesGame:
    theirs = sn.PetriNet("net")
    for place, tokens in zip(net.place_ids, net.initial, strict=True):
        theirs.add_place(sn.Place(place, [sn.dot] * tokens))
    for transition, taken, given_ in zip(net.transition_ids, net.inputs, net.outputs, strict=True):
        theirs.add_transition(sn.Transition(transition))
        for place, weight in taken:
            theirs.add_input(net.place_ids[place], transition, _dots(weight))
        for place, weight in given_:
            theirs.add_output(net.place_ids[place], transition, _dots(weight))
    return SnakesGame(theirs)


def _dots(weight: int) -> sn.ArcAnnotation:
    dot = sn.Value(sn.dot)
    return dot if weight == 1 else sn.MultiArc([dot] * weight)


def heaviest(arcs: tuple[Arcs, ...]) -> int:
    return max((weight for side in arcs for _, weight in side), default=0)


def played(game: TokenGame, rng: Random) -> Iterator[str]:
    """Random moves, until nothing is enabled or enough is played; each is named before it is made."""
    for _ in range(STEPS):
        choices = list(game.enabled())
        if not choices:
            return
        transition = rng.choice(choices)
        yield game.net.transition_ids[transition]
        game.finish(game.begin(transition), FIRED)


def enabled(game: TokenGame) -> set[str]:
    return {game.net.transition_ids[number] for number in game.enabled()}


def compare(net: PlainNet, theirs: SnakesGame, seed: int) -> int:
    ours = TokenGame(net.to_net())
    steps = 0
    for transition in played(ours, Random(seed)):
        assert enabled(ours) == theirs.enabled()
        assert ours.marking().tokens == theirs.marking()
        theirs.fire(transition)
        steps += 1
    assert enabled(ours) == theirs.enabled()
    assert ours.marking().tokens == theirs.marking()
    return steps


def test_the_file_that_snakes_reads_is_played_alike() -> None:
    steps, weights = [], []

    @EXAMPLES
    @given(nets(), st.integers(0, 2**32))
    def check(net: Net, seed: int) -> None:
        plain = unfold(net)
        steps.append(compare(plain, read_by_snakes(plain), seed))
        weights.append(heaviest((*plain.inputs, *plain.outputs)))

    check()
    assert len(steps) >= 150
    assert sum(n > 3 for n in steps) >= 50
    assert max(weights) > 1


def test_the_net_that_snakes_builds_is_played_alike() -> None:
    steps = []

    @EXAMPLES
    @given(nets(max_places=8, max_transitions=8), st.integers(0, 2**32))
    def check(net: Net, seed: int) -> None:
        plain = unfold(net)
        steps.append(compare(plain, built_in_snakes(plain), seed))

    check()
    assert len(steps) >= 150
    assert sum(n > 3 for n in steps) >= 50


class Twin:
    """A net with actions and outcomes beside its unfolding in SNAKES, where an action is a place."""

    def __init__(self, net: Net) -> None:
        self.ours = TokenGame(net)
        self.theirs = read_by_snakes(unfold(net))

    def moves(self) -> list[tuple[str, int, OutcomeName | None]]:
        """All that is possible now, by the name that the unfolded net has for it."""
        return [*self._beginnings(), *self._endings()]

    def _beginnings(self) -> Iterator[tuple[str, int, OutcomeName | None]]:
        net = self.ours.net
        for number in self.ours.enabled():
            name, outcomes = net.transition_ids[number], net.outcomes[number]
            if net.actions[number] is not None:
                yield f"{name}.start", number, None
            else:
                for outcome in outcomes:
                    yield (name if len(outcomes) == 1 else f"{name}.{outcome}"), number, outcome

    def _endings(self) -> Iterator[tuple[str, int, OutcomeName | None]]:
        net = self.ours.net
        for number in {firing.transition for firing in self.ours.firings}:
            for outcome in net.outcomes[number]:
                yield f"{net.transition_ids[number]}.{outcome}", number, outcome

    def make(self, name: str, number: int, outcome: OutcomeName | None) -> None:
        self.theirs.fire(name)
        if outcome is None:
            self.ours.begin(number)
        elif self.ours.net.actions[number] is None:
            self.ours.finish(self.ours.begin(number), outcome)
        else:
            firing = next(f for f in self.ours.firings if f.transition == number)
            self.ours.finish(firing, outcome)

    def assert_alike(self) -> None:
        marking = self.ours.marking()
        running = {f"{transition}.running": count for transition, count in marking.running.items()}
        assert {**marking.tokens, **running} == self.theirs.marking()
        assert {name for name, _, _ in self.moves()} == self.theirs.enabled()


def test_actions_and_outcomes_mean_what_their_unfolding_says() -> None:
    steps = 0

    @EXAMPLES
    @given(nets(), st.integers(0, 2**32))
    def check(net: Net, seed: int) -> None:
        nonlocal steps
        twin, rng = Twin(net), Random(seed)
        twin.assert_alike()
        for _ in range(STEPS):
            moves = twin.moves()
            if not moves:
                return
            twin.make(*rng.choice(moves))
            twin.assert_alike()
            steps += 1

    check()
    assert steps >= 500
