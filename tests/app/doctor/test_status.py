"""Status files that say what is not so."""

import json
import os
from pathlib import Path

from app.doctor.patients import LANDS, Patient
from weft.app.doctor.findings import FindingState
from weft.store.lease import take_lock


def status_file(patient: Patient, name: str = "a", **record: object) -> Path:
    file = patient.root / ".weft" / "run" / f"{name}.status.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"weft": 1, "subplan": name, **record}))
    return file


def run_of(patient: Patient) -> str:
    begun = patient.plan(LANDS).run().begun
    assert begun is not None
    return begun.run


def test_a_file_that_says_running_of_a_run_that_is_over_is_removed(patient: Patient) -> None:
    run = run_of(patient)
    file = status_file(patient, run=run, state="running")
    result = patient.one("status-files")
    assert result.state is FindingState.WARNING
    assert result.finding.found == f"{file} says `running`, and run {run} is not under way (completed)"
    assert result.finding.command == f"rm {file}"
    assert file.exists()
    assert patient.one("status-files", fix=True).state is FindingState.FIXED
    assert not file.exists()


def test_unreadable_and_unknown_entries_are_found(patient: Patient) -> None:
    run_of(patient)
    damaged = status_file(patient, "damaged")
    damaged.write_text("{")
    status_file(patient, "other", run="other", state="running")
    values = [event.finding.found for event in patient.told("status-files")]
    assert values[0] == f"{damaged} cannot be read as a status"
    assert values[1].endswith("is of run other, which the journal does not know")
    assert [item.state for item in patient.told("status-files", fix=True)] == [FindingState.FIXED] * 2


def test_what_has_ended_is_reported_correctly(patient: Patient) -> None:
    status_file(patient, run=run_of(patient), state="failed")
    assert patient.told("status-files") == []


def test_a_run_that_waits_for_an_answer_is_reported_correctly(patient: Patient) -> None:
    status_file(patient, run=run_of(patient), state="running")
    patient.sql("UPDATE run_states SET state = 'waiting'")
    assert patient.told("status-files") == []


def test_of_a_run_that_is_under_way_nothing_is_stale(patient: Patient) -> None:
    with patient.under_way() as process:
        (host,) = patient.hosts()
        file = status_file(patient, run=host.parent.name, state="running")
        assert patient.told("status-files", fix=True) == []
        process.kill()
    assert patient.told("status-files", fix=True) == []
    assert file.exists()


def test_one_that_has_changed_meanwhile_stays(patient: Patient) -> None:
    run = run_of(patient)
    file = status_file(patient, run=run, state="running")
    fix = patient.one("status-files").finding.fix
    assert fix is not None
    status_file(patient, run=run, state="completed")
    fix()
    assert file.exists()


def test_nothing_is_removed_while_a_coordinator_runs(patient: Patient) -> None:
    file = status_file(patient, run=run_of(patient), state="running")
    lock = take_lock(patient.root / ".weft" / "coordinator.lock")
    assert lock is not None
    result = patient.one("status-files", fix=True)
    os.close(lock)
    assert (result.state, file.exists()) == (FindingState.WARNING, True)
    assert "another Weft runs in" in result.tried
