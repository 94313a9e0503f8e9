"""git, the repository, and locks that were left."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from app.doctor.patients import FAILS, LANDS, Patient
from weft.app.doctor.findings import FindingState


def shim(patient: Patient, name: str, script: str) -> None:
    """A program that goes before others of its name."""
    program = patient.outside / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def fine(patient: Patient, check: str) -> list[str]:
    return [item.finding.found for item in patient.doctor().of(FindingState.OK) if item.check.id == check]


# The program


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo git version 2.30.1", "this is git version 2.30.1, and Weft needs 2.38 or newer"),
        ("echo git version 1.9", "this is git version 1.9, and Weft needs 2.38 or newer"),
        ("echo something", "this is something, and Weft needs 2.38 or newer"),
        ("exit 3", "the program `git` cannot be started: `git version` failed: exit code 3"),
    ],
)
def test_an_old_git_is_a_problem(patient: Patient, script: str, said: str) -> None:
    shim(patient, "git", script)
    result = patient.one("git")
    assert (result.state, result.finding.found) == (FindingState.PROBLEM, said)
    assert result.finding.advice.startswith("install git")
    assert patient.one("repository").state is FindingState.UNKNOWN


def test_without_any_git_it_says_so(patient: Patient) -> None:
    patient.environ = {**patient.environ, "PATH": str(patient.outside / "none")}
    assert patient.one("git").finding.found == (
        "the program `git` cannot be started: No such file or directory"
    )


def test_outside_a_repository_no_git_is_needed(patient: Patient, tmp_path: Path) -> None:
    shim(patient, "git", "echo git version 1.9")
    (tmp_path / "plain").mkdir()
    report = patient.doctor(at=tmp_path / "plain")
    assert report.is_healthy
    assert report.project == tmp_path / "plain"


# The repository


def test_a_repository_without_a_commit_is_a_problem(tmp_path: Path) -> None:
    patient = Patient(tmp_path / "project")
    patient.git("update-ref", "-d", "refs/heads/main")
    result = patient.one("repository")
    assert (result.state, result.finding.command) == (
        FindingState.PROBLEM,
        "git add . && git commit -m 'first commit'",
    )


def test_a_damaged_repository_is_a_problem(patient: Patient) -> None:
    (patient.root / ".git" / "HEAD").write_text("nonsense\n")
    result = patient.one("repository")
    assert (result.state, result.finding.command) == (FindingState.PROBLEM, "git status")


def test_a_missing_git_identity_is_only_a_note(tmp_path: Path) -> None:
    patient = Patient(tmp_path / "project", identity="[user]\n\tuseConfigOnly = true\n")
    assert fine(patient, "repository") == [
        "git has no name and e-mail address for you; Weft commits as Weft <weft@localhost>"
    ]


def test_that_the_history_is_cut_off_is_only_a_note(patient: Patient) -> None:
    patient.commit(second="x\n")
    patient.git("clone", "--quiet", "--depth=1", patient.root.as_uri(), str(patient.outside / "clone"))
    clone = Patient(patient.outside / "clone")
    assert fine(clone, "repository")[-1].endswith("type: git fetch --unshallow")


def test_what_keeps_the_slices_of_the_plan_from_starting_is_a_problem_and_the_rest_a_note(
    patient: Patient,
) -> None:
    patient.plan(LANDS)
    patient.write(new="x\n")
    assert any("1 untracked in" in item for item in fine(patient, "repository"))
    patient.git("branch", "weft")
    result = patient.one("repository")
    assert result.finding.found.startswith("there is a branch 'weft', and git allows no 'weft/tried/_plan'")
    patient.git("branch", "-D", "weft")
    patient.git("switch", "--quiet", "--detach")
    assert "HEAD is detached" in patient.one("repository").finding.found


def test_a_plan_without_worktrees_asks_nothing_of_the_repository(patient: Patient) -> None:
    patient.plan(f"isolation: dir\n{LANDS}")
    patient.git("branch", "weft")
    assert patient.told("repository") == []


# Locks


@contextmanager
def old_lock(file: Path) -> Iterator[Path]:
    file.touch()
    os.utime(file, (1, 1))
    yield file
    file.unlink(missing_ok=True)


def test_a_lock_in_a_worktree_of_ours_is_removed(patient: Patient) -> None:
    patient.plan(FAILS).run()
    with old_lock(patient.root / ".git" / "worktrees" / "group.bad" / "index.lock") as lock:
        result = patient.one("git-locks")
        assert (result.state, result.finding.command) == (FindingState.PROBLEM, f"rm {lock}")
        assert str(patient.worktree("group/bad")) in result.finding.found
        assert patient.one("git-locks", fix=True).state is FindingState.FIXED
        assert not lock.exists()


def test_locks_on_branches_of_plans_go_and_those_of_the_user_are_only_reported(patient: Patient) -> None:
    patient.plan(FAILS).run()
    theirs = ["index.lock", "packed-refs.lock", "refs/heads/main.lock"]
    ours = ["refs/heads/weft/tried/group.bad.lock", "refs/weft/start/tried/group.bad.lock"]
    files = [patient.root / ".git" / name for name in (*theirs, *ours)]
    with ExitStack() as stack:
        for file in files:
            stack.enter_context(old_lock(file))
        assert {event.finding.subject for event in patient.told("git-locks")} == set(map(str, files))
        states = {item.finding.subject: item.state for item in patient.told("git-locks", fix=True)}
        assert [states[str(file)] for file in files] == [FindingState.PROBLEM] * 3 + [FindingState.FIXED] * 2
        assert [file for file in files if file.exists()] == files[:3]


def test_a_lock_in_use_or_a_new_lock_is_left_alone(patient: Patient) -> None:
    patient.plan(LANDS).run()
    file = patient.root / ".git" / "worktrees" / "a" / "index.lock"
    with old_lock(file), file.open():
        assert patient.told("git-locks", fix=True) == []
    file.touch()
    assert patient.told("git-locks", fix=True) == []
    file.unlink()


def test_what_a_run_does_with_its_locks_is_its_own_affair(patient: Patient) -> None:
    with patient.under_way() as process:
        with old_lock(patient.root / ".git" / "worktrees" / "a" / "index.lock") as lock:
            assert patient.told("git-locks", fix=True) == []
            assert lock.exists()
        patient.let_through()
        assert process.wait() == 0
