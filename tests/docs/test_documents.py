"""The documents say what is so: their Python runs, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from weft import FailureMode, ParallelExecutionConfig, Simulation, Subplan, SubplanGroup

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def python_blocks(document: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_example_of_the_readme_runs() -> None:
    (block,) = python_blocks("README.md")
    names: dict[str, object] = {}
    exec(block, names)
    assert list(names["results"]) == ["fetch", "parts", "parts/build", "parts/check"]  # type: ignore[call-overload]


def test_the_examples_of_the_guide_run(capsys: pytest.CaptureFixture[str]) -> None:
    first, group, simulated = python_blocks("docs/guide/subplans.md")
    names: dict[str, object] = {}
    exec(first, names)
    assert capsys.readouterr().out == "None\n"

    async def work() -> None: ...

    names |= {"model": work, "disk": work, "SubplanGroup": SubplanGroup, "FailureMode": FailureMode}
    exec(f"group = {group}", names)
    assert isinstance(names["group"], SubplanGroup)
    names |= {"subplans": [Subplan("a", work)], "config": ParallelExecutionConfig()}
    exec(simulated, names)
    assert isinstance(names["simulation"], Simulation)
    assert capsys.readouterr().out == "5.0 5.0 1\n"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_within_the_project_leads_to_a_file(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
        assert "://" in target or (document.parent / target).exists(), target


def test_every_module_named_in_the_architecture_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for folder, rooms in re.findall(r"\| `(net|plan|engine)/` \| \|\n\|---\|---\|\n((?:\|.*\n)+)", text):
        named = set(re.findall(r"`([a-z_]+)/?`", rooms))
        there = {path.stem for path in (ROOT / "src" / "weft" / folder).iterdir()} - {
            "__init__",
            "__pycache__",
        }
        assert named == there
