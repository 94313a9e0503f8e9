"""The process that forecasts a run while it is under way: it writes its forecasts into the run's directory.

The coordinator starts it (`app/run/forecast_task.py`) and does none of this work itself. The process has the
lowest priority, and a few seconds for each answer.
"""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from weft.app.forecast.backtest import start_forecast
from weft.app.forecast.forecast_files import read_start_forecast, write_outlook, write_start_forecast
from weft.app.forecast.outlook import outlook_of
from weft.app.record.journal import RecordedRun, open_book
from weft.app.views.finish_forecast import FinishForecast
from weft.engine.messages.events import StepFinishedEvent
from weft.errors import WeftError
from weft.garbage import without_gc

_LOWEST = 19
_SECONDS = 3.0
"""For each forecast; the first replication is played to its end in any case."""


def store_forecasts(directory: Path, run: str) -> None:
    """Writes the forecast with which a run started, unless it is stored, and the newest one."""
    with open_book(directory, run, environ={}) as recorded_run:
        places = recorded_run.places
        if read_start_forecast(places, run) is None:
            forecast = start_forecast(recorded_run, seconds=_SECONDS)
            if forecast is not None:
                write_start_forecast(places, run, forecast)
        outlook = outlook_of(recorded_run, after=0.0, seconds=_SECONDS)
        if outlook is not None:
            now, spent = time.time(), _spent(recorded_run)
            early, late = outlook.seconds
            low, high = outlook.cost
            cost = (spent + low, spent + high)
            write_outlook(places, run, FinishForecast(at=now, finish=(now + early, now + late), cost=cost))


def _spent(recorded_run: RecordedRun) -> int:
    """Returns the known spending of the run so far, in micro-dollars."""
    events = (recorded.event for recorded in recorded_run.journal.events(recorded_run.run.run))
    return sum(event.cost or 0 for event in events if isinstance(event, StepFinishedEvent))


def main() -> None:
    """Runs with the directory of the project and the id of the run as arguments."""
    os.nice(_LOWEST)
    # The run may have been removed, or have a plan that this version cannot read. Then there is no forecast.
    with suppress(WeftError), without_gc():
        store_forecasts(Path(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    main()
