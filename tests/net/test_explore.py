"""Exploration: both engines against a naive search over dictionaries, and against each other."""

import sys
import tracemalloc
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import ConfigError, NetError, NotEnabledError
from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.explore import explore, find_deadlock
from weft.net.explore_numpy import NumpyEngine
from weft.net.explore_python import PythonEngine
from weft.net.model import Arc, Marking, Net, Outcome, Place, Transition
from weft.net.plain import PlainNet
from weft.net.trace import replay
from weft.testing.nets import house_construction, kanban, net_of, philosophers

ENGINES = pytest.mark.parametrize("use_numpy", [False, True], ids=["python", "numpy"])
LIMIT = 150


@dataclass
class Naive:
    """What a search that is too simple to be wrong has seen."""

    markings: list[dict[int, int]]
    depths: list[int]
    complete: bool = True
    edges: int = 0
    dead: list[int] = field(default_factory=list)
    fired: set[int] = field(default_factory=set)

    def most(self, place: int) -> int:
        return max(marking[place] for marking in self.markings)


def naive_search(net: PlainNet, limit: int) -> Naive:
    search = Naive([dict(enumerate(net.initial))], [0])
    for at, marking in enumerate(search.markings):
        enabled = [t for t, arcs in enumerate(net.inputs) if all(marking[p] >= w for p, w in arcs)]
        for transition in enabled:
            after = dict(marking)
            for place, weight in net.inputs[transition]:
                after[place] -= weight
            for place, weight in net.outputs[transition]:
                after[place] += weight
            if after not in search.markings:
                if len(search.markings) == limit:
                    search.complete = False
                    return search
                search.markings.append(after)
                search.depths.append(search.depths[at] + 1)
        search.edges += len(enabled)
        search.fired.update(enabled)
        if not enabled:
            search.dead.append(at)
    return search


WEIGHT = st.sampled_from([1, 1, 1, 1, 2, 3, 40])
TOKENS = st.sampled_from([0, 0, 1, 1, 2, 5, 100, (1 << 30) + 1, (1 << 61) - 1])


@st.composite
def nets(draw: st.DrawFn) -> PlainNet:
    """Small nets with weights, loops, and transitions without inputs, without outputs, without either."""
    # Idle places beside the others make nets of more than 64 bits.
    places = draw(st.integers(1, 5)) + draw(st.sampled_from([0, 0, 40]))
    arcs = st.dictionaries(st.integers(0, min(places, 5) - 1), WEIGHT, max_size=3)
    sides = st.lists(arcs.map(lambda weights: tuple(weights.items())), min_size=0, max_size=6)
    inputs = draw(sides)
    outputs = draw(st.lists(arcs.map(lambda w: tuple(w.items())), min_size=len(inputs), max_size=len(inputs)))
    tokens = draw(st.lists(TOKENS, min_size=5, max_size=5))
    return PlainNet(
        place_ids=tuple(PlaceId(f"p{p}") for p in range(places)),
        transition_ids=tuple(TransitionId(f"t{t}") for t in range(len(inputs))),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        initial=tuple(tokens[p] if p < 5 else 1 for p in range(places)),
    )


@ENGINES
@given(net=nets())
@settings(max_examples=150)
def test_counts_and_bounds_are_those_of_the_naive_search(*, use_numpy: bool, net: PlainNet) -> None:
    exploration, naive = explore(net, max_states=LIMIT, use_numpy=use_numpy), naive_search(net, LIMIT)
    assert (exploration.states, exploration.complete) == (len(naive.markings), naive.complete)
    assert exploration.place_bounds == {id_: naive.most(place) for place, id_ in enumerate(net.place_ids)}
    assert exploration.place_bound == max(exploration.place_bounds.values())
    assert exploration.marking_bound == max(sum(marking.values()) for marking in naive.markings)
    if naive.complete:
        assert (exploration.edges, exploration.deadlocks) == (naive.edges, len(naive.dead))
        assert exploration.why == f"all {exploration.states:,} states"
    else:
        assert exploration.why == f"unknown after {LIMIT} states (the limit on states)"


@ENGINES
@given(net=nets())
@settings(max_examples=100)
def test_dead_transitions_are_those_that_never_fire_and_none_are_named_when_unknown(
    *, use_numpy: bool, net: PlainNet
) -> None:
    exploration, naive = explore(net, max_states=LIMIT, use_numpy=use_numpy), naive_search(net, LIMIT)
    never = tuple(id_ for t, id_ in enumerate(net.transition_ids) if t not in naive.fired)
    assert exploration.dead_transitions == (never if naive.complete else ())


@ENGINES
@given(net=nets())
@settings(max_examples=100)
def test_the_first_deadlock_is_the_nearest_and_its_trace_leads_there(
    *, use_numpy: bool, net: PlainNet
) -> None:
    naive = naive_search(net, LIMIT)
    for exploration in (
        explore(net, max_states=LIMIT, use_numpy=use_numpy),
        find_deadlock(net, max_states=LIMIT, use_numpy=use_numpy),
    ):
        if naive.dead:
            assert exploration.deadlock_trace is not None
            assert exploration.first_deadlock == net.marking(replay(net, exploration.deadlock_trace))
            assert exploration.first_deadlock == net.marking(naive.markings[naive.dead[0]].values())
            assert len(exploration.deadlock_trace) == naive.depths[naive.dead[0]]
        elif naive.complete:
            assert (exploration.first_deadlock, exploration.deadlock_trace, exploration.deadlocks) == (
                None,
                None,
                0,
            )


@ENGINES
@given(net=nets(), data=st.data())
@settings(max_examples=100)
def test_what_is_searched_for_is_found_by_a_shortest_trace(
    *, use_numpy: bool, net: PlainNet, data: st.DataObject
) -> None:
    naive = naive_search(net, LIMIT)
    target = data.draw(st.integers(0, len(naive.markings) - 1))
    target_marking = net.marking(naive.markings[target].values())
    exploration = explore(
        net, find=lambda marking: marking == target_marking, max_states=LIMIT, use_numpy=use_numpy
    )
    assert exploration.found == target_marking
    assert exploration.found_trace is not None
    assert net.marking(replay(net, exploration.found_trace)) == target_marking
    assert len(exploration.found_trace) == naive.depths[target]
    assert not exploration.complete
    assert exploration.why == f"found after {exploration.states:,} states"


@given(net=nets(), limit=st.integers(1, LIMIT))
@settings(max_examples=100)
def test_a_limit_never_makes_a_partial_search_complete(net: PlainNet, limit: int) -> None:
    naive = naive_search(net, limit)
    for use_numpy in (False, True):
        exploration = explore(net, max_states=limit, use_numpy=use_numpy)
        assert (exploration.complete, exploration.states) == (naive.complete, len(naive.markings))


@given(net=nets(), max_bytes=st.integers(1, 200_000))
@settings(max_examples=100)
def test_a_limit_on_memory_gives_the_whole_answer_or_says_that_it_does_not(
    net: PlainNet, max_bytes: int
) -> None:
    naive = naive_search(net, LIMIT)
    for use_numpy in (False, True):
        exploration = explore(net, max_states=LIMIT, max_bytes=max_bytes, use_numpy=use_numpy)
        assert 1 <= exploration.states <= len(naive.markings)
        if exploration.complete:
            assert (naive.complete, exploration.states, exploration.edges) == (
                True,
                len(naive.markings),
                naive.edges,
            )
        elif "memory" in exploration.why:
            assert exploration.dead_transitions == ()
        else:
            assert (naive.complete, exploration.states) == (False, LIMIT)


@pytest.mark.parametrize(
    "net", [philosophers(6), house_construction(2), kanban(2)], ids=["phil", "house", "kanban"]
)
def test_both_engines_meet_the_markings_in_the_same_order(net: PlainNet) -> None:
    python = PythonEngine(net, max_states=10_000, max_bytes=1 << 30)
    numpy = NumpyEngine(net, max_states=10_000, max_bytes=1 << 20)  # little memory: small blocks
    for engine in (python, numpy):
        while engine.expanded < engine.states:
            engine.step()
            assert engine.full is None
    assert python.states == numpy.states
    assert [python.tokens(n) for n in range(python.states)] == [numpy.tokens(n) for n in range(numpy.states)]
    assert [python.parent(n) for n in range(python.states)] == [numpy.parent(n) for n in range(numpy.states)]


@ENGINES
def test_nothing_but_the_initial_marking_is_seen_of_an_empty_net(*, use_numpy: bool) -> None:
    exploration = explore(net_of("", {}), use_numpy=use_numpy)
    assert (exploration.states, exploration.edges, exploration.deadlocks, exploration.deadlock_trace) == (
        1,
        0,
        1,
        (),
    )
    assert (exploration.place_bound, exploration.marking_bound, exploration.complete) == (0, 0, True)


@ENGINES
def test_a_transition_that_changes_nothing_is_an_edge_and_no_deadlock(*, use_numpy: bool) -> None:
    exploration = explore(net_of("> \n 2 a > 2 a", {"a": 2}), use_numpy=use_numpy)
    assert (exploration.states, exploration.edges, exploration.deadlocks, exploration.complete) == (
        1,
        2,
        0,
        True,
    )


@ENGINES
def test_a_place_counts_far_beyond_the_width_it_started_with(*, use_numpy: bool) -> None:
    exploration = explore(net_of("a > 3 b\n b > c", {"a": 50}), use_numpy=use_numpy)
    assert exploration.place_bounds == {"a": 50, "b": 150, "c": 150}
    assert exploration.states == sum(3 * fired + 1 for fired in range(51))


@ENGINES
@pytest.mark.parametrize(
    ("rules", "initial", "bound"),
    [
        ("a > b", {"a": 1 << 70}, 1 << 70),  # no word holds it
        (f"> {1 << 61} a", {}, 19 << 61),  # words hold it at first
        ("a > b", {"a": 1 << 61, "b": 1 << 61}, (1 << 61) + 19),  # each place does, the sum does not
    ],
)
def test_numbers_that_no_machine_word_holds_are_counted_right(
    *, use_numpy: bool, rules: str, initial: dict[str, int], bound: int
) -> None:
    exploration = explore(net_of(rules, initial), max_states=20, use_numpy=use_numpy)
    assert (exploration.states, exploration.complete, exploration.place_bound) == (20, False, bound)


@ENGINES
def test_a_sum_of_tokens_that_outgrows_a_word_on_the_way_is_counted_right(*, use_numpy: bool) -> None:
    w = 1 << 61
    exploration = explore(net_of(f"> {w} a + {w} b + {w} c + {w} d", {}), max_states=3, use_numpy=use_numpy)
    assert (exploration.place_bound, exploration.marking_bound) == (2 * w, 8 * w)


def test_numpy_takes_over_when_many_markings_wait_and_starts_again() -> None:
    counts: list[int] = []
    exploration = explore(philosophers(10), progress=counts.append)
    assert counts != sorted(counts)
    assert (exploration.states, counts[-1]) == (3**10, 3**10)


def test_python_continues_when_markings_come_one_by_one() -> None:
    counts: list[int] = []
    exploration = explore(net_of("a > b", {"a": 30_000}), progress=counts.append)
    assert counts == sorted(counts)
    assert (exploration.states, counts[-1]) == (30_001, 30_001)


def test_no_marking_is_looked_at_twice_when_numpy_takes_over() -> None:
    looked: list[Marking] = []

    def is_never(marking: Marking) -> bool:
        looked.append(marking)
        return False

    explore(philosophers(10), find=is_never, max_states=20_500)
    assert len(looked) == len(set(looked)) == 20_500


def test_more_states_than_32_bits_count_may_be_allowed() -> None:
    assert explore(philosophers(5), max_states=1 << 40, use_numpy=True).states == 243


@ENGINES
@pytest.mark.parametrize("max_bytes", [1 << 20, 3 << 20, 6 << 20])
def test_the_limit_on_memory_ends_the_search_before_it_is_passed(*, use_numpy: bool, max_bytes: int) -> None:
    explore(philosophers(2), use_numpy=use_numpy)  # what is imported is not counted
    tracemalloc.start()
    exploration = explore(kanban(4), max_bytes=max_bytes, use_numpy=use_numpy)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not exploration.complete
    assert (
        exploration.why
        == f"unknown after {exploration.states:,} states (the limit on memory: {max_bytes >> 20} MiB)"
    )
    assert max_bytes / 8 < peak <= max_bytes


@pytest.mark.parametrize("max_bytes", range(320_000, 400_000, 10_000))
def test_the_old_table_counts_while_its_markings_go_to_a_larger_one(max_bytes: int) -> None:
    # Between powers of two: there, both tables together are what passes the limit, and nothing else.
    explore(philosophers(2), use_numpy=True)
    tracemalloc.start()
    exploration = explore(kanban(4), max_bytes=max_bytes, use_numpy=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not exploration.complete
    assert peak <= max_bytes + 16_384  # the limit is on arrays: rules and layout, some 10 kB, come on top


@ENGINES
def test_a_move_to_wider_fields_is_not_started_without_memory_for_it(*, use_numpy: bool) -> None:
    counter = net_of("> a", {})
    reasons = {explore(counter, max_bytes=n, use_numpy=use_numpy).why for n in range(2_000, 60_000, 4_000)}
    assert len(reasons) > 10
    assert all("the limit on memory" in why and why.endswith(" bytes)") for why in reasons)


@ENGINES
def test_the_two_deadlocks_of_the_philosophers_are_all_left_or_all_right(*, use_numpy: bool) -> None:
    exploration = find_deadlock(philosophers(5), use_numpy=use_numpy)
    assert exploration.found is not None
    assert exploration.found == exploration.first_deadlock
    assert set(exploration.found.tokens) in ({f"A{i}" for i in range(5)}, {f"B{i}" for i in range(5)})
    assert exploration.found_trace == exploration.deadlock_trace
    assert len(exploration.found_trace or ()) == 5
    assert not exploration.complete


def test_no_deadlock_is_known_only_after_all_states() -> None:
    exploration = find_deadlock(kanban(2))
    assert (exploration.found, exploration.complete, exploration.why) == (None, True, "all 4,600 states")
    cut = find_deadlock(kanban(2), max_states=1_000)
    assert (cut.found, cut.complete) == (None, False)
    assert cut.why == "unknown after 1,000 states (the limit on states)"


def test_a_net_with_outcomes_is_unfolded_first() -> None:
    work = Transition(
        id=TransitionId("work"),
        inputs=(Arc(PlaceId("todo")),),
        outcomes=(
            Outcome(name=OutcomeName("ok"), outputs=(Arc(PlaceId("done")),)),
            Outcome(name=OutcomeName("failed"), outputs=()),
        ),
        action="work",
    )
    net = Net([Place(id=PlaceId("todo"), tokens=1), Place(id=PlaceId("done"))], [work])
    exploration = explore(net, find=lambda marking: marking["done"] == 1)
    assert exploration.found_trace == ("work.start", "work.ok")
    assert set(exploration.place_bounds) == {"todo", "done", "work.running"}
    assert find_deadlock(net).deadlock_trace == ("work.start", "work.ok")


@pytest.mark.parametrize("limits", [{"max_states": 0}, {"max_bytes": 0}])
def test_a_limit_below_one_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="is 0; a whole number ≥ 1"):
        explore(philosophers(2), **limits)


def test_numpy_that_is_demanded_and_missing_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ConfigError, match=r"weft\[analysis\]"):
        explore(philosophers(2), use_numpy=True)


def test_without_numpy_python_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    counts: list[int] = []
    assert explore(philosophers(10), progress=counts.append).states == 3**10
    assert counts == sorted(counts)


def test_replay_leads_to_the_marking_after_the_trace() -> None:
    net = net_of("a > 2 b\n b + c > \n", {"a": 1, "c": 1})
    t1, t2 = net.transition_ids
    assert net.marking(replay(net, [t1, t2])) == net.marking([0, 0, 1])
    assert replay(net, []) == net.initial


def test_replay_refuses_a_step_that_lacks_tokens_and_says_where() -> None:
    net = net_of("a > 2 b\n 3 b + c > \n", {"a": 1})
    with pytest.raises(NotEnabledError, match="step 2 of the trace: 't2' lacks tokens in 'b', 'c'"):
        replay(net, net.transition_ids)


def test_replay_refuses_a_transition_that_the_net_does_not_have() -> None:
    with pytest.raises(NetError, match="step 1 of the trace: the net has no transition 'x'"):
        replay(philosophers(2), [TransitionId("x")])
