"""Disks: space, files, logs, kinds."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from app.doctor.patients import LANDS, Patient
from weft.app.doctor.disk import kind_of, size_words
from weft.app.doctor.findings import FindingState

LOTS = 1 << 62
TMPFS = ["unshare", "--mount", "sh", "-c"]
MOUNTS = (
    shutil.which("unshare")
    and not subprocess.run([*TMPFS, "mount -t tmpfs none /mnt"], capture_output=True, check=False).returncode
)


@pytest.mark.parametrize(
    ("bounds", "state"),
    [
        ({"space_warning": LOTS}, FindingState.WARNING),
        ({"space_warning": LOTS, "space_problem": LOTS}, FindingState.PROBLEM),
    ],
)
def test_little_space_is_reported_with_the_bytes_and_the_place(
    patient: Patient, bounds: dict[str, Any], state: FindingState
) -> None:
    event = patient.told("disk-space", **bounds)[0]
    assert (event.state, event.finding.command) == (state, f"df -h {patient.root}")
    assert " bytes) are free for Weft's own files in " in event.finding.found


@pytest.mark.skipif(not os.statvfs(tempfile.gettempdir()).f_files, reason="needs a disk with so many inodes")
def test_few_files_are_reported(patient: Patient) -> None:
    event = patient.told("disk-inodes", inodes_warning=LOTS)[0]
    assert event.state is FindingState.WARNING
    assert " more files can be made for Weft's own files in " in event.finding.found


@pytest.mark.skipif(not MOUNTS, reason="needs the right to mount")
def test_a_disk_that_is_almost_full_is_a_problem(patient: Patient) -> None:
    """A real one: of a megabyte, where temporary files go."""
    place = patient.outside / "small"
    place.mkdir()
    script = f"mount -t tmpfs -o size=1m none {place} && exec {sys.executable} -m weft doctor --json"
    env = {**patient.environ, "TMPDIR": str(place)}
    done = subprocess.run(
        [*TMPFS, script], cwd=patient.root, env=env, capture_output=True, text=True, check=False
    )
    (messages,) = [
        item for item in json.loads(done.stdout)["data"]["findings"] if item["subject"] == str(place)
    ]
    assert (done.returncode, messages["check"], messages["state"]) == (1, "disk-space", "problem")
    assert messages["command"] == f"df -h {place}"
    assert messages["found"] == f"1.0 MiB (1,048,576 bytes) are free for temporary files in {place}"


@pytest.mark.skipif(not MOUNTS, reason="needs the right to mount")
def test_where_worktrees_are_there_must_be_space_too(patient: Patient) -> None:
    place = patient.outside / "small"
    patient.plan(f"worktrees: '{place}/{{{{ slice.path }}}}'\n{LANDS}").run()
    script = f"mount -t tmpfs -o size=1m none {place} && exec {sys.executable} -m weft doctor --json"
    done = subprocess.run(
        [*TMPFS, script], cwd=patient.root, env=patient.environ, capture_output=True, text=True, check=False
    )
    (messages,) = [
        item for item in json.loads(done.stdout)["data"]["findings"] if item["subject"] == str(place)
    ]
    assert messages["found"].endswith(f" are free for worktrees in {place}")


def test_many_logs_are_reported_with_the_run_that_has_most(patient: Patient) -> None:
    begun = patient.plan(LANDS).run().begun
    assert begun is not None
    folder = patient.root / ".weft" / "runs"
    (folder / begun.run / "logs").mkdir(exist_ok=True)
    (folder / begun.run / "logs" / "much").write_bytes(b"x" * 100_000)
    result = patient.one("disk-logs", logs=50_000)
    assert (result.state, result.finding.command) == (FindingState.WARNING, f"rm -r {folder / begun.run}")
    assert result.finding.found.endswith(f"of logs in {folder}; {begun.run} has most")
    patient.sql("UPDATE run_states SET state = 'stopped'")
    assert patient.one("disk-logs", logs=50_000).finding.command == f"du -sh {folder / begun.run}"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (100 << 20, "100.0 MiB"), (5 << 40, "5.0 TiB")],
)
def test_sizes_are_short(count: int, text: str) -> None:
    assert size_words(count) == text


def test_the_kind_of_a_file_system_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "1 0 0:1 / / rw - ext4 /dev/x rw\n"
        f"2 1 0:2 / {tmp_path}/a\\040b rw shared:1 - nfs4 server:/x rw\n"
        f"3 2 0:3 / {tmp_path}/a\\040b/c rw - tmpfs none rw\n"
    )
    kinds = [kind_of(tmp_path / name, str(table)) for name in ("a b/x", "a b/c/x", "other")]
    assert kinds == ["nfs4", "tmpfs", "ext4"]
    table.write_text("")
    assert kind_of(tmp_path, str(table)) == ""


def test_a_network_file_system_is_worth_a_warning(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.app.doctor.disk._FAR", {kind_of(patient.root)})
    result = patient.one("disk-kind")
    assert (result.state, result.finding.command) == (FindingState.WARNING, f"df -T {patient.root}")


def test_a_file_system_without_locks_is_a_problem(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    result = patient.one("disk-kind")
    assert result.state is FindingState.PROBLEM
    assert result.finding.found == f"files in {patient.root} cannot be locked: Function not implemented"
