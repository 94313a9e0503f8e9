"""Output of `weft simulate --backtest`, and the forecast in `weft status`."""

from datetime import UTC, datetime

from inline_snapshot import snapshot
from msgspec.structs import replace

from weft.app.forecast.backtest import Backtest, RunBacktest
from weft.app.forecast.outlook import Outlook
from weft.cli.forecast.backtest_text import backtest_json, backtest_lines
from weft.cli.forecast.forecast_text import outlook_line

EVENING = datetime(2026, 11, 18, 22, 30, tzinfo=UTC)
RUN = RunBacktest(
    run="20261118-223000-1a2b",
    plan="store",
    p10=3000.0,
    p50=3600.0,
    p90=5400.0,
    seconds=4000.0,
    cost_p50=2_000_000.0,
    cost_p90=3_500_000.0,
    cost=2_250_000,
    level=0.7,
    is_stored=True,
)


def test_each_run_is_a_row() -> None:
    lines = [str(line) for line in backtest_lines(Backtest(runs=[RUN], left_out=2))]
    assert lines == snapshot(
        [
            "run                   plan   P50  P90         actual     cost P50  P90    actual  forecast",
            "20261118-223000-1a2b  store  1 h  1 h 30 min  1 h 6 min  $2.00     $3.50  $2.25   stored",
            "of 1 run: 0 % below P50, 100 % below P90",
            "left out: 2 runs that were interrupted or whose plan cannot be read",
        ]
    )


def test_a_forecast_that_was_not_stored_is_marked_and_explained() -> None:
    computed = replace(RUN, is_stored=False)
    _, row, *rest = (str(line) for line in backtest_lines(Backtest(runs=[computed], left_out=0, older=3)))
    assert row.endswith("  computed now")
    assert rest[1:] == [
        "computed now: as the forecast would have been, with the history of that time",
        "not compared: 3 older runs without a stored forecast",
    ]


def test_without_runs_there_is_a_sentence() -> None:
    assert list(backtest_lines(Backtest(runs=[], left_out=0))) == [
        "no completed run can be compared with its forecast yet"
    ]


def test_the_data_have_forecast_and_actual() -> None:
    assert backtest_json(Backtest(runs=[RUN], left_out=0)) == snapshot(
        {
            "runs": [
                {
                    "run": "20261118-223000-1a2b",
                    "plan": "store",
                    "makespan_s": {"p10": 3000.0, "p50": 3600.0, "p90": 5400.0, "actual": 4000.0},
                    "cost_usd": {"p50": 2.0, "p90": 3.5, "actual": 2.25},
                    "level": 0.7,
                    "stored": True,
                }
            ],
            "below_p50": 0.0,
            "below_p90": 1.0,
            "left_out": 0,
            "older": 0,
        }
    )


def test_an_outlook_names_two_moments_and_the_cost() -> None:
    line = outlook_line(Outlook((3600.0, 7200.0), (1_000_000, 2_500_000)), EVENING)
    assert line == "Forecast: done between 23:30 and 00:30, for $1.00 to $2.50 more"


def test_an_outlook_without_prices_names_no_cost() -> None:
    assert outlook_line(Outlook((3600.0, 3601.0), (0, 0)), EVENING) == "Forecast: done at 23:30"


def test_a_moment_of_another_day_names_the_day() -> None:
    line = outlook_line(Outlook((15 * 3600.0, 40 * 3600.0), (0, 0)), EVENING)
    assert line == "Forecast: done between Thu 13:30 and Fri 14:30"
