"""An estimate above the timeout of its step: `weft check` and `weft simulate` warn of it in the same words."""

import json

from cli.running import Project

PLAN = """
timeout: 20m
pipelines:
  tested:
    - {id: build, run: 'true', estimate: {minutes: 1}}
    - {id: test, run: 'true', timeout: 5m, estimate: {minutes: 6}}
subplans:
  - {id: a, prompt: x, steps: [{id: work, run: 'true'}], estimate: {minutes: 10..30}}
  - {id: b, prompt: x, steps: [{id: work, run: 'true'}], estimate: {minutes: 10..45}}
  - {id: c, prompt: x, steps: [{id: work, run: 'true'}], estimate: {minutes: 10..20}}
  - {id: d, prompt: x, pipeline: tested}
"""
OF_B = (
    "b:work takes 45 min or more in one of ten runs, and its timeout of 20 min ends it; "
    "the same in 1 more slice"
)
OF_D = "d:test takes 6 min or more in one of ten runs, and its timeout of 5 min ends it"


def said(project: Project, *arguments: str) -> str:
    done = project.weft(*arguments)
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())


def test_check_warns_of_each_step_once_with_its_place(project: Project) -> None:
    project.plan(PLAN)
    text = said(project, "check")
    line = next(
        number
        for number, line in enumerate((project.root / "weft.yaml").read_text().splitlines(), 1)
        if "id: b," in line
    )
    assert f"weft.yaml:{line}:" in text
    assert text.count("one of ten runs") == 2
    assert OF_B in text
    assert OF_D in text
    warnings = json.loads(project.weft("check", "--json", "--plan-only").stdout)["data"]["warnings"]
    assert [each["message"] for each in warnings if "one of ten runs" in each["message"]] == [OF_B, OF_D]


def test_simulate_warns_in_the_same_words(project: Project) -> None:
    project.plan(PLAN)
    text = said(project, "simulate", "--runs", "5")
    assert text.count("one of ten runs") == 2
    assert f"warning: {OF_B}" in text
    assert f"warning: {OF_D}" in text


def test_estimates_within_their_timeouts_and_steps_without_one_are_no_reason(project: Project) -> None:
    project.plan(PLAN.replace("timeout: 20m", "timeout: 45m").replace("timeout: 5m", "timeout: 6m"))
    assert "one of ten runs" not in said(project, "check")
    project.plan("timeout: 1s\nsubplans: [{id: a, prompt: x, steps: [{id: work, run: 'true'}]}]")
    assert "one of ten runs" not in said(project, "check")
