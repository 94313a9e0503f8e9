"""A plan prepared for its rehearsal: the same work and limits, and nothing that reads results."""

import json
from typing import Any

from hypothesis import given

from forecast.rehearsals import leaf, plan, work
from plan.plan_strategies import plan_texts
from weft.forecast.rehearsal import rehearsed, with_pool, with_width
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import load_plan
from weft.plan.model import AgentWork, Ask, Plan, RunCommand, Step
from weft.plan.settings import Settings

LIMITS = ("max_parallel", "max_concurrency", "failure_mode", "policy", "budget", "retries", "infra_retries")


def steps_of(plan_: Plan) -> list[Step]:
    own = [subplan.steps for subplan in plan_.subplans if subplan.steps is not None]
    return [step for pipeline in (*plan_.pipelines.values(), *own) for step in pipeline.steps]


def limits_of(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in LIMITS}


@given(plan_texts())
def test_nothing_in_a_rehearsed_plan_reads_a_result(text: str) -> None:
    for step in steps_of(rehearsed(load_plan(text))):
        assert step.condition is None
        assert step.output_schema is None
        assert not step.on_result
        assert not step.env
        match step.body:
            case AgentWork(prompt=prompt):
                assert prompt == ""
            case RunCommand(command):
                assert command == ("true",)
            case Ask(question=question):
                assert question == ""
            case _:
                pass


@given(plan_texts())
def test_limits_order_and_rules_of_failure_stay(text: str) -> None:
    original = load_plan(text)
    result = rehearsed(original)
    assert result.outline is original.outline
    assert (result.pools, result.agents) == (original.pools, original.agents)
    for before, after in zip(original.scopes, result.scopes, strict=True):
        assert limits_of(after.settings) == limits_of(before.settings)
        assert after.settings.merge_mode == "auto"
    for first, second in zip(steps_of(original), steps_of(result), strict=True):
        for name in (
            "id",
            "on_error",
            "max_retries",
            "on_fail",
            "pools",
            "timeout",
            "depends_on",
            "is_async",
        ):
            assert getattr(first, name) == getattr(second, name)
        assert type(first.body) is type(second.body)


@given(plan_texts())
def test_slices_that_share_a_shape_share_it_in_the_rehearsal(text: str) -> None:
    original = load_plan(text)
    before, after = compile_plan(original), compile_plan(rehearsed(original))
    # Without conditions and results there are fewer differences, never more.
    assert len(after.shapes) <= len(before.shapes)
    assert after.pools == before.pools


def test_many_equal_slices_have_one_shape() -> None:
    text = json.dumps(
        {
            "weft": 1,
            "plan": "p",
            "isolation": "none",
            "pipelines": {"one": [{"id": "x", "run": "echo {{ slice.id }}", "condition": "attempt == 1"}]},
            "subplans": [{"id": f"s{number}", "prompt": "do", "pipeline": "one"} for number in range(20)],
        }
    )
    assert len(compile_plan(rehearsed(load_plan(text))).shapes) <= len(compile_plan(load_plan(text)).shapes)


def test_another_width_changes_the_whole_plan_and_no_limit_inside_it() -> None:
    original = plan(
        {"id": "g", "subplans": [leaf("a"), leaf("b")], "max_parallel": 2}, leaf("c"), max_parallel=3
    )
    wider = with_width(original, 9)
    assert wider.scopes[0].settings.max_parallel == 9
    assert wider.scopes[1].settings.max_parallel == 2
    assert [scope.settings for scope in wider.scopes[2:]] == [scope.settings for scope in original.scopes[2:]]
    assert with_width(wider, 1).scopes[0].settings.max_parallel == 1


def test_a_pool_can_have_another_size() -> None:
    original = plan(leaf("a", work(pool="db")), pools={"db": 1, "port": {"values": ["8001", "8002"]}})
    assert with_pool(original, "pool:db", 5).pools["db"].size == 5
    grown = with_pool(original, "pool:port", 4).pools["port"]
    assert (grown.size, grown.values) == (4, ("8001", "8002", "port-2", "port-3"))
    smaller = with_pool(original, "pool:port", 1).pools["port"]
    assert (smaller.size, smaller.values) == (1, ("8001",))
    assert original.pools["port"].size == 2


def test_an_agent_can_have_more_calls_at_once() -> None:
    original = plan(leaf("a", {"id": "x", "agent": "coder", "prompt": "do"}), isolation="dir")
    assert with_pool(original, "agent:coder", 7).agents["coder"].pool == 7


def test_a_host_can_have_more_slots() -> None:
    original = plan(leaf("a"), hosts={"big": {"use": "ssh", "machine": "big", "slots": 4}})
    assert with_pool(original, "host:big", 5).hosts["big"].slots == 5
    assert original.hosts["big"].slots == 4
