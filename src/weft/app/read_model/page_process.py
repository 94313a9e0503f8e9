"""Answers that are made in a process of their own: forecasts, and the graph of a plan that has not started.

They keep a processor busy for seconds. So `weft ui` starts this module as a process with a low priority, which
prints the answer as JSON: `python -m weft.app.read_model.page_process run DIRECTORY RUN`, `… plan DIRECTORY` and
`… graph DIRECTORY [GROUP [FIRST LAST]]`.
"""

import os
import sys
import time
from pathlib import Path

import msgspec

from weft.app.forecast.forecast import ForecastRequest, PlanForecast, forecast
from weft.app.project.plans import find_plan, load
from weft.app.read_model.chart_shapes import Graph
from weft.app.read_model.graph import plan_graph, siblings
from weft.app.read_model.run_shapes import Forecast, PoolAnswer, WidthAnswer
from weft.app.views.wording.limits import limit_name
from weft.errors import InputError
from weft.garbage import without_gc
from weft.plan.compile.compile import compile_plan

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


def _forecast(directory: Path, run: str | None) -> Forecast:
    source = find_plan(None, directory, command="simulate") if run is None else None
    request = ForecastRequest(source=source, directory=directory, run=run)
    now = time.time()
    return forecast_answer(forecast(request), now)


def _graph(directory: Path, path: str = "", first: str = "", last: str = "") -> Graph:
    compiled = compile_plan(load(find_plan(None, directory, command="graph")))
    rows = {str(path): row for row, path in enumerate(compiled.plan.outline.paths)}
    if path not in rows:
        raise InputError(f"the plan has no subplan {path!r}")
    group = rows[path]
    part = siblings(compiled, group, int(first), int(last)) if first and last else None
    return plan_graph(compiled, group, part)


def main(arguments: list[str]) -> None:
    """Prints an answer as JSON."""
    os.nice(NICE)
    kind, name, *more = arguments
    directory = Path(name)
    with without_gc():
        answer: object
        match kind:
            case "graph":
                answer = _graph(directory, *more)
            case _:
                answer = _forecast(directory, more[0] if more else None)
    sys.stdout.buffer.write(msgspec.json.encode(answer))


if __name__ == "__main__":
    main(sys.argv[1:])
