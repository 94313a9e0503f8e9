"""Which settings are in force in a directory, and why."""

from pathlib import Path
from typing import Any

import pytest

from weft.app.project.configuration import approval_request, configuration_of, explain_key, files
from weft.errors import InputError
from weft.plan.settings import SETTING_NAMES

PLAN = "weft: 1\nplan: p\nagent: claude\n{}subplans: [{{id: a, prompt: x, verify: make}}]\n"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "PATH": ""}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    put(tmp_path / "project" / ".git" / "HEAD")
    return tmp_path / "project"


def put(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def in_force(here: Path, environ: dict[str, str]) -> dict[str, tuple[Any, str]]:
    configuration = configuration_of(here, environ)
    return {
        row.name: (row.value, str(row.origin)) for row in (*configuration.settings(), *configuration.others())
    }


def places(here: Path, name: str, environ: dict[str, str]) -> list[tuple[str, Any, str, bool]]:
    result = explain_key(here, name, environ).places
    return [(item.row.name, item.row.value, str(item.row.origin), item.wins) for item in result]


def test_without_any_file_all_is_by_default(here: Path, environ: dict[str, str]) -> None:
    settings = in_force(here, environ)
    assert list(settings) == list(SETTING_NAMES)
    assert {origin for _, origin in settings.values()} == {"default"}
    assert settings["isolation"] == ("worktree", "default")


def test_outside_of_a_repository_slices_work_in_directories(tmp_path: Path, environ: dict[str, str]) -> None:
    assert in_force(tmp_path, environ)["isolation"] == ("dir", "default")


def test_the_nearest_counts_and_says_where_it_is(here: Path, environ: dict[str, str]) -> None:
    put(here / ".weft" / "config.yaml", "retries: 4\ngrace: 4s\ntimeout: 4s\nmerge: {mode: auto}\n")
    put(
        Path(environ["HOME"], ".config", "weft", "config.yaml"), "retries: 5\ngrace: 5s\noverlap: serialize\n"
    )
    environ["WEFT_GRACE"] = "6s"
    environ["WEFT_TIMEOUT"] = "6s"
    put(here / "weft.yaml", PLAN.format("timeout: 3s\n"))
    settings = in_force(here, environ)
    assert {name: value for name, value in settings.items() if value[1] != "default"} == {
        "agent": ("claude", "weft.yaml:3"),
        "retries": (4, ".weft/config.yaml:1"),
        "timeout": ("3s", "weft.yaml:4"),
        "grace": ("6s", "WEFT_GRACE"),
        "merge.mode": ("auto", ".weft/config.yaml:4"),
        "overlap": ("serialize", "~/.config/weft/config.yaml:3"),
    }
    assert configuration_of(here, environ).plan == "weft.yaml"


def test_agents_prices_and_others_stand_beside_the_settings(here: Path, environ: dict[str, str]) -> None:
    put(here / ".weft" / "config.yaml", "agents: {a: {use: pi}, b: {use: codex}}\nnotify: {desktop: true}\n")
    put(
        Path(environ["HOME"], ".config", "weft", "config.yaml"),
        "agents: {b: {use: goose}, c: {use: goose}}\nprices: {m: {input: 1, output: 2}}\nnotify: []\n",
    )
    settings = in_force(here, environ)
    assert {name: settings[name] for name in settings if name not in SETTING_NAMES} == {
        "agents.a": ({"use": "pi"}, ".weft/config.yaml:1"),
        "agents.b": ({"use": "codex"}, ".weft/config.yaml:1"),
        "agents.c": ({"use": "goose"}, "~/.config/weft/config.yaml:1"),
        "notify": ({"desktop": "true"}, ".weft/config.yaml:2"),
        "prices.m": ({"input": "1", "output": "2"}, "~/.config/weft/config.yaml:2"),
    }


def test_the_only_agent_there_is_is_taken_as_it_will_be(here: Path, environ: dict[str, str]) -> None:
    put(here / ".weft" / "config.yaml", "agents: {a: {use: pi}}")
    assert in_force(here, environ)["agent"] == ("a", "the only agent there is")


def test_a_setting_is_explained_with_all_places_that_set_it(here: Path, environ: dict[str, str]) -> None:
    put(here / ".weft" / "config.yaml", "retries: 4\n")
    put(here / "weft.yml", PLAN.format("retries: 3\n"))
    environ["WEFT_RETRIES"] = "6"
    result = explain_key(here, "retries", environ)
    assert (result.name, result.key.name, result.variable) == ("retries", "retries", "WEFT_RETRIES")
    assert places(here, "retries", environ) == [
        ("retries", 3, "weft.yml:4", True),
        ("retries", 6, "WEFT_RETRIES", False),
        ("retries", 4, ".weft/config.yaml:1", False),
        ("retries", 2, "default", False),
    ]


def test_a_default_that_depends_on_the_place_is_reported_once(here: Path, environ: dict[str, str]) -> None:
    assert places(here, "isolation", environ) == [("isolation", "worktree", "default", True)]


def test_a_part_of_a_setting_is_one_too(here: Path, environ: dict[str, str]) -> None:
    environ["WEFT_MERGE_MODE"] = "manual"
    assert explain_key(here, "merge.mode", environ).variable == "WEFT_MERGE_MODE"
    assert places(here, "merge.mode", environ) == [
        ("merge.mode", "manual", "WEFT_MERGE_MODE", True),
        ("merge.mode", "confirm", "default", False),
    ]


def test_agents_are_explained_one_by_one(here: Path, environ: dict[str, str]) -> None:
    put(here / "weft.yaml", PLAN.format("agents: {a: {use: aider}}\n"))
    put(here / ".weft" / "config.yaml", "agents: {a: {use: pi}, b: {use: codex}}\n")
    assert explain_key(here, "agents", environ).variable is None
    assert places(here, "agents", environ) == [
        ("agents.a", {"use": "aider"}, "weft.yaml:4", True),
        ("agents.a", {"use": "pi"}, ".weft/config.yaml:1", False),
        ("agents.b", {"use": "codex"}, ".weft/config.yaml:1", True),
    ]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("max_paralel", "; did you mean 'max_parallel'?"),
        ("MAX_PARALLEL", "; did you mean 'max_parallel'?"),
        ("merge", "; did you mean 'merge.when'?"),
        ("agent.x", "; did you mean 'agent'?"),
    ],
)
def test_an_unknown_name_is_reported_with_the_nearest(
    here: Path, environ: dict[str, str], name: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        explain_key(here, name, environ)
    assert str(caught.value) == f"there is no setting {name!r}{hint}"


def test_files_are_named_whether_they_are_there_or_right_or_not(here: Path, environ: dict[str, str]) -> None:
    put(here / ".weft" / "config.yaml", "[")
    put(here / "weft.yml", "[")
    assert [(item.what, item.path, item.there) for item in files(here, environ)] == [
        ("plan", here / "weft.yml", True),
        ("project", here / ".weft" / "config.yaml", True),
        ("user", Path(environ["HOME"], ".config", "weft", "config.yaml"), False),
    ]


def test_in_no_project_that_file_is_named_which_would_make_it_one(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    environ["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    assert [item.path for item in files(tmp_path, environ)] == [
        tmp_path / "weft.yaml",
        tmp_path / ".weft" / "config.yaml",
        tmp_path / "xdg" / "weft" / "config.yaml",
    ]


def test_what_there_is_to_approve_is_that_of_the_project_around(here: Path, environ: dict[str, str]) -> None:
    assert approval_request(here, environ) is None
    put(here / ".weft" / "config.yaml", "setup: make\n")
    put(Path(environ["HOME"], ".config", "weft", "config.yaml"), "setup: mine\n")
    put(here / "deeper" / "weft.yaml", "is no plan")
    request = approval_request(here / "deeper", environ)
    assert request is not None
    assert (request.project, request.file) == (here, "../.weft/config.yaml")
    assert [command.value for command in request.commands] == ["make"]


def test_the_user_s_own_configuration_needs_no_approval(tmp_path: Path, environ: dict[str, str]) -> None:
    put(Path(environ["HOME"], ".config", "weft", "config.yaml"), "setup: mine\n")
    assert approval_request(tmp_path, environ) is None
