"""Survey a project for what a first plan can use: agents, test commands, git.

No program of the project runs; only git and bubblewrap are called. A file that cannot be read or parsed counts as
missing.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from weft.app.project.plans import installed_agents
from weft.plan.agent_program import AgentProgram
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.runtime.sandbox.probe import probe
from weft.workspaces.git.base.discovery import repository_around
from weft.workspaces.git.base.program import Git

_MOST = 1_000_000
"""The most bytes that are read of a file."""
_TARGET = re.compile(r"^(?:[^\t#:=\n][^#:=\n]*\s)?test(?:\s[^:=\n]*)?:(?!=)", re.MULTILINE)
_TESTS_READ = 20
_NO_TEST = "no test specified"
"""The text of npm's default test script."""
_NODE = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun run", "bun.lockb": "bun run"}
_PYTHON = {"uv.lock": "uv run ", "poetry.lock": "poetry run "}
_SETUPS = {
    "package-lock.json": "npm ci",
    "pnpm-lock.yaml": "pnpm install --frozen-lockfile",
    "yarn.lock": "yarn install --immutable",
    "uv.lock": "uv sync",
}


class CheckCommand(Struct, frozen=True):
    """A command that tests the project."""

    command: str
    file: str
    """The file that indicates it."""


class GitState(Struct, frozen=True, kw_only=True):
    is_repository: bool = False
    has_commits: bool = False
    branch: str = ""
    """The default branch: that of the remote `origin`, else the branch that is checked out."""


class ProjectSurvey(Struct, frozen=True, kw_only=True):
    agents: tuple[AgentProgram, ...]
    """The agents with an installed program, in the order in which Weft knows them."""
    tests: tuple[CheckCommand, ...]
    """The most comprehensive command first."""
    setup: str
    """The command that sets up a new checkout, if a lock file indicates one; else empty."""
    git: GitState
    has_sandbox: bool = False
    """Whether bubblewrap works on this machine."""


def survey(folder: Path, environ: Mapping[str, str]) -> ProjectSurvey:
    programs = installed_agents(environ)
    return ProjectSurvey(
        agents=tuple(adapter for adapter in AGENT_PROGRAMS.values() if adapter.program in programs),
        tests=tuple(_tests(folder)),
        setup=next((command for name, command in _SETUPS.items() if _has(folder, name)), ""),
        git=_git(folder, environ),
        # An installed bubblewrap is not enough: many systems forbid user namespaces, so a sandbox is really
        # started.
        has_sandbox=not probe(environ).trouble,
    )


# --- git ---


def _git(folder: Path, environ: Mapping[str, str]) -> GitState:
    if repository_around(folder) is None:
        return GitState()
    git = Git(folder, environ=environ)
    try:
        has_commits = git.ask("rev-parse", "--verify", "--quiet", "HEAD").exit_code == 0
        origin = git.ask("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD").text
        here = git.ask("symbolic-ref", "--quiet", "--short", "HEAD").text
    except OSError:  # there is no git
        return GitState()
    return GitState(
        is_repository=True, has_commits=has_commits, branch=origin.removeprefix("origin/") or here
    )


# --- tests ---


def _tests(folder: Path) -> Iterator[CheckCommand]:
    for find in (_make, _node, _python, _cargo, _go, _gradle, _maven, _cmake):
        yield from find(folder)


def _make(folder: Path) -> Iterator[CheckCommand]:
    for name in ("GNUmakefile", "makefile", "Makefile"):  # in make's order of precedence
        if _has(folder, name):
            if _TARGET.search(text_of(folder / name)):
                yield CheckCommand("make test", name)
            return


def _node(folder: Path) -> Iterator[CheckCommand]:
    script = package_value(folder, "scripts", "test")
    # `npm init` writes a test script that always fails; as a verify it would hold every result.
    if isinstance(script, str) and script and _NO_TEST not in script:
        runner = next((runner for lock, runner in _NODE.items() if _has(folder, lock)), "npm")
        yield CheckCommand(f"{runner} test", "package.json")


def package_value(folder: Path, *keys: str) -> object:
    """Returns the value at this path of keys in `package.json`; None if there is none."""
    return _at(_json(folder / "package.json"), *keys)


def _python(folder: Path) -> Iterator[CheckCommand]:
    before = next((before for lock, before in _PYTHON.items() if _has(folder, lock)), "")
    pyproject = _toml(folder / "pyproject.toml")
    if _at(pyproject, "tool", "pytest") is not None:
        yield CheckCommand(f"{before}pytest -q", "pyproject.toml")
    elif _has(folder, "pytest.ini"):
        yield CheckCommand(f"{before}pytest -q", "pytest.ini")
    elif "[tool:pytest]" in text_of(folder / "setup.cfg"):
        yield CheckCommand(f"{before}pytest -q", "setup.cfg")
    elif files := [*(folder / "tests").glob("test_*.py"), *folder.glob("test_*.py")]:
        yield CheckCommand(
            before + _python_runner(files), "tests" if files[0].parent.name == "tests" else files[0].name
        )
    if _has(folder, "tox.ini") or _at(pyproject, "tool", "tox") is not None:
        yield CheckCommand(f"{before}tox", "tox.ini" if _has(folder, "tox.ini") else "pyproject.toml")
    if _has(folder, "noxfile.py"):
        yield CheckCommand(f"{before}nox", "noxfile.py")


def _python_runner(files: Sequence[Path]) -> str:
    """Returns the runner of the tests. Tests for pytest may use unittest as well, so pytest wins."""
    texts = [text_of(file) for file in sorted(files)[:_TESTS_READ]]
    if any("pytest" in text for text in texts) or not any("unittest" in text for text in texts):
        return "pytest -q"
    folder = files[0].parent
    # unittest finds tests in a folder only if that is a package, unless an option names the folder.
    is_found = folder.name != "tests" or _has(folder, "__init__.py")
    return "python3 -m unittest" if is_found else "python3 -m unittest discover -s tests"


def _cargo(folder: Path) -> Iterator[CheckCommand]:
    if _has(folder, "Cargo.toml"):
        yield CheckCommand("cargo test", "Cargo.toml")


def _go(folder: Path) -> Iterator[CheckCommand]:
    if _has(folder, "go.mod"):
        yield CheckCommand("go test ./...", "go.mod")


def _gradle(folder: Path) -> Iterator[CheckCommand]:
    for name in ("build.gradle", "build.gradle.kts"):
        if _has(folder, name):
            yield CheckCommand("./gradlew test" if _has(folder, "gradlew") else "gradle test", name)
            return


def _maven(folder: Path) -> Iterator[CheckCommand]:
    if _has(folder, "pom.xml"):
        yield CheckCommand("./mvnw -q test" if _has(folder, "mvnw") else "mvn -q test", "pom.xml")


def _cmake(folder: Path) -> Iterator[CheckCommand]:
    text = text_of(folder / "CMakeLists.txt").lower()
    if "enable_testing" in text or re.search(r"include\s*\(\s*ctest\s*\)", text):
        build = "cmake -S . -B build && cmake --build build"
        yield CheckCommand(f"{build} && ctest --test-dir build --output-on-failure", "CMakeLists.txt")


# --- files ---


def _has(folder: Path, name: str) -> bool:
    return os.path.isfile(folder / name)  # noqa: PTH113 - False for a file that cannot be accessed


def text_of(file: Path) -> str:
    """Returns the beginning of the file; empty if it cannot be read."""
    if not _has(file.parent, file.name):
        return ""
    try:
        with file.open("rb") as stream:
            return stream.read(_MOST).decode(errors="replace")
    except OSError:
        return ""


def _json(file: Path) -> object:
    try:
        return json.loads(text_of(file) or "null")
    except (ValueError, RecursionError):
        return None


def _toml(file: Path) -> object:
    try:
        return tomllib.loads(text_of(file))
    except (ValueError, RecursionError):
        return None


def _at(data: object, *keys: str) -> object:
    """Returns the value at this path of keys; None if there is none."""
    for key in keys:
        data = cast("dict[str, Any]", data).get(key) if isinstance(data, dict) else None
    return data
