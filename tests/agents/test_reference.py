"""The reference says what is so: its plans load, its script is played, its tables are complete."""

import io
import re
from pathlib import Path

import pytest

from weft.agents import script
from weft.agents.player import main
from weft.agents.shared.result_file import read_report
from weft.plan.loader.load import load_plan
from weft.runtime.environment import StepIdentity

REFERENCE = (Path(__file__).parents[2] / "docs" / "reference" / "agents.md").read_text(encoding="utf-8")
COMMAND_PLAN, SCRIPTED_PLAN, SCRIPT, *_ = re.findall(
    r"^```yaml\n(.*?)^```", REFERENCE, flags=re.MULTILINE | re.DOTALL
)


def first_column(heading: str) -> list[str]:
    table = REFERENCE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return re.findall(r"^\| `(\w+)…?` ", table, flags=re.MULTILINE)


def test_its_plans_load_without_a_warning() -> None:
    assert [plan.warnings for plan in map(load_plan, (COMMAND_PLAN, SCRIPTED_PLAN))] == [(), ()]


def play(folder: Path, subplan: str, *, attempt: int = 1, prompt: str = "Go") -> str | None:
    (folder / "demo.script.yaml").write_text(SCRIPT, encoding="utf-8")
    variables = {
        "WEFT_SUBPLAN": subplan,
        "WEFT_ATTEMPT": str(attempt),
        "WEFT_RESULT": str(folder / "result.json"),
    }
    assert main([str(folder / "demo.script.yaml")], variables, io.BytesIO(prompt.encode())) == 0
    return read_report((folder / "result.json").read_text(encoding="utf-8"), at=0.0).result


def test_its_script_is_played_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert play(tmp_path, "store/model") is None
    assert (tmp_path / "model.txt").read_text(encoding="utf-8") == ""
    assert play(tmp_path, "store/model", attempt=2, prompt="test -s model.txt failed") == "Wrote the model"
    assert (tmp_path / "model.txt").read_text(encoding="utf-8") == "a model\n"
    assert play(tmp_path, "store/disk") == '{"written": ["disk.txt"]}'
    assert (tmp_path / "disk.txt").read_text(encoding="utf-8") == "on disk\n"


def test_it_lists_all_conditions_and_actions_of_scripts() -> None:
    assert first_column("key | value | matches if") == [*script.CONDITIONS, "do"]
    assert first_column("action | value | does") == list(script.ACTIONS)


def test_every_key_of_the_report_that_it_lists_is_known_and_none_is_missing() -> None:
    listed = first_column("key | value | meaning")
    assert listed == ["result", "cost_usd", "tokens", "session", "error", "limited_until", "limited_for"]
    text = "{" + ", ".join(f'"{key}": {{}}' for key in listed) + "}"
    assert not [problem for problem in read_report(text, at=0.0).problems if "unknown key" in problem]


def test_it_lists_the_variables_of_a_step() -> None:
    identity = StepIdentity(run="", subplan="", step="", attempt=1, job="", result_file="", plan_dir="")
    listed = first_column("variable | value")
    assert listed[:7] == list(identity.variables())
