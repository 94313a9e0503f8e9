"""What a plan says about homes and sandboxes, and where it counts."""

import pytest
from msgspec.structs import replace

from weft.plan.digests import plan_digest, subplan_digests
from weft.plan.display.explain import explain
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan
from weft.plan.sandbox import Sandbox
from weft.plan.text.problems import PlanError

HEAD = "weft: 1\nplan: p\nisolation: dir\n"


def plan(top: str = "", slices: str = "{id: a, steps: [{id: x, run: x}]}") -> Plan:
    return load_plan(f"{HEAD}{top}\nsubplans: [{slices}]\n")


def test_without_a_word_there_is_neither() -> None:
    settings = plan().scopes[1].settings
    assert (settings.isolated_home, settings.sandbox.is_on) == (False, False)


@pytest.mark.parametrize("setting", ["bwrap", "{}", "{use: bwrap}"])
def test_any_sandbox_key_turns_the_sandbox_on(setting: str) -> None:
    assert plan(f"sandbox: {setting}").scopes[1].settings.sandbox == Sandbox(use="bwrap")


def test_each_part_is_inherited_by_itself_and_none_takes_it_away() -> None:
    result = plan(
        "sandbox: {hide: [.env], network: false}",
        "{id: a, sandbox: {read: [~/x]}, steps: [{id: x, run: x}]}, "
        "{id: b, sandbox: none, steps: [{id: x, run: x}]}",
    )
    inner = result.scopes[1].settings.sandbox
    assert inner == Sandbox(use="bwrap", network=False, hide=(".env",), read=("~/x",))
    assert not result.scopes[2].settings.sandbox.is_on


@pytest.mark.parametrize("path", ["../x", "a/../b", "..", "~other/x"])
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(PlanError, match="a path without"):
        plan(f"sandbox: {{write: ['{path}']}}")


def test_a_step_without_a_process_has_no_sandbox() -> None:
    with pytest.raises(PlanError, match="'sandbox' has no meaning"):
        plan(slices="{id: a, steps: [{id: x, action: ask, question: q, sandbox: bwrap}]}")


BOXED = "{id: a, steps: [{id: x, prompt: p, sandbox: {network: false}}, {id: y, run: y}]}"
AGENT = "agents: {c: {use: claude, isolated_home: true, sandbox: {read: [t]}}}"


def test_what_a_step_and_its_agent_say_is_explained_with_its_origin() -> None:
    effective = {entry.name: entry for entry in explain(plan(AGENT, BOXED), "a:x").settings}
    shown = {name: entry.value for name, entry in effective.items() if "sandbox" in name or "home" in name}
    assert shown == {
        "isolated_home": True, "sandbox.use": "bwrap", "sandbox.network": False, "sandbox.hide": [],
        "sandbox.read": ["t"], "sandbox.write": [],
    }  # fmt: skip
    assert effective["sandbox.read"].origin.words == "the agent 'c'"


@pytest.mark.parametrize(
    ("top", "slices"),
    [
        (AGENT.replace("isolated_home: true, ", ""), BOXED),
        (AGENT.replace(", sandbox: {read: [t]}", ""), BOXED),
        (AGENT, BOXED.replace("network: false", "network: true")),
        (f"{AGENT}\nsandbox: bwrap", BOXED),
        (f"{AGENT}\nisolated_home: true", BOXED),
    ],
)
def test_another_isolation_makes_another_plan_and_another_result(top: str, slices: str) -> None:
    first, second = plan(AGENT, BOXED), plan(top, slices)
    assert plan_digest(first) != plan_digest(second)
    assert subplan_digests(first) != subplan_digests(second)


def test_what_is_said_without_a_sandbox_makes_no_other_result() -> None:
    off = plan("sandbox: {use: none, hide: [x]}")
    assert subplan_digests(off) == subplan_digests(plan())
    assert replace(off.scopes[1].settings.sandbox, hide=()) == Sandbox()
