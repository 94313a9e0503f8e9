"""What is told of agents without asking them anything."""

from pathlib import Path

import pytest

from app.programs import Programs
from weft.app.agents.overview import (
    AgentStatus,
    PlanAgents,
    abilities,
    find_agents,
    overview,
    reported_spending,
)
from weft.errors import InputError
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.text.problems import PlanError

PLAN = """\
weft: 1
plan: p
agents:
  coder: {use: codex, model: m, env: {CODEX_API_KEY: secret}}
  script: {use: command, command: ./agent.sh}
  gone: {use: command, command: nothing-of-that-name --flag}
subplans: [{id: a, prompt: x, verify: make}]
"""


@pytest.fixture
def machine(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


@pytest.fixture
def project(machine: Programs) -> Path:
    folder = machine.root / "project"
    (folder / ".weft").mkdir(parents=True)
    return folder


def hand(machine: Programs, project: Path, name: str | None = None) -> PlanAgents:
    return find_agents(name, project, machine.environ)


def seen(
    machine: Programs, project: Path, *names: str, patience: float | None = None
) -> dict[str, AgentStatus]:
    state = overview(hand(machine, project), names, machine.environ, patience=patience)
    return {item.agent.name: item for item in state}


def test_without_a_plan_all_that_weft_knows_is_there(machine: Programs, project: Path) -> None:
    assert [*seen(machine, project)] == [*AGENT_PROGRAMS]


def test_agents_of_the_plan_come_first_and_what_they_use_is_not_repeated(
    machine: Programs, project: Path
) -> None:
    (project / "weft.yaml").write_text(PLAN)
    seen_items = seen(machine, project)
    assert [*seen_items][:4] == ["coder", "script", "gone", "claude"]
    assert {"codex", "command"} & {*seen_items} == set()
    assert [item.is_of_plan for item in seen_items.values()][:4] == [True, True, True, False]
    assert [*seen(machine, project, "codex", "coder", "codex")] == ["codex", "coder"]


def test_without_a_plan_those_of_the_configuration_are_there(machine: Programs, project: Path) -> None:
    (project / ".weft" / "config.yaml").write_text("agents: {mine: {use: pi}}\n")
    assert next(iter(seen(machine, project))) == "mine"


def test_a_plan_that_is_wrong_is_passed_over_unless_it_was_named(machine: Programs, project: Path) -> None:
    (project / "weft.yaml").write_text("weft: 2\n")
    result = hand(machine, project)
    assert (result.shown, result.unread, dict(result.plan.agents)) == ("", "weft.yaml", {})
    with pytest.raises(PlanError):
        hand(machine, project, "weft.yaml")
    (project / "other.yaml").write_text(PLAN)
    assert hand(machine, project, "other.yaml").shown == "other.yaml"


def test_an_unknown_name_is_refused_with_the_nearest(machine: Programs, project: Path) -> None:
    with pytest.raises(InputError, match=r"no agent 'cluade'; did you mean 'claude'\?"):
        seen(machine, project, "cluade")


def test_where_a_program_is_and_its_version_are_reported(machine: Programs, project: Path) -> None:
    place = machine.add("codex", "echo codex-cli 0.1.2")
    seen_items = seen(machine, project, "codex", "claude", "builtin", patience=60)
    codex, claude, own = seen_items.values()
    assert (codex.is_installed, codex.place, codex.version) == (True, str(place), "0.1.2")
    assert (claude.is_installed, claude.place, claude.version) == (False, None, None)
    assert claude.install == "npm install -g @anthropic-ai/claude-code"
    assert (own.is_installed, own.program) == (True, None)


def test_no_program_is_started_if_no_version_is_wanted(machine: Programs, project: Path) -> None:
    asked = machine.root / "asked"
    machine.add("codex", f": >{asked}")
    assert seen(machine, project, "codex")["codex"].version is None
    assert not asked.exists()


def test_of_commands_the_program_is_looked_for_if_its_name_is_plain(machine: Programs, project: Path) -> None:
    (project / "weft.yaml").write_text(PLAN)
    seen_items = seen(machine, project)
    assert (seen_items["script"].is_installed, seen_items["script"].signs) == (True, None)
    assert not seen_items["gone"].is_installed
    assert seen_items["gone"].install == "install nothing-of-that-name, or name another command in the plan"


def test_a_key_is_seen_by_its_name_in_the_environment_the_plan_or_a_file(
    machine: Programs, project: Path
) -> None:
    (project / "weft.yaml").write_text(PLAN)
    (machine.home / ".gemini").mkdir()
    (machine.home / ".gemini" / "oauth_creds.json").write_text("secret")
    seen_items = seen(machine, project)
    assert seen_items["coder"].signs == ("CODEX_API_KEY",)
    assert seen_items["gemini"].signs == ("~/.gemini/oauth_creds.json",)
    assert seen_items["claude"].signs == ()
    assert "set ANTHROPIC_API_KEY" in seen_items["claude"].sign_in
    assert seen_items["builtin"].sign_in.startswith("set one of OPENAI_API_KEY, ")


def test_what_each_can_do_and_tells(machine: Programs, project: Path) -> None:
    seen_items = seen(machine, project)
    assert [*abilities(seen_items["claude"])] == ["resume", "fork", "read-only"]
    assert [*abilities(seen_items["aider"])] == []
    assert (reported_spending(seen_items["codex"]), reported_spending(seen_items["command"])) == (
        ("tokens",),
        (),
    )
    assert [name for name, item in seen_items.items() if item.needs_more] == ["acp", "command", "scripted"]
