"""Commands that test one part of a project."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from weft.app.decompose.part_checks import is_test, part_checks
from weft.app.init.survey import CheckCommand, GitState, ProjectSurvey

TESTS = (
    "tests/store/test_disk.py",
    "tests/store/test_model.py",
    "tests/web/test_view.py",
    "tests/test_all.py",
)


def project(folder: Path, *programs: str, **texts: str) -> Path:
    """With these files, whose names have `__` for `.`, and programs on the PATH that do nothing."""
    (folder / "bin").mkdir()
    for program in programs:
        (folder / "bin" / program).touch(0o755)
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def verifies(
    folder: Path, commands: tuple[str, ...], *parts: tuple[str, ...], paths: tuple[str, ...] = ()
) -> list[str]:
    """What is written for each of the parts, all of whose files hold tests."""
    survey = ProjectSurvey(
        agents=(), tests=tuple(CheckCommand(command, "x") for command in commands), setup="", git=GitState()
    )
    tests = [path for part in parts for path in part]
    checks = part_checks(survey, folder, (*tests, *paths), tests, {"PATH": str(folder / "bin")})
    return [checks.for_part(part) for part in parts]


def test_pytest_is_given_the_test_files_of_the_part_or_the_folder_that_is_all_its_own(tmp_path: Path) -> None:
    folder = project(tmp_path, "pytest")
    assert verifies(folder, ("pytest -q",), TESTS[:2], TESTS[2:]) == [
        "pytest -q tests/store",
        "pytest -q tests/web/test_view.py tests/test_all.py",
    ]
    other = ("tests/store/test_other.py",)
    assert verifies(folder, ("pytest -q",), TESTS[:2], paths=other) == [f"pytest -q {TESTS[0]} {TESTS[1]}"]


def test_a_group_with_all_tests_needs_no_verify_of_its_own(tmp_path: Path) -> None:
    survey = ProjectSurvey(agents=(), tests=(CheckCommand("pytest -q", "x"),), setup="", git=GitState())
    environ = {"PATH": str(project(tmp_path, "pytest") / "bin")}
    checks = part_checks(survey, tmp_path, TESTS, TESTS, environ)
    assert checks.for_group(TESTS) == ""
    assert checks.for_group(TESTS[:3]) == "pytest -q tests/store tests/web/test_view.py"


def test_what_has_no_tests_or_too_many_to_name_has_no_verify(tmp_path: Path) -> None:
    many = tuple(f"{number}/test_it.py" for number in range(21))
    assert verifies(project(tmp_path, "pytest"), ("pytest -q",), (), many, many[:1]) == [
        "",
        "",
        "pytest -q 0/test_it.py",
    ]


def test_a_name_that_a_shell_or_a_template_might_read_is_not_written(tmp_path: Path) -> None:
    odd = ("tests/test_a b.py", "tests/test_$(x).py", "tests/test_{{x}}.py", "-x/test_a.py")
    assert verifies(project(tmp_path, "pytest"), ("pytest -q",), odd, (*odd, TESTS[3])) == [
        "",
        "pytest -q tests/test_all.py",
    ]


def test_without_the_program_there_is_no_verify(tmp_path: Path) -> None:
    assert verifies(project(tmp_path), ("pytest -q",), TESTS) == [""]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "pyproject__toml",
            '[tool.pytest.ini_options]\naddopts = "--cov=x"\n[tool.coverage.report]\nfail_under = 90\n',
        ),
        ("pytest__ini", "[pytest]\naddopts = --cov --cov-fail-under=80\n"),
        ("pyproject__toml", "[tool.pytest.ini_options]\naddopts = ['-q', '-m', 'not slow']\n"),
        ("setup__cfg", "[tool:pytest]\naddopts =\n    -q\n    -k fast\n"),
    ],
)
def test_settings_that_make_a_part_fail_alone_prevent_a_verify(tmp_path: Path, name: str, text: str) -> None:
    assert verifies(project(tmp_path, "pytest", **{name: text}), ("pytest -q",), TESTS) == [""]


def test_the_recipe_of_make_decides_whether_the_next_command_is_what_it_runs(tmp_path: Path) -> None:
    commands = ("make test", "pytest -q", "tox")
    folder = project(
        tmp_path, "make", "pytest", Makefile="test: all\n\t@pytest --durations=3\n\nall:\n\techo\n"
    )
    assert verifies(folder, commands, TESTS[:2], TESTS[2:])[0] == "pytest -q tests/store"
    (folder / "Makefile").write_text("test:\n\t.venv/bin/pytest\n")
    assert verifies(folder, commands, TESTS) == [""]


def test_unittest_is_given_modules(tmp_path: Path) -> None:
    part = ("tests/test_a.py", "tests/deep/test_b.py", "test_c.py")
    assert verifies(project(tmp_path, "python3"), ("python3 -m unittest",), part) == [
        "python3 -m unittest tests.test_a test_c"
    ]


def test_go_is_given_packages_of_the_module_at_the_top(tmp_path: Path) -> None:
    part = ("a_test.go", "store/a_test.go", "store/b_test.go", "store/testdata/c_test.go", "tool/x/d_test.go")
    assert verifies(project(tmp_path, "go"), ("go test ./...",), part, paths=("go.mod", "tool/go.mod")) == [
        "go test . ./store"
    ]


def test_cargo_is_given_targets_that_it_finds_by_itself(tmp_path: Path) -> None:
    folder = project(tmp_path, "cargo", Cargo__toml='[package]\nname = "x"\n')
    part = ("tests/model.rs", "tests/store.rs")
    assert verifies(folder, ("cargo test",), part) == ["cargo test --test model --test store"]
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "x"\n[[test]]\nname = "model"\nrequired-features = ["y"]\n'
    )
    assert verifies(folder, ("cargo test",), part) == [""]


@pytest.mark.parametrize(
    ("command", "script", "more", "verify"),
    [
        ("npm test", "jest", {}, "npm test -- web/cart.test.ts"),
        ("yarn test", "vitest run", {}, "yarn test web/cart.test.ts"),
        ("npm test", "vitest", {}, ""),
        ("npm test", "tsc && jest", {}, ""),
        ("npm test", "jest", {"jest": {"testMatch": ["**/*.check.js"]}}, ""),
    ],
)
def test_scripts_of_javascript_take_paths_if_nothing_else_is_set(
    tmp_path: Path, command: str, script: str, more: dict[str, object], verify: str
) -> None:
    package = json.dumps({"scripts": {"test": script}, "devDependencies": {"jest": "1"}, **more})
    folder = project(tmp_path, "npm", "yarn", package__json=package)
    assert verifies(folder, (command,), ("web/cart.test.ts",)) == [verify]
    (folder / "jest.config.js").write_text("module.exports = {}")
    assert verifies(folder, (command,), ("web/cart.test.ts",)) == [""]


def test_other_commands_are_not_narrowed(tmp_path: Path) -> None:
    assert verifies(project(tmp_path, "tox"), ("tox", "pytest -q"), TESTS) == [""]
    survey = ProjectSurvey(agents=(), tests=(), setup="", git=GitState())
    assert part_checks(survey, tmp_path, TESTS, TESTS, {}).for_part(TESTS) == ""


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("tests/test_a.py", b"def test_a(): ...", True),
        ("tests/test_a.py", b"VALUES = 1", False),
        ("tests/helpers.py", b"def test_a(): ...", False),
        ("a_test.go", b"package a\n\nfunc TestA(t *testing.T) {}", True),
        ("a_test.go", b"//go:build integration\n\npackage a\n\nfunc TestA(t *testing.T) {}", False),
        ("a_windows_test.go", b"package a\n\nfunc TestA(t *testing.T) {}", False),
        ("web/a.spec.tsx", b"import x\ndescribe('a', () => {})", True),
        ("web/a.spec.tsx", b"export const x = 1", False),
        ("tests/a.rs", b"#[test]\nfn a() {}", True),
        ("tests/common/mod.rs", b"#[test]\nfn a() {}", False),
    ],
)
def test_a_test_is_known_by_its_name_and_by_what_is_in_it(path: str, text: bytes, expected: bool) -> None:
    assert is_test(path, text) is expected


def test_the_commands_pass_on_an_unchanged_checkout(tmp_path: Path) -> None:
    """With the real pytest, which fails where it finds no test."""
    for path in TESTS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("def test_it():\n    assert True\n")
    folder = project(tmp_path, "pytest", pytest__ini="[pytest]\naddopts = -p no:cacheprovider\n")
    assert shutil.which("pytest", path=str(folder / "bin"))
    for command in verifies(folder, ("pytest -q",), TESTS[:2], TESTS[2:]):
        done = subprocess.run(
            [sys.executable, "-m", *command.split()], cwd=folder, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout.split()[-4:-2]) == (0, [b"2", b"passed"])
