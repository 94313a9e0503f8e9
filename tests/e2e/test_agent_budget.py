"""What programs of agents have told of their cost, through whole runs: added up, held to ceilings, or unknown."""

from pathlib import Path

from agents.recorded import OUTPUTS
from e2e.projects import Project

GOOD = OUTPUTS / "claude" / "good.jsonl"
COST, TOKENS = 12_300, 2_100
"""That it tells."""


def claude(project: Project, script: str) -> None:
    """A stand-in that goes before a real one."""
    program: Path = project.outside / "claude"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    project.environ = {**project.environ, "PATH": f"{project.outside}:{project.environ['PATH']}"}


def test_what_was_spent_is_the_sum_over_all_attempts(project: Project) -> None:
    claude(project, f"cat {GOOD}; echo tried >> tries")
    outcome = project.plan("""
agents: {coder: {use: claude}}
subplans: [{id: a, prompt: x, verify: 'test "$(wc -l < tries)" -eq 2'}]
""").run()
    assert outcome.state == "completed"
    assert [one.cost for one in outcome.of("step_finished", "a", "work")] == [COST, COST]
    assert (outcome.events[-1].cost, outcome.events[-1].tokens) == (2 * COST, 2 * TOKENS)


def test_at_the_ceiling_no_further_agent_is_called(project: Project) -> None:
    claude(project, f"cat {GOOD}; echo x > x; echo called >> {project.outside}/calls")
    outcome = project.plan("""
agents: {coder: {use: claude}}
budget: 0.02
max_parallel: 1
failure_mode: continue_on_error
subplans: [{id: a, prompt: x}, {id: b, prompt: x}, {id: c, prompt: x}]
""").run()
    assert project.lines("calls") == ["called", "called"]
    assert outcome.states()["c"] == "failed budget"
    assert outcome.events[-1].cost == 2 * COST


def test_output_that_tells_no_cost_that_could_be_read_costs_nothing_and_is_told(project: Project) -> None:
    claude(project, f'sed \'s/"total_cost_usd":[^,]*/"total_cost_usd":"much"/\' {GOOD}; echo x > x')
    outcome = project.plan("""
agents: {coder: {use: claude}}
budget: 1
subplans: [{id: a, prompt: x}]
""").run()
    assert outcome.states() == {"a": "completed"}
    assert len(outcome.of("cost_unknown", "a")) == 1
    assert (outcome.events[-1].cost, outcome.events[-1].tokens) == (0, TOKENS)
    assert outcome.events[-1].data["unknown_costs"] == 1
