"""What the reference says of the agent is so."""

import re
from pathlib import Path

from weft.agents.builtin.adapter import invoke
from weft.agents.builtin.settings import APIS, Options
from weft.plan.loader.load import load_plan
from weft.ports.agent import AgentCall

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "agents.md"
SECTION = REFERENCE.read_text(encoding="utf-8").partition("## `builtin`\n")[2].partition("\n## ")[0]
TABLE = re.findall(r"^\| `--([a-z-]+)` \| (.*?) \|", SECTION, flags=re.MULTILINE)


def test_its_plan_loads_and_its_agents_can_be_started() -> None:
    plan = load_plan(SECTION.partition("```yaml\n")[2].partition("```")[0])
    assert plan.warnings == ()
    for agent in plan.agents.values():
        call = AgentCall(agent=agent, prompt="x", plan_dir="/p", cwd="/p", result_file="/p/r")
        assert invoke(call).env["WEFT_MODEL"] == agent.model


def test_it_lists_all_options_with_what_holds_without_them() -> None:
    assert [name.replace("-", "_") for name, _ in TABLE] == list(Options._fields)
    numbers = {name.replace("-", "_"): float(default) for name, default in TABLE if default.isdecimal()}
    assert numbers == {name: getattr(Options(), name) for name in numbers}
    assert len(numbers) == 5


def test_it_names_the_variables() -> None:
    for api in APIS.values():
        assert f"| `{api.KEY}`, `{api.BASE}` |" in SECTION
