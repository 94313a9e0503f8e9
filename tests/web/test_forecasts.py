"""The forecast of a run on its page."""

import asyncio
import time
from pathlib import Path

from app.forecast.projects import PLAN, lasting, played_project
from weft.app.forecast.forecast_files import write_outlook
from weft.app.project.places import Places
from weft.app.views.finish_forecast import FinishForecast
from weft.web.server.forecasts import Forecasts
from weft.web.server.live_runs import LiveRuns


async def _forecast_on_page(root: Path, run: str) -> FinishForecast | None:
    runs = LiveRuns(root)
    forecasts = Forecasts(root, runs)
    try:
        forecasts.want(run)
        await asyncio.sleep(0)  # the look for a forecast comes before the next question about the run
        return await runs.ask(run, lambda live: live.snapshot().strip.forecast)
    finally:
        await forecasts.close()
        await runs.close()


def test_the_page_shows_the_forecast_that_the_run_has_stored(tmp_path: Path) -> None:
    stored = FinishForecast(at=time.time(), finish=(2.0, 3.0), cost=(4, 5))
    with played_project(tmp_path, PLAN) as project:
        project.play("r1", lasting(600.0), start=time.time() - 700.0, until=650.0)
        places = Places(tmp_path)
        places.logs("r1").parent.mkdir(parents=True, exist_ok=True)
        write_outlook(places, "r1", stored)
        assert asyncio.run(_forecast_on_page(tmp_path, "r1")) == stored


def test_a_run_without_a_stored_forecast_has_none_on_its_page(tmp_path: Path) -> None:
    with played_project(tmp_path, PLAN) as project:
        project.play("r1", lasting(600.0), start=time.time() - 700.0, until=650.0)
        assert asyncio.run(_forecast_on_page(tmp_path, "r1")) is None
