"""What is suggested can be typed."""

import json
import shlex
from contextlib import closing

import pytest

from cli.running import Project
from cli.suggestions import check_suggestions, commands_in
from weft.store.sqlite import open_reader


def test_commands_are_found_in_sentences_and_lists() -> None:
    text = (
        "error: a is held; type: weft merge a (or no)\n  type: git worktree repair\n"
        "to see it, type: weft logs a, then type: weft run\n"
        "Next       weft logs 'a b'  shows all output of its steps\n"
        "           weft run\n"
        "weft start              resumes it\n"
        "to see its progress: weft status; to stop it: weft stop\n"
    )
    assert commands_in(text) == [
        "weft merge a",
        "git worktree repair",
        "weft logs a",
        "weft run",
        "weft status",
        "weft stop",
        "weft logs 'a b'",
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
    assert [item.removesuffix(f" {plan_file}") for item in commands_in(status.stdout)] == suggested
    for command in dict.fromkeys([*commands_in(status.stdout), *commands_in(run.output)]):
        done = project.weft(*shlex.split(command)[1:])
        assert done.exit_code != USAGE, f"{command}: {done.output}"


# What commands say, typed by a person in the project. The plan's file has not the usual name; a file of that name
# holds another plan, which no suggestion may run.

PASSES = "subplans: [{id: a, steps: [{id: work, run: 'true'}]}]"
COSTS = """
budget: 0.01
agents: {spender: {use: command, command: SPENDS}}
subplans: [{id: a, prompt: x, agent: spender}, {id: b, prompt: x, agent: spender, depends_on: [a]}]
"""
PLAN = "other.yaml"
SPENDS = """#!/bin/sh
echo '{"cost_usd": 1}' > "$WEFT_RESULT"
"""
UNDER_WAY = frozenset({"running", "pending"})


class Person:
    """Types commands in a project, and then all that they suggest."""

    def __init__(self, project: Project, plan: str) -> None:
        spends = project.outside / "spends"
        spends.write_text(SPENDS)
        spends.chmod(0o755)
        self.project = project.plan(plan.replace("SPENDS", str(spends)), PLAN)
        decoy = "weft: 1\nplan: decoy\nisolation: dir\nsubplans: [{id: d, steps: [{id: x, run: 'true'}]}]\n"
        (project.root / "weft.yaml").write_text(decoy)
        self.text = ""

    def type(self, command: str) -> int:
        done = self.project.process(*shlex.split(command)[1:])
        self.text = f"{done.stdout}\n{done.stderr}"
        if shlex.split(command)[1] in {"start", "retry"}:
            self._wait()
        return done.returncode

    def _wait(self) -> None:
        """Until the run in the background is over, or waits."""
        watcher = self.project.start("status", "--watch", "--json")
        assert watcher.stdout is not None
        for line in watcher.stdout:
            if json.loads(line)["data"]["state"] not in UNDER_WAY:
                break
        watcher.kill()

    def types_what_is_suggested(self) -> list[str]:
        """Types each command that the last one suggests; none is refused."""
        commands = [command for command in commands_in(self.text) if command.startswith("weft")]
        for command in commands:
            assert self.type(command) not in REFUSED, f"{command}: {self.text}"
        return commands


REFUSED = frozenset({2, 70})


@pytest.mark.parametrize(
    ("plan", "typed", "suggested"),
    [
        (PASSES, ["weft run other.yaml", "weft retry"], ["weft start other.yaml --fresh"]),
        (PASSES, ["weft run other.yaml", "weft retry a"], ["weft start other.yaml --fresh"]),
        (FAILS, ["weft run other.yaml -q"], ["weft logs b", "weft run other.yaml"]),
        (FAILS, ["weft run other.yaml -q", "weft retry a"], ["weft retry"]),
        (FAILS, ["weft start other.yaml", "weft status"], ["weft logs b", "weft run other.yaml"]),
        (FAILS, ["weft run other.yaml -q", "weft resume"], ["weft retry"]),
        (ASKS, ["weft run other.yaml --no-wait"], ["weft answer a:work yes", "weft run other.yaml"]),
        (ASKS, ["weft run other.yaml --no-wait", "weft pause", "weft resume"], ["weft start other.yaml"]),
        (ASKS, ["weft run other.yaml --no-wait", "weft answer a:work yes"], ["weft run other.yaml"]),
        (PASSES, ["weft run other.yaml", "weft logs"], ["weft logs /"]),
        (PASSES, ["weft run other.yaml", "weft answer a yes"], ["weft events"]),
        (COSTS, ["weft run other.yaml -q"], ["weft run other.yaml --fresh-budget"]),
        (COSTS, ["weft run other.yaml -q", "weft status"], ["weft run other.yaml --fresh-budget"]),
        (COSTS, ["weft run other.yaml -q", "weft check other.yaml"],
         ["weft simulate other.yaml", "weft run other.yaml --fresh-budget"]),
    ],
    ids=lambda value: " | ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_what_commands_suggest_can_be_typed_and_is_about_the_same_plan(
    project: Project, plan: str, typed: list[str], suggested: list[str]
) -> None:
    person = Person(project, plan)
    for command in typed:
        person.type(command)
    assert person.types_what_is_suggested() == suggested
    with closing(open_reader(project.journal)) as journal:
        assert {record.plan for record in journal.runs()} == {"tried"}


@pytest.mark.parametrize("command", ["check", "run", "start", "status", "logs", "resume", "retry", "clean"])
def test_where_there_is_no_plan_the_first_step_is_suggested(project: Project, command: str) -> None:
    done = project.process(command)
    assert commands_in(done.stderr) == ["weft init"]
    assert project.process("init").returncode == 0
    assert project.process("check").returncode == 0
