"""The journal and the coordinator: what is found of one that died, hangs, or was never there."""

import os
import signal
import time
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from app.doctor.patients import LANDS, Patient, bystander
from hosts.places import start_time
from weft.app.doctor.findings import FindingState
from weft.store.lease import take_lock
from weft.store.lock import LOCK_FILE
from weft.store.sqlite import open_journal


def journal_of(patient: Patient) -> Path:
    return patient.root / ".weft" / "weft.db"


# Links


@pytest.mark.parametrize("name", ["weft.db", "weft.db-wal", "coordinator.log", "runs", "worktrees/tried"])
def test_a_link_where_weft_writes_is_a_problem_and_is_not_followed(patient: Patient, name: str) -> None:
    target = patient.root / "target"
    link = patient.root / ".weft" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(target)
    report = patient.doctor(fix=True)
    (finding,) = (result.finding for result in report.results if result.check.id == "links")
    assert (finding.state, finding.command) == (FindingState.PROBLEM, f"rm {link}")
    assert report.of(FindingState.PROBLEM)[-1].finding is finding
    assert not target.exists()
    assert link.is_symlink()


def test_a_link_for_the_whole_directory_is_a_problem(patient: Patient) -> None:
    (patient.root / "elsewhere").mkdir()
    (patient.root / ".weft").symlink_to(patient.root / "elsewhere")
    assert f"rm {patient.root}/.weft" in [result.finding.command for result in patient.doctor().results]


# The journal


def test_a_project_where_nothing_was_run_is_healthy(patient: Patient) -> None:
    assert patient.wrong() == []
    assert not (patient.root / ".weft").exists()


def test_a_project_whose_run_has_landed_is_healthy(patient: Patient) -> None:
    assert patient.plan(LANDS).run().state == "completed"
    assert patient.wrong() == []


def test_a_journal_that_is_none_is_a_problem_and_what_needs_it_is_unknown(patient: Patient) -> None:
    (patient.root / ".weft").mkdir()
    journal_of(patient).write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    report = patient.doctor(fix=True)
    (messages,) = report.of(FindingState.PROBLEM)
    assert messages.check.id == "journal"
    assert "it is not a journal of Weft" in messages.finding.found
    assert messages.finding.command == f"cp -a {journal_of(patient)} {journal_of(patient)}.saved"
    unknown = {item.check.id for item in report.of(FindingState.UNKNOWN)}
    assert {"coordinator", "worktree-lost", "unmerged"} <= unknown


def test_a_journal_of_a_newer_weft_is_a_problem(patient: Patient) -> None:
    patient.plan(LANDS).run()
    patient.sql("PRAGMA user_version = 99")
    assert "it was written by a newer Weft" in patient.one("journal").finding.found


def test_a_damaged_page_is_found(patient: Patient) -> None:
    patient.plan(LANDS).run()
    patient.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(journal_of(patient).read_bytes())
    page = int.from_bytes(data[16:18], "big")
    for start in range(page, len(data), page):
        data[start + 8 : start + 60] = os.urandom(52)
    journal_of(patient).write_bytes(data)
    result = patient.one("journal")
    assert result.state is FindingState.PROBLEM
    assert str(journal_of(patient)) in result.finding.found


def test_a_damaged_end_of_the_journal_is_found_before_anybody_drops_it(patient: Patient) -> None:
    patient.plan(LANDS).run()
    wal = Path(f"{journal_of(patient)}-wal")
    wal.write_bytes(b"x" * 100)
    result = patient.one("journal")
    assert (result.state, result.finding.command) == (FindingState.PROBLEM, "weft doctor --fix")
    assert wal.read_bytes() == b"x" * 100
    assert patient.one("journal", fix=True).state is FindingState.FIXED
    assert wal.with_name("weft.db.damaged-wal").read_bytes() == b"x" * 100
    assert not wal.exists()


def test_a_byte_that_has_changed_in_a_row_is_found_and_all_before_it_is_kept(patient: Patient) -> None:
    patient.plan(LANDS).run()
    patient.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    data = journal_of(patient).read_bytes()
    changed = data.replace(b"run_finished", b"run_finishes")
    journal_of(patient).write_bytes(changed)
    result = patient.one("journal")
    assert "does not match its checksum" in result.finding.found
    assert "lost: 1 entries" in result.finding.found
    assert patient.one("journal", fix=True).state is FindingState.FIXED
    assert journal_of(patient).with_name("weft.db.damaged").read_bytes() == changed
    assert patient.wrong() == []


def test_a_damaged_journal_is_left_to_a_coordinator_that_has_it_open(patient: Patient) -> None:
    patient.plan(LANDS).run()
    journal_of(patient).write_bytes(
        journal_of(patient).read_bytes().replace(b"run_finished", b"run_finishes")
    )
    lock = take_lock(patient.root / ".weft" / LOCK_FILE)
    assert lock is not None
    result = patient.one("journal", fix=True)
    os.close(lock)
    assert result.tried == "a coordinator has the journal open; stop it first, with: weft stop"
    assert not journal_of(patient).with_name("weft.db.damaged").exists()


def test_a_journal_that_takes_too_long_to_check_is_unknown(patient: Patient) -> None:
    patient.plan(LANDS).run()
    patient.sql(
        "INSERT INTO events (at, run, kind, subplan, step, attempt, outcome, data) WITH RECURSIVE n(i) AS "
        "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT 0, run, 'x', '', '', 1, '', '{}' FROM "
        "n, runs"
    )
    assert patient.one("journal", patience=-1.0).state is FindingState.UNKNOWN


# A coordinator that is gone


def test_a_killed_coordinator_is_named_and_as_long_as_its_steps_run_nothing_is_changed(
    patient: Patient,
) -> None:
    patient.kill_coordinator()
    (supervisor,) = patient.supervisors()
    report = patient.doctor(fix=True)
    dead, alone = report.of(FindingState.PROBLEM, FindingState.WARNING)
    assert (dead.check.id, alone.check.id) == ("coordinator", "supervisor")
    assert "its coordinator, process " in dead.finding.found
    assert "(weft run)" in dead.finding.found
    assert dead.finding.found.endswith("is gone; its steps continue")
    assert dead.finding.command == f"weft run {patient.root / 'weft.yaml'}"
    assert f"continues without a coordinator: 1 step under supervisor {supervisor}" in alone.finding.found
    assert patient.state() == "running"
    assert len(patient.processes()) == 1
    patient.let_through()
    assert patient.run().state == "completed"


def test_a_coordinator_that_died_with_all_its_processes_is_put_down_and_the_run_continues(
    patient: Patient,
) -> None:
    patient.kill_all_but_the_step()
    patient.kill_processes()
    assert patient.one("coordinator", fix=True).state is FindingState.FIXED
    assert patient.state() == "stopped"
    (patient.outside / "gate").unlink()
    (patient.outside / "gate").write_text("\n")
    (patient.outside / "here").unlink()
    assert patient.run().state == "completed"
    assert patient.files()["a"] == "a"


def test_a_process_that_has_the_pid_of_a_dead_coordinator_is_not_taken_for_it(patient: Patient) -> None:
    begun = patient.plan(LANDS).run().begun
    assert begun is not None
    with bystander() as other:
        patient.sql("UPDATE run_states SET state = 'running'")
        started = start_time(other)
        patient.sql("UPDATE lease SET pid = ?, started = ?, since = ?", other, started, time.time())
        assert patient.told("coordinator") == []
        patient.sql("UPDATE lease SET started = ?", started - 1)
        result = patient.one("coordinator")
    assert f"process {other}" in result.finding.found


def test_a_paused_run_without_a_coordinator_is_left_too(patient: Patient) -> None:
    patient.plan(LANDS).run()
    patient.sql("UPDATE run_states SET state = 'paused'")
    result = patient.one("coordinator")
    assert result.finding.fix is not None
    patient.sql("UPDATE run_states SET state = 'failed'")
    result.finding.fix()
    assert patient.state() == "failed"


def test_a_run_that_died_before_it_began_never_was(patient: Patient) -> None:
    patient.plan(LANDS).run()
    with closing(open_journal(journal_of(patient), now=0.0)) as journal:
        journal.add_run(structs.replace(journal.runs()[0], run="dead", state="running"))
    assert patient.one("coordinator", fix=True).finding.subject == "dead"
    assert patient.state() == "abandoned"


def test_what_another_coordinator_has_left_is_found_while_one_runs_something_else(patient: Patient) -> None:
    """It took the lease long ago, and has written nothing to that run."""
    patient.plan(LANDS).run()
    patient.sql("UPDATE run_states SET state = 'running'")
    with bystander() as other:
        at = time.time() - 90
        patient.sql("UPDATE events SET at = ?", at - 1)
        patient.sql("UPDATE runs SET created_at = ?", at - 1)
        patient.sql("UPDATE lease SET pid = ?, started = ?, since = ?", other, start_time(other), at)
        result = patient.one("coordinator", fix=True)
        patient.sql("UPDATE events SET at = ?", at + 1)
        assert patient.told("coordinator") == []
    assert result.state is FindingState.PROBLEM
    assert result.finding.found.endswith("its coordinator is gone")


def test_nothing_is_recorded_while_a_coordinator_runs(patient: Patient) -> None:
    patient.plan(LANDS).run()
    patient.sql("UPDATE run_states SET state = 'running'")
    lock = take_lock(patient.root / ".weft" / "coordinator.lock")
    assert lock is not None
    result = patient.one("coordinator", fix=True)
    os.close(lock)
    assert (result.state, patient.state()) == (FindingState.PROBLEM, "running")
    assert "another Weft runs in" in result.tried


# One that hangs


def test_a_coordinator_that_was_halted_is_named_with_the_command_that_wakes_it(patient: Patient) -> None:
    with patient.under_way() as process:
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        result = patient.one("coordinator-hangs", fix=True)
        process.send_signal(signal.SIGCONT)
        patient.let_through()
        assert process.wait() == 0
    assert result.state is FindingState.PROBLEM
    assert f"process {process.pid} (weft run)" in result.finding.found
    assert result.finding.command == f"kill -CONT {process.pid}"


@pytest.mark.parametrize(("ago", "found"), [(61.0, 1), (30.0, 0)])
def test_a_coordinator_that_does_not_take_up_what_it_is_asked_hangs(
    patient: Patient, ago: float, found: int
) -> None:
    begun = patient.plan(LANDS).run().begun
    assert begun is not None
    patient.sql("UPDATE run_states SET state = 'running'")
    patient.sql(
        "INSERT INTO requests (run, kind, subplan, step, data, at) VALUES (?, 'answer', '', '', '{}', ?)",
        begun.run,
        time.time() - ago,
    )
    with bystander() as other:
        patient.sql("UPDATE lease SET pid = ?, started = ?", other, start_time(other))
        events = patient.told("coordinator-hangs")
    assert [item.finding.command for item in events] == [f"kill -KILL {other}"] * found
