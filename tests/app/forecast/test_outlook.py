"""The short forecast in `weft status`."""

import time
from pathlib import Path

import pytest

from app.forecast.projects import PLAN, lasting, played_project
from weft.app.forecast import outlook as module
from weft.app.forecast.outlook import Outlook, outlook_of
from weft.app.record.journal import open_book


def outlook_at(root: Path) -> Outlook | None:
    with open_book(root) as recorded_run:
        return outlook_of(recorded_run)


def test_a_run_under_way_has_an_outlook(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(600.0), start=0.0)
        project.play("r2", lasting(600.0), start=time.time() - 700.0, until=650.0)
        outlook = outlook_at(tmp_path)
    assert outlook is not None
    low, high = outlook.seconds
    # One step of ten minutes has run for almost two of them.
    assert 0.0 < low < high < 1200.0
    assert outlook.cost == (0, 0)


def test_a_run_that_has_just_started_has_none(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(600.0), start=time.time() - 5.0, until=4.0)
        assert outlook_at(tmp_path) is None


def test_a_run_that_is_over_has_none(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(600.0), start=0.0)
        assert outlook_at(tmp_path) is None


def test_a_large_plan_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SLICES", 2)
    with played_project(tmp_path) as project:
        project.play("r1", lasting(600.0), start=time.time() - 700.0, until=650.0)
        assert outlook_at(tmp_path) is None


def test_one_replication_is_enough_if_time_is_short(tmp_path: Path) -> None:
    with played_project(tmp_path, PLAN) as project:
        project.play("r1", lasting(600.0), start=time.time() - 700.0, until=650.0)
        with open_book(tmp_path) as recorded_run:
            outlook = outlook_of(recorded_run, seconds=0.0)
    assert outlook is not None
    assert outlook.seconds[0] == outlook.seconds[1]
