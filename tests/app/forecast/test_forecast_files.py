"""Forecasts that are stored in the directory of a run, and the process that writes them."""

import time
from pathlib import Path

import pytest

from app.forecast.projects import lasting, played_project
from weft.app.forecast.backtest import backtest
from weft.app.forecast.forecast_files import (
    StartForecast,
    read_outlook,
    read_start_forecast,
    write_outlook,
    write_start_forecast,
)
from weft.app.forecast.forecast_process import store_forecasts
from weft.app.project.places import Places
from weft.app.views.finish_forecast import FinishForecast


def run_folder(root: Path, run: str = "r1") -> Places:
    places = Places(root)
    places.logs(run).parent.mkdir(parents=True, exist_ok=True)
    return places


def test_a_stored_forecast_is_read_as_it_was_written(tmp_path: Path) -> None:
    places = run_folder(tmp_path)
    start = StartForecast(at=1.0, seed=1, seconds=[1.0, 2.0], costs=[0.0, 5.0])
    outlook = FinishForecast(at=1.0, finish=(2.0, 3.0), cost=(4, 5))
    write_start_forecast(places, "r1", start)
    write_outlook(places, "r1", outlook)
    assert read_start_forecast(places, "r1") == start
    assert read_outlook(places, "r1") == outlook


@pytest.mark.parametrize("text", ["", "{", "[]", '{"at": "now"}'])
def test_a_file_that_is_no_forecast_is_none(tmp_path: Path, text: str) -> None:
    places = run_folder(tmp_path)
    places.start_forecast("r1").write_text(text)
    places.outlook("r1").write_text(text)
    assert read_start_forecast(places, "r1") is None
    assert read_outlook(places, "r1") is None


def test_without_a_file_there_is_no_forecast(tmp_path: Path) -> None:
    assert read_start_forecast(Places(tmp_path), "r1") is None
    assert read_outlook(Places(tmp_path), "r1") is None


def test_the_process_stores_both_forecasts_of_a_run_under_way(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(600.0), start=0.0)
        places = run_folder(tmp_path, "r2")
        project.play("r2", lasting(600.0), start=time.time() - 700.0, until=650.0)
        store_forecasts(tmp_path, "r2")
    start, outlook = read_start_forecast(places, "r2"), read_outlook(places, "r2")
    assert start is not None
    assert outlook is not None
    # Two steps of ten minutes follow each other; the first has ended.
    assert start.seconds == sorted(start.seconds)
    assert start.seconds[len(start.seconds) // 2] == pytest.approx(1200.0, rel=0.2)
    assert outlook.at < outlook.finish[0] < outlook.finish[1] < outlook.at + 1200.0


def test_the_forecast_of_the_start_is_stored_once_and_stays(tmp_path: Path) -> None:
    first = StartForecast(at=1.0, seed=1, seconds=[7.0], costs=[0.0])
    with played_project(tmp_path) as project:
        places = run_folder(tmp_path)
        project.play("r1", lasting(600.0), start=time.time() - 700.0, until=650.0)
        write_start_forecast(places, "r1", first)
        store_forecasts(tmp_path, "r1")
    assert read_start_forecast(places, "r1") == first


def test_a_backtest_compares_with_the_forecast_that_was_stored(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(60.0))
        project.play("r2", lasting(60.0), start=1000.0)
        forecast = StartForecast(at=1.0, seed=1, seconds=[100.0, 110.0, 150.0], costs=[0.0, 0.0, 0.0])
        write_start_forecast(run_folder(tmp_path, "r2"), "r2", forecast)
        result = backtest(tmp_path)
    last, first = result.runs
    assert (last.p50, last.is_stored, first.is_stored) == (110.0, True, False)
    assert last.level == pytest.approx(2 / 3)


def test_stored_forecasts_of_all_runs_are_compared_and_others_only_for_the_last_runs(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        for number in range(1, 5):
            project.play(f"r{number}", lasting(60.0), start=1000.0 * number)
        forecast = StartForecast(at=1.0, seed=1, seconds=[120.0], costs=[0.0])
        write_start_forecast(run_folder(tmp_path, "r1"), "r1", forecast)
        result = backtest(tmp_path, most=1)
    assert [run.run for run in result.runs] == ["r4", "r1"]
    assert (result.older, result.left_out) == (2, 0)
