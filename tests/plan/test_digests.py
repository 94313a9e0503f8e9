"""Digests change with all that matters, and with nothing else."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings

from plan.plan_strategies import plan_texts
from weft.plan.digests import _without_positions, plan_digest, subplan_digests
from weft.plan.loader.load import load_plan, read_config
from weft.plan.model import Plan
from weft.plan.settings import Layer

PIPELINES: dict[str, Any] = {
    "inner": [{"id": "build", "run": ["make", "{{ plan.goal }}"]}],
    "outer": [
        {"id": "start", "run": "start", "pool": "port"},
        {"id": "in", "pipeline": "inner", "on_error": "continue"},
        {
            "id": "work",
            "prompt": "{{ slice.prompt }}",
            "on_error": "retry",
            "max_retries": 1,
            "timeout": "1m",
        },
        {"id": "sure", "action": "ask", "question": "Sure?", "condition": "attempt == 1"},
        {"id": "a", "run": "echo $X", "async": True, "env": {"X": "1", "Y": "2"}},
        {"id": "b", "run": "b", "async": True},
        {"id": "all", "action": "join", "depends_on": ["a", "b"]},
        {"id": "check", "action": "verify", "on_fail": {"retry_from": "work", "max": 2}},
        {"id": "end", "run": "end", "on_result": [{"when": "step.end.result", "action": "fail"}]},
    ],
    "plain": [{"id": "only", "run": "only"}],
    "spare": [{"id": "only", "run": "spare"}],
}
BASE: dict[str, Any] = {
    "weft": 1,
    "plan": "p",
    "goal": "g",
    "base": "main",
    "agents": {"coder": {"use": "claude", "pool": 2, "max_cost": 1}, "other": {"use": "codex"}},
    "pools": {"port": {"values": [1, 2]}, "db": 1},
    "env_allow": ["HOME", "USER"],
    "pipelines": PIPELINES,
    "subplans": [
        {
            "id": "store",
            "verify": "store",
            "subplans": [
                {"id": "model", "prompt": "m", "title": "M", "verify": "vm", "pipeline": "outer"},
                {
                    "id": "disk",
                    "prompt": "d",
                    "depends_on": ["model"],
                    "pipeline": "plain",
                    "files": ["d/**"],
                },
                {"id": "free", "prompt": "f", "pipeline": "plain"},
            ],
        },
        {
            "id": "cli",
            "depends_on": ["store"],
            "subplans": [{"id": "args", "prompt": "a", "steps": [{"id": "s", "run": "{{ slice.title }}"}]}],
        },
        {"id": "docs", "prompt": "x", "verify": "true"},
    ],
}
PATHS = ["", "store", "store/model", "store/disk", "store/free", "cli", "cli/args", "docs"]


def changed(**values: Any) -> dict[str, Any]:
    """The plan with other values; a path such as `subplans.0.verify` is written with `__` for the dots."""
    data = json.loads(json.dumps(BASE))
    for path, value in values.items():
        *way, last = (int(part) if part.isdigit() else part for part in path.split("__"))
        place = data
        for part in way:
            place = place[part]
        place[last] = value
    return data  # type: ignore[no-any-return]


def loaded(data: dict[str, Any]) -> Plan:
    return load_plan(json.dumps(data))


BEFORE = loaded(BASE)
ALL = set(PATHS)
WITH_MODEL = {"", "store", "store/model", "store/disk", "cli", "cli/args"}
"""What changes if the slice store/model does."""


def touched(after: Plan) -> set[str]:
    """The subplans whose digests are not what they were."""
    old = dict(zip(BEFORE.outline.paths, subplan_digests(BEFORE), strict=True))
    new = dict(zip(after.outline.paths, subplan_digests(after), strict=True))
    return {path for path in old if old[path] != new.get(path)}


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        ({"plan": "q"}, ALL),
        ({"base": "next"}, ALL),
        ({"setup": "make"}, ALL),
        ({"copy": [".env"]}, ALL),
        ({"link": ["x"]}, ALL),
        ({"isolation": "dir"}, ALL),
        ({"branch_prefix": "x/"}, ALL),
        ({"worktrees": "w/{{ slice.path }}"}, ALL),
        ({"strict_files": True}, ALL),
        ({"merge": {"take_branch": ["x"]}}, ALL),
        ({"merge": {"resolve": "agent"}}, ALL),
        (
            {"subplans__0__subplans__2__merge": {"resolve": "agent"}},
            {"", "store", "store/free", "cli", "cli/args"},
        ),
        ({"goal": "h"}, WITH_MODEL | {"docs"}),
        ({"model": "big"}, WITH_MODEL | {"docs"}),
        ({"agent": "other"}, WITH_MODEL | {"docs"}),
        ({"agents__coder__model": "big"}, WITH_MODEL | {"docs"}),
        ({"agents__coder__args": ["-x"]}, WITH_MODEL | {"docs"}),
        ({"agents__coder__env": {"A": "b"}}, WITH_MODEL | {"docs"}),
        ({"verify": "true"}, {""}),
        ({"subplans__0__verify": "x"}, {"", "store", "cli", "cli/args"}),
        ({"subplans__0__subplans__0__prompt": "x"}, WITH_MODEL),
        ({"subplans__0__subplans__0__verify": "x"}, WITH_MODEL),
        ({"subplans__0__subplans__0__agent": "other"}, WITH_MODEL),
        ({"subplans__0__subplans__1__depends_on": []}, {"", "store", "store/disk", "cli", "cli/args"}),
        ({"subplans__0__subplans__2__depends_on": ["model"]}, {"", "store", "store/free", "cli", "cli/args"}),
        ({"subplans__0__subplans__2__id": "loose"}, {"", "store", "store/free", "cli", "cli/args"}),
        ({"subplans__1__depends_on": []}, {"", "cli", "cli/args"}),
        ({"subplans__1__subplans__0__title": "T"}, {"", "cli", "cli/args"}),
        ({"subplans__2__prompt": "y"}, {"", "docs"}),
        ({"subplans__2__pipeline": "tdd"}, {"", "docs"}),
        ({"pipelines__inner__0__run": ["make", "x"]}, WITH_MODEL),
        ({"pipelines__inner__0__id": "make"}, WITH_MODEL),
        ({"pipelines__outer__0__run": ["start"]}, WITH_MODEL),
        ({"pipelines__outer__0__pool": "db"}, WITH_MODEL),
        ({"pipelines__outer__1__on_error": "abort"}, WITH_MODEL),
        ({"pipelines__outer__1__pipeline": "plain"}, WITH_MODEL),
        ({"pipelines__outer__2__prompt": "x"}, WITH_MODEL),
        ({"pipelines__outer__2__agent": "other"}, WITH_MODEL),
        ({"pipelines__outer__2__model": "big"}, WITH_MODEL),
        ({"pipelines__outer__2__read_only": True}, WITH_MODEL),
        ({"pipelines__outer__2__output_schema": {"type": "object"}}, WITH_MODEL),
        ({"pipelines__outer__3__question": "Really?"}, WITH_MODEL),
        ({"pipelines__outer__3__condition": "never"}, WITH_MODEL),
        ({"pipelines__outer__4__async": False}, WITH_MODEL),
        ({"pipelines__outer__4__env__X": "2"}, WITH_MODEL),
        ({"pipelines__outer__6__depends_on": ["b", "a"]}, WITH_MODEL),
        ({"pipelines__outer__6__on_error": "wait_for_all"}, WITH_MODEL),
        ({"pipelines__outer__7__on_fail__retry_from": "sure"}, WITH_MODEL),
        ({"pipelines__outer__8__on_result__0__action": "abort"}, WITH_MODEL),
        ({"pipelines__plain__0__run": "x"}, {"", "store", "store/disk", "store/free", "cli", "cli/args"}),
    ],
)
def test_what_leads_to_a_result_changes_it_and_all_that_depends_on_it(
    change: dict[str, Any], paths: set[str]
) -> None:
    after = loaded(changed(**change))
    assert touched(after) == paths
    assert plan_digest(after) != plan_digest(BEFORE)


@pytest.mark.parametrize(
    "change",
    [
        {"max_parallel": 9},
        {"max_concurrency": 1},
        {"policy": "serial"},
        {"failure_mode": "continue_on_error"},
        {"retries": 5},
        {"infra_retries": 5},
        {"timeout": "5m"},
        {"grace": "5s"},
        {"budget": 5},
        {"on_budget": "drain"},
        {"overlap": "serialize"},
        {"merge": {"mode": "auto", "when": "slice", "order": "completion"}},
        {"target": "next"},
        {"env_allow": ["HOME"]},
        {"agents__coder__pool": 1},
        {"agents__coder__max_cost": 2},
        {"pools__port__values": [3]},
        {"pools__db": 2},
        {"pipelines__outer__2__max_retries": 2},
        {"pipelines__outer__2__timeout": "2m"},
        {"pipelines__outer__2__max_cost": 2},
        {"pipelines__outer__2__estimate": {"cost": 1}},
        {"pipelines__outer__7__on_fail__max": 1},
        {"subplans__0__subplans__0__title": "Model"},
        {"subplans__0__subplans__1__files": ["e/**"]},
        {"subplans__0__subplans__2__prompt": "no template reads it"},
        {"subplans__2__estimate": {"minutes": 5}},
    ],
)
def test_what_only_says_when_and_how_often_changes_the_plan_and_no_subplan(change: dict[str, Any]) -> None:
    after = loaded(changed(**change))
    assert touched(after) == set()
    assert plan_digest(after) != plan_digest(BEFORE)


def test_a_slice_depends_on_what_its_group_waits_for_beside_what_it_names_itself() -> None:
    apart = {"subplans__1__subplans__0__depends_on": ["/docs"]}
    first = subplan_digests(loaded(changed(**apart)))
    second = subplan_digests(loaded(changed(**apart, subplans__0__verify="x")))
    changed_paths = {
        path for path, before, after in zip(PATHS, first, second, strict=True) if before != after
    }
    assert changed_paths == {"", "store", "cli", "cli/args"}


def test_files_count_where_they_are_strict() -> None:
    first = subplan_digests(loaded(changed(strict_files=True)))
    second = subplan_digests(loaded(changed(strict_files=True, subplans__0__subplans__1__files=["e/**"])))
    changed_paths = {
        path for path, before, after in zip(PATHS, first, second, strict=True) if before != after
    }
    assert changed_paths == {"", "store", "store/disk", "cli", "cli/args"}


@pytest.mark.parametrize(
    "change",
    [
        {"pipelines__spare__0__run": "x"},
        {"env_allow": ["USER", "HOME"]},
        {"pipelines__outer__4__env": {"Y": "2", "X": "1"}},
    ],
)
def test_what_decides_nothing_changes_nothing(change: dict[str, Any]) -> None:
    after = loaded(changed(**change))
    assert touched(after) == set()
    assert plan_digest(after) == plan_digest(BEFORE)


def test_comments_and_layout_and_the_name_of_the_file_change_nothing() -> None:
    text = "# a comment\n\n" + json.dumps(BASE, indent=3)
    after = load_plan(text, "other.yaml")
    assert touched(after) == set()
    assert plan_digest(after) == plan_digest(BEFORE)


def test_a_setting_counts_wherever_it_comes_from() -> None:
    text = json.dumps(BASE)
    config = read_config("max_parallel: 9", "config.yaml", "project")
    flags = Layer("--max-parallel", {"max_parallel": 9})
    expected = plan_digest(loaded(changed(max_parallel=9)))
    assert plan_digest(load_plan(text, configs=[config])) == expected
    assert plan_digest(load_plan(text, flags=flags)) == expected


def test_the_order_of_what_numbers_the_places_of_the_net_counts() -> None:
    agents = dict(reversed(BASE["agents"].items()))
    assert plan_digest(loaded(changed(agents=agents, agent="coder"))) != plan_digest(
        loaded(changed(agent="coder"))
    )


def test_an_agent_is_what_it_does_and_not_what_it_is_called() -> None:
    agents = {"maker": BASE["agents"]["coder"]}
    assert touched(loaded(changed(agents=agents))) == set()


def test_a_subplan_that_is_moved_in_the_file_stays_what_it_is() -> None:
    model, disk, free = BASE["subplans"][0]["subplans"]
    after = loaded(changed(subplans__0__subplans=[free, model, disk]))
    assert touched(after) == set()
    assert plan_digest(after) != plan_digest(BEFORE)


def test_an_adapter_without_an_entry_is_an_agent_too() -> None:
    first = loaded(
        {
            "weft": 1,
            "plan": "p",
            "agent": "claude",
            "subplans": [{"id": "a", "prompt": "x", "verify": "true"}],
        }
    )
    second = loaded(
        {"weft": 1, "plan": "p", "agent": "codex", "subplans": [{"id": "a", "prompt": "x", "verify": "true"}]}
    )
    assert subplan_digests(first)[1] != subplan_digests(second)[1]


def test_a_long_chain_of_subplans_is_no_deep_recursion() -> None:
    subplans = [
        {
            "id": f"s{number}",
            "prompt": "x",
            "verify": "true",
            "depends_on": [f"s{number - 1}"] if number else [],
        }
        for number in range(3_000)
    ]
    digests = subplan_digests(loaded({"weft": 1, "plan": "p", "agent": "claude", "subplans": subplans}))
    assert len(set(digests)) == 3_001


def test_other_processes_come_to_the_same_digests() -> None:
    code = (
        "import sys; from weft.plan.digests import *; from weft.plan.loader.load import load_plan;"
        "plan = load_plan(sys.stdin.read()); print(plan_digest(plan), *subplan_digests(plan))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(BASE), env={"PYTHONHASHSEED": seed}, text=True, capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert printed == {" ".join([plan_digest(BEFORE), *subplan_digests(BEFORE)]) + "\n"}


@given(plan_texts())
@settings(max_examples=50, deadline=None)
def test_any_plan_has_digests_that_its_text_alone_decides(text: str) -> None:
    first, second = load_plan(text), load_plan(text)
    assert plan_digest(first) == plan_digest(second)
    digests = subplan_digests(first)
    assert digests == subplan_digests(second)
    assert len(set(digests)) == len(digests) == len(first.subplans)
    assert all(len(bytes.fromhex(digest)) == 16 for digest in digests)


def test_what_is_not_known_has_no_place_in_a_digest() -> None:
    with pytest.raises(TypeError, match="object has no place in a digest"):
        _without_positions(object())
