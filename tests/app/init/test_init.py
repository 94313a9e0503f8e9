"""`weft init` as a function: what is written is valid as it stands, kept if it was there, and all or nothing."""

import json
import os
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from app.privileges import open_to_all, without_privileges
from weft.agents.adapters import ADAPTERS as BUILT_IN
from weft.app.init.init import initialize
from weft.app.init.survey import CheckCommand, GitState, ProjectSurvey
from weft.app.init.templates import config_text, plan_id, plan_text
from weft.app.project.files import InputSource
from weft.app.project.places import IGNORED
from weft.app.project.plans import load
from weft.errors import InputError
from weft.plan.compile.compile import compile_plan
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.language.schema import config_schema, plan_schema
from weft.plan.loader.load import Surroundings, load_plan, read_config
from weft.plan.model import Plan
from weft.plan.proof.prove import prove

FILES = [".weft/.gitignore", ".weft/schema.json", ".weft/config.yaml", "weft.yaml"]
AGENTS = tuple(item for item in AGENT_PROGRAMS.values() if item.program is not None)


def nowhere(folder: Path) -> dict[str, str]:
    return {"PATH": str(folder), "HOME": str(folder)}


# The texts

GITS = [
    GitState(),
    GitState(is_repository=True),
    GitState(is_repository=True, has_commits=True, branch="feature/#1"),
]
TESTS = [
    (),
    (CheckCommand("make test", "Makefile"),),
    (CheckCommand("a: b # 'c' \"d\"", "x"), CheckCommand("tox", "tox.ini")),
]
FOUND = [
    ProjectSurvey(
        agents=agents, tests=tests, setup="npm ci" if tests else "", git=git, has_sandbox=bool(agents)
    )
    for agents, tests, git in product([(), AGENTS[:1], AGENTS], TESTS, GITS)
]


def plan_of(found: ProjectSurvey) -> Plan:
    text = plan_text(found, name="My Project", schema=".weft/schema.json")
    config = read_config(config_text(found), "config.yaml", "project")
    return load_plan(text, configs=[config], surroundings=Surroundings(git=found.git.is_repository))


@pytest.mark.parametrize("found", FOUND)
def test_whatever_is_found_the_plan_is_valid_and_fits_it(found: ProjectSurvey) -> None:
    plan = plan_of(found)
    has_verify = bool(found.tests) and found.git.is_repository
    assert plan.warnings == ()
    assert prove(compile_plan(plan)).answer == "proved"
    assert [str(path) for path in plan.outline.paths[1:]] == ["survey", "open-ends", "advice"]
    assert plan.subplans[0].verify == ((found.tests[0].command,) if has_verify else ())
    assert list(plan.agents) == (["coder"] if found.agents else [])


@pytest.mark.parametrize("adapter", AGENTS, ids=lambda one: one.name)
def test_an_agent_is_used_in_a_way_that_this_version_can(adapter: object) -> None:
    assert isinstance(adapter, type(AGENTS[0]))
    plan = plan_of(ProjectSurvey(agents=(adapter,), tests=(), setup="", git=GITS[0]))
    assert plan.agents["coder"].use in BUILT_IN


def test_an_agent_with_an_adapter_is_driven_by_it() -> None:
    text = plan_text(
        ProjectSurvey(agents=(AGENT_PROGRAMS["codex"],), tests=(), setup="", git=GITS[0]),
        name="x",
        schema="s",
    )
    assert "  coder:  # Codex CLI\n    use: codex\n\n" in text


def test_what_is_commented_out_may_be_put_in() -> None:
    text = plan_text(FOUND[-1], name="x", schema="s").replace("  # codex:", "  codex:")
    text = text.replace("  #   use: codex", "    use: codex")
    plan = load_plan(text.replace("# base:", "base:"))
    assert (list(plan.agents), plan.base, plan.warnings) == (["coder", "codex"], "feature/#1", ())
    config = config_text(FOUND[-1]).replace("# agents:", "agents:").replace("#   coder", "  coder")
    config = config.replace("#     ", "    ").replace("# notify", "notify")
    assert set(read_config(config, "c", "project").agents) == {"coder"}


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("notes", "notes"),
        ("My Project.2", "my-project-2"),
        ("_x-", "x"),
        ("Ünï", "n"),
        ("…", "plan"),
        ("a" * 99, "a" * 64),
    ],
)
def test_the_plan_is_called_as_the_directory_is(name: str, id_: str) -> None:
    assert plan_id(name) == id_


# Writing


def test_a_directory_gets_a_plan_a_configuration_and_a_schema(tmp_path: Path) -> None:
    done = initialize(tmp_path, nowhere(tmp_path))
    assert [(file.name, file.is_new, file.note) for file in done.files] == [
        (name, True, "") for name in FILES
    ]
    assert done.next == ("weft check",)
    plan = load(InputSource(name="weft.yaml", directory=tmp_path), environ=nowhere(tmp_path))
    assert plan.scopes[0].settings.max_parallel == 4
    assert (tmp_path / ".weft" / ".gitignore").read_text() == IGNORED
    assert everything(tmp_path) == [".weft", *sorted(FILES)]


def test_the_schema_is_that_of_plans_and_the_first_line_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / ".git" / "refs").mkdir(parents=True)
    folder = tmp_path / "plans" / "inner"
    folder.mkdir(parents=True)
    initialize(folder, nowhere(tmp_path))
    first = (folder / "weft.yaml").read_text().partition("\n")[0]
    named = first.removeprefix("# yaml-language-server: $schema=")
    assert named == "../../.weft/schema.json"
    schema = json.loads((folder / named).read_text())
    Draft202012Validator.check_schema(schema)
    assert schema == plan_schema() != config_schema()


def test_what_is_there_is_kept_and_what_is_missing_is_added(tmp_path: Path) -> None:
    (tmp_path / "weft.yml").write_text("mine")
    (tmp_path / ".weft").mkdir()
    (tmp_path / ".weft" / "schema.json").write_text("{}")
    done = initialize(tmp_path, nowhere(tmp_path))
    assert [(file.name, file.is_new) for file in done.files] == [
        (".weft/.gitignore", True), (".weft/schema.json", False), (".weft/config.yaml", True), ("weft.yml", False),
    ]  # fmt: skip
    assert done.files[1].note.startswith("of another version of Weft")
    assert (tmp_path / "weft.yml").read_text() == "mine"
    assert not (tmp_path / "weft.yaml").exists()


def test_the_second_time_nothing_changes(tmp_path: Path) -> None:
    initialize(tmp_path, nowhere(tmp_path))
    before = {name: (tmp_path / name).stat() for name in FILES}
    done = initialize(tmp_path, nowhere(tmp_path))
    assert [(file.name, file.is_new, file.note) for file in done.files] == [
        (name, False, "") for name in FILES
    ]
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in FILES} == {
        name: stat.st_mtime_ns for name, stat in before.items()
    }


def test_a_schema_that_cannot_be_read_is_kept_too(tmp_path: Path) -> None:
    (tmp_path / ".weft").mkdir()
    (tmp_path / ".weft" / "schema.json").symlink_to("nowhere")
    assert not initialize(tmp_path, nowhere(tmp_path)).files[1].is_new


def test_a_repository_without_commits_needs_one_first(tmp_path: Path) -> None:
    (tmp_path / ".git" / "refs").mkdir(parents=True)
    done = initialize(tmp_path, {**nowhere(tmp_path), "PATH": os.environ["PATH"]})
    assert done.next == ("git add --all && git commit -m start", "weft check")


# All or nothing


@pytest.fixture
def shared() -> Iterator[Path]:
    with open_to_all() as folder:
        yield folder


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("name", FILES)
def test_a_directory_in_the_way_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir(parents=True)
    before = everything(tmp_path)
    with pytest.raises(InputError, match=f"{name} is a directory, but must be a file; move it away"):
        initialize(tmp_path, nowhere(tmp_path))
    assert everything(tmp_path) == before


def test_a_file_where_weft_keeps_its_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".weft").write_text("mine")
    with pytest.raises(InputError, match="is not a directory"):
        initialize(tmp_path, nowhere(tmp_path))
    assert everything(tmp_path) == [".weft"]


def test_a_directory_that_cannot_be_written_to_is_refused(shared: Path) -> None:
    shared.chmod(0o555)
    with without_privileges(), pytest.raises(InputError, match=r"cannot make .*\.weft: permission denied"):
        initialize(shared, nowhere(shared))
    assert everything(shared) == []


@pytest.mark.parametrize("is_new", [True, False])
def test_if_the_last_file_cannot_be_written_none_stays(shared: Path, is_new: bool) -> None:
    (shared / ".git" / "refs").mkdir(parents=True)
    inner = shared / "inner"
    inner.mkdir(mode=0o555)
    if not is_new:
        (shared / ".weft").mkdir()
        (shared / ".weft").chmod(0o777)
    before = everything(shared)
    with without_privileges(), pytest.raises(InputError, match=r"cannot write weft\.yaml: permission denied"):
        initialize(inner, nowhere(shared))
    assert everything(shared) == before


# In a repository


def git(folder: Path, *arguments: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


EARLIER = "# Nothing in here belongs into git but the settings.\n*\n!config.yaml\n"


@pytest.mark.parametrize("is_earlier", [False, True])
def test_a_clone_has_the_schema_that_the_plan_refers_to(tmp_path: Path, is_earlier: bool) -> None:
    project, clone = tmp_path / "project", tmp_path / "clone"
    (project / ".weft").mkdir(parents=True)
    git(project, "init", "-q")
    if is_earlier:
        (project / ".weft" / ".gitignore").write_text(EARLIER)
    done = initialize(project, nowhere(tmp_path))
    assert ("is replaced" in done.files[0].note) is is_earlier
    (project / ".weft" / "weft.db").touch()
    git(project, "add", "--all")
    git(project, "commit", "-q", "-m", "start")
    git(tmp_path, "clone", "-q", str(project), str(clone))
    named = (clone / "weft.yaml").read_text().partition("\n")[0].partition("$schema=")[2]
    assert json.loads((clone / named).read_text()) == plan_schema()
    assert git(clone, "ls-files", ".weft").split() == [".weft/config.yaml", ".weft/schema.json"]


def test_the_sandbox_is_offered_where_bubblewrap_works(tmp_path: Path) -> None:
    """It is not switched on: agents are not logged in there."""
    for program, offered in (("other", False), ("bwrap", True)):
        project = tmp_path / program / "project"
        project.mkdir(parents=True)
        file = tmp_path / program / program
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
        done = initialize(project, {"PATH": str(file.parent), "HOME": str(tmp_path)})
        assert done.found.has_sandbox is offered
        assert ("\n# sandbox: bwrap\n" in (project / ".weft" / "config.yaml").read_text()) is offered
        assert (
            not load(InputSource(name="weft.yaml", directory=project), environ={})
            .scopes[0]
            .settings.sandbox.is_on
        )
