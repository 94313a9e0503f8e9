from collections.abc import Iterator
from pathlib import Path

import pytest

from app.doctor.patients import Patient


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Patient]:
    patient = Patient(tmp_path / "project")
    yield patient
    patient.kill_supervisors()
    while patient.processes():
        patient.kill_processes()
