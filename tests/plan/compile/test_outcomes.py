"""Whatever can happen has an outcome, and whatever can begin can be left out."""

import pytest
from hypothesis import given, settings

from plan.compile.compiled_plans import compiled, leaf, plan, run
from plan.plan_strategies import SMALL, plan_texts
from weft.errors import UnknownOutcomeError
from weft.net.game import TokenGame
from weft.net.model import PlaceKind
from weft.plan.compile.parts import Role, Shape

PROCESSES = {"agent", "run", "verify", "workspace", "merge", "land"}
"""What can be lost, or cannot be started."""


@settings(max_examples=60)
@given(plan_texts(SMALL))
def test_every_action_can_fail_be_cancelled_and_where_a_process_runs_be_lost(text):
    net = compiled(text).net
    for action, outcomes in zip(net.actions, net.outcomes, strict=True):
        needed = {"done", "failed", "cancelled"} if action else set[str]()
        needed |= {"lost", "infra"} if action in PROCESSES else set[str]()
        assert needed <= set(outcomes)
        assert len(set(outcomes)) == len(outcomes) > 0


@settings(max_examples=60)
@given(plan_texts(SMALL))
def test_only_known_actions_are_asked_for_and_each_act_says_the_same(text):
    one = compiled(text)
    assert set(one.net.actions) <= PROCESSES | {"ask", None}
    assert [act.kind or None for act in one.assembled.acts] == list(one.net.actions)
    assert len(one.assembled.rows) == len(one.net.actions)


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


@settings(max_examples=60)
@given(plan_texts(SMALL))
def test_whatever_begins_can_be_left_out_instead(text):
    for shape in compiled(text).shapes:
        around = ways_around(shape)
        told = {place for act, given_ in given_by(shape) if act.role is Role.LEAVE for place in given_}
        begins = {Role.BEGIN, Role.RUN, Role.ENTER, Role.LEAVE, Role.RETURN, Role.MERGE, Role.LAND}
        for act, arcs in zip(shape.acts, shape.net.inputs, strict=True):
            places = frozenset(control(shape, arcs))
            # Who waits for an answer is not left out but cancelled.
            assert act.role not in begins or places in around or places <= told


def given_by(shape: Shape):
    for act, outcomes in zip(shape.acts, shape.net.outputs, strict=True):
        yield act, {place for arcs in outcomes for place in control(shape, arcs)}


@settings(max_examples=60)
@given(plan_texts(SMALL))
def test_a_step_is_skipped_only_where_it_has_a_condition(text):
    one = compiled(text)
    for row, number in enumerate(one.shape_of):
        if one.plan.outline.is_leaf(row):
            conditional = {
                step.id
                for pipeline in (one.plan.pipeline_of(row), *one.plan.pipelines.values())
                for step in pipeline.steps
                if step.condition not in {None, "always"} or not one.plan.subplans[row].verify
            }
            skipped = {act.step for act in one.shapes[number].acts if act.role is Role.SKIP}
            assert {address.rpartition(".")[2] for address in skipped} <= conditional


def test_an_outcome_that_is_not_declared_is_an_error_for_every_action():
    one = plan(leaf("a", verify="true", steps=[run("x"), {"id": "q", "action": "ask", "question": "?"}]))
    game = TokenGame(one.net)
    begun = 0
    while (enabled := next(game.enabled(), None)) is not None:
        firing = game.begin(enabled)
        with pytest.raises(UnknownOutcomeError):
            game.finish(firing, "no such outcome")
        game.finish(firing, "done")
        begun += 1
    assert begun > 3
