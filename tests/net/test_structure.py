"""Structural properties of a net: free choice, workflow nets, clusters, cycles, siphons."""

from itertools import combinations
from random import Random

import pytest
from msgspec.structs import replace

from weft.net.plain import PlainNet
from weft.net.structure import (
    NotAWorkflowNet,
    WorkflowNet,
    acyclic,
    clusters,
    free_choice,
    unmarked_siphon,
    wiring,
    workflow_net,
)
from weft.testing.skeletons import NetSketch, mutate_net, plan_skeleton, refined_workflow


def sketched(*rows: tuple[str, str], **tokens: int) -> PlainNet:
    """A net of transitions t0, t1, …, each given by its input and output places."""
    sketch = NetSketch()
    for number, (inputs, outputs) in enumerate(rows):
        sketch.add(f"t{number}", inputs.split(), outputs.split())
    return sketch.net(**tokens)


def random_nets(count: int, *, seed: int = 11) -> list[PlainNet]:
    rng = Random(seed)
    return [
        mutate_net(refined_workflow(rng, rng.randint(0, 8)), rng, rng.randint(0, 3)) for _ in range(count)
    ]


# Free choice


def test_a_net_where_every_choice_has_one_input_place_is_free_choice() -> None:
    assert free_choice(sketched(("i", "a b"), ("a", "c"), ("a", "d"), ("b c", "o"), ("d", "o"))).holds


def test_transitions_with_the_same_two_inputs_are_extended_free_choice() -> None:
    assert free_choice(sketched(("i", "a b"), ("a b", "o"), ("b a", "o"))).holds


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (
            [("a", "o"), ("a b", "o")],
            "transitions 't0' and 't1' share the input place 'a', but only one of them needs 'b'",
        ),
        (
            [("a b", "o"), ("a", "o")],
            "transitions 't0' and 't1' share the input place 'a', but only one of them needs 'b'",
        ),
    ],
)
def test_a_choice_that_is_not_free_is_named(rows: list[tuple[str, str]], why: str) -> None:
    result = free_choice(sketched(*rows))
    assert not result.holds
    assert result.why == why


def test_a_choice_that_is_not_free_is_named_where_the_first_rival_has_the_same_inputs() -> None:
    result = free_choice(sketched(("b", "o"), ("a b", "o"), ("a b", "o")))
    assert result.why == "transitions 't0' and 't1' share the input place 'b', but only one of them needs 'a'"


def test_a_weight_other_than_one_is_not_free_choice() -> None:
    net = sketched(("i", "o"))
    result = free_choice(replace(net, inputs=(((0, 2),),)))
    assert not result.holds
    assert result.why == "the arc between transition 't0' and place 'i' has weight 2"
    result = free_choice(replace(net, outputs=(((1, 3),),)))
    assert not result.holds
    assert result.why == "the arc between transition 't0' and place 'o' has weight 3"


def test_free_choice_is_what_its_definition_says_on_random_nets() -> None:
    answers = set()
    for net in random_nets(2000):
        presets = [frozenset(place for place, _ in arcs) for arcs in net.inputs]
        expected = all(a == b or not a & b for a, b in combinations(presets, 2))
        assert free_choice(net).holds == expected
        answers.add(expected)
    assert answers == {True, False}


# Workflow nets


def test_a_workflow_net_has_its_source_and_its_sink() -> None:
    assert workflow_net(sketched(("i", "a b"), ("a b", "o"))) == WorkflowNet(source=0, sink=3)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([("a", "b"), ("b", "a o")], "a place without producers; this net has none"),
        ([("a", "o"), ("b", "o")], "a place without producers; this net has 2 ('a', 'b')"),
        ([("a b c d", "o")], "a place without producers; this net has 4 ('a', 'b', 'c', …)"),
        ([("i", "a"), ("a", "a")], "a place without consumers; this net has none"),
        ([("i", "a b")], "a place without consumers; this net has 2 ('a', 'b')"),
        ([("i", "o"), ("a", "b"), ("b", "a o")], "transition 't1' is on no path from the source 'i' to"),
        ([("i", "o a"), ("a", "b"), ("b", "a")], "transition 't1' is on no path from the source 'i' to"),
        ([("i", "o"), ("", "o")], "transition 't1' is on no path from the source 'i' to the sink 'o'"),
        ([("i", "o"), ("i", "")], "transition 't1' is on no path from the source 'i' to the sink 'o'"),
    ],
)
def test_what_is_missing_to_a_workflow_net_is_said(rows: list[tuple[str, str]], why: str) -> None:
    result = workflow_net(sketched(*rows))
    assert isinstance(result, NotAWorkflowNet)
    assert why in result.why


def test_a_single_place_is_the_smallest_workflow_net() -> None:
    sketch = NetSketch()
    sketch.places["only"] = 0
    assert workflow_net(sketch.net()) == WorkflowNet(source=0, sink=0)


def test_a_workflow_net_is_what_its_definition_says_on_random_nets() -> None:
    answers = {True: 0, False: 0}
    for net in random_nets(1500):
        wires = wiring(net)
        sources = [p for p, producers in enumerate(wires.producers) if not producers]
        sinks = [p for p, consumers in enumerate(wires.consumers) if not consumers]
        nodes = len(net.place_ids) + len(net.transition_ids)
        expected = (
            len(sources) == len(sinks) == 1
            and len(
                reachable(net, ("p", sources[0]), forward=True)
                & reachable(net, ("p", sinks[0]), forward=False)
            )
            == nodes
        )
        assert isinstance(workflow_net(net), WorkflowNet) == expected
        answers[expected] += 1
    assert min(answers.values()) > 200


def reachable(net: PlainNet, start: tuple[str, int], *, forward: bool) -> set[tuple[str, int]]:
    arcs = {(("p", p), ("t", t)) for t, row in enumerate(net.inputs) for p, _ in row}
    arcs |= {(("t", t), ("p", p)) for t, row in enumerate(net.outputs) for p, _ in row}
    reached = {start}
    while True:
        more = {(b if forward else a) for a, b in arcs if (a if forward else b) in reached} - reached
        if not more:
            return reached
        reached |= more


def test_a_long_chain_is_walked_without_recursion() -> None:
    net = sketched(*((f"p{n}", f"p{n + 1}") for n in range(20_000)), p0=1)
    assert workflow_net(net) == WorkflowNet(source=0, sink=20_000)
    assert acyclic(net)
    assert len(clusters(net)) == 20_001
    assert unmarked_siphon(net, net.initial) == []


# Clusters


def test_clusters_join_places_with_their_consumers_and_transitions_with_their_inputs() -> None:
    result = clusters(sketched(("i", "a b"), ("a b", "o"), ("b c", "o"), ("", "c")))
    assert result.places == [[0], [1, 2, 4], [3], []]
    assert result.transitions == [[0], [1, 2], [], [3]]
    assert result.of_place == [0, 1, 1, 2, 1]
    assert result.of_transition == [0, 1, 1, 3]
    assert len(result) == 4


def test_clusters_are_the_finest_partition_closed_under_input_arcs() -> None:
    for net in random_nets(500):
        result = clusters(net)
        nodes = {("p", p): {("p", p)} for p in range(len(net.place_ids))}
        nodes |= {("t", t): {("t", t)} for t in range(len(net.transition_ids))}
        for transition, arcs in enumerate(net.inputs):
            for place, _ in arcs:
                merged = nodes["t", transition] | nodes["p", place]
                for node in merged:
                    nodes[node] = merged
        expected = {frozenset(group) for group in nodes.values()}
        groups = zip(result.places, result.transitions, strict=True)
        assert {
            frozenset([*(("p", p) for p in ps), *(("t", t) for t in ts)]) for ps, ts in groups
        } == expected
        assert all(p in result.places[c] for p, c in enumerate(result.of_place))
        assert all(t in result.transitions[c] for t, c in enumerate(result.of_transition))


# Cycles


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("i", "a b"), ("a b", "o")], True),
        ([("i", "a"), ("a", "b"), ("b", "a o")], False),
        ([("i", "i o")], False),
        ([("", "a"), ("a", "")], True),
        ([("", "a"), ("a", "b"), ("b c", "c")], False),
    ],
)
def test_cycles_are_seen(rows: list[tuple[str, str]], *, expected: bool) -> None:
    assert acyclic(sketched(*rows)) is expected


def test_a_plan_skeleton_has_no_cycle_until_a_retry_leads_back() -> None:
    net = plan_skeleton(5, Random(2))
    assert acyclic(net)
    retry = net.transition_ids.index("3.retry.1.1")
    back = net.place_ids.index("3.ready.1.0")
    outputs = (*net.outputs[:retry], ((back, 1),), *net.outputs[retry + 1 :])
    assert not acyclic(replace(net, outputs=outputs))


# Siphons


def test_every_siphon_of_a_net_whose_tokens_can_go_everywhere_is_marked() -> None:
    net = sketched(("i", "a"), ("a", "i o"), i=1)
    assert unmarked_siphon(net, net.initial) == []


def test_an_empty_cycle_is_an_unmarked_siphon() -> None:
    net = sketched(("i x", "x a"), ("a", "o"), i=1)
    names = {net.place_ids[place] for place in unmarked_siphon(net, net.initial)}
    assert names == {"x", "a", "o"}


def test_what_a_transition_without_inputs_feeds_is_in_no_siphon() -> None:
    net = sketched(("", "a"), ("a b", "o"))
    assert {net.place_ids[place] for place in unmarked_siphon(net, net.initial)} == {"b", "o"}


def test_the_unmarked_siphon_is_the_union_of_all_on_random_nets() -> None:
    for net in random_nets(300):
        if len(net.place_ids) > 9:
            continue
        wires = wiring(net)
        empty = [place for place, tokens in enumerate(net.initial) if not tokens]
        union: set[int] = set()
        for size in range(len(empty) + 1):
            for places in map(set, combinations(empty, size)):
                feeding = {t for place in places for t in wires.producers[place]}
                if all(any(place in places for place, _ in net.inputs[t]) for t in feeding):
                    union |= places
        assert set(unmarked_siphon(net, net.initial)) == union
