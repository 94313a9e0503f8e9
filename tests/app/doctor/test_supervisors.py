"""Supervisors that died or hang, and processes that they have left: real ones, killed for real."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.doctor.patients import LANDS, Patient
from hosts.places import is_alive, proc
from weft.app.doctor.findings import FindingState
from weft.hosts.leftovers import is_halted

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"

FORGETFUL = """
subplans:
  - id: a
    steps: [{id: work, run: "exec env -i sh -c 'echo > OUTSIDE/here; read _ < OUTSIDE/gate'"}]
"""


@contextmanager
def orphan(host: Path, program: str = "print(flush=True); input()") -> Iterator["subprocess.Popen[str]"]:
    """A process that says that it belongs to a step of that supervisor."""
    env = {"PATH": os.environ["PATH"], "WEFT_HOST": str(host), "WEFT_JOB": "r.1.1"}
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def host_of(patient: Patient) -> Path:
    (host,) = patient.hosts()
    return host


# Orphans


def test_an_orphan_is_named_by_pid_and_command_and_ended(patient: Patient) -> None:
    step = patient.kill_all_but_the_step()
    result = patient.one("orphans")
    assert (result.state, result.finding.command) == (FindingState.PROBLEM, f"kill {step}")
    assert result.finding.found.startswith(f"process {step} (/bin/sh -c 'echo a > a; echo > ")
    assert is_alive(step)
    fixed = patient.doctor(fix=True).of(FindingState.FIXED)
    assert [item.check.id for item in fixed] == ["coordinator", "supervisor", "orphans"]
    assert not is_alive(step)
    assert patient.doctor().of(FindingState.PROBLEM) == []


def test_the_command_for_a_frozen_orphan_ends_it(patient: Patient) -> None:
    step = patient.kill_all_but_the_step()
    os.kill(step, signal.SIGSTOP)
    while not is_halted(step):
        pass  # the kernel stops it soon
    command = patient.one("orphans").finding.command
    assert command == f"kill -KILL {step}"
    subprocess.run(shlex.split(command), check=True)
    while is_alive(step):
        pass  # the kernel ends it soon, or the test's time is over


def test_one_that_does_not_listen_is_killed(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.hosts.leftovers.GRACE", 0.05)
    patient.plan(LANDS).run()
    patient.kill_supervisors()
    with orphan(host_of(patient), STUBBORN) as process:
        assert patient.one("orphans", fix=True).state is FindingState.FIXED
        assert process.wait() == -signal.SIGKILL


def test_a_process_of_another_project_is_none_of_ours(patient: Patient, tmp_path: Path) -> None:
    patient.plan(LANDS).run()
    patient.kill_supervisors()
    with orphan(tmp_path / "other" / ".weft" / "runs" / "r" / "host") as process:
        assert patient.told("orphans", fix=True) == []
        assert process.poll() is None


def test_a_process_with_a_living_supervisor_is_no_orphan(patient: Patient) -> None:
    with patient.under_way() as process:
        assert patient.wrong(fix=True) == []
        patient.let_through()
        assert process.wait() == 0


def test_of_a_run_whose_files_are_gone_the_processes_are_still_found(patient: Patient) -> None:
    patient.plan(LANDS).run()
    with orphan(patient.root / ".weft" / "runs" / "gone" / "host") as process:
        assert f"process {process.pid} " in patient.one("orphans", fix=True).finding.found
        assert process.wait() == -signal.SIGTERM


def test_the_asking_process_is_no_orphan(patient: Patient) -> None:
    """As one who types it in a shell that a step has left."""
    patient.plan(LANDS).run()
    patient.kill_supervisors()
    env = {**patient.environ, "WEFT_HOST": str(host_of(patient)), "WEFT_JOB": "r.1.1"}
    shell = f"{sys.executable} -m weft doctor --json; :"
    done = subprocess.run(
        ["sh", "-c", shell], cwd=patient.root, env=env, capture_output=True, text=True, check=True
    )
    states = {item["check"]: item["state"] for item in json.loads(done.stdout)["data"]["findings"]}
    assert states["orphans"] == "ok"


def test_what_has_lost_its_environment_is_known_by_its_mark(patient: Patient) -> None:
    with patient.under_way(FORGETFUL) as process:
        process.kill()
    patient.kill_supervisors()
    assert patient.processes() == []
    result = patient.one("orphans", fix=True)
    assert result.state is FindingState.FIXED
    assert "(sh -c 'echo > " in result.finding.found


# Supervisors


def test_a_supervisor_that_died_is_tidied_up_after_and_the_run_continues(patient: Patient) -> None:
    patient.kill_all_but_the_step()
    result = patient.one("supervisor")
    assert result.state is FindingState.PROBLEM
    assert result.finding.found.endswith("is dead, and the end of 1 step is unknown")
    assert result.finding.command == f"weft run {patient.root / 'weft.yaml'}"
    patient.doctor(fix=True)
    left = {file.name for file in host_of(patient).iterdir()}
    assert left - {"exits"} == {"lock", "log", "supervisor.log"}, (
        "what the reaper records may come at any time"
    )
    for name in ("here", "gate"):
        (patient.outside / name).unlink()
    (patient.outside / "gate").write_text("\n")
    assert patient.run().state == "completed"


def test_a_supervisor_that_was_killed_when_it_had_nothing_to_do_is_not_reported(patient: Patient) -> None:
    """It may be killed between the end of a run and its own; the files that it leaves do no harm."""
    patient.plan(LANDS).run()
    patient.kill_supervisors()
    assert patient.wrong() == []


REPLACED = (
    "INSERT INTO runs SELECT number + 1, 'newer', plan, file, directory, text, digest, created_at, NULL FROM runs",
    "INSERT INTO run_states VALUES ('newer', 'completed')",
    """INSERT INTO events
    SELECT NULL, at, 'newer', kind, subplan, step, attempt, outcome, cost, tokens, data, fact, NULL FROM events
    WHERE kind = 'run_started'""",
)
"""A newer run of the same plan has started since."""
ABANDONED = ("UPDATE run_states SET state = 'abandoned'",)


@pytest.mark.parametrize("statements", [ABANDONED, REPLACED], ids=["abandoned", "replaced"])
@pytest.mark.parametrize("frozen", [False, True], ids=["running", "frozen"])
def test_steps_of_a_run_that_nothing_continues_are_ended(
    patient: Patient, statements: tuple[str, ...], frozen: bool
) -> None:
    with patient.under_way() as process:
        if frozen:
            assert patient.weft("pause", "--freeze").returncode == 0
        process.kill()
    for statement in statements:
        patient.sql(statement)
    (pid,) = patient.supervisors()
    steps = patient.processes()
    result = patient.one("supervisor")
    assert (result.state, result.finding.command) == (FindingState.PROBLEM, "weft doctor --fix")
    has = f"and its supervisor, process {pid}, still has 1 step{' (1 of them frozen)' if frozen else ''}"
    assert result.finding.found.endswith(has)
    assert patient.one("supervisor", fix=True).state is FindingState.FIXED
    assert [is_alive(step) for step in steps] == [False] * len(steps)
    assert patient.doctor().of(FindingState.PROBLEM) == []


def test_a_run_that_is_recorded_as_paused_and_was_replaced_is_abandoned(patient: Patient) -> None:
    patient.plan(LANDS).run()
    patient.sql("UPDATE run_states SET state = 'paused'")
    for statement in REPLACED:
        patient.sql(statement)
    result = patient.one("coordinator")
    assert (result.state, result.finding.command) == (FindingState.PROBLEM, "weft doctor --fix")
    assert patient.one("coordinator", fix=True).state is FindingState.FIXED
    assert patient.told("coordinator") == []


def test_a_supervisor_that_was_halted_is_named(patient: Patient) -> None:
    patient.kill_coordinator()
    (pid,) = patient.supervisors()
    os.kill(pid, signal.SIGSTOP)
    while b") T " not in proc(pid, "stat"):
        pass
    result = patient.one("supervisor-hangs", fix=True)
    os.kill(pid, signal.SIGCONT)
    assert (result.state, result.finding.command) == (FindingState.PROBLEM, f"kill -CONT {pid}")


def test_a_living_supervisor_with_an_old_heartbeat_hangs(patient: Patient) -> None:
    with patient.under_way() as process:
        file = host_of(patient) / "heartbeat.json"
        patient.wait_for(file.exists, process)
        result = patient.one("supervisor-hangs", silence=-60.0)
        assert patient.told("supervisor-hangs") == []
        patient.let_through()
        process.wait()
    assert f"its heartbeat {file} is " in result.finding.found
    assert result.finding.command == f"tail {host_of(patient) / 'supervisor.log'}"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"at": "x", "pid": 1, "started": 2}', b"\xff"])
def test_a_damaged_heartbeat_breaks_nothing(patient: Patient, content: bytes) -> None:
    with patient.under_way() as process:
        (host_of(patient) / "heartbeat.json").write_bytes(content)
        assert patient.wrong() == []
        patient.let_through()
        process.wait()
