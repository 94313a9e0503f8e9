"""`weft show`: a text that is the same plan, with all that counted for it written down."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from weft.cli.main import cli
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import load_plan

PLAN = """\
weft: 1
plan: p
subplans:
  - {id: a, prompt: "é ☃", verify: make, max_parallel: 2}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".weft").mkdir()
    (tmp_path / ".weft" / "config.yaml").write_text("agents: {coder: {use: codex, pool: 2}}\nretries: 5\n")
    (tmp_path / "weft.yml").write_text(PLAN)
    return tmp_path


def show(folder: Path, *args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["-C", str(folder), "show", *args], input=stdin)


def test_configuration_and_flags_are_written_into_the_plan(folder: Path) -> None:
    result = show(folder, "--max-parallel", "3")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "\nretries: 5  # .weft/config.yaml:2\n" in result.stdout
    assert "\nmax_parallel: 3  # --max-parallel\n" in result.stdout
    assert "\n    max_parallel: 3  # --max-parallel\n" in result.stdout
    assert "\n  # .weft/config.yaml:1\n  coder:\n    use: codex\n    pool: 2\n" in result.stdout


def test_the_text_stands_for_itself(folder: Path) -> None:
    once = show(folder).stdout
    again = show(folder, "-", stdin=once).stdout
    assert compile_plan(load_plan(once)).net == compile_plan(load_plan(again)).net
    assert "prompt: é ☃\n" in once


def test_for_programs_the_text_stands_in_the_envelope(folder: Path) -> None:
    assert json.loads(show(folder, "--json").stdout) == {"weft": 1, "data": {"text": show(folder).stdout}}


def test_a_plan_that_is_wrong_is_not_shown(folder: Path) -> None:
    (folder / "bad.yaml").write_text("weft: 2")
    result = show(folder, "bad.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("bad.yaml:1:1: error: ")
    result = show(folder, "bad.yaml", "--json")
    assert (result.exit_code, result.stderr) == (2, "")
    assert json.loads(result.stdout)["data"]["valid"] is False


def test_what_to_type_without_a_plan_names_this_command(tmp_path: Path) -> None:
    result = show(tmp_path)
    assert result.exit_code == 2
    assert result.stderr.endswith("to write one, type: weft init; to name another file: weft show FILE\n")
