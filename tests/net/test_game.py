"""The token game against a reference that recomputes everything from the definition, and its refusals."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import nets
from weft.errors import MoveError, NetError, NotEnabledError, NotRunningError, UnknownOutcomeError
from weft.ids import OutcomeName
from weft.net.game import Firing, TokenGame
from weft.net.model import Marking, Net, NetBuilder, PlaceKind


class Reference:
    """The definition, word by word: no counters, no indices."""

    def __init__(self, net: Net) -> None:
        self.transitions = list(net.transitions)
        self.tokens = Counter({p.id: p.tokens for p in net.places})

    def enabled(self) -> set[int]:
        return {n for n, t in enumerate(self.transitions) if all(self.tokens[p] >= w for p, w in t.inputs)}

    def begin(self, number: int) -> None:
        for place, weight in self.transitions[number].inputs:
            self.tokens[place] -= weight

    def finish(self, number: int, outcome: int) -> None:
        for place, weight in self.transitions[number].outcomes[outcome].outputs:
            self.tokens[place] += weight

    def marking(self) -> dict[str, int]:
        return {p: n for p, n in self.tokens.items() if n}


@given(nets(), st.data())
def test_every_move_agrees_with_the_definition(net: Net, data: st.DataObject) -> None:
    game, reference = TokenGame(net), Reference(net)
    in_flight: list[Firing] = []
    for _ in range(data.draw(st.integers(0, 25))):
        enabled = sorted(reference.enabled())
        assert list(game.enabled()) == enabled
        choices = [("begin", n) for n in enabled] + [("finish", n) for n in range(len(in_flight))]
        if not choices:
            break
        move, number = data.draw(st.sampled_from(choices))
        if move == "begin":
            in_flight.append(game.begin(number))
            reference.begin(number)
        else:
            firing = in_flight.pop(number)
            outcome = data.draw(st.integers(0, len(net.outcomes[firing.transition]) - 1))
            before = set(game.offered())
            offered = game.finish(firing, outcome)
            reference.finish(firing.transition, outcome)
            assert set(offered) == set(game.offered()) - before
        assert dict(game.marking().tokens) == reference.marking()
        assert game.firings == tuple(sorted(in_flight))
        assert game.busy is bool(in_flight)


@given(nets(), st.data())
def test_an_illegal_move_raises_and_changes_nothing(net: Net, data: st.DataObject) -> None:
    game = TokenGame(net)
    enabled = set(game.enabled())
    begins = data.draw(st.booleans())
    running = game.begin(min(enabled)) if enabled and begins else None
    before = (game.marking(), list(game.missing), game.firings)
    for number in range(len(net.transition_ids)):
        if number not in set(game.enabled()):
            with pytest.raises(NotEnabledError):
                game.begin(number)
    with pytest.raises(NetError):
        game.begin(len(net.transition_ids))
    with pytest.raises(NotRunningError):
        game.finish(Firing(99, 0), 0)
    if running is not None:
        with pytest.raises(UnknownOutcomeError):
            game.finish(running, "nonsense")
        with pytest.raises(UnknownOutcomeError):
            game.finish(running, 17)
    assert (game.marking(), list(game.missing), game.firings) == before


@given(nets(), st.data())
def test_a_game_continues_from_a_marking_that_went_through_json(net: Net, data: st.DataObject) -> None:
    game = TokenGame(net)
    for _ in range(data.draw(st.integers(0, 8))):
        enabled = list(game.enabled())
        if not enabled:
            break
        firing = game.begin(data.draw(st.sampled_from(enabled)))
        if data.draw(st.booleans()):
            game.finish(firing, 0)
    marking = Marking.from_json(json.loads(json.dumps(game.marking().to_json())))
    again = TokenGame(net, marking)
    assert again.marking() == game.marking()
    assert list(again.enabled()) == list(game.enabled())
    assert Counter(f.transition for f in again.firings) == Counter(f.transition for f in game.firings)
    for firing in again.firings:
        again.finish(firing, 0)
    for firing in game.firings:
        game.finish(firing, 0)
    assert again.marking() == game.marking()


def one_step() -> Net:
    """A step that takes a token of a pool and gives it back, whether it goes well or not."""
    builder = NetBuilder()
    ready = builder.add_place("ready", tokens=1)
    pool = builder.add_place("pool", kind=PlaceKind.POOL, tokens=1)
    end = builder.add_place("end", kind=PlaceKind.END)
    names = (OutcomeName("ok"), OutcomeName("failed"))
    outputs = (((end, 1), (pool, 1)), ((pool, 1),))
    builder.add_transition("work", ((ready, 1), (pool, 1)), names, outputs, action="work")
    return builder.build()


def test_what_is_missing_is_said_by_name() -> None:
    game = TokenGame(one_step())
    firing = game.begin(0)
    with pytest.raises(
        NotEnabledError, match="'work' is not enabled: 'ready' holds 0 of 1, 'pool' holds 0 of 1"
    ):
        game.begin(0)
    with pytest.raises(UnknownOutcomeError, match="'work' has no outcome 'maybe'; it declares: ok, failed"):
        game.finish(firing, "maybe")
    game.finish(firing, "ok")
    with pytest.raises(NotRunningError, match="no firing 1 of 'work' is in flight"):
        game.finish(firing, "ok")
    with pytest.raises(MoveError, match="transition number 5"):
        game.finish(Firing(1, 5), "ok")


def test_the_outcome_alone_decides_where_tokens_go() -> None:
    for outcome, where in (("ok", {"end": 1, "pool": 1}), ("failed", {"pool": 1})):
        game = TokenGame(one_step())
        game.finish(game.begin(0), outcome)
        assert dict(game.marking().tokens) == where
