"""Commands whose tests would import the code of the checkout are found, and their worktrees come first."""

from pathlib import Path

import pytest

from app.preflight.test_python_installs import Machine
from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import FindingState
from weft.app.doctor.imports import imports
from weft.app.init.init import initialize
from weft.app.preflight.imports import import_findings, python_imports
from weft.cli.text.init import init_lines
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan

STEP = "steps: [{id: s, run: 'echo x > x'}]"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    (made.top / ".git" / "refs").mkdir(parents=True)
    (made.top / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (made.top / ".git" / "objects").mkdir()
    made.install(url=made.top, pth=str(made.top / "src"))
    made.program("python3")
    return made


def plan(verify: str, more: str = "") -> Plan:
    text = f"weft: 1\nplan: p\n{more}verify: {verify}\nsubplans: [{{id: a, {STEP}}}]\n"
    return load_plan(text, surroundings=Surroundings(git=True))


def roots(machine: Machine, verify: str, more: str = "", at: str = "") -> list[str]:
    return [str(root) for root in python_imports(plan(verify, more), machine.top / at, machine.environ).roots]


@pytest.mark.parametrize(
    "verify",
    [
        "pytest -q",
        "python3 -m pytest",
        "cd sub && pytest",
        "[pytest, -q]",
        "make test",
        "CI=1 python3 check.py",
    ],
)
def test_where_a_command_runs_python_worktrees_come_first(machine: Machine, verify: str) -> None:
    assert roots(machine, verify) == ["src"]


@pytest.mark.parametrize(
    ("verify", "more"),
    [
        ("cargo test", ""),
        ("uv run pytest", ""),
        ("tox", ""),
        ("PYTHONPATH=src pytest -q", ""),
        ("pytest -q", "setup: python3 -m venv .venv\n"),
        ("pytest -q", "isolation: none\n"),
        ("pytest -q", "env_allow: [PYTHONPATH]\n"),
    ],
)
def test_where_that_is_not_so_or_is_seen_to_nothing_is_set(machine: Machine, verify: str, more: str) -> None:
    assert roots(machine, verify, more) == []


def test_roots_are_seen_from_the_directory_of_the_plan(machine: Machine) -> None:
    (machine.top / "plans").mkdir()
    assert roots(machine, "pytest -q", at="plans") == ["../src"]


def test_an_environment_in_the_plans_directory_is_looked_at(machine: Machine) -> None:
    machine.prefix.rename(machine.top / ".venv")
    machine.environ["PATH"] = str(machine.top / "nothing")
    assert roots(machine, ".venv/bin/pytest -q") == ["src"]
    assert roots(machine, "pytest -q") == []


def test_without_a_repository_there_are_no_worktrees(machine: Machine, tmp_path: Path) -> None:
    assert python_imports(plan("pytest"), tmp_path, machine.environ).links == ()


def messages(machine: Machine, verify: str, more: str = "") -> list[str]:
    return [item.message for item in import_findings(plan(verify, more), machine.top, machine.environ)]


def test_what_is_set_is_said(machine: Machine) -> None:
    (text,) = messages(machine, "pytest -q")
    assert text.startswith(
        f"the package shop is installed in {machine.site} as a link to this checkout (pip install -e)"
    )
    assert text.endswith("Weft sets PYTHONPATH to src of each worktree")


def test_where_nothing_can_be_set_the_lines_to_write_are_said(machine: Machine) -> None:
    (machine.top / "src" / "queue.py").touch()
    (text,) = messages(machine, "pytest -q")
    assert (
        "so a slice would test the code of the checkout; write `verify: PYTHONPATH=$PWD/src pytest -q`"
        in text
    )
    assert messages(machine, "PYTHONPATH=$PWD/src pytest -q") == []


def test_python_that_starts_in_the_project_imports_from_there(machine: Machine) -> None:
    machine.package.rename(machine.top / "shop")
    (machine.top / "src").rmdir()
    (text,) = messages(machine, "pytest -q")
    assert "write `verify: PYTHONPATH=$PWD pytest -q`" in text
    assert messages(machine, "python3 -m pytest -q") == []


def test_python_that_starts_in_the_project_does_not_find_what_is_below_another_directory(
    machine: Machine,
) -> None:
    (machine.site / "__editable__.shop-0.pth").write_text("import __editable___shop_0_finder\n")
    finder = machine.site / "__editable___shop_0_finder.py"
    finder.write_text(f"MAPPING: dict[str, str] = {{'shop': '{machine.top}/lib/shop'}}\n")
    (machine.top / "lib").mkdir()
    machine.package.rename(machine.top / "lib" / "shop")
    (machine.top / "src").rmdir()
    assert roots(machine, "python3 -m pytest -q") == ["lib"]


# Node


def test_packages_that_are_links_into_the_checkout_are_a_warning(machine: Machine) -> None:
    modules = machine.top / "node_modules"
    (machine.top / "packages" / "a").mkdir(parents=True)
    (modules / "@shop").mkdir(parents=True)
    (modules / ".store" / "b").mkdir(parents=True)
    (modules / "b").symlink_to(".store/b")
    assert messages(machine, "npm test") == []
    (modules / "@shop" / "a").symlink_to("../../packages/a")
    (text,) = messages(machine, "npm test")
    assert text.startswith(f"{modules}/@shop/a is a link to this checkout (a workspace, or npm link)")
    assert "write `setup: npm ci`" in text
    (modules / "c").symlink_to(machine.top / "packages" / "a")
    assert f"{modules}/@shop/a and 1 more is a link" in messages(machine, "npm test")[0]
    assert messages(machine, "npm test", "setup: npm ci\n") == []
    assert messages(machine, "cargo test") == []


# Elsewhere


def test_the_doctor_warns_where_there_is_something_to_do(machine: Machine) -> None:
    def states() -> list[FindingState]:
        return [item.state for item in imports(DoctorContext(machine.top, environ=machine.environ))]

    assert states() == []
    file = machine.top / "weft.yaml"
    file.write_text(f"weft: 1\nplan: p\nverify: pytest -q\nsubplans: [{{id: a, {STEP}}}]\n")
    assert states() == [FindingState.OK]
    (machine.top / "src" / "queue.py").touch()
    assert states() == [FindingState.WARNING]
    file.write_text("nonsense")
    assert states() == []


def test_a_new_plan_comes_with_the_warning(machine: Machine) -> None:
    (machine.top / "pytest.ini").touch()
    machine.program("git", "#!/bin/sh\nexit 1\n")
    made = initialize(machine.top, machine.environ)
    (text,) = made.warnings
    assert text.endswith("Weft sets PYTHONPATH to src of each worktree")
    (machine.top / "weft.yaml").write_text("nonsense")
    assert initialize(machine.top, machine.environ).warnings == ()
    lines = [*init_lines(made)]
    assert [line.split()[0] for line in lines if line.startswith(("warning", "next"))] == ["warning", "next"]
