"""The process that forecasts a run while it is under way."""

import os
import time
from pathlib import Path

import anyio
import pytest

from app.forecast.projects import lasting, played_project
from weft.app.forecast.forecast_files import read_outlook, read_start_forecast
from weft.app.project.places import Places
from weft.app.run import forecast_task
from weft.app.run.forecast_task import ForecastTask


async def _until(path: Path) -> None:
    while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process writes it
        await anyio.sleep(0.05)


@pytest.mark.anyio
async def test_a_process_of_its_own_writes_the_forecasts(tmp_path: Path) -> None:
    places = Places(tmp_path)
    with played_project(tmp_path) as project:
        places.logs("r1").parent.mkdir(parents=True)
        project.play("r1", lasting(600.0), start=time.time() - 700.0, until=650.0)
        task = ForecastTask(tmp_path, "r1", os.environ, first=0.0)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(task.run)
                await _until(places.outlook("r1"))
                tasks.cancel_scope.cancel()
    assert read_start_forecast(places, "r1") is not None
    assert read_outlook(places, "r1") is not None


@pytest.mark.anyio
async def test_the_process_ends_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "started"
    script = f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 1000"
    monkeypatch.setattr(forecast_task, "isolated_python", lambda _module: ("/bin/sh", "-c", script))
    task = ForecastTask(tmp_path, "r1", {}, first=0.0)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(task.run)
            await _until(mark)
            tasks.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


@pytest.mark.anyio
async def test_without_news_there_is_no_further_forecast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = tmp_path / "count"
    monkeypatch.setattr(
        forecast_task, "isolated_python", lambda _module: ("/bin/sh", "-c", f"echo >> {count}", "sh")
    )
    task = ForecastTask(tmp_path, "r1", {"PATH": os.environ["PATH"], "KEY": "secret"}, first=0.0, pause=0.0)
    looks = 0

    async def look(_seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 4:
            task.note_events()
        if looks == 8:
            tasks.cancel_scope.cancel()
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(anyio, "sleep", look)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(task.run)
    assert count.read_text() == "\n\n"


@pytest.mark.anyio
async def test_a_process_that_cannot_start_does_not_disturb_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecast_task, "isolated_python", lambda _module: (str(tmp_path / "missing"),))
    task = ForecastTask(tmp_path, "r1", {}, first=0.0, pause=0.0)
    with anyio.move_on_after(0.2):
        await task.run()
