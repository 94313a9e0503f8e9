"""The guide about budgets says what is so."""

import re
from pathlib import Path

from engine.run.stories import agent, group, leaf, plan, tell
from weft.engine.simulate import SimulatedEnd
from weft.plan.loader.load import load_plan, read_config

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "budget.md").read_text(encoding="utf-8")
PLAN, PRICES = re.findall(r"^```yaml\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)


def test_its_plan_and_its_configuration_load() -> None:
    loaded = load_plan(PLAN)
    settings = loaded.scopes[0].settings
    assert (settings.budget, settings.budget_tokens, settings.reserve) == (20_000_000, 5_000_000, 500_000)
    assert [warning.message for warning in loaded.warnings if "no verify" not in warning.message] == []
    assert list(read_config(PRICES, "config.yaml", "project").prices) == ["claude-sonnet*", "local-*"]


def test_a_slice_fails_with_the_words_that_it_shows() -> None:
    slices = group("store", *[leaf(name, agent("work", max_cost=1.5)) for name in "abc"], budget=5)
    costs = {"store/a:work": SimulatedEnd(cost=2_000_000), "store/b:work": SimulatedEnd(cost=2_200_000)}
    story = tell(plan(slices, policy="serial"), costs)
    assert f"    {story.why('store/c')['message']}\n" in GUIDE
