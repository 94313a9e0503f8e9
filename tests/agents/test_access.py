"""Credentials of agents are detected, and their values are never read."""

from pathlib import Path

import pytest

from agents.recorded import USES
from agents.test_programs_reference import ABLE
from weft.agents.access import find_credentials
from weft.plan.agent_program import ANY_KEY
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.runtime.environment import StepEnvironment

ACCESS = {name: program.access for name, program in AGENT_PROGRAMS.items() if program.access is not None}


def credentials(use: str, environ: dict[str, str]) -> list[str]:
    return [*find_credentials(ACCESS[use], environ)]


def test_it_is_known_of_all_programs_and_of_our_own_agent() -> None:
    assert set(ACCESS) == {*USES, "builtin"}


@pytest.mark.parametrize("use", ACCESS)
def test_what_lets_an_agent_in_gets_to_it(use: str) -> None:
    names = [name.replace(ANY_KEY, "SOME_API_KEY") for name in ACCESS[use].variables]
    names += [login.variable for login in ACCESS[use].logins if login.variable]
    environ = dict.fromkeys(names, "x")
    assert StepEnvironment(environ).inherited(agent=True) == environ


@pytest.mark.parametrize("use", USES)
def test_what_it_can_do_is_what_the_reference_says(use: str) -> None:
    _, _, reads, tells = ABLE[use]
    assert AGENT_PROGRAMS[use].reads_only == bool(reads)
    assert [*ACCESS[use].reports] == [word for word in ("cost", "tokens") if word in tells]


@pytest.mark.parametrize("use", USES)
def test_how_to_sign_in_names_the_variable_that_is_looked_for(use: str) -> None:
    advice = AGENT_PROGRAMS[use].sign_in
    assert ACCESS[use].variables[0].removeprefix("*") in advice


def test_a_variable_that_is_set_is_a_sign_and_an_empty_one_is_none() -> None:
    environ = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "secret", "OPENAI_API_KEY": "secret"}
    assert credentials("claude", environ) == ["CLAUDE_CODE_OAUTH_TOKEN"]
    assert credentials("codex", environ) == []
    assert credentials("pi", {**environ, "A_API_KEY": "secret"}) == ["A_API_KEY", "OPENAI_API_KEY"]


def test_a_login_is_found_at_home_or_where_a_variable_says(tmp_path: Path) -> None:
    for folder in (".codex", "elsewhere"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "auth.json").write_text("secret")
    assert credentials("codex", {"HOME": str(tmp_path)}) == [f"{tmp_path}/.codex/auth.json"]
    moved = {"HOME": f"{tmp_path}/nowhere", "CODEX_HOME": f"{tmp_path}/elsewhere"}
    assert credentials("codex", moved) == [f"{tmp_path}/elsewhere/auth.json"]
    assert credentials("codex", {"HOME": str(tmp_path), "CODEX_HOME": f"{tmp_path}/nowhere"}) == []
    assert credentials("gemini", {"HOME": str(tmp_path)}) == []
