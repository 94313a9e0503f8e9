"""Which value of a setting is in force, and where it comes from."""

import pytest
from msgspec.structs import fields

from plan.problem_texts import HEAD, with_subplans
from weft.ids import SubplanPath
from weft.plan.language.merge import MERGE
from weft.plan.language.records import Key, Words
from weft.plan.language.tables import SETTINGS, SUBPLAN
from weft.plan.loader.load import Surroundings, load_plan, read_config
from weft.plan.model import Plan
from weft.plan.settings import DEFAULTS, SETTING_NAMES, Layer, Scope, Settings, field_name
from weft.plan.text.problems import PlanError

TEXT = """\
weft: 1
plan: p
agent: claude
retries: 3
merge: {mode: auto}
subplans:
  - id: g
    verify: v
    retries: 4
    merge: {order: completion}
    subplans:
      - {id: s, prompt: x, verify: v, retries: 5, timeout: 3s}
      - {id: t, prompt: x, verify: v}
  - {id: u, prompt: x, verify: v}
"""
PROJECT = read_config(
    "retries: 6\ngrace: 6s\nmerge:\n  when: slice\n  mode: manual\n", "project.yaml", "project"
)
USER = read_config("retries: 7\ngrace: 7s\noverlap: serialize\n", "user.yaml", "user")


def loaded(flags: Layer | None = None) -> Plan:
    return load_plan(TEXT, "plan.yaml", configs=[PROJECT, USER], flags=flags)


def scope(path: str, flags: Layer | None = None) -> Scope:
    plan = loaded(flags)
    return plan.scopes[plan.outline.paths.index(SubplanPath(path))]


def origin(path: str, setting: str) -> tuple[object, str, str]:
    value, layer = scope(path).find(setting)
    return value, layer.where, str(layer.origin(setting))


@pytest.mark.parametrize(
    ("path", "setting", "value", "where", "at"),
    [
        ("g/s", "retries", 5, "subplan g/s", "plan.yaml:12:48"),
        ("g/t", "retries", 4, "subplan g", "plan.yaml:9:14"),
        ("u", "retries", 3, "plan", "plan.yaml:4:10"),
        ("u", "grace", 6.0, "project", "project.yaml:2:8"),
        ("u", "overlap", "serialize", "user", "user.yaml:3:10"),
        ("u", "timeout", 1800.0, "default", "None"),
        ("g/s", "merge.order", "completion", "subplan g", "plan.yaml:10:20"),
        ("g/s", "merge.mode", "auto", "plan", "plan.yaml:5:15"),
        ("g/s", "merge.when", "slice", "project", "project.yaml:4:9"),
        ("g/s", "merge.take_branch", (), "default", "None"),
        ("g/s", "merge.resolve", "hold", "default", "None"),
        ("u", "merge.order", "sequential", "default", "None"),
    ],
)  # fmt: skip
def test_the_nearest_one_wins_and_says_where_it_stands(
    path: str, setting: str, value: object, where: str, at: str
) -> None:
    assert origin(path, setting) == (value, where, at)


def test_without_the_nearer_ones_the_user_s_configuration_holds() -> None:
    plan = load_plan(with_subplans("{id: a, prompt: x, verify: v}"), configs=[USER])
    assert plan.scopes[1].settings.retries == 7


def test_flags_outrank_all_and_have_no_place() -> None:
    flags = Layer("--retries", {"retries": 0, "merge.mode": "confirm"})
    result = scope("g/s", flags)
    assert (result.settings.retries, result.settings.merge_mode, result.settings.timeout) == (
        0,
        "confirm",
        3.0,
    )
    _, layer = result.find("retries")
    assert (layer.where, layer.origin("retries")) == ("--retries", None)


def test_a_subplan_that_sets_nothing_shares_the_scope_around_it() -> None:
    plan = loaded()
    root, g, s, t, u = plan.scopes
    assert t is g
    assert u is root
    assert len({id(shared) for shared in (root, g, s)}) == 3


def test_the_settings_of_a_scope_are_made_once() -> None:
    result = scope("g/t")
    assert result.settings is result.settings
    assert result.settings.retries == 4


def test_all_settings_are_explained_in_the_order_of_the_language() -> None:
    explained = list(scope("g/s").settings_with_origin())
    assert [name for name, _, _ in explained] == list(SETTING_NAMES)
    assert {name: layer.where for name, _, layer in explained if layer.where != "default"} == {
        "agent": "plan",
        "retries": "subplan g/s",
        "timeout": "subplan g/s",
        "grace": "project",
        "merge.when": "project",
        "merge.mode": "plan",
        "merge.order": "subplan g",
        "overlap": "user",
    }


def test_an_origin_that_is_not_written_is_none() -> None:
    _, layer = scope("u").find("retries")
    assert layer.origin("merge.order") is None
    assert layer.origin("grace.x") is None


@pytest.mark.parametrize(("git", "isolation"), [(True, "worktree"), (False, "dir")])
def test_isolation_depends_on_whether_there_is_a_repository(git: bool, isolation: str) -> None:
    text = with_subplans(
        "{id: a, prompt: x, verify: v}", "{id: b, prompt: x, verify: v, isolation: worktree}"
    )
    plan = load_plan(text, surroundings=Surroundings(git=git))
    assert plan.scopes[1].settings.isolation == isolation
    assert plan.scopes[1].find("isolation")[1].where == "default"
    assert plan.scopes[2].settings.isolation == "worktree"


def literals() -> list[tuple[str, Key]]:
    """Settings whose default is a value, by dotted name."""
    named = [(key.name, key) for key in SETTINGS if key.name != "sandbox"]
    named += [(f"merge.{key.name}", key) for key in MERGE.keys]
    return [
        (name, key) for name, key in named if key.default is not None and not isinstance(key.default, Words)
    ]


@pytest.mark.parametrize(("name", "key"), literals(), ids=[name for name, _ in literals()])
def test_a_default_is_what_the_language_says(name: str, key: Key) -> None:
    line = f"{name}: {key.default}".replace(".", ":\n  ", int("." in name))
    plan = load_plan(with_subplans("{id: a, prompt: x, verify: v}", top=f"agent: claude\n{line}\n"))
    assert plan.scopes[0].find(name) == (DEFAULTS.values[name], plan.scopes[0].layers[0])


def test_other_defaults_are_none_or_empty() -> None:
    documented = {name for name, _ in literals()}
    others = {name: DEFAULTS.values[name] for name in SETTING_NAMES if name not in documented}
    assert others == {
        "max_concurrency": None, "agent": None, "model": None, "idle_timeout": None, "budget": None,
        "budget.tokens": None, "reserve": None, "reserve.tokens": None, "isolation": "worktree", "setup": (),
        "sandbox.use": "none", "sandbox.network": True, "sandbox.hide": (), "sandbox.read": (),
        "sandbox.write": (),
    }  # fmt: skip


def test_every_setting_has_a_field_and_every_field_a_setting() -> None:
    assert {field_name(name) for name in SETTING_NAMES} == {field.name for field in fields(Settings)}


def test_settings_are_keys_of_a_subplan_and_of_the_plan() -> None:
    names = {name.partition(".")[0] for name in SETTING_NAMES}
    assert names <= {key.name for key in SUBPLAN.keys}


@pytest.mark.parametrize("value", ["0", "33", "-1", "four", "4.0", "'4'", "true", "[4]"])
def test_a_limit_out_of_range_is_refused_with_the_range_and_its_place(value: str) -> None:
    with pytest.raises(PlanError) as raised:
        load_plan(f"{HEAD}max_parallel: {value}\nsubplans: [{{id: a, steps: [{{id: a, run: x}}]}}]", "a.yaml")
    (problem,) = raised.value.problems
    assert str(problem.at) == "a.yaml:3:15"
    assert "; it must be a whole number from 1 to 32" in problem.message


@pytest.mark.parametrize("value", [1, 32])
def test_a_limit_at_the_end_of_the_range_is_kept(value: int) -> None:
    text = f"{HEAD}max_parallel: {value}\nsubplans: [{{id: a, steps: [{{id: a, run: x}}]}}]"
    assert load_plan(text).scopes[0].settings.max_parallel == value


def test_the_default_limit_is_four() -> None:
    text = f"{HEAD}subplans: [{{id: a, steps: [{{id: a, run: x}}]}}]"
    assert load_plan(text).scopes[0].settings.max_parallel == 4
