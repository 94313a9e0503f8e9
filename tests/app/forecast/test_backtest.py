"""Forecasts of earlier runs beside what happened."""

from pathlib import Path

import pytest

from app.forecast.projects import PLAN, lasting, played_project
from stored_events import make_event
from weft.app.forecast.backtest import backtest


def test_a_run_is_forecast_from_the_runs_before_it(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(60.0))
        project.play("r2", lasting(60.0), start=1000.0)
        project.play("r3", lasting(60.0), start=2000.0)
        result = backtest(tmp_path)
    assert [run.run for run in result.runs] == ["r3", "r2", "r1"]
    assert [run.seconds for run in result.runs] == [120.0, 120.0, 120.0]
    last, _, first = result.runs
    # Two steps of a minute follow each other. Nothing was known before the first run but the default.
    assert last.p50 == pytest.approx(120.0, rel=0.15)
    assert last.p10 < last.p50 < last.p90
    assert first.p50 < 90.0
    assert result.left_out == 0


def test_the_share_of_runs_below_a_quantile_is_counted(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(60.0))
        project.play("r2", lasting(1.0), start=1000.0)
        project.play("r3", lasting(60_000.0), start=2000.0)
        result = backtest(tmp_path)
    levels = {run.run: run.level for run in result.runs}
    assert levels["r2"] == 0.0
    assert levels["r3"] == 1.0
    assert result.below(0.5) == pytest.approx(sum(level <= 0.5 for level in levels.values()) / 3)
    assert result.below(0.9) == pytest.approx(sum(level <= 0.9 for level in levels.values()) / 3)


def test_a_run_whose_coordinator_was_away_is_left_out(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(60.0))
        project.play("r2", lasting(60.0), start=1000.0)
        project.journal.append("r2", [(1100.0, make_event(kind="recovered"))])
        result = backtest(tmp_path)
    assert [run.run for run in result.runs] == ["r1"]
    assert result.left_out == 1


def test_an_unfinished_run_is_not_compared(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(60.0), until=70.0)
        result = backtest(tmp_path)
    assert result.runs == ()
    assert result.left_out == 0
    assert result.below(0.5) is None


def test_other_plans_do_not_tell_about_a_step_of_the_same_name(tmp_path: Path) -> None:
    other = PLAN.replace("plan: naps", "plan: others")
    with played_project(tmp_path) as project:
        project.play("r1", lasting(6000.0), text=other)
        project.play("r2", lasting(60.0), start=10_000.0)
        project.play("r3", lasting(60.0), start=20_000.0)
        result = backtest(tmp_path)
    assert result.runs[0].p50 < 1000.0


def test_only_the_last_runs_are_compared(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        for number in range(3):
            project.play(f"r{number}", lasting(60.0), start=1000.0 * number)
        result = backtest(tmp_path, most=2)
    assert [run.run for run in result.runs] == ["r2", "r1"]


def test_progress_is_reported(tmp_path: Path) -> None:
    reports: list[int] = []
    with played_project(tmp_path) as project:
        project.play("r1", lasting(60.0))
        project.play("r2", lasting(60.0), start=1000.0)
        backtest(tmp_path, progress=reports.append)
    assert reports == [1, 2]
