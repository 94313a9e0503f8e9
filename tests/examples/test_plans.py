"""Every plan among the examples is a good one, and the three say different things."""

from pathlib import Path

import pytest

from weft.app.check.timeouts import timeout_warnings
from weft.net.verdict import Answer
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import load_plan
from weft.plan.proof.prove import prove

EXAMPLES = Path(__file__).parents[2] / "examples"
PLANS = sorted((EXAMPLES / "plans").glob("*.yaml"))


def test_there_are_examples() -> None:
    assert [path.stem for path in PLANS] == ["migration", "notes", "review"]


@pytest.mark.parametrize("path", [*PLANS, EXAMPLES / "demo/project/weft.yaml"], ids=lambda path: path.stem)
def test_an_example_loads_without_a_warning_and_is_proven(path: Path) -> None:
    plan = load_plan(path.read_text(encoding="utf-8"), path.name)
    assert plan.warnings == ()
    assert list(timeout_warnings(plan)) == []
    assert prove(compile_plan(plan)).answer is Answer.PROVED
