import json
import os
import subprocess
from pathlib import Path

import pytest

from app.privileges import open_to_all, without_privileges
from app.receivers import program
from e2e.repositories import GIT_ENVIRON
from weft.app.init.survey import CheckCommand, GitState, ProjectSurvey, survey

ENVIRON = GIT_ENVIRON


def surveyed(folder: Path, **files: str) -> ProjectSurvey:
    for name, text in files.items():
        file = folder / name.replace("__", ".")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return survey(folder, ENVIRON)


def package(script: object) -> str:
    return json.dumps({"scripts": {"test": script}})


# Tests


@pytest.mark.parametrize(
    ("files", "command", "file"),
    [
        ({"Makefile": "all: x\n\ttrue\ntest: all\n"}, "make test", "Makefile"),
        ({"makefile": "lint test :\n"}, "make test", "makefile"),
        ({"GNUmakefile": "test check::\n", "Makefile": "x:\n"}, "make test", "GNUmakefile"),
        ({"package__json": package("jest")}, "npm test", "package.json"),
        ({"package__json": package("jest"), "pnpm-lock__yaml": ""}, "pnpm test", "package.json"),
        ({"package__json": package("jest"), "yarn__lock": ""}, "yarn test", "package.json"),
        ({"package__json": package("jest"), "bun__lock": ""}, "bun run test", "package.json"),
        ({"pyproject__toml": "[tool.pytest.ini_options]\n"}, "pytest -q", "pyproject.toml"),
        ({"pytest__ini": "", "uv__lock": ""}, "uv run pytest -q", "pytest.ini"),
        ({"setup__cfg": "[tool:pytest]\n", "poetry__lock": ""}, "poetry run pytest -q", "setup.cfg"),
        ({"tests/test_a__py": ""}, "pytest -q", "tests"),
        ({"test_a__py": "", "uv__lock": ""}, "uv run pytest -q", "test_a.py"),
        ({"test_a__py": "import unittest"}, "python3 -m unittest", "test_a.py"),
        ({"tests/test_a__py": "import unittest"}, "python3 -m unittest discover -s tests", "tests"),
        ({"tests/test_a__py": "import unittest", "tests/test_b__py": "import pytest"}, "pytest -q", "tests"),
        ({"tox__ini": ""}, "tox", "tox.ini"),
        ({"pyproject__toml": "[tool.tox]\n"}, "tox", "pyproject.toml"),
        ({"noxfile__py": ""}, "nox", "noxfile.py"),
        ({"Cargo__toml": ""}, "cargo test", "Cargo.toml"),
        ({"go__mod": ""}, "go test ./...", "go.mod"),
        ({"build__gradle": ""}, "gradle test", "build.gradle"),
        ({"build__gradle__kts": "", "gradlew": ""}, "./gradlew test", "build.gradle.kts"),
        ({"pom__xml": ""}, "mvn -q test", "pom.xml"),
        ({"pom__xml": "", "mvnw": ""}, "./mvnw -q test", "pom.xml"),
    ],
)
def test_a_command_that_tests_the_project_is_found(
    tmp_path: Path, files: dict[str, str], command: str, file: str
) -> None:
    assert surveyed(tmp_path, **files).tests == (CheckCommand(command, file),)


def test_unittest_finds_tests_in_a_package_by_itself(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    assert surveyed(tmp_path, **{"tests/test_a__py": "from unittest import TestCase"}).tests == (
        CheckCommand("python3 -m unittest", "tests"),
    )


@pytest.mark.parametrize("text", ["enable_testing()\n", "include( CTest )\n"])
def test_cmake_builds_before_it_tests(tmp_path: Path, text: str) -> None:
    (result,) = surveyed(tmp_path, CMakeLists__txt=text).tests
    build = "cmake -S . -B build && cmake --build build"
    assert result == CheckCommand(f"{build} && ctest --test-dir build --output-on-failure", "CMakeLists.txt")


@pytest.mark.parametrize(
    "files",
    [
        {},
        {
            "Makefile": "tests:\ntest-all:\nunit-test:\n.PHONY: test\ntest := 1\n# test:\n\ttest: no\nx: test\n"
        },
        {"package__json": package('echo "Error: no test specified" && exit 1')},
        {"package__json": package(["jest"])},
        {"package__json": "{"},
        {"package__json": "[" * 100_000},
        {"package__json": '{"scripts": []}'},
        {"pyproject__toml": "[tool"},
        {"setup__cfg": "[metadata]"},
        {"tests/helper__py": ""},
        {"CMakeLists__txt": "project(x)\n"},
        {"package__json": "\xff"},
    ],
)
def test_what_is_no_test_is_not_found(tmp_path: Path, files: dict[str, str]) -> None:
    assert surveyed(tmp_path, **files).tests == ()


def test_of_several_the_one_that_says_most_comes_first(tmp_path: Path) -> None:
    files = surveyed(tmp_path, Makefile="test:\n", go__mod="", tox__ini="", pytest__ini="")
    assert [test.command for test in files.tests] == ["make test", "pytest -q", "tox", "go test ./..."]


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Makefile")
    (tmp_path / "package.json").mkdir()
    assert surveyed(tmp_path).tests == ()


def test_what_may_not_be_read_is_not_found() -> None:
    with open_to_all() as folder:
        (folder / "Makefile").write_text("test:\n")
        (folder / "Makefile").chmod(0)
        with without_privileges():
            assert surveyed(folder).tests == ()


def test_what_a_fresh_checkout_needs_is_found_by_its_lock(tmp_path: Path) -> None:
    assert surveyed(tmp_path).setup == ""
    assert surveyed(tmp_path, **{"package-lock__json": "{}"}).setup == "npm ci"


# Agents


def test_agents_are_found_by_their_programs(tmp_path: Path) -> None:
    for name in ("codex", "mini", "claude", "other"):
        program(tmp_path / "bin", name)
    (tmp_path / "bin" / "pi").write_text("no program")
    files = survey(tmp_path, {"PATH": f"/no/such/folder:{tmp_path}/bin"})
    assert [agent.name for agent in files.agents] == ["claude", "codex", "mini-swe-agent"]


# Git


def git(folder: Path, *command: str) -> None:
    subprocess.run(["git", *command], cwd=folder, env=ENVIRON, check=True, capture_output=True)


def test_a_directory_is_no_repository(tmp_path: Path) -> None:
    assert surveyed(tmp_path).git == GitState()


def test_a_new_repository_has_no_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "--initial-branch=trunk")
    assert surveyed(tmp_path).git == GitState(is_repository=True, branch="trunk")


def test_the_default_branch_is_that_of_the_origin(tmp_path: Path) -> None:
    git(tmp_path, "init", "--initial-branch=mine")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-m", "x")
    assert surveyed(tmp_path).git == GitState(is_repository=True, has_commits=True, branch="mine")
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(tmp_path, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    assert surveyed(tmp_path).git.branch == "main"
    git(tmp_path, "checkout", "--detach")
    git(tmp_path, "symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    assert surveyed(tmp_path).git.branch == ""


def test_without_git_a_repository_is_only_a_directory(tmp_path: Path) -> None:
    git(tmp_path, "init")
    assert survey(tmp_path, {"PATH": str(tmp_path)}).git == GitState()
