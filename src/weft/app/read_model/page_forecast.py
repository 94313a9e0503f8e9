"""Forecasts for pages and reports, made in a process of its own.

A forecast keeps a processor busy for seconds. So `weft ui` starts this module as a process with a low priority:
`python -m weft.app.read_model.page_forecast outlook|run|plan DIRECTORY [RUN]` prints the answer as JSON.
"""

import os
import sys
import time
from pathlib import Path

import msgspec

from weft.app.forecast.forecast import ForecastRequest, PlanForecast, forecast, limit_name
from weft.app.forecast.outlook import outlook_of
from weft.app.project.plans import find_plan
from weft.app.read_model.run_shapes import Forecast, PoolAnswer, WidthAnswer
from weft.app.record.journal import open_book
from weft.app.views.finish_forecast import FinishForecast
from weft.garbage import without_gc

NICE = 10


def forecast_answer(answer: PlanForecast, now: float) -> Forecast:
    """Returns a forecast as pages show it."""
    summary = answer.summary
    return Forecast(
        at=now,
        replications=summary.runs,
        seconds=(summary.p10.value, summary.p50.value, summary.p90.value),
        cost=(round(summary.cost_p50.value), round(summary.cost_p90.value)),
        ceiling=answer.ceiling,
        ceiling_share=summary.ceiling.value,
        completed_share=1.0 - summary.fails.value,
        widths=[
            WidthAnswer(width=width.width, seconds=width.p50.value, cost=round(width.cost_p50.value))
            for width in answer.widths
        ],
        enough=answer.enough,
        limits=_limits(answer),
        chains=[(" → ".join(path.subplans), path.share) for path in summary.paths],
        basis=_basis(answer),
    )


def _limits(answer: PlanForecast) -> list[PoolAnswer]:
    savings = {saving.name: saving.saves.value for saving in answer.savings}
    return [
        PoolAnswer(
            name=limit_name(pool.name),
            size=pool.size,
            used=pool.busy,
            waiting=pool.wait,
            saving=savings.get(pool.name),
        )
        for pool in answer.summary.pools
    ]


def _basis(answer: PlanForecast) -> str:
    history, defaults = answer.history, len(answer.summary.defaults)
    known = (
        f"{history.executions:,} steps of {history.runs:,} earlier runs" if history.runs else "no earlier run"
    )
    return f"{known}; {defaults:,} steps by default" if defaults else known


def _outlook(directory: Path, run: str) -> FinishForecast | None:
    with open_book(directory, run) as recorded_run:
        now = time.time()
        outlook = outlook_of(recorded_run)
    if outlook is None:
        return None
    (p50, p90), (cost_p50, cost_p90) = outlook.seconds, outlook.cost
    return FinishForecast(at=now, finish=(now + p50, now + p90), cost=(cost_p50, cost_p90))


def _forecast(directory: Path, run: str | None) -> Forecast:
    source = find_plan(None, directory, command="simulate") if run is None else None
    request = ForecastRequest(source=source, directory=directory, run=run)
    now = time.time()
    return forecast_answer(forecast(request), now)


def main(arguments: list[str]) -> None:
    """Prints a forecast as JSON."""
    os.nice(NICE)
    kind, directory, *run = arguments
    with without_gc():
        answer: object
        if kind == "outlook":
            answer = {"outlook": _outlook(Path(directory), run[0])}
        else:
            answer = _forecast(Path(directory), run[0] if run else None)
    sys.stdout.buffer.write(msgspec.json.encode(answer))


if __name__ == "__main__":
    main(sys.argv[1:])
