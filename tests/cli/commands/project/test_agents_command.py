"""`weft agents`: what it says of agents, and of their answers."""

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from app.programs import Programs
from weft.app.agents.question import AgentReply
from weft.cli.live import probe_progress
from weft.cli.main import cli
from weft.cli.text.agents import probe_data, probe_lines
from weft.engine.messages.facts import StepOutcome
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.model import Agent

PLAN = """\
weft: 1
plan: p
agents:
  coder: {use: codex, model: m-9}
  echo: {use: command, command: [/bin/sh, -c, "echo ready"]}
  mute: {use: command, command: [/bin/sh, -c, "echo no >&2; exit 1"]}
subplans: [{id: a, prompt: x, verify: "true"}]
"""


@pytest.fixture
def machine(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


@pytest.fixture
def project(machine: Programs) -> Path:
    folder = machine.root / "project"
    folder.mkdir()
    (folder / "weft.yaml").write_text(PLAN)
    return folder


def weft(machine: Programs, folder: Path, *arguments: str, **environ: str) -> Result:
    runner = CliRunner(env={**machine.environ, "XDG_CONFIG_HOME": None, **environ})
    return runner.invoke(cli, ["-C", str(folder), "agents", *arguments])


# --- what there is ---


def test_agents_are_reported_with_what_they_need_and_can_do(machine: Programs, project: Path) -> None:
    place = machine.add("claude", "echo 2.1.197")
    done = weft(machine, project, "claude", "coder", "echo", "builtin", "acp", OPENAI_API_KEY="secret-1")
    width = len(str(place))
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"agent           version  {'where':<{width}}  key or login    can                      tells",
        f"claude          2.1.197  {place}  none seen       resume, fork, read-only  cost, tokens",
        f"echo (command)           {'/bin/sh':<{width}}  its own matter  resume",
        f"builtin                  {'part of Weft':<{width}}  OPENAI_API_KEY  resume, fork, read-only  tokens",
        "not installed:",
        "  coder (codex, m-9)  npm install -g @openai/codex",
        "no key or login was seen:",
        "  claude  set ANTHROPIC_API_KEY, or log in once: claude, then /login",
        "for agents of a plan:",
        "  acp  needs `command`",
        "agents of weft.yaml come first, each with what it uses in brackets",
    ]


def test_no_value_of_a_key_is_ever_told(machine: Programs, project: Path) -> None:
    (project / "weft.yaml").write_text(PLAN.replace("m-9}", "m-9, env: {CODEX_API_KEY: secret-2}}"))
    machine.add("codex")
    for arguments in ((), ("--json",)):
        text = weft(machine, project, *arguments, OPENAI_API_KEY="secret-1").output
        assert "OPENAI_API_KEY" in text
        assert "CODEX_API_KEY" in text
        assert "secret" not in text


def test_where_nothing_is_installed_it_says_how_to(machine: Programs) -> None:
    done = weft(machine, machine.home)
    assert done.exit_code == 0
    for adapter in AGENT_PROGRAMS.values():
        assert (adapter.install or adapter.name) in done.stdout
    assert [*machine.home.iterdir()] == []


def test_as_json_it_is_data(machine: Programs, project: Path) -> None:
    place = machine.add("codex", "echo codex-cli 0.166.0")
    done = weft(machine, project, "coder", "claude", "--json", CODEX_API_KEY="secret")
    data = json.loads(done.stdout)["data"]
    coder, claude = data["agents"]
    assert data["plan"] == "weft.yaml"
    assert coder == {
        "name": "coder",
        "use": "codex",
        "model": "m-9",
        "of_plan": True,
        "program": "codex",
        "installed": True,
        "where": str(place),
        "version": "0.166.0",
        "install": None,
        "keys": ["CODEX_API_KEY"],
        "sign_in": coder["sign_in"],
        "resumes": True,
        "forks": True,
        "reads_only": True,
        "tells": ["tokens"],
    }
    assert (claude["installed"], claude["where"], claude["install"]) == (
        False,
        None,
        "npm install -g @anthropic-ai/claude-code",
    )


def test_a_plan_that_cannot_be_read_is_noted(machine: Programs, project: Path) -> None:
    (project / "weft.yaml").write_text("weft: 2\n")
    done = weft(machine, project, "claude")
    text = "weft.yaml cannot be read, and its agents are not shown; type: weft check weft.yaml\n"
    assert (done.exit_code, done.stderr) == (0, text)
    named = weft(machine, project, "claude", "--plan", "weft.yaml", "--json")
    assert (named.exit_code, json.loads(named.stdout)["data"]["valid"]) == (2, False)


@pytest.mark.parametrize("more", [(), ("--probe",)])
def test_an_unknown_name_is_refused(machine: Programs, project: Path, more: Sequence[str]) -> None:
    done = weft(machine, project, "codr", *more)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "error: there is no agent 'codr'; did you mean 'coder'?\n"


def test_names_are_completed(project: Path) -> None:
    complete = ShellComplete(cli, {}, "weft", "_WEFT_COMPLETE")

    def names(folder: Path, incomplete: str, *before: str) -> dict[str, Any]:
        completions = complete.get_completions(["-C", str(folder), "agents", *before], incomplete)
        return {item.value: item.help for item in completions}

    assert names(project, "co") == {
        "coder": "codex",
        "codex": "Codex CLI",
        "command": AGENT_PROGRAMS["command"].doc,
    }
    assert [*names(project, "co", "codex")] == ["coder", "command"]
    assert [*names(project.parent, "c")] == ["claude", "codex", "command"]
    (project / "weft.yaml").write_text("agents: [1]\n")
    assert [*names(project, "cod")] == ["codex"]
    (project / "weft.yaml").write_text("agents: {cod: 3}\n")
    assert names(project, "cod") == {"cod": None, "codex": "Codex CLI"}


# --- what they answer ---


def test_answers_are_shown_and_before_them_the_possible_cost(machine: Programs, project: Path) -> None:
    done = weft(machine, project, "echo", "--probe", "--timeout", "600")
    assert done.exit_code == 0
    assert done.stderr == "calling each agent once, which may cost a little: echo\n"
    assert done.stdout.startswith("echo  answered  in ")
    assert done.stdout.endswith(" s, tokens unknown, cost unknown\n")


def test_one_that_does_not_answer_or_is_not_there_is_exit_code_1(machine: Programs, project: Path) -> None:
    done = weft(machine, project, "mute", "coder", "--probe", "--timeout", "600", "--json")
    mute, coder = json.loads(done.stdout)["data"]["agents"]
    assert (done.exit_code, mute["answered"], mute["outcome"]) == (1, False, "failed")
    assert mute["message"] == "exit code 1: no"
    assert coder == {
        "name": "coder",
        "answered": False,
        "message": "codex is not installed; type: npm install -g @openai/codex",
    }


def test_without_an_installed_agent_nothing_is_started(machine: Programs, project: Path) -> None:
    done = weft(machine, project, "coder", "--probe")
    assert (done.exit_code, done.stderr) == (1, "")
    assert (
        done.stdout
        == "coder (codex, m-9)  no answer  codex is not installed; type: npm install -g @openai/codex\n"
    )


def test_seconds_tokens_cost_and_limits_are_reported() -> None:
    values = [
        AgentReply(
            agent=Agent(name="one", use="pi"),
            how=StepOutcome.DONE,
            answer="Yes.\nready",
            seconds=3.14,
            tokens=1_050,
            cost=3_750,
        ),
        AgentReply(
            agent=Agent(name="other", use="pi"),
            how=StepOutcome.LIMITED,
            message="too many",
            until=1_800_000_000.0,
        ),
        AgentReply(agent=Agent(name="third", use="pi"), how=None, message="no model"),
    ]
    assert [*probe_lines(values, ())] == [
        "one    answered   in 3.1 s, 1,050 tokens, <$0.01",
        "other  no answer  too many; limited until 2027-01-15T08:00:00Z",
        "third  no answer  no model",
    ]
    data: Any = probe_data(values, ())
    item, other, third = data["agents"]
    assert (item["cost_usd"], item["seconds"], item["tokens"], item["answer"]) == (
        0.00375,
        3.14,
        1_050,
        "ready",
    )
    assert (other["outcome"], other["until"]) == ("limited", 1_800_000_000.0)
    assert (third["outcome"], third["answered"]) == (None, False)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_agents_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with probe_progress._show_progress(["one", "other"]) as has_ended:
        has_ended("one")
        has_ended("other")
    lines = [line.rstrip() for line in terminal.getvalue().split("\r")]
    assert lines == ["", "waiting for one, other", "waiting for other", "", ""]


# --- before anything starts ---


def other(machine: Programs, project: Path, *arguments: str) -> Result:
    return CliRunner(env={**machine.environ, "XDG_CONFIG_HOME": None}).invoke(
        cli, ["-C", str(project), *arguments]
    )


def test_a_run_whose_agent_is_not_installed_is_refused_and_nothing_is_lost(
    machine: Programs, project: Path
) -> None:
    done = other(machine, project, "run")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "error: the agent coder needs codex, which is not on the PATH; to install it, type: npm install -g "
        "@openai/codex (weft agents lists what is installed)\n"
    )
    assert "nothing has been run" in other(machine, project, "status").stderr


def test_a_check_refuses_for_the_same_reason(machine: Programs, project: Path) -> None:
    done = other(machine, project, "check")
    assert done.exit_code == 2
    assert done.stdout.startswith(
        "Error     The agent coder needs codex, which is not on the PATH; to install it, type:\n"
        "            npm install -g @openai/codex"
    )
    data = json.loads(other(machine, project, "check", "--json").stdout)["data"]
    install = "npm install -g @openai/codex"
    assert data["valid"]
    assert data["missing_programs"] == [{"program": "codex", "agents": ["coder"], "install": install}]
    assert [(item["kind"], item["refuses"]) for item in data["preflight"]] == [("agent", True)]
    machine.add("codex")
    assert "Error" not in other(machine, project, "check").stdout


def test_a_check_of_the_plan_alone_looks_for_no_program(machine: Programs, project: Path) -> None:
    done = other(machine, project, "check", "--plan-only")
    assert (done.exit_code, "Error" in done.stdout) == (0, False)


def test_a_check_tells_of_a_model_that_is_missing(machine: Programs, project: Path) -> None:
    (project / "weft.yaml").write_text(PLAN.replace("{use: codex, model: m-9}", "{use: builtin}"))
    done = other(machine, project, "check")
    assert done.exit_code == 2
    assert "needs a model: the agent 'coder' (builtin) has none of its own" in done.stderr
