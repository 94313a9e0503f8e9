"""The nets of pipelines do what a naive reading of the pipelines does: no more, and no less."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings

from plan.compile.automata import Automaton, first_difference, most
from plan.compile.compiled_plans import LOOPS, back, compiled, leaf, plan, run, state_graph
from plan.compile.reference import Reading, Walk
from plan.plan_strategies import SMALL, TINY, pipeline_texts
from weft.net.plain import unfold
from weft.net.verdict import Answer
from weft.plan.compile.parts import Role, Shape
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.model import Nested, Pipeline, Step
from weft.plan.pipelines.unroll import RunCounts
from weft.plan.proof.prove import prove

ROW = 1
"""Of the only slice."""


def shape(compiled_plan: CompiledPlan) -> Shape:
    return compiled_plan.shapes[compiled_plan.shape_of[ROW]]


def of_net(compiled_plan: CompiledPlan) -> Automaton:
    """The runs of the slice's net, without its pools: a run of a step is seen when it begins."""
    net = shape(compiled_plan).net
    labels: dict[str, str] = {}
    for name, act in zip(net.transition_ids, shape(compiled_plan).acts, strict=True):
        if act.role is Role.RUN and act.kind:
            labels[f"{name}.start"] = f"{act.kind} {act.step}"
        elif act.role is Role.RUN:
            outcomes = net.outcomes[net.transition_number(name)]
            labels |= {f"{name}.{outcome}": f"join {act.step}" for outcome in outcomes}
    plain = unfold(net).skeleton()
    graph = state_graph(plain)
    moves = {
        state: [(labels.get(plain.transition_ids[number]), after) for number, after in steps]
        for state, steps in graph.items()
    }
    return Automaton(plain.initial, moves.__getitem__)


def read(compiled_plan: CompiledPlan, *, strict: bool) -> Automaton:
    reading = Reading(
        pipelines=compiled_plan.plan.pipelines,
        verifies=bool(compiled_plan.plan.subplans[ROW].verify),
        retries=compiled_plan.plan.scopes[ROW].settings.retries,
        strict=strict,
    )
    steps = compiled_plan.plan.pipeline_of(ROW).steps
    moves: dict[Walk, list[tuple[str | None, Walk]]] = {}

    def remembered(walk: Walk) -> list[tuple[str | None, Walk]]:
        if walk not in moves:
            moves[walk] = list(reading.moves(steps, walk))
        return moves[walk]

    return Automaton(Walk(), remembered)


def addresses(
    steps: Sequence[Step], pipelines: Mapping[str, Pipeline], prefix: str = ""
) -> Iterator[tuple[str, Step]]:
    for step in steps:
        yield f"{prefix}{step.id}", step
        if isinstance(step.body, Nested):
            yield from addresses(pipelines[step.body.pipeline].steps, pipelines, f"{prefix}{step.id}.")


@settings(max_examples=40)
@given(pipeline_texts(TINY))
def test_the_net_has_the_runs_of_the_loose_reading(text):
    compiled_plan = compiled(text)
    assert first_difference(read(compiled_plan, strict=False), of_net(compiled_plan)) is None


@settings(max_examples=40)
@given(pipeline_texts(TINY))
def test_what_an_engine_would_do_can_be_done_in_the_net(text):
    compiled_plan = compiled(text)
    assert first_difference(read(compiled_plan, strict=True), of_net(compiled_plan), subset=True) is None


@pytest.mark.parametrize("steps", LOOPS.values(), ids=LOOPS)
def test_loops_are_read_alike_however_they_lie_to_each_other(steps):
    compiled_plan = slice_of(*steps)
    assert first_difference(read(compiled_plan, strict=False), of_net(compiled_plan)) is None
    assert first_difference(read(compiled_plan, strict=True), of_net(compiled_plan), subset=True) is None


def runs_in_net(compiled_plan: CompiledPlan) -> Counter[str]:
    """For each step, how many copies of it can run; which is also the number of its last attempt."""
    attempts: dict[str, set[int]] = {}
    for act in shape(compiled_plan).acts:
        if act.role in {Role.RUN, Role.ENTER}:
            attempts.setdefault(act.step, set()).add(act.attempt)
    for result in attempts.values():
        assert result == set(range(1, len(result) + 1))
    return Counter({step: len(result) for step, result in attempts.items()})


@settings(max_examples=60)
@given(pipeline_texts(SMALL))
def test_each_step_has_as_many_attempts_as_it_can_run_by_the_arithmetic_of_loops(text):
    compiled_plan = compiled(text)
    plan_ = compiled_plan.plan
    steps = plan_.pipeline_of(ROW).steps
    unrolled = RunCounts(
        pipelines=plan_.pipelines,
        retries=plan_.scopes[ROW].settings.retries,
        verifies=bool(plan_.subplans[ROW].verify),
    )
    expected: Counter[str] = Counter()
    for step, count in unrolled.runs(steps):
        expected[written(step)] += count
    result: Counter[str] = Counter()
    in_net = runs_in_net(compiled_plan)
    for address, step in addresses(steps, plan_.pipelines):
        result[written(step)] += in_net[address]
    assert +result == +expected


def written(step: Step) -> str:
    """Which step it is: where it is written."""
    return f"{step.source.line}:{step.source.column}"


@settings(max_examples=30)
@given(pipeline_texts(TINY))
def test_all_attempts_at_a_step_can_come_in_one_run_each_after_the_ones_before_it(text):
    compiled_plan = compiled(text)
    net, reading = of_net(compiled_plan), read(compiled_plan, strict=True)
    for step, count in runs_in_net(compiled_plan).items():
        kinds = {
            act.kind or "join"
            for act in shape(compiled_plan).acts
            if act.step == step and act.role is Role.RUN
        }
        for kind in kinds - {"ask"}:  # questions about a result come on top
            assert most(net, f"{kind} {step}") == most(reading, f"{kind} {step}") == count


def slice_of(*steps: dict[str, Any], **more: Any) -> CompiledPlan:
    return plan(leaf("a", verify="true", steps=list(steps)), **more)


def test_a_check_with_max_2_lets_the_coder_run_three_times():
    assert runs_in_net(slice_of(run("code"), {"id": "check", "action": "verify", **back("code", 2)})) == {
        "code": 3,
        "check": 3,
    }


def test_a_check_without_max_goes_back_as_often_as_retries_says():
    compiled_plan = slice_of(run("code"), {"id": "check", "action": "verify", **back("code")}, retries=4)
    assert runs_in_net(compiled_plan) == {"code": 5, "check": 5}


def test_a_check_with_max_0_does_not_go_back():
    assert runs_in_net(slice_of(run("code"), run("check", **back("code", 0)))) == {"code": 1, "check": 1}


@pytest.mark.parametrize("retries", [0, 1, 2, 3])
def test_in_tdd_the_coder_runs_as_often_as_check_and_judge_allow_together(retries):
    compiled_plan = plan({"id": "a", "prompt": "do", "verify": "true", "pipeline": "tdd"}, retries=retries)
    each = retries + 1
    assert runs_in_net(compiled_plan) == {"tests": each, "code": each**2, "check": each**2, "judge": each}


def test_an_agent_that_crashes_has_as_many_attempts_as_retries_says():
    agent = {"id": "x", "prompt": "do"}
    assert runs_in_net(slice_of(agent, retries=2)) == {"x": 3}
    assert runs_in_net(slice_of(agent, run("check", **back("x")), retries=2)) == {"x": 3, "check": 3}
    for on_error in ({"on_error": "abort"}, {"on_error": "continue"}):
        assert runs_in_net(slice_of(agent | on_error, retries=2)) == {"x": 1}
    assert runs_in_net(slice_of(agent | {"on_error": "retry", "max_retries": 1}, retries=5)) == {"x": 2}


def test_an_agent_that_crashes_does_not_wait_again_for_what_has_ended():
    judge = {"id": "judge", "prompt": "do", "depends_on": ["x"], **back("code", 2)}
    compiled_plan = slice_of(run("code"), run("x", **{"async": True}), judge)
    assert first_difference(read(compiled_plan, strict=False), of_net(compiled_plan)) is None
    assert prove(compiled_plan).answer is Answer.PROVED


def test_of_overlapping_loops_the_later_one_starts_the_earlier_one_again():
    compiled_plan = slice_of(run("a"), run("b"), run("c", **back("a", 1)), run("d", **back("b", 2)))
    # Three times through the loop of `d`, each with one more from `c`, which goes back as far as `a`.
    assert runs_in_net(compiled_plan) == {"a": 4, "b": 6, "c": 6, "d": 3}


def test_retries_multiply_with_loops_and_with_what_is_around():
    way = {"way": [run("x", on_error="retry", max_retries=1), run("y", **back("x", 2))]}
    nested = {"id": "n", "pipeline": "way", "on_error": "retry", "max_retries": 1}
    compiled_plan = slice_of(nested, run("z", **back("n", 1)), pipelines=way)
    assert runs_in_net(compiled_plan) == {"n": 4, "n.x": 24, "n.y": 12, "z": 2}


def test_a_slice_without_anything_to_verify_skips_the_check_and_goes_back_never():
    compiled_plan = plan(
        leaf("a", steps=[run("code"), {"id": "check", "action": "verify", **back("code", 2)}])
    )
    assert runs_in_net(compiled_plan) == {"code": 1}
    assert [act.step for act in shape(compiled_plan).acts if act.role is Role.SKIP] == ["check"]


def test_infra_failures_are_retried_apart_and_count_as_no_attempt():
    compiled_plan = plan(leaf("a", steps=[run("x", on_error="retry", max_retries=1)]), infra_retries=2)
    tries = Counter(act.attempt for act in shape(compiled_plan).acts if act.role is Role.RUN)
    assert tries == {1: 3, 2: 3}


def test_attempts_go_up_in_every_run():
    compiled_plan = slice_of(
        run("a"), run("b", **back("a", 2)), run("c", **back("b", 1)), run("d", **back("a", 1))
    )
    net, acts = unfold(shape(compiled_plan).net).skeleton(), shape(compiled_plan).acts
    attempts = {
        f"{name}.start": (act.step, act.attempt)
        for name, act in zip(shape(compiled_plan).net.transition_ids, acts, strict=True)
        if act.role is Role.RUN
    }
    best: dict[tuple[int, ...], dict[str, int]] = {net.initial: {}}
    graph = state_graph(net)
    waiting = [net.initial]
    for state in waiting:  # grows while it is walked
        for number, after in graph[state]:
            step, attempt = attempts.get(net.transition_ids[number], ("", 0))
            assert not step or attempt > best[state].get(step, 0)
            reached = best[state] | ({step: attempt} if step else {})
            attempts_of = best.setdefault(after, {})
            higher = {key: max(attempts_of.get(key, 0), value) for key, value in reached.items()}
            if after not in waiting or attempts_of | higher != attempts_of:
                attempts_of.update(higher)
                waiting.append(after)
