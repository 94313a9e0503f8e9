"""Soundness and state counts, as pm4py sees the PNML that we write.

pm4py decides soundness by Woflan's algorithm, with invariants and a coverability graph; we by the rank
theorem. All that the two have in common is the file. Woflan's time explodes with the number of states, so
the nets are small.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import count, islice
from random import Random

import pytest
from msgspec.structs import replace
from pm4py.algo.analysis.woflan import algorithm as woflan
from pm4py.objects.petri_net.importer.variants import pnml as pm4py_pnml
from pm4py.objects.petri_net.obj import Marking as Pm4pyMarking
from pm4py.objects.petri_net.utils.reachability_graph import construct_reachability_graph

from weft.net.explore import explore
from weft.net.formats import write_pnml
from weft.net.plain import PlainNet, unfold
from weft.net.soundness import soundness
from weft.net.structure import WorkflowNet, close, workflow_net
from weft.net.verdict import Answer
from weft.subplans.compile import compile_tree
from weft.subplans.model import ParallelExecutionConfig, Policy, Subplan, SubplanGroup
from weft.subplans.tree import read_tree
from weft.testing.nets import house_construction, philosophers
from weft.testing.skeletons import NetSketch, mutate_net, plan_skeleton, refined_workflow

MAX_TRANSITIONS = 12
MAX_UNBOUNDED_TRANSITIONS = 6
MAX_STATES = 40
RANDOM_WORKFLOWS = 400
RANDOM_BOUNDED = 120
RANDOM_PLANS = 40

WOFLAN = {
    woflan.Parameters.PRINT_DIAGNOSTICS: False,
    # True is faster, and wrong: it takes a net for unsound when its search for S-components missed some.
    woflan.Parameters.RETURN_ASAP_WHEN_NOT_SOUND: False,
}


def sound_for_pm4py(net: PlainNet) -> bool:
    theirs, initial, _ = pm4py_pnml.import_net_from_string(write_pnml(net))
    sinks = [place for place in theirs.places if not place.out_arcs]
    return woflan.apply(theirs, initial, Pm4pyMarking({sinks[0]: 1}), parameters=WOFLAN)


def sound_for_us(net: PlainNet) -> bool:
    verdict = soundness(net).verdict
    assert verdict.answer is not Answer.UNKNOWN, verdict.why
    return verdict.answer is Answer.PROVED


def linked(net: PlainNet, rng: Random) -> PlainNet:
    """The net with a place more, from a transition to another: often no longer free-choice."""
    giver, taker = rng.sample(range(len(net.transition_ids)), 2)
    link = (len(net.place_ids), 1)
    inputs, outputs = list(net.inputs), list(net.outputs)
    outputs[giver] += (link,)
    inputs[taker] += (link,)
    return PlainNet(
        place_ids=(*net.place_ids, "link"),
        transition_ids=net.transition_ids,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        initial=(*net.initial, 0),
    )


def remembering(net: PlainNet) -> PlainNet:
    """The net between two choices, of which the second must follow the first: sound, not free-choice."""
    sketch = NetSketch()
    for way in ("left", "right"):
        sketch.add(f"choose.{way}", ["begin"], ["source", way])
        sketch.add(f"follow.{way}", ["sink", way], ["end"])
    for name, taken, item in zip(net.transition_ids, net.inputs, net.outputs, strict=True):
        sketch.add(name, [net.place_ids[p] for p, _ in taken], [net.place_ids[p] for p, _ in item])
    return sketch.net(begin=1)


def random_workflow(seed: int) -> PlainNet:
    rng = Random(seed)
    net = refined_workflow(rng, rng.randint(1, 5))
    match rng.choice(["sound", "remember", "mutate", "mutate", "mutate both", "link"]):
        case "remember":
            return remembering(net)
        case "mutate":
            return mutate_net(net, rng, rng.randint(1, 3))
        case "mutate both":
            return mutate_net(remembering(net), rng, 1)
        case "link" if len(net.transition_ids) > 1:
            return linked(net, rng)
    return net


def small_workflows(first_seed: int) -> Iterator[tuple[int, PlainNet]]:
    """Workflow nets that Woflan can do; it walks the closed net, and most unbounded ones take it long."""
    for seed in count(first_seed):
        net = random_workflow(seed)
        shape = workflow_net(net)
        if len(net.transition_ids) > MAX_TRANSITIONS or not isinstance(shape, WorkflowNet):
            continue
        tiny = len(net.transition_ids) <= MAX_UNBOUNDED_TRANSITIONS
        if tiny or explore(close(net, shape).net, max_states=MAX_STATES).complete:
            yield seed, net


def test_random_workflow_nets_have_the_same_verdict(first_seed: int) -> None:
    seen: Counter[object] = Counter()
    for seed, net in islice(small_workflows(first_seed), RANDOM_WORKFLOWS):
        ours = soundness(net)
        assert ours.verdict.answer is not Answer.UNKNOWN, f"seed {seed}: {ours.verdict.why}"
        sound = ours.verdict.answer is Answer.PROVED
        assert sound_for_pm4py(net) == sound, f"seed {seed}: {ours}"
        seen["sound" if sound else "unsound"] += 1
        seen["sound" if sound else "unsound", "free-choice" if ours.free_choice else "not free-choice"] += 1
    assert min(seen["sound"], seen["unsound"]) >= RANDOM_WORKFLOWS // 4, seen
    assert min(seen[verdict, "not free-choice"] for verdict in ("sound", "unsound")) >= 20, seen


def test_what_is_no_workflow_net_is_not_sound_for_pm4py_either(first_seed: int) -> None:
    nets = ((seed, random_workflow(seed)) for seed in count(first_seed))
    others = ((seed, net) for seed, net in nets if not soundness(net).workflow_net)
    for seed, net in islice(others, 60):
        sinks = [p for p in range(len(net.place_ids)) if all(p not in dict(arcs) for arcs in net.inputs)]
        assert not sinks or not sound_for_pm4py(net), f"seed {seed}"


# Compiled plans


async def no_work() -> None: ...


def leaf(id_: str, *depends_on: str) -> Subplan:
    return Subplan(id_, no_work, depends_on)


PLANS = {
    "one": [leaf("a")],
    "chain": [leaf("a"), leaf("b", "a"), leaf("c", "b")],
    "side by side": [leaf("a"), leaf("b"), leaf("c")],
    "diamond": [leaf("a"), leaf("b", "a"), leaf("c", "a"), leaf("d", "b", "c")],
    "nested": [leaf("a"), SubplanGroup("g", (leaf("b"), leaf("c", "b")), depends_on=("a",))],
    "across groups": [
        SubplanGroup("g", (leaf("a"), leaf("b")), max_parallel=1),
        SubplanGroup("h", (leaf("c", "/g/a"), leaf("d"))),
    ],
    "serial": [SubplanGroup("g", (leaf("a"), leaf("b"), leaf("c")), policy=Policy.SERIAL), leaf("d", "g")],
}


def compiled_skeleton(subplans: list[Subplan | SubplanGroup]) -> PlainNet:
    tree = read_tree(subplans, ParallelExecutionConfig(max_parallel=2))
    return unfold(compile_tree(tree).net).skeleton()


def random_plan(rng: Random, leaves: int = 4) -> list[Subplan | SubplanGroup]:
    """A few leaves, each after some of those before it, the last ones perhaps in a group."""
    ids = [f"s{n}" for n in range(rng.randint(2, leaves))]
    plan = [leaf(id_, *rng.sample(ids[:n], rng.randint(min(n, 1), min(n, 2)))) for n, id_ in enumerate(ids)]
    if rng.random() < 0.5:
        return plan
    cut = rng.randrange(1, len(plan))
    inside = tuple(leaf(s.id, *(f"/{d}" if d in ids[:cut] else d for d in s.depends_on)) for s in plan[cut:])
    return [*plan[:cut], SubplanGroup("group", inside)]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_compiled_plans_are_sound_for_both(plan: list[Subplan | SubplanGroup]) -> None:
    net = compiled_skeleton(plan)
    assert sound_for_us(net)
    assert sound_for_pm4py(net)


def test_random_compiled_plans_are_sound_for_both(first_seed: int) -> None:
    for seed in range(first_seed, first_seed + RANDOM_PLANS):
        net = compiled_skeleton(random_plan(Random(seed)))
        assert sound_for_us(net), f"seed {seed}"
        assert sound_for_pm4py(net), f"seed {seed}"


def test_plans_with_retries_are_sound_for_both() -> None:
    net = plan_skeleton(2, Random(1), steps=1, attempts=2)
    assert sound_for_us(net)
    assert sound_for_pm4py(net)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_an_extra_token_at_the_start_is_unsound_for_both(plan: list[Subplan | SubplanGroup]) -> None:
    net = compiled_skeleton(plan)
    extra = net.inputs[0][0][0] if net.initial[net.inputs[0][0][0]] == 0 else net.outputs[0][0][0]
    spoiled = replace(net, initial=tuple(n + (p == extra) for p, n in enumerate(net.initial)))
    assert not sound_for_us(spoiled)
    assert not sound_for_pm4py(spoiled)


def without_arc(net: PlainNet, transition: int, place: int) -> PlainNet:
    outputs = list(net.outputs)
    outputs[transition] = tuple(arc for arc in outputs[transition] if arc[0] != place)
    return replace(net, outputs=tuple(outputs))


def spoiled_by_one_arc(net: PlainNet) -> Iterator[PlainNet]:
    """Each net that is left when an arc is taken from a transition with several, if it is a workflow net."""
    for transition, item in enumerate(net.outputs):
        for place, _ in item if len(item) > 1 else ():
            spoiled = without_arc(net, transition, place)
            if isinstance(workflow_net(spoiled), WorkflowNet):
                yield spoiled


@pytest.mark.parametrize("plan", ["diamond", "across groups"])
def test_a_token_that_is_not_given_is_unsound_for_both(plan: str) -> None:
    """One way a subplan can end forgets to tell one of those that wait for it."""
    nets = list(islice(spoiled_by_one_arc(compiled_skeleton(PLANS[plan])), 8))
    assert nets
    for net in nets:
        assert not sound_for_us(net)
        assert not sound_for_pm4py(net)


# State counts


def graph_size(net: PlainNet) -> tuple[int, int]:
    """States and arcs of pm4py's reachability graph; it names a state by its tokens."""
    theirs, initial, _ = pm4py_pnml.import_net_from_string(write_pnml(net))
    graph = construct_reachability_graph(theirs, initial)
    return len(graph.states), len(graph.transitions)


@pytest.mark.parametrize(
    "net",
    [philosophers(3), philosophers(4), philosophers(5), house_construction(1), house_construction(2)],
    ids=["philosophers 3", "philosophers 4", "philosophers 5", "house 1", "house 2"],
)
def test_known_nets_have_as_many_states_and_arcs(net: PlainNet) -> None:
    ours = explore(net)
    assert ours.complete
    assert (ours.states, ours.edges) == graph_size(net)


def test_random_bounded_nets_have_as_many_states_and_arcs(first_seed: int) -> None:
    sizes = []
    for seed in count(first_seed):
        if len(sizes) == RANDOM_BOUNDED:
            break
        rng = Random(seed)
        net = mutate_net(refined_workflow(rng, rng.randint(2, 8)), rng, rng.randint(0, 2))
        tokens = rng.choice([1, 1, 2, 3])
        net = replace(net, initial=tuple(tokens * count for count in net.initial))
        ours = explore(net, max_states=400)
        if ours.complete and ours.states > 1:
            assert (ours.states, ours.edges) == graph_size(net), f"seed {seed}"
            sizes.append(ours.states)
    assert max(sizes) > 100
