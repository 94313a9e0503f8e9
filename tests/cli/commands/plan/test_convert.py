"""`weft convert`: the plan, what it does not say, and whether it would pass."""

import json
import os
from pathlib import Path
from typing import get_args

import pytest
import yaml
from click.testing import CliRunner, Result
from inline_snapshot import snapshot

from weft.app.inspect import plan_conversion
from weft.cli.commands.plan.convert import SYSTEMS
from weft.cli.main import cli
from weft.plan.convert import ConvertedPlan, System
from weft.plan.loader.load import load_plan

BRUNCH = """\
epics: [{id: base, summary: Note store}]
slices:
  - {id: model, epic_id: base, definition: A type for notes, verification: [{target: tests/model.test}]}
"""
AIL = 'version: "0.1"\npipeline:\n  - {id: brief, prompt: Which files does this branch change?}\n'
ROADMAP = "# M001: Store\n\n## Slices\n\n- [ ] **S01: Note type** `depends:[]`\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.yaml").write_text(BRUNCH)
    (tmp_path / "flow.ail.yaml").write_text(AIL)
    milestone = tmp_path / "Tool" / ".gsd" / "M001"
    milestone.mkdir(parents=True)
    (milestone / "M001-ROADMAP.md").write_text(ROADMAP)
    return tmp_path


def convert(folder: Path, *args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["-C", str(folder), "convert", *args], input=stdin)


def test_every_system_can_be_asked_for() -> None:
    assert get_args(System) == SYSTEMS


def test_the_plan_is_data_and_what_it_does_not_say_is_chatter(folder: Path) -> None:
    result = convert(folder, "plan.yaml", "--from", "brunch")
    assert result.exit_code == 0
    assert result.stdout == snapshot("""\
# Converted from brunch.
weft: 1
plan: plan
failure_mode: continue_on_error
retries: 3
agents:
  coder:
    use: claude
subplans:
  - id: base
    title: Note store
    subplans:
      - id: model
        prompt: A type for notes
        verify: bun test tests/model.test
        pipeline: tdd
""")
    assert [line.partition(": ")[0] for line in result.stderr.splitlines()] == ["plan.yaml:1", "plan.yaml:3"]


def test_a_file_of_ail_gives_its_name_to_the_plan(folder: Path) -> None:
    result = convert(folder, "flow.ail.yaml", "--from", "ail")
    assert (result.exit_code, load_plan(result.stdout).id) == (0, "flow")


def test_a_directory_of_gsd_is_read_with_all_that_is_in_it(folder: Path) -> None:
    result = convert(folder, "Tool/.gsd", "--from", "gsd")
    assert result.exit_code == 0
    assert load_plan(result.stdout).id == "tool"
    assert result.stderr.startswith("Tool/.gsd/M001/M001-ROADMAP.md:1: ")


def test_of_a_project_only_what_may_be_a_plan_is_read(folder: Path) -> None:
    (folder / "Tool" / "node_modules").mkdir()
    for name in ("main.py", "node_modules/bad.md", "other.yaml"):
        (folder / "Tool" / name).write_bytes(b"\xff")
    assert convert(folder, "Tool", "--from", "gsd").exit_code == 0


def test_a_text_of_gsd_that_is_none_is_named(folder: Path) -> None:
    (folder / "Tool" / ".gsd" / "notes.md").write_bytes(b"\n\xff")
    result = convert(folder, "Tool/.gsd", "--from", "gsd")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: Tool/.gsd/notes.md:2:1: the file is not text in UTF-8")


@pytest.mark.parametrize("system", ["brunch", "ail"])
def test_a_directory_is_for_gsd_only(folder: Path, system: str) -> None:
    result = convert(folder, "Tool", "--from", system)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: cannot read Tool: is a directory; plans of {system} are single files\n"


def test_a_folder_with_too_many_files_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_conversion, "MOST_FILES", 1)
    (folder / "Tool" / "README.md").touch()
    result = convert(folder, "Tool", "--from", "gsd")
    assert result.exit_code == 2
    assert result.stderr == "error: Tool holds more than 1 files; name the folder of the plan\n"


def test_a_folder_that_cannot_be_looked_into_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", "closed")

    monkeypatch.setattr(os, "scandir", refuse)
    result = convert(folder, "Tool", "--from", "gsd")
    assert (result.exit_code, result.stderr) == (2, "error: cannot read closed: permission denied\n")


def test_the_plan_is_written_to_a_file(folder: Path) -> None:
    result = convert(folder, "plan.yaml", "--from", "brunch", "--out", "weft.yaml")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("wrote weft.yaml\nplan.yaml:")
    assert (folder / "weft.yaml").read_text() == convert(folder, "plan.yaml", "--from", "brunch").stdout


def test_the_old_plan_is_not_overwritten(folder: Path) -> None:
    result = convert(folder, "plan.yaml", "--from", "brunch", "--out", "plan.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: cannot write plan.yaml: it is the file that the plan is read from\n"
    assert (folder / "plan.yaml").read_text() == BRUNCH


def test_a_dash_is_standard_input_and_standard_output(folder: Path) -> None:
    result = convert(folder, "-", "--from", "brunch", "--out", "-", stdin=BRUNCH)
    assert (result.exit_code, load_plan(result.stdout).id) == (0, "brunch")


def test_for_programs_there_are_the_text_and_the_notes(folder: Path) -> None:
    result = json.loads(convert(folder, "plan.yaml", "--from", "brunch", "--json").stdout)["data"]
    assert list(result) == ["text", "notes", "valid", "problems"]
    assert result["text"] == convert(folder, "plan.yaml", "--from", "brunch").stdout
    assert result["notes"][0] == snapshot(
        {
            "file": "plan.yaml",
            "line": 1,
            "what": "the format names no agent",
            "why": "'claude' is assumed; change `use` under `agents` in the plan",
        }
    )
    assert (result["valid"], result["problems"]) == (True, [])


def test_for_programs_the_file_stands_for_the_text(folder: Path) -> None:
    result = convert(folder, "plan.yaml", "--from", "brunch", "--json", "--out", "weft.yaml")
    entry = json.loads(result.stdout)["data"]
    assert (entry["file"], "text" in entry, result.stderr) == ("weft.yaml", False, "wrote weft.yaml\n")


def test_an_input_that_makes_no_sense_gives_no_plan(folder: Path) -> None:
    result = convert(folder, "-", "--from", "brunch", stdin="epics: []\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("standard input:1:1: error: ")
    result = convert(folder, "-", "--from", "brunch", "--json", stdin="epics: []\n")
    assert (result.exit_code, result.stderr) == (2, "")
    assert json.loads(result.stdout)["data"]["valid"] is False


@pytest.fixture
def _unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversion whose result would not pass: none is known."""
    monkeypatch.setattr(
        plan_conversion, "convert", lambda *_, **__: ConvertedPlan(text="weft: 2\n", notes=())
    )


@pytest.mark.usefixtures("_unfinished")
def test_a_result_that_would_not_pass_is_given_with_what_is_wrong(folder: Path) -> None:
    result = convert(folder, "plan.yaml", "--from", "brunch")
    assert (result.exit_code, result.stdout) == (1, "weft: 2\n")
    assert result.stderr.startswith("the converted plan:1:1: error: ")
    result = convert(folder, "plan.yaml", "--from", "brunch", "--out", "weft.yaml")
    assert (result.exit_code, (folder / "weft.yaml").read_text()) == (1, "weft: 2\n")
    assert result.stderr.startswith("wrote weft.yaml\nweft.yaml:1:1: error: ")


@pytest.mark.usefixtures("_unfinished")
def test_for_programs_what_is_wrong_with_the_result_is_data(folder: Path) -> None:
    result = convert(folder, "plan.yaml", "--from", "brunch", "--json")
    entry = json.loads(result.stdout)["data"]
    assert (result.exit_code, entry["text"], entry["valid"]) == (1, "weft: 2\n", False)
    assert entry["problems"][0]["file"] == "the converted plan"


def test_the_pipelines_of_ail_in_files_beside_it_are_converted_too(tmp_path: Path) -> None:
    (tmp_path / "flows" / "inner").mkdir(parents=True)
    (tmp_path / "flows" / "main.yaml").write_text("pipeline: [{id: a, pipeline: inner/b.yaml}]\n")
    (tmp_path / "flows" / "inner" / "b.yaml").write_text(
        "pipeline: [{id: c, pipeline: ../c.yaml}, {id: me, pipeline: ../main.yaml}, {id: no, pipeline: no.yaml}]\n"
    )
    (tmp_path / "flows" / "c.yaml").write_text("pipeline: [{id: d, context: {shell: make}}]\n")
    result = CliRunner().invoke(
        cli, ["-C", str(tmp_path), "convert", "flows/main.yaml", "--from", "ail", "--json"]
    )
    data = json.loads(result.stdout)["data"]
    pipelines = yaml.safe_load(data["text"])["pipelines"]
    assert [step["id"] for step in pipelines["b"]] == ["c", "me", "no"]
    assert pipelines["c"] == [{"id": "d", "run": "make", "on_error": "continue"}]
    assert {note["file"] for note in data["notes"]} == {
        "flows/main.yaml",
        "flows/inner/b.yaml",
        "flows/c.yaml",
    }
