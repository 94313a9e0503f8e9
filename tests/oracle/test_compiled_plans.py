"""Plans as pm4py sees the PNML of their nets: sound, and with as many states as we count."""

import pytest
from pm4py.algo.analysis.woflan import algorithm as woflan
from pm4py.objects.petri_net.importer.variants import pnml as pm4py_pnml
from pm4py.objects.petri_net.obj import Marking as Pm4pyMarking
from pm4py.objects.petri_net.utils.reachability_graph import construct_reachability_graph

from plan.compile.compiled_plans import group, leaf, plan, run
from weft.net.explore import explore
from weft.net.formats import write_pnml
from weft.net.plain import PlainNet, unfold
from weft.net.soundness import soundness
from weft.net.verdict import Answer

ASK = {"action": "ask", "question": "Well?"}
BACK = {"on_fail": {"retry_from": "x", "max": 1}}
SERIAL = {"isolation": "none", "policy": "serial"}

PLANS = {
    "a loop": plan(leaf("a", steps=[run("x"), run("y", **BACK)]), **SERIAL),
    "a branch and a question": plan(
        leaf("a", steps=[run("x", **{"async": True}), {"id": "q", **ASK, "depends_on": ["x"]}]), **SERIAL
    ),
    "two slices in a group": plan(group("g", leaf("a"), leaf("b", "a")), max_parallel=1, **SERIAL),
    "a slice that lands": plan(leaf("a")),
    "side by side, then together": plan(group("g", leaf("a"), leaf("b"), verify="true"), **SERIAL),
}
WOFLAN = {
    woflan.Parameters.PRINT_DIAGNOSTICS: False,
    woflan.Parameters.RETURN_ASAP_WHEN_NOT_SOUND: False,
}


def theirs(net: PlainNet):
    read, initial, _ = pm4py_pnml.import_net_from_string(write_pnml(net))
    return read, initial


def is_sound(net: PlainNet) -> bool:
    read, initial = theirs(net)
    (sink,) = [place for place in read.places if not place.out_arcs]
    return woflan.apply(read, initial, Pm4pyMarking({sink: 1}), parameters=WOFLAN)


@pytest.mark.parametrize("compiled", PLANS.values(), ids=PLANS)
def test_the_skeleton_of_a_plan_is_sound_for_both(compiled) -> None:
    skeleton = unfold(compiled.net).skeleton()
    assert soundness(skeleton).verdict.answer is Answer.PROVED
    assert is_sound(skeleton)


@pytest.mark.parametrize("compiled", PLANS.values(), ids=PLANS)
def test_the_whole_net_of_a_plan_with_its_pools_has_as_many_states_and_arcs_for_both(compiled) -> None:
    plain = unfold(compiled.net)
    graph = construct_reachability_graph(*theirs(plain))
    ours = explore(plain)
    assert ours.complete
    assert (len(graph.states), len(graph.transitions)) == (ours.states, ours.edges)


def test_a_plan_whose_failure_is_told_to_nobody_is_sound_for_neither() -> None:
    skeleton = unfold(PLANS["a loop"].net).skeleton()
    lost = skeleton.transition_ids.index("a: run y#1.failed")
    outputs = (*skeleton.outputs[:lost], (), *skeleton.outputs[lost + 1 :])
    spoiled = PlainNet(
        place_ids=skeleton.place_ids,
        transition_ids=skeleton.transition_ids,
        inputs=skeleton.inputs,
        outputs=outputs,
        initial=skeleton.initial,
    )
    assert soundness(spoiled).verdict.answer is not Answer.PROVED
    assert not is_sound(spoiled)
