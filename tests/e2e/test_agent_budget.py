"""Costs that agent programs report, through whole runs: added up, compared with ceilings, or unknown."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.recorded import OUTPUTS
from cli.running import Project as Typed
from e2e.projects import Project
from e2e.test_budget import gate

GOOD = OUTPUTS / "claude" / "good.jsonl"
COST, TOKENS = 12_300, 2_100
"""The cost that it reports."""


def claude(project: Project, script: str) -> None:
    """A stand-in that goes before a real one."""
    _write(project.outside, script)
    project.environ = {**project.environ, "PATH": f"{project.outside}:{project.environ['PATH']}"}


def _write(folder: Path, script: str) -> None:
    program = folder / "claude"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_what_was_spent_is_the_sum_over_all_attempts(project: Project) -> None:
    claude(project, f"cat {GOOD}; echo tried >> tries")
    outcome = project.plan("""
agents: {coder: {use: claude}}
subplans: [{id: a, prompt: x, verify: 'test "$(wc -l < tries)" -eq 2'}]
""").run()
    assert outcome.state == "completed"
    assert [item.cost for item in outcome.of("step_finished", "a", "work")] == [COST, COST]
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


def test_with_what_is_reserved_for_each_the_ceiling_is_not_passed(project: Project) -> None:
    """All could start at once, and each costs exactly what it may cost."""
    claude(project, f"cat {GOOD}; echo x > x; echo called >> {project.outside}/calls")
    outcome = project.plan("""
agents: {coder: {use: claude, max_cost: 0.0123}}
budget: 0.03
max_parallel: 3
failure_mode: continue_on_error
subplans: [{id: a, prompt: x}, {id: b, prompt: x}, {id: c, prompt: x}]
""").run()
    assert project.lines("calls") == ["called", "called"]
    assert sorted(outcome.states().values()) == ["completed", "completed", "failed budget"]
    assert outcome.events[-1].cost == 2 * COST


def test_output_that_reports_no_cost_that_could_be_read_costs_nothing_and_is_reported(
    project: Project,
) -> None:
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


@pytest.fixture
def typed(tmp_path: Path) -> Iterator[Typed]:
    project = Typed(tmp_path / "project")
    yield project
    project.end()


def test_what_was_spent_before_a_coordinator_was_killed_counts_once(typed: Typed) -> None:
    """One attempt is in the journal by then, and the other is taken over."""
    calls = typed.outside / "calls"
    _write(
        typed.outside,
        f"cat {GOOD}; echo called >> {calls}; test -e x && read _ < {typed.outside}/gate; echo x > x",
    )
    typed.env["PATH"] = f"{typed.outside}:{typed.env['PATH']}"
    typed.plan("""
agents: {coder: {use: claude}}
subplans:
  - {id: a, steps: [{id: first, prompt: x}, {id: second, prompt: x}]}
""")
    with gate(typed.outside) as let_through:
        first = typed.start("run", "--json")
        assert first.stdout is not None
        assert any('"step_started"' in line and '"second"' in line for line in first.stdout)
        first.send_signal(signal.SIGKILL)
        first.wait()
        let_through()
        again = typed.process("run", "-q")
    assert again.returncode == 0, again.stderr
    assert calls.read_text().splitlines() == ["called", "called"]
    assert (typed.events()[-1].cost, typed.events()[-1].tokens) == (2 * COST, 2 * TOKENS)
