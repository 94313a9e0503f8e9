"""Runs of plans: the order, the reports, the retries. All of it under both policies."""

import pytest

from e2e.projects import Project

pytestmark = pytest.mark.parametrize("policy", ["serial", "parallel"])

TDD = """
agents:
  coder: {use: scripted, script: script.json}
pipelines:
  checked:
    - {id: tests, prompt: "write tests"}
    - {id: code, prompt: "do {{ slice.prompt }} {{ feedback }}"}
    - {id: check, action: verify, on_fail: {retry_from: code, max: 2}}
    - id: judge
      prompt: "judge it"
      on_result: [{when: "step.judge.result == 'no'", action: fail}]
      on_fail: {retry_from: code, max: 2}
subplans:
  - {id: one, prompt: the work, pipeline: checked, verify: "MARK; VERIFY"}
"""
PROMPT = """
  {"echo_prompt": "prompt"},
  {"run": "(cat prompt; echo ----) >> OUTSIDE/$WEFT_STEP.prompts; rm prompt"}"""


def script(judge: str = '{"result": "yes"}') -> str:
    return f"""[
      {{"step": "code", "do": [{PROMPT}, {{"result": "coded"}}]}},
      {{"step": "judge", "do": [{{"run": "MARK"}}, {judge}]}},
      {{"do": [{PROMPT}, {{"say": "hello"}}]}}
    ]"""


def prompts(project: Project, step: str) -> list[str]:
    return "\n".join(project.lines(f"{step}.prompts")).split("----")[:-1]


def test_a_group_with_a_slice_is_completed(project: Project, policy: str) -> None:
    outcome = project.plan(
        f"policy: {policy}\n"
        "subplans: [{id: g, verify: 'true', subplans: [{id: s, steps: [{id: x, run: 'true'}]}]}]"
    ).run()
    assert outcome.state == "completed"
    assert outcome.states() == {"g": "completed", "g/s": "completed"}


def test_tests_code_check_judge_in_this_order_each_with_its_outcome(project: Project, policy: str) -> None:
    project.plan(f"policy: {policy}{TDD.replace('VERIFY', 'true')}", script__json=script())
    outcome = project.run()
    assert outcome.ends() == [("one", step, "done") for step in ("tests", "code", "check", "judge")]
    assert [(item.step, item.outcome) for item in project.story().of("step_finished", "one")] == [
        ("@workspace", "done"),
        ("tests", "done"),
        ("code", "done"),
        ("check", "done"),
        ("judge", "done"),
        ("@merge", "done"),
        ("@land", "done"),
    ]


def test_a_slice_waits_for_another_and_for_one_of_another_group(project: Project, policy: str) -> None:
    project.plan(f"""
policy: {policy}
subplans:
  - id: g
    verify: 'true'
    subplans:
      - {{id: b, depends_on: [a], steps: [{{id: x, run: 'MARK; cat a1 a2'}}]}}
      - {{id: a, steps: [{{id: x, run: 'MARK; touch a1'}}, {{id: y, run: 'MARK; touch a2'}}]}}
  - {{id: far, depends_on: [/g/a], steps: [{{id: x, run: 'MARK; cat a1 a2'}}]}}
  - {{id: last, depends_on: [g], steps: [{{id: x, run: 'MARK; cat a1 a2'}}]}}
""")
    outcome = project.run()
    assert outcome.state == "completed"
    order = [mark.split()[0] + ":" + mark.split()[1] for mark in project.marks()]
    assert order[:2] == ["g/a:x", "g/a:y"]
    assert order.index("g/b:x") < order.index("last:x")
    assert list(outcome.states()) == ["g", "g/a", "g/b", "far", "last"]


def test_a_group_waits_for_a_group(project: Project, policy: str) -> None:
    project.plan(f"""
policy: {policy}
subplans:
  - id: late
    depends_on: [early]
    verify: 'MARK'
    subplans: [{{id: a, steps: [{{id: x, run: MARK}}]}}, {{id: b, steps: [{{id: x, run: MARK}}]}}]
  - id: early
    verify: 'MARK'
    subplans: [{{id: a, steps: [{{id: x, run: MARK}}]}}, {{id: b, steps: [{{id: x, run: MARK}}]}}]
""")
    assert project.run().state == "completed"
    assert [mark.split("/")[0].split()[0] for mark in project.marks()] == ["early"] * 3 + ["late"] * 3


def test_a_group_with_a_failed_verify_has_failed_and_blocks_its_dependants(
    project: Project, policy: str
) -> None:
    project.plan(f"""
policy: {policy}
failure_mode: continue_on_error
subplans:
  - {{id: g, verify: 'echo bad news >&2; exit 9', subplans: [{{id: s, steps: [{{id: x, run: 'true'}}]}}]}}
  - {{id: after, depends_on: [g], steps: [{{id: x, run: MARK}}]}}
  - {{id: beside, steps: [{{id: x, run: 'true'}}]}}
""")
    outcome = project.run()
    assert outcome.state == "failed"
    assert outcome.states() == {
        "g": "failed error",
        "g/s": "completed",
        "after": "failed blocked",
        "beside": "completed",
    }
    assert "echo bad news >&2; exit 9" in outcome.message("g")
    assert "exit code 9" in outcome.message("g")
    assert project.marks() == []


def test_a_check_that_fails_once_sends_its_output_to_the_coder(project: Project, policy: str) -> None:
    verify = "test -e OUTSIDE/again || { touch OUTSIDE/again; echo seventeen is wrong; exit 1; }"
    project.plan(
        f"policy: {policy}{TDD.replace('VERIFY', verify.replace(chr(34), ''))}", script__json=script()
    )
    outcome = project.run()
    assert outcome.states() == {"one": "completed"}
    first, second = prompts(project, "code")
    assert "seventeen" not in first
    assert "seventeen is wrong" in second
    assert "exit code 1" in second


def test_a_check_that_always_fails_ends_exhausted_after_three_goes(project: Project, policy: str) -> None:
    project.plan(f"policy: {policy}{TDD.replace('VERIFY', 'exit 1')}", script__json=script())
    outcome = project.run()
    assert outcome.states() == {"one": "failed exhausted"}
    assert len(prompts(project, "code")) == 3
    assert len(prompts(project, "tests")) == 1


def test_a_judge_that_rejects_once_is_heard(project: Project, policy: str) -> None:
    judge = '{"run": "test -e OUTSIDE/once || { touch OUTSIDE/once; echo too long a name; }"}'
    project.plan(
        f"policy: {policy}{TDD.replace('VERIFY', 'true')}".replace(
            "step.judge.result == 'no'", "'too long' in step.judge.result"
        ),
        script__json=script(judge),
    )
    outcome = project.run()
    assert outcome.states() == {"one": "completed"}
    first, second = prompts(project, "code")
    assert "too long a name" not in first
    assert "too long a name" in second


def test_a_judge_that_always_rejects_ends_exhausted_after_three_judgements(
    project: Project, policy: str
) -> None:
    project.plan(f"policy: {policy}{TDD.replace('VERIFY', 'true')}", script__json=script('{"result": "no"}'))
    outcome = project.run()
    assert outcome.states() == {"one": "failed exhausted"}
    assert sum(mark.split()[1] == "judge" for mark in project.marks()) == 3
    assert "judge" in outcome.message("one")


def test_an_agent_that_breaks_fails_its_slice_with_its_message(project: Project, policy: str) -> None:
    project.plan(
        f"""
policy: {policy}
failure_mode: continue_on_error
agents: {{coder: {{use: scripted, script: script.json}}}}
subplans:
  - {{id: bad, prompt: x}}
  - {{id: good, steps: [{{id: x, run: 'true'}}]}}
""",
        script__json='[{"do": [{"fail": "the cat sat on it"}]}]',
    )
    outcome = project.run()
    assert outcome.states() == {"bad": "failed exhausted", "good": "completed"}
    assert "the cat sat on it" in outcome.message("bad")


def test_a_program_that_is_not_there_is_no_failure_of_the_work(project: Project, policy: str) -> None:
    """It has its own bound and reason, and is not reported to the coder."""
    project.plan(
        f"policy: {policy}\ninfra_retries: 1{TDD.replace('VERIFY', 'no-such-program')}", script__json=script()
    )
    outcome = project.run()
    assert outcome.states() == {"one": "failed infra"}
    assert len(prompts(project, "code")) == 1
    assert [item.outcome for item in outcome.of("step_finished", "one", "check")] == ["infra", "infra"]
    assert "no-such-program" in outcome.message("one")


def test_an_agent_s_program_that_is_not_there_is_no_failure_of_the_work(
    project: Project, policy: str
) -> None:
    project.plan(f"""
policy: {policy}
infra_retries: 2
retries: 0
setup: "true"  # which might make it, for all that the preflight knows
agents: {{coder: {{use: command, command: [./no-such-agent]}}}}
subplans: [{{id: one, prompt: x}}]
""")
    outcome = project.run()
    assert outcome.states() == {"one": "failed infra"}
    assert len(outcome.of("step_finished", "one", "work")) == 3


def test_two_that_wait_for_the_same_third_both_start(project: Project, policy: str) -> None:
    project.plan(f"""
policy: {policy}
subplans:
  - {{id: a, steps: [{{id: x, run: 'echo a > a.txt'}}]}}
  - {{id: b, depends_on: [a], steps: [{{id: x, run: 'cat a.txt; touch b'}}]}}
  - {{id: c, depends_on: [a], steps: [{{id: x, run: 'cat a.txt; touch c'}}]}}
""")
    assert project.run().state == "completed"
    assert set(project.result()) == {"a.txt", "b", "c"}


def test_a_failed_sibling_undoes_nothing(project: Project, policy: str) -> None:
    project.plan(f"""
policy: {policy}
subplans:
  - {{id: good, steps: [{{id: x, run: echo fine > good.txt}}]}}
  - {{id: bad, depends_on: [good], steps: [{{id: x, run: rm good.txt; exit 1}}]}}
""")
    outcome = project.run()
    assert outcome.states() == {"good": "completed", "bad": "failed error"}
    assert project.result() == {"good.txt": "fine\n"}
