"""Whatever can happen has an outcome, and whatever can begin can be left out."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings

from plan.compile.compiled_plans import back, compiled, leaf, plan, results, run, shape_of
from plan.plan_strategies import SMALL, plan_texts
from weft.errors import UnknownOutcomeError
from weft.net.game import TokenGame
from weft.net.model import PlaceKind
from weft.plan.compile.parts import Role, Shape
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.model import Nested, Step, Verify

WITH_LOSSES = replace(SMALL, infra=(0, 1))
PROCESSES = {"agent", "run", "verify", "workspace", "merge", "resolve", "land"}
"""What can be lost, or cannot be started."""


@settings(max_examples=40)
@given(plan_texts(WITH_LOSSES))
def test_every_action_can_fail_be_cancelled_and_where_a_process_runs_be_lost(text):
    net = compiled(text).net
    for action, outcomes in zip(net.actions, net.outcomes, strict=True):
        needed = {"done", "failed", "cancelled"} if action else set[str]()
        needed |= {"lost", "infra"} if action in PROCESSES else set[str]()
        assert needed <= set(outcomes)
        assert len(set(outcomes)) == len(outcomes) > 0


@settings(max_examples=40)
@given(plan_texts(WITH_LOSSES))
def test_only_known_actions_are_asked_for_and_each_act_says_the_same(text):
    compiled_plan = compiled(text)
    assert set(compiled_plan.net.actions) <= PROCESSES | {"ask", None}
    assert [act.kind or None for act in compiled_plan.assembled.acts] == list(compiled_plan.net.actions)
    assert len(compiled_plan.assembled.rows) == len(compiled_plan.net.actions)


def control(shape: Shape, arcs) -> set[int]:
    return {place for place, _ in arcs if shape.net.place_kinds[place] is not PlaceKind.POOL}


def ways_around(shape: Shape) -> set[frozenset[int]]:
    """Where something can be left out."""
    leaving = {Role.STOP, Role.DROP}
    return {
        frozenset(control(shape, arcs))
        for act, arcs in zip(shape.acts, shape.net.inputs, strict=True)
        if act.role in leaving
    }


@settings(max_examples=40)
@given(plan_texts(WITH_LOSSES))
def test_whatever_begins_can_be_left_out_instead(text):
    for shape in compiled(text).shapes:
        around = ways_around(shape)
        left_places = {place for act, given_ in given_by(shape) if act.role is Role.LEAVE for place in given_}
        begins = {Role.BEGIN, Role.RUN, Role.ENTER, Role.LEAVE, Role.RETURN, Role.MERGE, Role.LAND}
        for act, arcs in zip(shape.acts, shape.net.inputs, strict=True):
            places = frozenset(control(shape, arcs))
            # Who waits for an answer is not left out but cancelled.
            assert act.role not in begins or places in around or places <= left_places


def given_by(shape: Shape):
    for act, outcomes in zip(shape.acts, shape.net.outputs, strict=True):
        yield act, {place for arcs in outcomes for place in control(shape, arcs)}


def skippable(
    compiled_plan: CompiledPlan, row: int, steps: Iterable[Step], prefix: str = ""
) -> Iterator[str]:
    """The steps that have a condition, or nothing to verify."""
    for step in steps:
        nothing = isinstance(step.body, Verify) and not compiled_plan.plan.subplans[row].verify
        if nothing or step.condition not in {None, "always"}:
            yield f"{prefix}{step.id}"
        if isinstance(step.body, Nested) and step.condition != "never":
            inner = compiled_plan.plan.pipelines[step.body.pipeline].steps
            yield from skippable(compiled_plan, row, inner, f"{prefix}{step.id}.")


@settings(max_examples=40)
@given(plan_texts(WITH_LOSSES))
def test_a_step_can_be_skipped_just_where_it_has_a_condition(text):
    compiled_plan = compiled(text)
    slices = [row for row, leaf_ in enumerate(compiled_plan.plan.outline.leaves) if leaf_]
    for row in slices:
        acts = compiled_plan.shapes[compiled_plan.shape_of[row]].acts
        skipped = {act.step for act in acts if act.role is Role.SKIP}
        assert skipped == set(skippable(compiled_plan, row, compiled_plan.plan.pipeline_of(row).steps))


def ways(shape: Shape, name: str) -> dict[str, set[str]]:
    """Where each outcome of a transition leads."""
    net = shape.net
    number = net.transition_number(name)
    led = [{str(net.place_ids[place]) for place in control(shape, arcs)} for arcs in net.outputs[number]]
    return dict(zip(map(str, net.outcomes[number]), led, strict=True))


def test_only_a_failure_sends_the_work_back():
    shape = shape_of(run("w"), run("x", **back("w", 1), on_result=results("abort", "ask", "fail")))
    onward, again = {"finished"}, {"w#2"}
    led = ways(shape, "run x#1")
    assert led.pop("failed") == again
    assert led.pop("asked") == {"x#1 question"}
    assert led == dict.fromkeys(["done", "aborted", "cancelled", "lost", "infra"], onward)
    assert ways(shape, "run x#2")["failed"] == onward


def test_an_answer_to_a_question_about_a_result_counts_as_the_result():
    shape = shape_of(run("w"), run("x", **back("w", 1), on_result=results("ask")))
    answers = ways(shape, "ask x#1 question")
    assert answers["cancelled"] == {"over"}
    assert ways(shape, f"return {answers['done'].pop()}") == {"done": {"finished"}}
    assert ways(shape, f"return {answers['failed'].pop()}") == {"done": {"w#2"}}


def test_an_answer_can_be_judged_like_any_result():
    shape = shape_of({"id": "q", "action": "ask", "question": "Well?", "on_result": results("abort", "ask")})
    assert {"done", "failed", "aborted", "asked", "cancelled"} == ways(shape, "ask q#1").keys()
    assert {"done", "failed", "cancelled"} == ways(shape, "ask q#1 question").keys()


def test_an_outcome_that_is_not_declared_is_an_error_for_every_action():
    compiled_plan = plan(
        leaf("a", verify="true", steps=[run("x"), {"id": "q", "action": "ask", "question": "?"}])
    )
    game = TokenGame(compiled_plan.net)
    actions: list[str | None] = []
    while (enabled := max(game.enabled(), default=None)) is not None:  # work rather than leave it out
        firing = game.begin(enabled)
        with pytest.raises(UnknownOutcomeError):
            game.finish(firing, "no such outcome")
        game.finish(firing, "done")
        actions.append(compiled_plan.net.actions[enabled])
    assert [action for action in actions if action] == ["workspace", "run", "ask", "merge", "land"]
