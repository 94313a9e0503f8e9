"""The programs that agents need: there, or told with how to install them."""

from pathlib import Path

import pytest

from app.programs import Programs
from weft.app.agents.programs import missing_programs, version_of
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan

INSTALL = "npm install -g @openai/codex"
MISSING = f"the agent codex needs codex, which is not on the PATH; to install it, type: {INSTALL}"


@pytest.fixture
def machine(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


def plan(top: str = "agent: codex\n", subplans: str = "{id: a, prompt: x}, {id: b, prompt: x}") -> Plan:
    return load_plan(f"weft: 1\nplan: p\n{top}subplans: [{subplans}]\n")


def missing(machine: Programs, plan: Plan, **more: object) -> list[str]:
    return [str(item) for item in missing_programs(plan, machine.environ, **more)]  # type: ignore[arg-type]


def test_a_program_that_is_not_there_is_reported_once_with_how_to_install_it(machine: Programs) -> None:
    assert missing(machine, plan()) == [MISSING]
    machine.add("codex")
    assert missing(machine, plan()) == []


def test_all_agents_that_need_it_are_named(machine: Programs) -> None:
    top = "agents: {one: {use: pi}, two: {use: pi}, three: {use: command, command: nothing}}\n"
    missing_files = missing(
        machine, plan(top, "{id: a, prompt: x, agent: one}, {id: b, prompt: x, agent: two}, {id: c, prompt: x, "
        "agent: three}"),
    )  # fmt: skip
    assert [item.partition(" need pi")[0] for item in missing_files] == ["the agents one, two"]


def test_what_no_step_that_is_left_needs_may_be_missing(machine: Programs) -> None:
    assert missing(machine, plan(), done=("a", "b")) == []
    assert missing(machine, plan(), done=("a",)) == [MISSING]
    assert missing(machine, plan(subplans="{id: a, steps: [{id: s, run: make}]}")) == []


@pytest.mark.parametrize(
    ("top", "subplans"),
    [
        ("agents: {own: {use: codex, env: {PATH: /there}}}\n", "{id: a, prompt: x}"),
        ("agent: codex\n", "{id: a, steps: [{id: s, prompt: x, env: {PATH: /there}}]}"),
    ],
)
def test_where_a_plan_sets_a_path_nothing_is_said(machine: Programs, top: str, subplans: str) -> None:
    assert missing(machine, plan(top, subplans)) == []


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo; echo tool-1.34.0", "1.34.0"),
        ("echo 2.1.197 '(Some Code)'", "2.1.197"),
        ("echo it is version 2.4.6. >&2; exit 2", "2.4.6"),
        ("echo unknown option", None),
        ("exit 1", None),
    ],
)
def test_a_version_is_the_number_alone(machine: Programs, script: str, version: str | None) -> None:
    machine.add("codex", script)
    assert version_of("codex", machine.environ, patience=60) == version


def test_a_program_that_does_not_answer_has_no_version(machine: Programs) -> None:
    machine.add("codex", "exec /bin/sleep 3600")
    assert version_of("codex", machine.environ, patience=0.05) is None
