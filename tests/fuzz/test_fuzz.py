"""A small part of the fuzz campaign of `make soak`: no file and no command line breaks Weft."""

from pathlib import Path

import pytest
from hypothesis import strategies as st

from fuzz.targets import TARGETS, Target, read_host_files, read_model, read_scripts
from fuzz.trials import run_trials

SEED = 1
FEW = 8
SLOW = {"kept": 1, "plan": 3, "config": 3}
"""Trials that run several commands."""
DEEP = b'{"a":' * 100_000


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name.replace(" ", "-"))
def test_nothing_that_is_read_breaks_weft(tmp_path: Path, target: Target) -> None:
    outcome = run_trials(target, tmp_path, SEED, most=SLOW.get(target.name, FEW))
    assert outcome.violation == ""


def test_a_violation_is_reported_with_its_input(tmp_path: Path) -> None:
    def fail(_folder: Path, value: int) -> None:
        assert value < 5

    target = Target(name="numbers", inputs=st.integers(0, 1000), trial=fail)
    assert run_trials(target, tmp_path, SEED, most=100).violation.startswith("numbers: 5: AssertionError")


@pytest.mark.parametrize(
    "data", [DEEP, b'{"start": "j", "mark": 1e999, "at": 1}\n', b'{"run": "x"}\n', b"[]\n"]
)
def test_a_supervisor_passes_over_lines_that_it_cannot_read(tmp_path: Path, data: bytes) -> None:
    read_host_files(tmp_path, data)


def test_scripts_that_are_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    read_scripts(tmp_path, DEEP)
    read_model(tmp_path, DEEP)
