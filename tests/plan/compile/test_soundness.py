"""Every plan compiles to a net that can always end, ends clean, and has no dead parts."""

import pytest
from hypothesis import given, settings

from plan.compile.compiled_plans import (
    LOOPS,
    back,
    compiled,
    final_marking,
    group,
    leaf,
    plan,
    reaching,
    run,
    shape_of,
    state_graph,
)
from plan.plan_strategies import LARGE, SMALL, TINY, plan_texts
from weft.net.behaviour import sound_by_states
from weft.net.explore import explore
from weft.net.plain import PlainNet, unfold
from weft.net.soundness import soundness
from weft.net.structure import WorkflowNet, workflow_net
from weft.net.verdict import Answer
from weft.plan.proof.prove import prove


def is_acyclic(net: PlainNet) -> bool:
    """Whether no transition can put a token before one of those it took."""
    later: list[list[int]] = [[] for _ in net.place_ids]
    waiting = [0] * len(net.place_ids)
    for inputs, given_ in zip(net.inputs, net.outputs, strict=True):
        for place, _ in inputs:
            later[place] += [after for after, _ in given_]
        for after, _ in given_:
            waiting[after] += len(inputs)
    order = [place for place, count in enumerate(waiting) if not count]
    for place in order:
        for after in later[place]:
            waiting[after] -= 1
            order += [] if waiting[after] else [after]
    return len(order) == len(net.place_ids)


def assert_proved(net: PlainNet) -> None:
    result = soundness(net, max_states=1)  # by the theorem, not by a search
    assert result.verdict.answer is Answer.PROVED, result.verdict.why
    assert result.free_choice


@settings(max_examples=40)
@given(plan_texts(TINY))
def test_every_state_of_the_whole_net_with_its_pools_can_still_end_and_the_end_is_clean(text):
    net = compiled(text).net
    plain = unfold(net)
    graph = state_graph(plain)
    dead = [state for state, steps in graph.items() if not steps]
    assert [plain.marking(state) for state in dead] == [final_marking(net)]
    assert reaching(graph, dead[0]) == graph.keys()
    fired = {number for steps in graph.values() for number, _ in steps}
    assert fired == set(range(len(plain.transition_ids)))


@settings(max_examples=30)
@given(plan_texts(TINY))
def test_the_search_the_theorem_and_the_plain_search_agree(text):
    plain = unfold(compiled(text).net)
    explored = explore(plain)
    assert (explored.complete, explored.deadlocks, explored.dead_transitions) == (True, 1, ())
    assert explored.states == len(state_graph(plain))
    skeleton = plain.skeleton()
    flow = workflow_net(skeleton)
    assert isinstance(flow, WorkflowNet)
    assert sound_by_states(skeleton, final=flow.sink, max_states=100_000).answer is Answer.PROVED
    assert_proved(skeleton)


@settings(max_examples=60)
@given(plan_texts(SMALL))
def test_the_skeleton_of_every_plan_and_of_every_shape_is_proven_sound(text):
    compiled_plan = compiled(text)
    for net in (compiled_plan.net, *(shape.net for shape in compiled_plan.shapes)):
        assert_proved(unfold(net).skeleton())
    assert prove(compiled_plan).answer is Answer.PROVED


@settings(max_examples=30)
@given(plan_texts(LARGE))
def test_the_skeleton_of_larger_plans_is_proven_sound_and_acyclic(text):
    skeleton = unfold(compiled(text).net).skeleton()
    assert is_acyclic(skeleton)
    assert_proved(skeleton)


@settings(max_examples=40)
@given(plan_texts(SMALL))
def test_the_skeleton_of_every_plan_is_acyclic(text):
    assert is_acyclic(unfold(compiled(text).net).skeleton())


def test_a_cycle_is_seen():
    net = unfold(shape_of(run("a")).net).skeleton()
    turned = PlainNet(
        place_ids=net.place_ids,
        transition_ids=net.transition_ids,
        inputs=net.inputs,
        outputs=(*net.outputs[:-1], net.inputs[0]),
        initial=net.initial,
    )
    assert is_acyclic(net)
    assert not is_acyclic(turned)


@pytest.mark.parametrize("steps", LOOPS.values(), ids=LOOPS)
def test_loops_are_sound_however_they_lie_to_each_other(steps):
    skeleton = unfold(shape_of(*steps).net).skeleton()
    assert is_acyclic(skeleton)
    assert_proved(skeleton)


def test_questions_while_branches_are_under_way_and_after_them_are_sound():
    question = {
        "action": "ask",
        "question": "Well?",
        "on_result": [{"when": "attempt == 1", "action": "ask"}],
    }
    compiled_plan = plan(
        leaf(
            "a",
            steps=[
                run("x", **{"async": True}),
                {"id": "q", **question},
                {"id": "r", **question, "async": True, "depends_on": ["x"]},
                {"id": "j", "action": "join", "depends_on": ["r"]},
                {"id": "inner", "pipeline": "asking", "on_error": "retry", "max_retries": 1},
                {"id": "s", **question, **back("inner", 1)},
            ],
        ),
        max_parallel=1,
        pipelines={"asking": [run("y"), {"id": "q", **question}]},
    )
    explored = explore(compiled_plan.net)
    assert (explored.deadlocks, explored.first_deadlock) == (1, final_marking(compiled_plan.net))
    assert_proved(unfold(compiled_plan.net).skeleton())


def test_what_is_lost_and_started_again_ends_clean_too():
    compiled_plan = plan(
        leaf("a", verify="true"), leaf("b", "a"), max_parallel=1, infra_retries=2, verify="true"
    )
    explored = explore(compiled_plan.net)
    assert (explored.deadlocks, explored.first_deadlock) == (1, final_marking(compiled_plan.net))
    assert explored.dead_transitions == ()


def test_a_plan_may_have_a_subplan_with_the_name_of_anything_in_the_net():
    names = ["plan", "the", "end", "start", "target", "branch", "slots", "turn", "joined", "open", "ready"]
    compiled_plan = plan(
        *[leaf(name) for name in names], group("close", leaf("merge")), verify="true", policy="serial"
    )
    assert_proved(unfold(compiled_plan.net).skeleton())
