"""Every command that the doctor suggests is typed, as it stands there, and works.

Each scene makes some damage. Then the doctor looks, each command that it prints goes to a shell in the project,
and the doctor looks again: what it found is gone, or, if the command only shows something, it has shown it.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Callable

import pytest

from app.doctor.patients import FAILS, LANDS, Patient
from weft.app.doctor.examination import CheckResult
from weft.app.doctor.findings import FindingState
from weft.workspaces.git.base.worktree_links import MAKING

SHOWS = (
    ("git", "log"),
    ("weft", "answer"),
    ("weft", "check"),
    ("weft", "diff"),
    ("weft", "merge", "--list"),
    ("weft", "schema"),
)
"""Commands that change nothing."""
WAITS = 4
"""The exit code of a command that shows what waits for a person."""
TWO = """
merge: {mode: manual}
failure_mode: continue_on_error
subplans:
  - {id: a, steps: [{id: work, run: "echo a > a"}]}
  - {id: b, steps: [{id: work, run: "echo b > b; test -e OUTSIDE/ready"}]}
"""
ASKS = """
subplans:
  - id: a
    steps: [{id: work, run: "echo a > a"}, {id: sure, action: ask, question: "Sure?"}]
"""


def typed(patient: Patient, command: str) -> "subprocess.CompletedProcess[str]":
    """The command, in a shell in the project."""
    scripts = sysconfig.get_path("scripts")
    environ = {**os.environ, **patient.environ, "PATH": f"{scripts}:{patient.environ['PATH']}"}
    return subprocess.run(
        command, shell=True, cwd=patient.root, env=environ, capture_output=True, text=True, check=False
    )


def only_shows(command: str) -> bool:
    words = tuple(shlex.split(command))
    is_status = words[:2] == ("git", "-C") and words[3:] == ("status",)
    return is_status or any(words[: len(shows)] == shows for shows in SHOWS)


def wrong(patient: Patient) -> list[CheckResult]:
    return [result for result in patient.doctor().results if result.state is not FindingState.OK]


def type_all(patient: Patient) -> list[str]:
    """Types what is suggested until nothing new is; the commands."""
    done: list[str] = []
    problems = wrong(patient)
    while new := [item for item in problems if item.finding.command and item.finding.command not in done]:
        command = new[0].finding.command
        done.append(command)
        output = typed(patient, command)
        assert output.returncode in ({0, WAITS} if only_shows(command) else {0}), (
            f"{command}: {output.stderr}"
        )
        if not only_shows(command):
            problems = wrong(patient)
            assert new[0].key not in [entry.key for entry in problems], f"{command} did not help"
    return done


def heads(commands: list[str]) -> list[str]:
    """The beginnings, without paths."""
    return [" ".join(word for word in shlex.split(command) if "/" not in word) for command in commands]


# Scenes


def ran(patient: Patient, plan: str) -> None:
    """By a process that has gone."""
    patient.plan(plan)
    typed(patient, "weft run --quiet --no-wait")


def waits_to_land_beside_what_failed(patient: Patient) -> None:
    ran(patient, TWO)


def asks(patient: Patient) -> None:
    ran(patient, ASKS)


def interrupted(patient: Patient) -> None:
    """As by Ctrl-C, and long enough under way to have a status file."""
    with patient.under_way() as process:
        wait_for_status_file(patient)
        process.send_signal(signal.SIGINT)
        process.wait()
    (patient.outside / "gate").unlink()
    (patient.outside / "gate").write_text("\n")
    (patient.outside / "here").unlink()


def wait_for_status_file(patient: Patient) -> None:
    while not (patient.root / ".weft" / "run" / "a.status.json").exists():
        pass


def locked_worktree_gone(patient: Patient) -> None:
    ran(patient, FAILS)
    patient.git("worktree", "lock", str(patient.worktree("group/bad")))
    shutil.rmtree(patient.worktree("group/bad"))


def worktree_unfinished(patient: Patient) -> None:
    ran(patient, LANDS)
    patient.git("worktree", "lock", "--reason", MAKING, str(patient.worktree("a")))


def worktree_without_link(patient: Patient) -> None:
    ran(patient, LANDS)
    (patient.worktree("a") / ".git").unlink()


def worktree_that_became_a_repository(patient: Patient) -> None:
    worktree_without_link(patient)
    patient.git("init", "--quiet", at=patient.worktree("a"))


def this_and_that(patient: Patient) -> None:
    ran(patient, LANDS)
    patient.git("worktree", "lock", str(patient.worktree("a")))
    (patient.worktree("a") / "new file").write_text("x")
    place = patient.worktree("my place")
    place.mkdir()
    (place / "file").write_text("x")
    (patient.root / ".weft" / "run").mkdir(exist_ok=True)
    (patient.root / ".weft" / "run" / "a b.status.json").write_text("{")
    lock = patient.root / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (0, 0))


def target_gone(patient: Patient) -> None:
    ran(patient, LANDS)
    patient.git("switch", "--quiet", "-c", "other")
    patient.commit(more="x")
    patient.git("branch", "-D", "main")


Scene = Callable[[Patient], None]


@pytest.mark.parametrize(
    ("scene", "suggested"),
    [
        (interrupted, ["weft run"]),
        (waits_to_land_beside_what_failed, ["weft merge a", "weft diff b"]),
        (asks, ["weft answer"]),
        (locked_worktree_gone, ["git worktree remove --force --force", "weft diff", "git worktree add"]),
        (worktree_unfinished, ["weft clean"]),
        (worktree_without_link, ["git worktree repair"]),
        (worktree_that_became_a_repository, ["mv && git worktree repair"]),
        (this_and_that, ["rm", "rm", "mv", "git worktree unlock", "git -C status"]),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_every_command_that_is_suggested_works(patient: Patient, scene: Scene, suggested: list[str]) -> None:
    scene(patient)
    assert heads(type_all(patient)) == suggested


def test_the_target_that_is_gone_is_made_again_where_work_last_landed(patient: Patient) -> None:
    target_gone(patient)
    (messages,) = [problem for problem in wrong(patient) if problem.finding.subject == "main"]
    assert typed(patient, messages.finding.command).returncode == 0
    assert patient.landed()[-1:] == ["Merge a"]
    assert "main" not in [item.finding.subject for item in wrong(patient)]
