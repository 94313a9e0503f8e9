"""Settings that come in environment variables."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan.language_strategies import good
from weft.plan.display.origins import origin
from weft.plan.language.kinds import Glob
from weft.plan.loader.load import Config, load_plan, read_config
from weft.plan.loader.variables import VariablesError, read_variables
from weft.plan.settings import SETTING_NAMES, VARIABLE_SETTINGS, Scope, setting_key, variable_name

COMMANDS = "setup"
"""Its text is a command, whatever it begins with."""
PLAN = "weft: 1\nplan: p\n{}subplans: [{{id: a, prompt: x, verify: make}}]\n"


def values(environment: dict[str, str]) -> dict[str, Any]:
    """By setting; of two that say the same, the one that counts."""
    settings: dict[str, Any] = {}
    for config in reversed(read_variables(environment)):
        settings |= config.layer.values
    return settings


def wrong(environment: dict[str, str]) -> list[str]:
    with pytest.raises(VariablesError) as caught:
        read_variables(environment)
    return list(caught.value.lines())


# Names.


@pytest.mark.parametrize(
    ("setting", "variable"),
    [
        ("max_parallel", "WEFT_MAX_PARALLEL"),
        ("merge.mode", "WEFT_MERGE_MODE"),
        ("merge.take_branch", "WEFT_MERGE_TAKE_BRANCH"),
        ("budget.tokens", "WEFT_BUDGET_TOKENS"),
    ],
)
def test_a_variable_is_named_after_its_setting(setting: str, variable: str) -> None:
    assert variable_name(setting) == variable


def test_no_two_settings_share_a_variable() -> None:
    assert len({variable_name(setting) for setting in SETTING_NAMES}) == len(SETTING_NAMES)


@pytest.mark.parametrize(
    "name",
    [
        "WEFT_RUN", "WEFT_SUBPLAN", "WEFT_STEP", "WEFT_ATTEMPT", "WEFT_JOB", "WEFT_HOST", "WEFT_RESULT",
        "WEFT_PLAN_DIR", "WEFT_SESSION", "WEFT_FORK", "WEFT_READ_ONLY", "WEFT_POOL_MODEL", "WEFT_POOL_MAX_PARALEL",
        "WEFT_NOTIFY_EVENT", "WEFT_EXAMPLES", "WEFT_SEED", "WEFT_",
    ],
)  # fmt: skip
def test_what_weft_reports_its_processes_and_what_is_like_no_setting_sets_nothing(name: str) -> None:
    assert read_variables({name: "1"}) == []


@pytest.mark.parametrize(
    ("slip", "suggestion"),
    [
        ("WEFT_MAX_PARALEL", "WEFT_MAX_PARALLEL"),
        ("WEFT_BUGDET", "WEFT_BUDGET"),
        ("WEFT_MERGEMODE", "WEFT_MERGE_MODE"),
        ("WEFT_RETRY", "WEFT_RETRIES"),
        ("WEFT_max_parallel", "WEFT_MAX_PARALLEL"),
    ],
)
def test_a_slip_is_reported_with_what_was_probably_meant(slip: str, suggestion: str) -> None:
    assert wrong({slip: "4"}) == [
        f"error: {slip} is not a setting; did you mean {suggestion}? If not, type: unset {slip}"
    ]


# Values.


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("WEFT_MAX_PARALLEL", "8", {"max_parallel": 8}),
        ("WEFT_MERGE_MODE", "auto", {"merge.mode": "auto"}),
        ("WEFT_TIMEOUT", "90s", {"timeout": 90.0}),
        ("WEFT_STRICT_FILES", "true", {"strict_files": True}),
        ("WEFT_BUDGET", "0.50", {"budget": 500_000}),
        ("WEFT_BUDGET", "usd=2,tokens=5M", {"budget": 2_000_000, "budget.tokens": 5_000_000}),
        ("WEFT_BUDGET", "{tokens: 5M}", {"budget.tokens": 5_000_000}),
        ("WEFT_BUDGET_TOKENS", "5M", {"budget.tokens": 5_000_000}),
        ("WEFT_COPY", "[.env, 'a b/*']", {"copy": (".env", "a b/*")}),
        ("WEFT_COPY", "  []", {"copy": ()}),
        ("WEFT_MERGE_TAKE_BRANCH", '["*.lock"]', {"merge.take_branch": ("*.lock",)}),
        ("WEFT_SETUP", "make deps", {"setup": ("make deps",)}),
        ("WEFT_SETUP", "[ -f x ] || make x", {"setup": ("[ -f x ] || make x",)}),
        ("WEFT_MODEL", "4", {"model": "4"}),
        ("WEFT_MODEL", "true", {"model": "true"}),
        ("WEFT_MODEL", "[x", {"model": "[x"}),
        ("WEFT_WORKTREES", "{{ slice.path }}", {"worktrees": "{{ slice.path }}"}),
    ],
)
def test_a_value_is_read_as_the_language_reads_it_and_needs_no_quotes(
    variable: str, text: str, expected: dict[str, Any]
) -> None:
    assert values({variable: text}) == expected


def test_of_two_that_say_the_same_the_more_exact_one_counts() -> None:
    environment = {"WEFT_BUDGET": "usd=2,tokens=5M", "WEFT_BUDGET_TOKENS": "1k"}
    assert values(environment) == {"budget": 2_000_000, "budget.tokens": 1000}


def test_any_sandbox_key_turns_the_sandbox_on_unless_it_says_otherwise() -> None:
    environment = {"WEFT_SANDBOX_NETWORK": "false", "WEFT_SANDBOX_WRITE": "[/x]"}
    assert values(environment)["sandbox.use"] == "bwrap"
    assert values(environment | {"WEFT_SANDBOX_USE": "none"})["sandbox.use"] == "none"


@given(data=st.data())
@pytest.mark.parametrize("setting", [name for name in VARIABLE_SETTINGS if name != COMMANDS])
def test_what_a_file_may_say_a_variable_may_say(setting: str, data: st.DataObject) -> None:
    value = data.draw(good(setting_key(setting).kind))
    written: Any = value
    for part in reversed(setting.split(".")):
        written = {part: written}
    in_file = read_config(json.dumps(written, ensure_ascii=False), "c", "user").layer.values
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    assert values({variable_name(setting): text}) == in_file


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("WEFT_MAX_PARALLEL", "33", "max_parallel is 33 (a number); it must be a whole number from 1 to 32"),
        ("WEFT_MAX_PARALLEL", "", "max_parallel is empty; it must be a whole number from 1 to 32"),
        ("WEFT_MAX_PARALLEL", "many", "max_parallel is 'many'; it must be a whole number from 1 to 32"),
        ("WEFT_POLICY", "seriel", "policy is 'seriel'; it must be serial | parallel; did you mean 'serial'?"),
        ("WEFT_STRICT_FILES", "yes", "strict_files is 'yes'; it must be true or false; did you mean true?"),
        ("WEFT_MODEL", "", "model is empty; it must be text"),
        ("WEFT_COPY", "{a: b}", f"copy is a mapping; it must be a list of: {Glob().words}"),
        ("WEFT_COPY", "[../x]",
         "copy: the pattern '../x' leads upwards with `..`; it must stay in the repository"),
        ("WEFT_COPY", "a: [b", "copy is 'a: [b'; it must be a list of: " + Glob().words),
        ("WEFT_MODEL", "a\udcff", "model is not text in UTF-8"),
        ("WEFT_WORKTREES", "x", "all slices would share one directory; add {{ slice.path }}"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_reported_with_the_variable_the_value_and_what_is_allowed(
    variable: str, text: str, message: str
) -> None:
    assert wrong({variable: text}) == [f"error: {variable}: {message}"]


def test_a_list_that_is_not_yaml_is_reported() -> None:
    (line,) = wrong({"WEFT_COPY": "[a"})
    assert line.startswith("error: WEFT_COPY: copy: this is not YAML: the [ of line 1 is not closed")


def test_all_that_is_wrong_is_reported_at_once() -> None:
    environment = {"WEFT_RETRIES": "11", "WEFT_GRACE": "5", "WEFT_OVERLAP": "warn", "WEFT_POLCY": "serial"}
    assert [line.split()[1] for line in wrong(environment)] == ["WEFT_GRACE:", "WEFT_POLCY", "WEFT_RETRIES:"]


# Rank.


def scope(plan: str = "", **environment: str) -> Scope:
    user = read_config("agent: claude\nretries: 5\n", "user.yaml", "user")
    configs: list[Config] = [
        *read_variables(environment),
        read_config("retries: 4", "project.yaml", "project"),
        user,
    ]
    return load_plan(PLAN.format(plan), configs=configs).scopes[0]


def test_a_variable_counts_before_the_files_of_configurations_and_is_the_origin() -> None:
    result = scope(WEFT_RETRIES="6")
    assert (result.settings.retries, str(origin(result, "retries"))) == (6, "WEFT_RETRIES")


def test_the_plan_is_nearer_to_the_work_than_a_variable() -> None:
    result = scope("retries: 3\n", WEFT_RETRIES="6")
    assert (result.settings.retries, str(origin(result, "retries"))) == (3, "weft.yaml:3")


def test_an_amount_that_says_both_is_the_origin_of_both() -> None:
    result = scope(WEFT_BUDGET="usd=2,tokens=5M")
    assert [str(origin(result, name)) for name in ("budget", "budget.tokens")] == ["WEFT_BUDGET"] * 2
