"""Where a forecast starts."""

from pathlib import Path

import pytest

from app.forecast.projects import PLAN, lasting, played_project
from weft.app.forecast.start import start_of
from weft.plan.loader.load import load_plan


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.app.forecast.start.time.time", lambda: 1100.0)


@pytest.mark.usefixtures("now")
def test_running_steps_have_run_since_they_started(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(60.0), start=1000.0, until=70.0)
        start = start_of(load_plan(PLAN), project.journal)
    assert set(start.carried) >= {"a", "b"}
    assert start.running[("c", "work")] == pytest.approx(40.0)
    assert ("a", "work") not in start.running


@pytest.mark.usefixtures("now")
def test_a_finished_run_has_no_running_steps(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        project.play("r1", lasting(60.0), start=900.0)
        start = start_of(load_plan(PLAN), project.journal)
    assert start.running == {}
    assert set(start.carried) >= {"a", "b", "c"}


def test_without_runs_everything_is_left(tmp_path: Path) -> None:
    with played_project(tmp_path) as project:
        start = start_of(load_plan(PLAN), project.journal)
    assert (start.carried, start.earlier, start.running) == ((), (), {})
