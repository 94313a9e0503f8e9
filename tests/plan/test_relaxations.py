"""What a project's configuration loosens of what the user has set."""

import pytest

from weft.plan.loader.load import read_config
from weft.plan.relaxations import RULES, Relaxation, find_relaxations
from weft.plan.settings import SETTING_NAMES, Layer

# Setting, stricter, looser: as they are written in a configuration.
PAIRS = [
    ("budget", "budget: 5", "budget: 6"),
    ("budget.tokens", "budget: {tokens: 1M}", "budget: {tokens: 2M}"),
    ("on_budget", "on_budget: stop", "on_budget: drain"),
    ("host", "host: local", "host: near"),
    ("host", "host: [near, far]", "host: [near, big]"),
    ("host", "host: near", "host: {labels: [gpu]}"),
    ("isolated_home", "isolated_home: true", "isolated_home: false"),
    ("isolation", "isolation: worktree", "isolation: dir"),
    ("isolation", "isolation: dir", "isolation: none"),
    ("merge.allow_red_base", "merge: {allow_red_base: false}", "merge: {allow_red_base: true}"),
    ("merge.mode", "merge: {mode: manual}", "merge: {mode: confirm}"),
    ("merge.mode", "merge: {mode: confirm}", "merge: {mode: auto}"),
    ("merge.push", "merge: {push: false}", "merge: {push: true}"),
    ("merge.push", "merge: {push: origin}", "merge: {push: other}"),
    ("merge.resolve", "merge: {resolve: hold}", "merge: {resolve: agent}"),
    ("merge.sign", "merge: {sign: true}", "merge: {sign: false}"),
    ("sandbox.hide", "sandbox: {hide: [~/a, ~/b]}", "sandbox: {hide: [~/a]}"),
    ("sandbox.network", "sandbox: {network: false}", "sandbox: {network: true}"),
    ("sandbox.read", "sandbox: {read: [~/a]}", "sandbox: {read: [~/a, ~/b]}"),
    ("sandbox.use", "sandbox: bwrap", "sandbox: none"),
    ("sandbox.write", "sandbox: {write: [~/a]}", "sandbox: {write: [~/b]}"),
    ("strict_files", "strict_files: true", "strict_files: false"),
]


def config(text: str, where: str) -> Layer:
    return read_config(text, f"{where}.yaml", where).layer


def found(users: str, projects: str) -> tuple[Relaxation, ...]:
    return find_relaxations(config(projects, "project"), config(users, "user"))


def paths(users: str, projects: str) -> list[str]:
    return [loosening.setting.path for loosening in found(users, projects)]


@pytest.mark.parametrize(("name", "stricter", "looser"), PAIRS)
def test_a_looser_setting_is_reported_and_a_stricter_one_is_not(
    name: str, stricter: str, looser: str
) -> None:
    assert paths(stricter, looser) == [name]
    assert paths(stricter, stricter) == []


@pytest.mark.parametrize(("name", "stricter", "looser"), PAIRS)
def test_to_tighten_is_free(name: str, stricter: str, looser: str) -> None:
    """Where one of two is the stricter one: with places, hosts, and other remotes, neither is."""
    if name not in {"sandbox.write", "merge.push", "host"}:
        assert paths(looser, stricter) == []


def test_every_rule_is_tried_and_is_about_a_setting() -> None:
    assert {name for name, _, _ in PAIRS} == set(RULES)
    assert set(RULES) <= set(SETTING_NAMES)


def test_what_the_user_has_not_set_is_free() -> None:
    text = "merge: {mode: auto}\nbudget: 1000\nsandbox: none\nworktrees: wt/{{ slice.path }}\n"
    assert paths("max_parallel: 3", text) == []
    assert find_relaxations(config(text, "project"), None) == ()


def test_the_user_s_value_is_reported_with_it() -> None:
    (loosening,) = found("budget: 2.50", "budget: 10")
    assert (loosening.setting.path, loosening.setting.value, loosening.users) == ("budget", 10, "2.5")


def test_a_sandbox_that_the_user_wants_is_theirs_as_a_whole() -> None:
    """Also the parts that they have left as they are: nothing may be written, nothing is uncovered."""
    assert paths("sandbox: bwrap", "sandbox: {write: [~/.ssh], read: [~/.aws]}") == [
        "sandbox.read",
        "sandbox.write",
    ]
    assert paths("sandbox: bwrap", "sandbox: {network: false, hide: [~/x]}") == []
    assert paths("sandbox: none", "sandbox: {write: [~/.ssh]}") == []


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("{use: claude, sandbox: none}", ["agents.coder.sandbox"]),
        ("{use: claude, sandbox: {write: [~/.ssh]}}", ["agents.coder.sandbox"]),
        ("{use: claude, isolated_home: false}", ["agents.coder.isolated_home"]),
        ("{use: claude, sandbox: bwrap, isolated_home: true}", []),
        ("{use: claude}", []),
    ],
)
def test_an_agent_may_not_leave_the_user_s_sandbox_or_home(agent: str, expected: list[str]) -> None:
    assert paths("sandbox: bwrap\nisolated_home: true\n", f"agents: {{coder: {agent}}}\n") == expected
    assert paths("max_parallel: 3", f"agents: {{coder: {agent}}}\n") == []


def test_prices_decide_what_a_budget_is_worth() -> None:
    prices = "prices: {m: {input: 0, output: 0}}"
    assert paths("budget: 5", prices) == ["prices"]
    assert paths("budget: {tokens: 5M}", prices) == []


def test_more_slots_of_this_machine_than_the_user_has_set_need_approval() -> None:
    users = "hosts: {local: {slots: 2}}"
    assert paths(users, "hosts: {local: {slots: 3}}") == ["hosts.local.slots"]
    assert paths(users, "hosts: {local: {labels: [big]}}") == ["hosts.local.slots"]
    assert paths(users, "hosts: {local: {slots: 2}}") == []
    assert paths(users, "max_parallel: 3") == []
    assert paths("max_parallel: 3", "hosts: {local: {slots: 9}}") == []


def test_this_machine_needs_no_approval() -> None:
    assert paths("host: [near, far]", "host: local") == []
    assert paths("host: near", "host: [local, near]") == []
