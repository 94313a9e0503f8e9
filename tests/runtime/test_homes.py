"""Homes of steps hold nothing of the user's."""

from pathlib import Path

from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.runtime.homes import Homes, home_variables


def test_a_home_is_private_and_has_all_directories_that_variables_name(tmp_path: Path) -> None:
    home = Homes(tmp_path / "homes").of("g/a")
    assert home == tmp_path / "homes" / "g.a"
    assert [item.stat().st_mode & 0o777 for item in (home.parent, home)] == [0o700, 0o700]
    named = [Path(value) for name, value in home_variables(home).items() if name != "OPENCODE_CONFIG"]
    assert all(entry.is_dir() and entry.is_relative_to(home) for entry in named)
    assert not (home / ".gitconfig").exists()


def test_each_slice_has_its_own_which_stays_as_it_is(tmp_path: Path) -> None:
    homes = Homes(tmp_path)
    (homes.of("a") / "session").write_text("s")
    assert homes.of("a") != homes.of("b")
    assert (Homes(tmp_path).of("a") / "session").read_text() == "s"


def test_git_knows_the_user_and_what_a_step_has_written_stays(tmp_path: Path) -> None:
    home = Homes(tmp_path, git_config="[user]\n").of("a")
    assert (home / ".gitconfig").read_text() == "[user]\n"
    (home / ".gitconfig").write_text("mine")
    assert (Homes(tmp_path, git_config="[user]\n").of("a") / ".gitconfig").read_text() == "mine"


def test_the_variables_are_those_of_the_standard_and_of_all_agents(tmp_path: Path) -> None:
    result = home_variables(tmp_path)
    assert result["HOME"] == result["GEMINI_CLI_HOME"] == str(tmp_path)
    assert result["XDG_CONFIG_HOME"] == f"{tmp_path}/.config"
    assert {name for item in AGENT_PROGRAMS.values() for name in item.home} <= result.keys()
    assert {"CLAUDE_CONFIG_DIR", "CODEX_HOME", "VIBE_HOME", "XDG_RUNTIME_DIR"} <= result.keys()
