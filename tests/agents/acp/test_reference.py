"""What the reference says of servers is so."""

from pathlib import Path

from weft.agents.acp.adapter import invoke
from weft.agents.acp.choices import CAUTIOUS
from weft.agents.acp.messages import LONGEST_LINE
from weft.agents.acp.outcomes import TurnFailure, interpret_turn_end
from weft.plan.loader.load import load_plan
from weft.ports.agent import AgentCall

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "agents.md"
SECTION = REFERENCE.read_text(encoding="utf-8").partition("## `acp`\n")[2].partition("\n## ")[0]


def test_its_plan_loads_and_its_agent_can_be_started() -> None:
    plan = load_plan(SECTION.partition("```yaml\n")[2].partition("```")[0])
    assert plan.warnings == ()
    call = AgentCall(agent=plan.agents["coder"], prompt="x", plan_dir="/p", cwd="/p", result_file="/p/r")
    assert invoke(call).argv[-2:] == ("my-agent", "acp")


def test_it_names_the_modes_for_reading() -> None:
    assert [mode for mode in CAUTIOUS if f"`{mode}`" not in SECTION] == ["read_only"]


def test_it_names_all_ends_of_a_turn() -> None:
    (row,) = [line for line in SECTION.splitlines() if line.startswith("| `refusal`")]
    for reason in row.split("|")[1].replace("`", "").split(","):
        end = interpret_turn_end("x", None, {"stopReason": reason.strip()}, "", did_nothing=False)
        assert isinstance(end, TurnFailure)
        assert "for the reason" not in end.why


def test_it_says_how_long_a_line_may_be() -> None:
    assert f"longer than {LONGEST_LINE // 1_000_000} MB" in SECTION
