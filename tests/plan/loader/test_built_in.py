"""The pipelines that every plan has."""

import pytest

from plan.problem_texts import problems, with_steps, with_subplans
from weft.plan.loader.built_in import FILE, TEXT, built_in_pipelines
from weft.plan.loader.load import load_plan, read_config
from weft.plan.model import AgentWork, OnFail, OnResult, Plan, Verify
from weft.plan.text.document import read_document


def test_there_are_two() -> None:
    pipelines = built_in_pipelines()
    assert {name: [step.id for step in pipelines[name].steps] for name in pipelines} == {
        "direct": ["work", "check"],
        "tdd": ["tests", "code", "check", "judge"],
    }
    assert all(pipeline.built_in and pipeline.document.file == FILE for pipeline in pipelines.values())


@pytest.mark.parametrize("name", ["direct", "tdd"])
def test_they_pass_the_checks_that_plans_pass(name: str) -> None:
    document = read_document(TEXT, FILE)
    assert document.problems == ()
    top = "agent: claude\npipelines:\n" + "".join(f"  {line}\n" for line in TEXT.splitlines())
    assert problems(with_subplans(f"{{id: a, prompt: x, verify: v, pipeline: {name}}}", top=top)) == []


def test_direct_works_then_checks_and_goes_back_as_often_as_the_setting_says() -> None:
    work, check = built_in_pipelines()["direct"].steps
    assert work.body == AgentWork(prompt="{{ slice.prompt }}\n{{ feedback }}\n")
    assert (check.body, check.on_fail) == (Verify(), OnFail("work", None))


def test_the_judge_of_tdd_changes_nothing_and_sends_back_what_it_rejects() -> None:
    judge = built_in_pipelines()["tdd"].steps[-1]
    assert isinstance(judge.body, AgentWork)
    assert judge.body.read_only
    assert judge.on_result == (OnResult("step.judge.accepted == false", "fail"),)
    assert judge.on_fail == OnFail("code", None)
    assert judge.output_schema is not None
    assert judge.output_schema["required"] == ["accepted", "reasons"]


def test_a_slice_that_says_nothing_is_done_by_direct() -> None:
    plan = load_plan(with_subplans("{id: a, prompt: x, verify: v}"))
    assert plan.subplans[1].pipeline == "direct"
    assert plan.pipeline_of(1) is built_in_pipelines()["direct"]


def test_a_plan_that_defines_one_of_the_same_name_uses_its_own() -> None:
    top = "pipelines:\n  direct: [{id: mine, run: x}]\n"
    plan = load_plan(with_subplans("{id: a}", top=top))
    assert [step.id for step in plan.pipeline_of(1).steps] == ["mine"]
    assert set(plan.pipelines) == {"direct", "tdd"}
    assert [step.id for step in built_in_pipelines()["direct"].steps] == ["work", "check"]


def test_steps_can_read_those_of_a_built_in_pipeline() -> None:
    steps = ("{id: t, pipeline: tdd}", "{id: r, run: '{{ step.t.judge.reasons[0] }}'}")
    assert problems(with_steps(*steps)) == []


TDD = "{id: a, prompt: x, verify: v, pipeline: tdd}"


def agents_of(plan: Plan) -> dict[str, str | None]:
    return {
        step.id: step.body.agent for step in plan.pipeline_of(1).steps if isinstance(step.body, AgentWork)
    }


@pytest.mark.parametrize(
    ("agents", "expected"),
    [
        ("coder", {"tests": None, "code": None, "judge": None}),
        ("coder tester", {"tests": "tester", "code": None, "judge": None}),
        ("judge coder tester", {"tests": "tester", "code": None, "judge": "judge"}),
    ],
)
def test_agents_named_tester_and_judge_do_their_steps_of_tdd(
    agents: str, expected: dict[str, str | None]
) -> None:
    entries = ", ".join(f"{name}: {{use: claude}}" for name in agents.split())
    plan = load_plan(with_subplans(TDD, top=f"agent: coder\nagents: {{{entries}}}\n"))
    assert agents_of(plan) == expected


def test_an_agent_of_a_configuration_does_its_step_too() -> None:
    config = read_config("agents: {judge: {use: codex}}", "c.yaml", "user")
    plan = load_plan(with_subplans(TDD, top="agent: claude\n"), configs=[config])
    assert agents_of(plan)["judge"] == "judge"


def test_a_pipeline_of_the_plan_itself_keeps_its_agents() -> None:
    top = "agent: claude\nagents: {tester: {use: claude}}\npipelines:\n  tdd: [{id: tests, prompt: x}]\n"
    assert agents_of(load_plan(with_subplans(TDD, top=top))) == {"tests": None}
