"""Python, SQLite, /proc and limits."""

import os
import resource
import sqlite3
import sys
from pathlib import Path

import pytest

from weft.app.doctor.context import Bounds, DoctorContext
from weft.app.doctor.findings import FindingState
from weft.app.doctor.system import limits, proc, python, sqlite


@pytest.fixture
def ground(tmp_path: Path) -> DoctorContext:
    return DoctorContext(tmp_path)


def test_this_machine_will_do(ground: DoctorContext) -> None:
    (item,) = python(ground)
    (other,) = sqlite(ground)
    assert (item.state, other.state, other.found) == (
        FindingState.OK,
        FindingState.OK,
        f"SQLite {sqlite3.sqlite_version}",
    )
    assert str(sys.executable) in item.found


def test_an_old_python_is_a_problem(ground: DoctorContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 2, "final", 0))
    (item,) = python(ground)
    assert (item.state, item.found) == (FindingState.PROBLEM, "this is Python 3.10.2")


def test_an_old_sqlite_is_a_problem_and_one_without_threads(
    ground: DoctorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "threadsafety", 0)
    (item,) = sqlite(ground)
    assert "was built without threads" in item.found
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    (item,) = sqlite(ground)
    assert (item.state, item.advice) == (FindingState.PROBLEM, "install a newer Python")


def test_where_processes_cannot_be_seen_it_says_so(
    ground: DoctorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [*proc(ground)] == []
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    (item,) = proc(ground)
    assert item.state is FindingState.WARNING
    monkeypatch.setattr(os.path, "exists", lambda _path: False)
    (item,) = proc(ground)
    assert item.state is FindingState.PROBLEM


@pytest.mark.parametrize(
    ("more", "states"),
    [
        ({"files_problem": 0, "files_warning": 0, "processes": 0}, []),
        ({"files_problem": 0, "files_warning": 1 << 62, "processes": 0}, [FindingState.WARNING]),
        ({"files_problem": 1 << 62, "files_warning": 1 << 62, "processes": 0}, [FindingState.PROBLEM]),
        ({"files_problem": 0, "files_warning": 0, "processes": 1 << 62}, [FindingState.WARNING]),
    ],
)
def test_low_limits_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, int], states: list[FindingState]
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (500, 500))
    assert [item.state for item in limits(DoctorContext(tmp_path, bounds=Bounds(**more)))] == states


def test_without_a_limit_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (resource.RLIM_INFINITY,) * 2)
    assert [*limits(DoctorContext(tmp_path))] == []
