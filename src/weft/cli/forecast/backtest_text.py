"""Output of `weft simulate --backtest`: forecasts beside what happened."""

from collections.abc import Iterator

from weft.app.forecast.backtest import Backtest
from weft.app.views.wording.words import span
from weft.cli.terminal import Row
from weft.cli.text.sections import count
from weft.plan.prices import dollars
from weft.terms import MICRO

_LEVELS = (0.5, 0.9)


def backtest_lines(backtest: Backtest) -> Iterator[str]:
    if not backtest.runs:
        yield "no completed run can be compared with its forecast yet"
        return
    rows = [("run", "plan", "P50", "P90", "actual", "cost P50", "P90", "actual", "forecast")]
    rows += [
        (
            run.run,
            run.plan,
            span(run.p50),
            span(run.p90),
            span(run.seconds),
            dollars(round(run.cost_p50)),
            dollars(round(run.cost_p90)),
            dollars(run.cost),
            "stored" if run.is_stored else "computed now",
        )
        for run in backtest.runs
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield Row("  ".join(cells).rstrip(), hang=4)
    shares = [f"{100 * (backtest.below(level) or 0.0):.0f} % below P{100 * level:.0f}" for level in _LEVELS]
    yield f"of {count(len(backtest.runs), 'run')}: {', '.join(shares)}"
    if not all(run.is_stored for run in backtest.runs):
        yield "computed now: as the forecast would have been, with the history of that time"
    if backtest.older:
        yield f"not compared: {count(backtest.older, 'older run')} without a stored forecast"
    if backtest.left_out:
        yield f"left out: {count(backtest.left_out, 'run')} that were interrupted or whose plan cannot be read"


def backtest_json(backtest: Backtest) -> dict[str, object]:
    return {
        "runs": [
            {
                "run": run.run,
                "plan": run.plan,
                "makespan_s": {"p10": run.p10, "p50": run.p50, "p90": run.p90, "actual": run.seconds},
                "cost_usd": {
                    "p50": run.cost_p50 / MICRO,
                    "p90": run.cost_p90 / MICRO,
                    "actual": run.cost / MICRO,
                },
                "level": run.level,
                "stored": run.is_stored,
            }
            for run in backtest.runs
        ],
        "below_p50": backtest.below(_LEVELS[0]),
        "below_p90": backtest.below(_LEVELS[1]),
        "left_out": backtest.left_out,
        "older": backtest.older,
    }
