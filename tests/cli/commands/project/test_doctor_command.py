"""`weft doctor`: what it says, fixes and leaves alone."""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.doctor.patients import FAILS, LANDS, Patient
from e2e.repositories import WEFT
from weft.app.doctor.catalogue import CHECKS
from weft.app.doctor.examination import CheckResult, DoctorReport
from weft.app.doctor.findings import Check, problem, unknown, warning
from weft.cli.commands.project import doctor as command
from weft.cli.main import cli
from weft.cli.text.doctor import report_lines


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Patient]:
    patient = Patient(tmp_path / "project")
    yield patient
    patient.kill_supervisors()
    while patient.processes():
        patient.kill_processes()


def doctor(patient: Patient, *arguments: str) -> Result:
    return CliRunner(env={"HOME": str(patient.outside)}).invoke(
        cli, ["-C", str(patient.root), "doctor", *arguments]
    )


# What it says


def test_a_healthy_project_is_reported_in_a_word(patient: Patient) -> None:
    patient.plan(LANDS).run()
    done = doctor(patient)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "healthy\n", "")


def test_on_request_it_lists_what_it_has_looked_at(patient: Patient) -> None:
    done = doctor(patient, "-v")
    *lines, last = done.stdout.splitlines()
    assert (done.exit_code, last) == (0, "healthy")
    assert list(dict.fromkeys(line.split(": ")[1] for line in lines)) == [check.id for check in CHECKS]


@pytest.mark.parametrize("place", ["deep", ".weft/worktrees/tried/a", ".git"])
def test_it_works_from_everywhere_in_the_project(patient: Patient, place: str) -> None:
    patient.plan(LANDS).run()
    (patient.root / "deep").mkdir()
    done = patient.weft("doctor", "--json", at=patient.root / place)
    assert (done.returncode, json.loads(done.stdout)["data"]["project"]) == (0, str(patient.root))


def test_where_there_is_nothing_it_checks_what_it_can(tmp_path: Path) -> None:
    done = CliRunner(env={"HOME": str(tmp_path)}).invoke(cli, ["-C", str(tmp_path), "doctor"])
    assert (done.exit_code, done.stdout) == (0, "healthy\n")
    assert [*tmp_path.iterdir()] == []


def test_a_problem_is_reported_with_the_reason_and_what_helps(patient: Patient) -> None:
    patient.plan(FAILS).run()
    place = patient.worktree("group/bad")
    shutil.rmtree(place)
    done = doctor(patient)
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        (
            f"problem: worktree-lost: the worktree {place} is registered, but its directory does not exist; it "
            f"had weft/tried/group.bad checked out"
        ),
        "  why it matters: git keeps their branches from being checked out anywhere else",
        f"  type: git worktree remove --force {place}",
        "warning: unmerged: the branch weft/tried/group.bad has 1 commit not on main",
        "  why it matters: work that has not landed is on no other branch",
        "  type: weft diff group/bad",
        "1 problem, 1 warning",
        "to fix what is safe to fix, type: weft doctor --fix",
    ]
    done = doctor(patient, "--fix")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-2:] == [
        (
            f"fixed: worktree-lost: the worktree {place} is registered, but its directory does not exist; it had "
            "weft/tried/group.bad checked out"
        ),
        "2 warnings, 1 fixed",
    ]


def test_as_json_it_is_data(patient: Patient) -> None:
    patient.plan(FAILS).run()
    done = doctor(patient, "--json")
    envelope = json.loads(done.stdout)
    data = envelope["data"]
    assert (done.exit_code, envelope["weft"], data["project"], data["healthy"]) == (
        0,
        1,
        str(patient.root),
        False,
    )
    assert (data["counts"]["warning"], data["counts"]["problem"], data["counts"]["fixed"]) == (1, 0, 0)
    (unmerged,) = [item for item in data["findings"] if item["state"] == "warning"]
    assert unmerged == {
        "check": "unmerged",
        "state": "warning",
        "found": "the branch weft/tried/group.bad has 1 commit not on main",
        "subject": "weft/tried/group.bad",
        "why": "work that has not landed is on no other branch",
        "command": "weft diff group/bad",
        "advice": None,
        "fixable": False,
        "tried": None,
    }


def test_what_cannot_be_found_out_is_not_fine(patient: Patient) -> None:
    patient.plan(LANDS).run()
    shutil.rmtree(patient.root / ".git" / "refs")
    done = doctor(patient)
    assert (done.exit_code, done.stdout.splitlines()[0].partition(":")[0]) == (1, "problem")
    assert any(line.startswith("unknown: ") for line in done.stdout.splitlines())


def test_only_unknown_has_an_exit_code_of_its_own(patient: Patient) -> None:
    patient.plan(LANDS).run()
    (patient.root / ".weft" / "run").mkdir(exist_ok=True)
    odd = patient.root / ".weft" / "run" / "odd.status.json"
    odd.mkdir()
    done = doctor(patient)
    assert (done.exit_code, done.stdout.splitlines()) == (
        4,
        [
            f"unknown: status-files: cannot be checked: {odd} is a directory, not a file",
            "1 unknown",
        ],
    )


def made(*findings: tuple[str, object]) -> DoctorReport:
    check_results = [
        CheckResult(
            check=Check(id=name, covers="", why="because", examine=lambda _ground: ()),
            finding=finding,  # type: ignore[arg-type]
        )
        for name, finding in findings
    ]
    return DoctorReport(project=Path("/p"), results=tuple(check_results))


def test_what_is_unknown_for_one_reason_is_reported_once_and_what_matters_comes_first() -> None:
    report = made(
        ("one", unknown("no journal")),
        ("two", warning("little")),
        ("three", unknown("no journal")),
        ("four", problem("much", command="do it")),
        ("five", problem("more")),
    )
    assert [*report_lines(report, verbose=False, fix=True)] == [
        "problem: four: much",
        "  why it matters: because",
        "  type: do it",
        "problem: five: more",
        "  why it matters: because",
        "unknown: one, three: no journal",
        "warning: two: little",
        "  why it matters: because",
        "2 problems, 2 unknown, 1 warning",
    ]


def test_why_something_could_not_be_fixed_is_reported() -> None:
    check_result = CheckResult(
        check=Check(id="one", covers="", why="because", examine=lambda _ground: ()),
        finding=problem("much"),
        tried="no way",
    )
    lines = [
        *report_lines(DoctorReport(project=Path("/p"), results=(check_result,)), verbose=False, fix=True)
    ]
    assert lines[2] == "  the fix failed: no way"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_it_says_what_it_is_at_if_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.cli.output.PROGRESS_AFTER", -1.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with command._show_progress() as watch:
        watch("git-locks")
    assert terminal.getvalue().startswith("\rchecking: git-locks")
    assert terminal.getvalue().endswith("\r")


def test_what_is_quick_is_not_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.cli.output.PROGRESS_AFTER", 3600.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with command._show_progress() as watch:
        watch("git-locks")
    assert terminal.getvalue() == ""


# What it leaves alone


def everything(patient: Patient) -> tuple[str, dict[str, bytes], dict[str, bytes]]:
    """Refs, the worktrees byte for byte, and what a person sees."""
    trees = [file for file in (patient.root / ".weft" / "worktrees").rglob("*") if file.is_file()]
    return (
        patient.git("for-each-ref"),
        {str(file): file.read_bytes() for file in trees},
        patient.checkout(),
    )


def test_an_active_run_is_healthy_and_is_not_disturbed(patient: Patient) -> None:
    with patient.under_way() as process:
        for arguments in ((), ("--fix",)):
            done = patient.weft("doctor", *arguments)
            assert (done.returncode, done.stdout, done.stderr) == (0, "healthy\n", "")
        patient.let_through()
        assert process.wait() == 0
    assert patient.files()["a"] == "a"


def test_two_at_once_fix_all_and_lose_nothing(patient: Patient) -> None:
    patient.plan(FAILS).run()
    patient.write(at=patient.worktree("group/bad"), mine="in no commit\n")
    patient.kill_all_but_the_step()
    (patient.worktree("a").parent / "ghost").mkdir()
    before = everything(patient)
    fixing = [
        subprocess.Popen(
            [*WEFT, "doctor", "--fix"],
            cwd=patient.root,
            env=dict(patient.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    assert [item.communicate()[1] for item in fixing] == [b"", b""]
    assert patient.processes() == []
    done = doctor(patient)
    assert (done.exit_code, "problem" in done.stdout) == (0, False)
    assert everything(patient) == before


def test_within_a_step_it_fixes_nothing(patient: Patient) -> None:
    env = {**patient.environ, "WEFT_RUN": "r", "WEFT_SUBPLAN": "a"}
    done = subprocess.run(
        [*WEFT, "doctor", "--fix"], cwd=patient.root, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: `weft doctor --fix` is refused inside a step")


def test_to_look_changes_nothing_in_the_repository(patient: Patient) -> None:
    patient.plan(LANDS).run()
    files = {file: file.stat().st_mtime_ns for file in (patient.root / ".git").rglob("*")}
    assert doctor(patient).stdout == "healthy\n"
    assert {file: file.stat().st_mtime_ns for file in (patient.root / ".git").rglob("*")} == files
