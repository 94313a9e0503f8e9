import re
from pathlib import Path

import pytest

from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.language.merge import MERGE
from weft.plan.language.reference import MADE_BY, TEMPLATE_NAMES, plan_reference
from weft.plan.language.tables import CONFIG, PLAN, RECORDS, SETTINGS, STEP
from weft.plan.templates.names import COMMAND_FIELDS, FIELDS, ROOTS, STEP_FIELDS

FILE = Path(__file__).parents[3] / "docs" / "reference" / "plan.md"
TEXT = plan_reference()


def section(title):
    return re.split(r"^## ", TEXT, flags=re.MULTILINE)[1 + titles().index(title)]


def titles():
    return re.findall(r"^## (.+)$", TEXT, flags=re.MULTILINE)


def rows(title):
    """The first cell of each row of a section's table, and the others."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")][2:]
    cells = [re.split(r" (?<!\\)\| ", line[2:-2]) for line in lines]
    return {row[0].strip("`"): [cell.strip() for cell in row[1:]] for row in cells}


def test_the_document_is_what_the_tables_say():
    say = f"to make it anew: {MADE_BY} > docs/reference/plan.md"
    assert FILE.read_text(encoding="utf-8") == TEXT, say


def test_there_is_a_section_for_every_record_and_the_settings_come_after_the_plan():
    assert titles() == [
        "Plan", "Settings", "Subplan", "Step", "on_fail", "on_result", "Agent", "Pool", "merge", "Sandbox",
        "Estimate", "Budget", "Price", "notify", "Host", "tls", "labels", "Configuration", "Adapters", "Templates",
    ]  # fmt: skip
    assert len(RECORDS) == len(titles()) - 3


@pytest.mark.parametrize("record", RECORDS, ids=repr)
def test_a_section_has_every_key_of_its_own_and_every_rule(record):
    title = record.title if record.title == record.name else record.title.capitalize()
    assert list(rows(title)) == [key.name for key in record.keys if key not in SETTINGS]
    text = section(title)
    assert record.doc in text
    assert all(f"- {rule.sentence}" in text for rule in record.rules)
    assert ("any of the [settings](#settings)" in text) == (SETTINGS[0] in record.keys)


def test_settings_are_reported_once_with_those_that_a_step_has_too():
    settings = rows("Settings")
    assert settings["max_parallel"][:2] == ["a whole number from 1 to 32", "`4`"]
    of_merge = [f"merge.{key.name}" for key in MERGE.keys]
    assert [name for name in settings if name.startswith("merge")] == of_merge
    assert len(settings) == len(SETTINGS) - 1 + len(of_merge)
    on_a_step = [name for name, cells in settings.items() if cells[-1] == "yes"]
    assert on_a_step == [key.name for key in SETTINGS if key.name in {own.name for own in STEP.keys}]
    assert on_a_step == ["agent", "model", "timeout", "idle_timeout", "grace", "host", "sandbox"]


def test_a_key_reports_what_is_allowed_what_holds_without_it_and_what_it_means():
    plan = rows("Plan")
    assert plan["plan"] == ["an id", "required", PLAN.key("plan").doc]
    assert plan["agents"][0] == "a mapping of names to: [an agent](#agent)"
    assert plan["pools"][2].endswith("Example: `{staging-db: 1}`")
    assert plan["goal"][1] == ""
    assert rows("Step")["on_error"][:2] == [
        "`abort`, `continue`, `retry`, `fail_fast`, `wait_for_all`",
        "abort; on a join fail_fast",
    ]
    assert rows("Subplan")["subplans"][0] == "a list of: [a subplan](#subplan)"
    assert rows("Step")["pools"][0] == "a list of: an id, or a mapping of names to: a whole number, 1 or more"


def test_every_link_leads_to_a_section():
    anchors = {title.lower() for title in titles()}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= anchors
    assert set(re.findall(r"\]\(#([^)]+)\)", section("Configuration"))) == {
        "agent",
        "host",
        "notify",
        "price",
        "settings",
    }
    assert CONFIG.key("agents").doc in section("Configuration")


def test_every_adapter_is_reported():
    adapters = rows("Adapters")
    assert list(adapters) == list(AGENT_PROGRAMS)
    assert adapters["claude"] == ["Claude Code", "`claude`", "yes"]
    assert adapters["command"][1:] == ["", ""]


def test_every_name_that_a_template_may_read_is_reported():
    documented = set(re.findall(r"`([a-zA-Z_.]+)`", " ".join(names for names, _ in TEMPLATE_NAMES)))
    fields = {f"{root}.{field}" for root, names in FIELDS.items() for field in names}
    steps = {f"step.ID.{output}" for output in (*STEP_FIELDS, *COMMAND_FIELDS)}
    assert fields | steps <= documented
    assert {name.partition(".")[0] for name in documented} == set(ROOTS)


def test_a_bar_in_a_cell_does_not_end_it():
    assert all(line.count(" | ") >= 1 for line in TEXT.splitlines() if line.startswith("| "))
    assert "`\\| raw`" not in TEXT
