"""Commands that test one part of a project.

The command that tests the whole project is narrowed to the tests of the part: `pytest -q` becomes
`pytest -q tests/store`. A narrowed command must pass wherever the project's own does, for a `verify` that fails on
an unchanged checkout sends every agent after a fault that is not theirs. So a command is made only

- of the command that the plan's `verify` runs, or of the one that the recipe of `make test` runs, if its program
  is on the PATH,
- of files that hold a test, as far as they were read: runners fail where they find none,
- without settings that make a part of the tests fail alone, such as a coverage that must be reached.

Otherwise the part has no command, and the `verify` of the plan covers it.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weft.app.init.survey import ProjectSurvey, package_value, text_of
from weft.decompose.paths import folder_of, folder_with_parents
from weft.search_path import find_program

_MOST_ARGUMENTS = 20
_PLAIN = re.compile(r"(?!-)[A-Za-z0-9_./+@-]+")
_RECIPE = re.compile(r"^test[ \t]*:[^=\n]*\n((?:\t[^\n]*\n?)+)", re.MULTILINE)
_PYTEST_SETTINGS = ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", ".pytest.ini", ".coveragerc")
_CHOOSES_TESTS = re.compile(r"addopts[^\n]*(?:\n[ \t]+[^\n]*)*?[\s\"'\[](?:-m|-k|--deselect|--ignore)\b")
_MINIMUM = re.compile(r"fail[-_]under")
_JAVASCRIPT = ("jest.config", "vitest.config", "vite.config", "vitest.workspace")
_ENDINGS = ("js", "cjs", "mjs", "ts", "mts", "cts", "json")
_SCRIPT = re.compile(r"(?:jest|vitest run)(?: --(?:ci|silent|run|passWithNoTests))*")
_BUILT_SOMETIMES = re.compile(rb"^//(?:go:build| ?\+build) ", re.MULTILINE)
_SYSTEMS = frozenset(
    {
        "aix",
        "android",
        "darwin",
        "freebsd",
        "ios",
        "js",
        "linux",
        "netbsd",
        "openbsd",
        "plan9",
        "solaris",
        "windows",
    }
    | {
        "386",
        "amd64",
        "arm",
        "arm64",
        "loong64",
        "mips",
        "ppc64",
        "ppc64le",
        "riscv64",
        "s390x",
        "wasm",
        "unix",
    }
)
_NO_PACKAGE = re.compile(r"(?:^|/)(?:vendor|testdata|[._][^/]*)(?:/|$)")

Narrow = Callable[[Sequence[str]], Iterator[str]]
"""Returns the arguments for the tests of a part, given their paths; none if they cannot be named."""


# --- tests ---


def is_test(path: str, text: bytes) -> bool:
    """Returns whether the file has a test that the usual runner of its language finds; `text` is its beginning."""
    name = path.rpartition("/")[2]
    if name.endswith(".py"):
        return name.startswith("test_") and b"def test" in text
    if name.endswith("_test.go"):
        # Go leaves out `name_windows_test.go` on other systems, and `go test` of a package without tests proves
        # nothing.
        system = name.removesuffix("_test.go").rpartition("_")[2]
        return b"\nfunc Test" in text and system not in _SYSTEMS and not _BUILT_SOMETIMES.search(text)
    if re.search(r"\.(?:test|spec)\.(?:[cm]?[jt]s|[jt]sx)$", name):
        return bool(re.search(rb"^(?:test|it|describe)\(", text, re.MULTILINE))
    return bool(re.fullmatch(r"tests/\w+\.rs", path)) and b"#[test]" in text


class PartChecks(Struct, frozen=True, kw_only=True):
    """The project's test command, and its tests."""

    command: str = ""
    """Empty if no command can be narrowed."""
    narrow: Narrow = lambda _tests: iter(())
    tests: frozenset[str] = frozenset()

    def for_part(self, files: Iterable[str]) -> str:
        """Returns the command that tests these files; empty if there is none."""
        own = [path for path in files if path in self.tests and _PLAIN.fullmatch(path)]
        arguments = [*self.narrow(own)] if own else []
        return " ".join((self.command, *arguments)) if 0 < len(arguments) <= _MOST_ARGUMENTS else ""

    def for_group(self, files: Collection[str]) -> str:
        """Returns the command for a group; empty if it has all tests, because the plan's `verify` runs these."""
        # pytest would run everything a second time right before the plan's own verify.
        return "" if self.tests and self.tests <= frozenset(files) else self.for_part(files)


def part_checks(
    found: ProjectSurvey,
    folder: Path,
    paths: Sequence[str],
    tests: Collection[str],
    environ: Mapping[str, str],
) -> PartChecks:
    """Returns the checks. `folder` is the top of the project, `paths` its files, `tests` those with a test."""
    # `make test` cannot be narrowed, but the next command found may be what its recipe runs.
    for check in found.tests[: 2 if found.tests and found.tests[0].command == "make test" else 1]:
        command = check.command
        is_run = command == found.tests[0].command or _make_runs(folder, command)
        if is_run and find_program(command.split()[0], environ):
            narrow = _narrowing(command, folder, paths, tests)
            if narrow is not None:
                return PartChecks(command=narrow[0], narrow=narrow[1], tests=frozenset(tests))
    return PartChecks()


def _make_runs(folder: Path, command: str) -> bool:
    """Returns whether a line of the recipe of `make test` starts with the command, with any options."""
    makefile = next(
        filter(None, (text_of(folder / name) for name in ("GNUmakefile", "makefile", "Makefile"))), ""
    )
    recipe = _RECIPE.search(makefile)
    program = command.removesuffix(" -q").removesuffix(" ./...")
    lines = recipe[1].splitlines() if recipe else []
    return any(f"{line.strip().lstrip('@-+')} ".startswith(f"{program} ") for line in lines)


def _narrowing(
    command: str, folder: Path, paths: Sequence[str], tests: Collection[str]
) -> tuple[str, Narrow] | None:
    """Returns the command without arguments for the whole, and how to name tests; None if that is not possible."""
    if command.endswith("pytest -q"):
        return (command, _Places(paths, tests).of) if _runs_in_parts(folder) else None
    if command.endswith("python3 -m unittest"):
        return command, _modules
    if command == "go test ./...":
        return "go test", _Packages(paths).of
    if command == "cargo test":
        return (command, _targets) if _finds_targets(folder) else None
    if _SCRIPT.fullmatch(str(package_value(folder, "scripts", "test"))) and not _has_settings(folder):
        return (f"{command} --" if command == "npm test" else command), _scripts
    return None


# --- Python ---


def _runs_in_parts(folder: Path) -> bool:
    settings = [text_of(folder / name) for name in _PYTEST_SETTINGS]
    # A minimum of coverage is only reached by all tests together.
    has_minimum = any(map(_MINIMUM.search, settings)) and any("--cov" in text for text in settings)
    return not has_minimum and not any(map(_CHOOSES_TESTS.search, settings))


class _Places:
    """Tests by folder: a folder stands for its tests if the part has all of them."""

    def __init__(self, paths: Sequence[str], tests: Collection[str]) -> None:
        self._all = _by_folder(path for path in paths if path in tests or _is_called_test(path))

    def of(self, tests: Sequence[str]) -> Iterator[str]:
        own = _by_folder(test for test in tests if test.endswith(".py"))
        named = set[str]()
        for test in tests:
            if test.endswith(".py"):
                whole = [
                    folder
                    for folder in folder_with_parents(folder_of(test))
                    if folder and own[folder] == self._all[folder]
                ]
                # A folder with a single test is named by that file, which is clearer for a reader.
                place = whole[-1] if whole and own[whole[-1]] > 1 else test
                if place not in named:
                    named.add(place)
                    yield place


def _is_called_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def _by_folder(paths: Iterable[str]) -> Counter[str]:
    return Counter(folder for path in paths for folder in folder_with_parents(folder_of(path)))


def _modules(tests: Sequence[str]) -> Iterator[str]:
    for test in tests:
        # Deeper modules need an `__init__.py` in each folder, which cannot be seen from the names.
        if re.fullmatch(r"(?:tests/)?\w+\.py", test):
            yield test.removesuffix(".py").replace("/", ".")


# --- Go, Rust, JavaScript ---


class _Packages:
    def __init__(self, paths: Sequence[str]) -> None:
        self._modules = frozenset(folder_of(path) for path in paths if path.endswith("/go.mod"))

    def of(self, tests: Sequence[str]) -> Iterator[str]:
        """Yields the packages of the module at the top."""
        for folder in dict.fromkeys(folder_of(test) for test in tests if test.endswith(".go")):
            if not _NO_PACKAGE.search(folder) and self._modules.isdisjoint(folder_with_parents(folder)):
                yield f"./{folder}" if folder else "."


def _finds_targets(folder: Path) -> bool:
    """Returns whether cargo treats each file in `tests` as a target of the package at the top."""
    text = text_of(folder / "Cargo.toml")
    return "[package]" in text and "[[test]]" not in text and "autotests" not in text


def _targets(tests: Sequence[str]) -> Iterator[str]:
    for test in tests:
        if test.endswith(".rs"):
            yield f"--test {test.removeprefix('tests/').removesuffix('.rs')}"


def _has_settings(folder: Path) -> bool:
    """Returns whether settings may define other files as tests."""
    names = (f"{name}.{ending}" for name in _JAVASCRIPT for ending in _ENDINGS)
    return package_value(folder, "jest") is not None or any(text_of(folder / name) for name in names)


def _scripts(tests: Sequence[str]) -> Iterator[str]:
    yield from (test for test in tests if not test.endswith((".py", ".go", ".rs")))
