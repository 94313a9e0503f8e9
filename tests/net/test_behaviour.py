"""Soundness on all states, against a graph search that is too simple to be wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import NetError
from weft.net.behaviour import sound_by_states
from weft.net.plain import PlainNet
from weft.net.trace import Tokens, fire, replay
from weft.net.verdict import Answer, Verdict
from weft.testing.nets import net_of

LIMIT = 200


def judge(rules: str, initial: dict[str, int], final: str = "o", max_states: int = LIMIT) -> Verdict:
    net = net_of(rules, initial)
    return sound_by_states(net, final=[str(p) for p in net.place_ids].index(final), max_states=max_states)


def all_states(net: PlainNet) -> tuple[dict[Tokens, int], dict[Tokens, dict[int, Tokens]]] | None:
    """Every reachable marking with its depth, and its successors; None if there are too many."""
    depths = {net.initial: 0}
    successors: dict[Tokens, dict[int, Tokens]] = {}
    queue = [net.initial]
    for marking in queue:
        fired = {t: fire(net, marking, t) for t in range(len(net.transition_ids))}
        successors[marking] = {t: after for t, after in fired.items() if after is not None}
        for after in successors[marking].values():
            if after not in depths:
                depths[after] = depths[marking] + 1
                queue.append(after)
        if len(depths) > LIMIT:
            return None
    return depths, successors


def can_reach(successors: dict[Tokens, dict[int, Tokens]], start: Tokens, end: Tokens) -> bool:
    met, waiting = {start}, [start]
    while waiting:
        for after in successors[waiting.pop()].values():
            if after not in met:
                met.add(after)
                waiting.append(after)
    return end in met


@st.composite
def workflows(draw: st.DrawFn) -> PlainNet:
    """Nets from i to o; most of them are not sound."""
    places = ["i", "a", "b", "c", "o"]
    sides = st.lists(st.sampled_from(places), min_size=1, max_size=2).map(" + ".join)
    rules = draw(st.lists(st.tuples(sides, sides), min_size=1, max_size=6))
    return net_of("\n".join(f"{inputs} > {outputs}" for inputs, outputs in rules), {"o": 0, "i": 1})


@given(workflows())
@settings(max_examples=150)
def test_the_verdict_is_that_of_a_plain_graph_search(net: PlainNet) -> None:
    verdict = sound_by_states(net, final=0, max_states=LIMIT)
    graph = all_states(net)
    if graph is None:
        assert verdict.answer is not Answer.PROVED
        return
    depths, successors = graph
    end = tuple(int(place == 0) for place in range(len(net.place_ids)))
    offending = {m for m in depths if (m[0] and m != end) or not can_reach(successors, m, end)}
    fired = {t for after in successors.values() for t in after}
    if offending:
        assert verdict.answer is Answer.REFUTED
        assert replay(net, verdict.trace) in offending
        assert len(verdict.trace) == min(depths[marking] for marking in offending)
    elif len(fired) < len(net.transition_ids):
        assert (verdict.answer, verdict.trace) == (Answer.REFUTED, ())
        for number, id_ in enumerate(net.transition_ids):
            assert (repr(id_) in verdict.why) == (number not in fired)
    else:
        assert verdict.answer is Answer.PROVED


@pytest.mark.parametrize(
    "rules",
    [
        "i > o",
        "i > a + b\n a > c\n b > d\n c + d > o",
        "i > a\n a > b\n b > a\n b > o",
        "i > 3 a\n 2 a > b\n a + b > o",
    ],
    ids=["one step", "fork and join", "loop", "weights"],
)
def test_a_net_that_always_ends_is_proved_sound(rules: str) -> None:
    verdict = judge(rules, {"i": 1})
    assert verdict.answer is Answer.PROVED
    assert "can still end properly" in verdict.why


def test_a_choice_before_a_join_is_refuted_at_the_choice() -> None:
    verdict = judge("i > a + x\n i > b + x\n a > c\n c + x > o\n b > d\n d + b > o", {"i": 1})
    assert verdict.answer is Answer.REFUTED
    assert verdict.trace == ("t2",)
    assert (
        verdict.why
        == "after 1 firing, in (x: 1, b: 1), the end, one token in 'o' alone, can no longer be reached"
    )


def test_a_marking_without_a_way_on_is_said_to_be_one() -> None:
    verdict = judge("i > a\n a > o\n i > b", {"i": 1})
    assert verdict.trace == ("t3",)
    assert verdict.why == "after 1 firing, in (b: 1), no transition is enabled and it is not the end"


def test_tokens_left_beside_the_end_refute_soundness() -> None:
    verdict = judge("i > o + a\n a > ", {"i": 1})
    assert verdict.trace == ("t1",)
    assert verdict.why == "after 1 firing, in (o: 1, a: 1), the end 'o' is marked and more tokens are left"


def test_two_tokens_on_the_end_refute_soundness() -> None:
    assert judge("i > 2 o\n o >", {"i": 1}).trace == ("t1",)


def test_a_net_that_may_lose_everything_is_refuted() -> None:
    verdict = judge("i > o\n i >", {"i": 1})
    assert verdict.trace == ("t2",)
    assert "in (no tokens)" in verdict.why


def test_a_net_that_is_wrong_from_the_start_is_refuted_by_the_empty_trace() -> None:
    verdict = judge("i > a\n o > o", {"i": 1})
    assert (verdict.answer, verdict.trace) == (Answer.REFUTED, ())
    assert verdict.why.startswith("after 0 firings, in (i: 1), the end, one token in 'o' alone")


def test_dead_transitions_are_named_and_have_no_trace() -> None:
    verdict = judge("i > o\n a > b", {"i": 1})
    assert (verdict.answer, verdict.trace) == (Answer.REFUTED, ())
    assert verdict.why == "the transition 't2' is enabled in none of the 2 states"
    two = judge("i > o\n a > b\n 2 i > o", {"i": 1})
    assert two.why == "the transitions 't2', 't3' are enabled in none of the 2 states"


def test_an_offending_marking_has_precedence_over_a_dead_transition() -> None:
    assert judge("i > o\n i > a\n b > o", {"i": 1}).trace == ("t2",)


def test_too_many_states_without_an_offence_are_unknown() -> None:
    verdict = judge("i > i + a\n i > b\n a + b > b\n b > o", {"i": 1}, max_states=3)
    assert (verdict.answer, verdict.why, verdict.trace) == (Answer.UNKNOWN, "unknown after 3 states", ())


def test_tokens_beside_the_end_refute_even_when_there_are_too_many_states() -> None:
    verdict = judge("i > i + a\n i > o", {"i": 1}, max_states=50)
    assert verdict.answer is Answer.REFUTED
    assert verdict.trace == ("t1", "t2")


def test_a_dead_marking_refutes_even_when_there_are_too_many_states() -> None:
    verdict = judge("i > i + a\n i > b", {"i": 1, "o": 0}, max_states=50)
    assert verdict.answer is Answer.REFUTED
    assert verdict.trace == ("t2",)


def test_the_end_itself_is_no_offence_when_there_are_too_many_states() -> None:
    assert judge("i > o\n i > 5 a\n a > b\n b > c", {"i": 1}, max_states=8).answer is Answer.UNKNOWN


@pytest.mark.parametrize("final", [-1, 2])
def test_a_final_place_that_the_net_does_not_have_is_refused(final: int) -> None:
    with pytest.raises(NetError, match="the net has 2 places"):
        sound_by_states(net_of("i > o", {"i": 1}), final=final, max_states=10)
