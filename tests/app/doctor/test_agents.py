"""Agents: their programs are there and answer, or it is said which are not."""

import os
from pathlib import Path

import pytest

from app.doctor.patients import Patient
from app.doctor.test_git import shim
from hosts.places import is_alive
from weft.agents import adapters
from weft.app.doctor.findings import FindingState

USES = "subplans: [{id: a, prompt: x, steps: [{id: work, prompt: x}]}]\n"


def only_ours(patient: Patient) -> None:
    """No agent that this machine may have is seen."""
    programs = patient.outside / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("git", "sh", "sleep"):
        result = next(
            Path(folder, name) for folder in os.environ["PATH"].split(":") if Path(folder, name).exists()
        )
        (programs / name).symlink_to(result)
    patient.environ = {**patient.environ, "PATH": str(programs)}


def agents(text: str) -> str:
    return f"agents: {{{text}}}\nagent: one\n{USES}"


def fine(patient: Patient, check: str = "agents") -> list[str]:
    return [item.finding.found for item in patient.doctor().of(FindingState.OK) if item.check.id == check]


def test_an_agent_whose_program_is_missing_is_a_problem(patient: Patient) -> None:
    only_ours(patient)
    shim(patient, "codex", "echo codex 1")
    patient.plan(agents("one: {use: claude}"))
    result = patient.one("agents")
    assert (result.state, result.finding.subject) == (FindingState.PROBLEM, "one")
    assert result.finding.found == (
        "agent 'one': its program 'claude' is not on the PATH; installed agents that Weft knows: codex"
    )
    assert result.finding.command == "npm install -g @anthropic-ai/claude-code"
    assert fine(patient, "agents-installed") == ["on the PATH: codex"]


def test_one_that_no_step_needs_is_worth_a_warning(patient: Patient) -> None:
    only_ours(patient)
    patient.plan(agents("one: {use: command, command: sh}, other: {use: codex}"))
    result = patient.one("agents")
    assert (result.state, result.finding.subject) == (FindingState.WARNING, "other")
    assert fine(patient, "agents-installed") == ["no agent that Weft knows is on the PATH"]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("nothing-of-that-name", 1),
        ("[nothing-of-that-name, x]", 1),
        ("'nothing-of-that-name --flag'", 1),
        ("'cd x && nothing'", 0),
        ("'$HOME/x'", 0),
        ("./in-the-worktree", 0),
        ("[sh, -c, x]", 0),
        ("'X=1 nothing'", 1),
    ],
)
def test_the_program_of_a_command_is_looked_for_where_it_can_be_reported(
    patient: Patient, command: str, found: int
) -> None:
    patient.plan(agents(f"one: {{use: command, command: {command}}}"))
    assert len(patient.told("agents")) == found


def test_a_script_that_is_not_there_is_a_problem(patient: Patient) -> None:
    patient.plan(agents("one: {use: scripted, script: play.json}"))
    result = patient.one("agents")
    assert result.finding.found == f"agent 'one': there is no script {patient.root / 'play.json'}"
    (patient.root / "play.json").write_text("{}")
    assert fine(patient) == ["agent 'one' (scripted)"]


def test_what_this_weft_cannot_drive_is_a_problem(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {name: module for name, module in adapters.ADAPTERS.items() if name != "claude"}
    monkeypatch.setattr(adapters, "ADAPTERS", others)
    shim(patient, "claude", "echo 1")
    patient.plan(agents("one: {use: claude}"))
    assert "is not built into this version of Weft yet" in patient.one("agents").finding.found


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo; echo 1.2.3 of it", "1.2.3 of it"),
        ("exit 3", "exit code 3"),
        ("echo error >&2; exit 1", "error"),
    ],
)
def test_a_known_program_tells_its_version(patient: Patient, script: str, said: str) -> None:
    shim(patient, "claude", script)
    patient.plan(agents("one: {use: claude}"))
    assert fine(patient) == [f"agent 'one' (claude): {said}"]


def test_one_that_does_not_answer_is_ended_with_all_it_has_started(patient: Patient) -> None:
    pids = patient.outside / "pids"
    shim(patient, "claude", f"sleep 3600 & echo $! $$ > {pids}; wait")
    patient.plan(agents("one: {use: claude}"))
    result = patient.one("agents", patience=0.5)
    assert result.finding.found == "agent 'one': `claude --version` gives no answer within 0.5 s"
    while any(is_alive(int(pid)) for pid in pids.read_text().split()):
        pass


def test_without_a_plan_the_agents_of_the_configuration_are_looked_at(patient: Patient) -> None:
    (patient.root / ".weft").mkdir()
    (patient.root / ".weft" / "config.yaml").write_text(
        "agents: {one: {use: command, command: nothing-here}}\n"
    )
    assert patient.one("agents").state is FindingState.WARNING
    (patient.root / "weft.yaml").write_text("weft: 2\n")
    assert patient.one("agents").finding.subject == "one"
    (patient.root / ".weft" / "config.yaml").write_text("agents: 3\n")
    assert patient.told("agents") == []


def test_steps_of_inner_pipelines_count(patient: Patient) -> None:
    patient.plan(
        "agents: {one: {use: command, command: nothing-here}}\n"
        "pipelines: {inner: [{id: x, prompt: x, agent: one}]}\n"
        "subplans: [{id: a, steps: [{id: work, run: 'true'}, {id: in, pipeline: inner}]}]\n"
    )
    assert patient.one("agents").state is FindingState.PROBLEM
