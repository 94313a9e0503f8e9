"""What is suggested can be typed."""

import shlex

import pytest

from cli.running import Project
from cli.suggestions import check_suggestions, commands_in


def test_commands_are_found_in_sentences_and_lists() -> None:
    text = (
        "error: a is held; type: weft merge a (or no)\n"
        "  what helps: git worktree repair\n"
        "to see it, type: weft logs a, then type: weft run\n"
        "Next       weft logs 'a b'  shows all that its steps wrote\n"
        "           weft run\n"
        "weft start              resumes it\n"
    )
    assert commands_in(text) == [
        "weft merge a",
        "git worktree repair",
        "weft logs a",
        "weft logs 'a b'",
        "weft run",
        "weft start",
    ]


@pytest.mark.parametrize(
    "command", ["weft run PLAN", "weft merge --now-or-never", "weft unknown", "git branch main COMMIT"]
)
def test_what_cannot_be_typed_is_noticed(command: str) -> None:
    with pytest.raises(AssertionError, match="not to be typed"):
        check_suggestions(f"type: {command}")


# Runs whose summary and status are taken at their word

FAILS = """
failure_mode: continue_on_error
subplans:
  - {id: a, steps: [{id: work, run: "true"}]}
  - {id: b, steps: [{id: work, run: "exit 3"}]}
  - {id: c, depends_on: [b], steps: [{id: work, run: "true"}]}
"""
GROUP_FAILS = """
subplans:
  - {id: g, verify: "exit 7", subplans: [{id: x, steps: [{id: work, run: "true"}]}]}
"""
PLAN_FAILS = """
verify: exit 7
subplans:
  - {id: a, steps: [{id: work, run: "true"}]}
"""
ASKS = """
subplans:
  - {id: a, steps: [{id: work, run: "echo 7", on_result: [{when: always, action: ask}]}]}
"""
USAGE = 2


@pytest.mark.parametrize(
    ("plan", "suggested"),
    [
        (FAILS, ["weft logs b", "weft run"]),
        (GROUP_FAILS, ["weft logs g:@verify", "weft run"]),
        (PLAN_FAILS, ["weft logs /:@verify", "weft run"]),
        (ASKS, ["weft answer"]),
    ],
    ids=["a slice fails", "a group's verify fails", "the plan's verify fails", "a question"],
)
def test_what_status_and_the_summary_suggest_can_be_typed(
    project: Project, plan: str, suggested: list[str]
) -> None:
    run = project.plan(plan).weft("run", "--no-wait")
    status = project.weft("status")
    plan_file = str(project.root / "weft.yaml")
    assert [one.removesuffix(f" {plan_file}") for one in commands_in(status.stdout)] == suggested
    for command in dict.fromkeys([*commands_in(status.stdout), *commands_in(run.output)]):
        done = project.weft(*shlex.split(command)[1:])
        assert done.exit_code != USAGE, f"{command}: {done.output}"
