"""Equal plans give equal nets, and slices that are alike share a shape."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plan.compile.compiled_plans import HEAD, back, compiled, group, leaf, plan, run
from plan.plan_strategies import SMALL, plan_data, plan_texts
from weft.plan.compile.compile import _Shapes
from weft.plan.compile.parts import Role


@st.composite
def reordered(draw: st.DrawFn, data: Any) -> Any:
    """The same with its keys in another order, but for agents, of which the first may be the default."""
    if isinstance(data, dict):
        keys = draw(st.permutations(list(data)))
        return {key: data[key] if key == "agents" else draw(reordered(data[key])) for key in keys}
    return [draw(reordered(item)) for item in data] if isinstance(data, list) else data


def remarked(data: Any) -> str:
    return json.dumps(data, indent=1).replace("\n", " # a remark\n")


@settings(max_examples=40)
@given(st.data())
def test_the_order_of_keys_and_remarks_do_not_matter(data):
    written = data.draw(plan_data(SMALL))
    first, second = compiled(json.dumps(written)), compiled(remarked(data.draw(reordered(written))))
    assert first.net == second.net
    assert first.assembled.acts == second.assembled.acts
    assert first.assembled.rows == second.assembled.rows


def test_what_agents_are_reported_does_not_matter():
    first, second = (
        plan(leaf("a", title=prompt, steps=[{"id": "w", "prompt": prompt, "model": prompt}]), goal=prompt)
        for prompt in ("one", "other")
    )
    assert first.net == second.net


@settings(max_examples=40)
@given(plan_texts(SMALL))
def test_a_shape_that_is_shared_is_the_one_that_each_of_its_slices_would_have(text):
    compiled_plan = compiled(text)
    for row, number in enumerate(compiled_plan.shape_of):
        alone = _Shapes(compiled_plan.plan)
        own = alone.number_of(row)
        assert (number < 0) == (own < 0)
        assert number < 0 or alone.shapes[own].net == compiled_plan.shapes[number].net
        assert number < 0 or alone.shapes[own].acts == compiled_plan.shapes[number].acts


@settings(max_examples=40)
@given(plan_texts(SMALL))
def test_there_are_no_shapes_that_nothing_has(text):
    compiled_plan = compiled(text)
    used = Counter([*compiled_plan.shape_of, *compiled_plan.landing_shapes])
    assert set(used) - {-1} == set(range(len(compiled_plan.shapes)))


def shapes_of_two(first: dict[str, Any], second: dict[str, Any], **more: Any) -> int:
    """How many shapes two slices with these keys have."""
    both = plan(leaf("a", **first), leaf("b", **second), **more)
    return len(set(both.shape_of[1:]))


BRANCHES = [run("x", **{"async": True}), run("y", **{"async": True, "depends_on": ["x"]})]
AGENT = {"id": "w", "prompt": "do"}
ALIKE = {
    "prompts": ({"prompt": "a"}, {"prompt": "b"}),
    "titles and files": ({"title": "a", "files": ["a"]}, {"title": "b", "files": ["b"]}),
    "settings that do not shape": ({"timeout": "5m", "budget": 3}, {"failure_mode": "continue_on_error"}),
    "the text of a condition": (
        {"steps": [run("x", condition="attempt == 1")]},
        {"steps": [run("x", condition="attempt == 2")]},
    ),
    "the order of pools": (
        {"steps": [run("x", pools={"port": 1, "disk": 1})]},
        {"steps": [run("x", pools={"disk": 1, "port": 1})]},
    ),
    "the order of results": (
        {"steps": [run("x", on_result=[{"when": "true", "action": a} for a in ("ask", "abort")])]},
        {"steps": [run("x", on_result=[{"when": "true", "action": a} for a in ("abort", "ask")])]},
    ),
    "the same agent by name and by default": (
        {"steps": [AGENT]},
        {"steps": [{**AGENT, "agent": "coder"}]},
    ),
}
DIFFERENT = {
    "verify": ({}, {"verify": "true"}),
    "the policy": ({}, {"policy": "serial"}),
    "a workspace": ({"isolation": "none", "policy": "serial"}, {"policy": "serial"}),
    "infra_retries": ({}, {"infra_retries": 1}),
    "the agent": ({"steps": [AGENT]}, {"steps": [AGENT], "agent": "tester"}),
    "the id of a step": ({}, {"steps": [run("y")]}),
    "an agent instead of a command": ({}, {"steps": [{"id": "x", "prompt": "do"}]}),
    "a question instead of a command": ({}, {"steps": [{"id": "x", "action": "ask", "question": "Well?"}]}),
    "async": (
        {"steps": [run("x"), run("y", depends_on=["x"])]},
        {"steps": [run("x", **{"async": True}), run("y", depends_on=["x"])]},
    ),
    "a way back": (
        {"steps": [run("x"), run("y")]},
        {"steps": [run("x"), run("y", **back("x", 1))]},
    ),
    "how often it goes back": (
        {"steps": [run("x"), run("y", **back("x", 1))]},
        {"steps": [run("x"), run("y", **back("x", 2))]},
    ),
    "who is waited for": (
        {"steps": [*BRANCHES, run("z", depends_on=["x", "y"])]},
        {"steps": [*BRANCHES, run("z", depends_on=["y"])]},
    ),
    "a condition": ({}, {"steps": [run("x", condition="attempt == 1")]}),
    "a retry": ({}, {"steps": [run("x", on_error="retry", max_retries=1)]}),
    "a rule for results": ({}, {"steps": [run("x", on_result=[{"when": "true", "action": "ask"}])]}),
    "a pool": ({}, {"steps": [run("x", pool="port")]}),
    "how many of a pool": ({"steps": [run("x", pool="port")]}, {"steps": [run("x", pools={"port": 2})]}),
    "max_concurrency": (
        {"steps": [run("x", **{"async": True}), run("y", depends_on=["x"])]},
        {"steps": [run("x", **{"async": True}), run("y", depends_on=["x"])], "max_concurrency": 1},
    ),
    "what is nested": ({"steps": [{"id": "n", "pipeline": "m"}]}, {"steps": [{"id": "n", "pipeline": "o"}]}),
}


@pytest.mark.parametrize(("first", "second"), ALIKE.values(), ids=ALIKE)
def test_slices_that_are_alike_share_a_shape(first, second):
    assert shapes_of_two(first, second) == 1


@pytest.mark.parametrize(("first", "second"), DIFFERENT.values(), ids=DIFFERENT)
def test_slices_that_are_not_alike_do_not(first, second):
    assert shapes_of_two(first, second, pipelines={"m": [run("x")], "o": [run("y")]}) == 2


def test_slices_with_one_pipeline_and_one_set_of_settings_differ_if_only_one_verifies():
    named = {"prompt": "do", "pipeline": "direct"}
    both = plan({"id": "a", **named}, {"id": "b", **named, "verify": "true"})
    assert both.shape_of[1] != both.shape_of[2]


def test_steps_written_in_two_slices_are_as_good_as_a_pipeline_of_that_name():
    steps = [run("x"), run("y", depends_on=["x"])]
    assert shapes_of_two({"steps": steps}, {"steps": steps}) == 1
    both = plan(
        leaf("a", steps=steps), {"id": "b", "prompt": "do", "pipeline": "way"}, pipelines={"way": steps}
    )
    assert both.shape_of[1] == both.shape_of[2]


def test_groups_and_landings_share_their_shapes_whatever_their_slices_need():
    compiled_plan = plan(
        group("g", leaf("a"), verify="true", retries=1, max_concurrency=3),
        group("h", leaf("b"), verify="true", retries=2, max_concurrency=4),
    )
    assert compiled_plan.shape_of[1] == compiled_plan.shape_of[3]
    assert len(set(compiled_plan.landing_shapes)) == 1


def test_ten_thousand_slices_share_one_shape():
    slices = "\n".join(f"  - {{id: s{n}, prompt: do {n}, verify: test {n}}}" for n in range(10_000))
    head = "\n".join(f"{key}: {json.dumps(value)}" for key, value in HEAD.items())
    compiled_plan = compiled(f"{head}\nsubplans:\n{slices}")
    assert set(compiled_plan.shape_of[1:]) == {compiled_plan.shape_of[1]}
    assert len(compiled_plan.shapes) == 2  # and one for landing
    begins = sum(act.role is Role.BEGIN for act in compiled_plan.assembled.acts)
    assert begins == 10_000
