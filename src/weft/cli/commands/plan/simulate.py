"""`weft simulate`: runs a plan in virtual time, and says when it will be done and what it will cost."""

import re
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, progress_on_terminal, show_json, show_lines
from weft.cli.plan_options import (
    at_work_on_a_plan,
    directory,
    flag_options,
    json_option,
    plan_argument,
    plan_source,
)
from weft.cli.report_files import force_option, write_report
from weft.cli.run_options import complete_run
from weft.errors import InputError
from weft.garbage import without_gc

if TYPE_CHECKING:
    from weft.app.forecast.forecast import PlanForecast

_OVER_BUDGET, _TOO_LATE = 3, 4
_OFTEN = 0.1
"""The share of runs that a ceiling may stop."""
_CONFIDENCE = 0.5
_WIDEST = 1_000


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples(
        "weft simulate --by 07:00",
        "weft simulate --max-parallel 8 --budget 20",
        "weft simulate --set pools.staging-db=2 --width 1..12",
    ),
    short_help="Forecast when a plan will be done and what it will cost.",
)
@plan_argument
@flag_options
@click.option(
    "--by",
    metavar="TIME",
    help="Print how likely it is to be done by a time (07:00) or within a duration (8h).",
)
@click.option(
    "--width", metavar="N..M", help="Compare these values of max_parallel; default: 1, 2, 4, 8, 16."
)
@click.option(
    "--set", "sizes", metavar="LIMIT=N", multiple=True,
    help="Assume another size of a limit: pools.NAME, agents.NAME, hosts.NAME.slots, max_parallel or "
    "GROUP.max_parallel. "
         "Repeatable.",
)  # fmt: skip
@click.option(
    "--runs", metavar="N", type=click.IntRange(1, 1_000_000),
    help="The number of replications; default: up to 1,000, as many as fit into 10 s.",
)  # fmt: skip
@click.option(
    "--seed", metavar="N", type=int, default=1, show_default=True, help="The seed of the random numbers."
)
@click.option(
    "--confidence", metavar="P", type=click.FloatRange(0, 1),
    help="With --by: exit with 4 if it is less likely than this to be done in time; default: 0.5.",
)  # fmt: skip
@click.option(
    "--run", "run_id", metavar="RUN", shell_complete=complete_run,
    help="Forecast the rest of a run that is under way, not the plan.",
)  # fmt: skip
@click.option(
    "--backtest", is_flag=True,
    help="Compare the forecasts of the completed runs of this project with what happened.",
)  # fmt: skip
@click.option(
    "--fresh", is_flag=True, help="Forecast the whole plan, as if no earlier run had completed anything."
)
@click.option(
    "--html", "page", metavar="FILE", type=click.Path(dir_okay=False),
    help="Write the forecast into an HTML file that opens from disk as well.",
)  # fmt: skip
@force_option
@click.option("-v", "--verbose", is_flag=True, help="Print the lower bound, every limit and every estimate.")
@json_option
def simulate(  # noqa: PLR0913 - one for each option
    *,
    plan: str | None,
    by: str | None,
    width: str | None,
    sizes: tuple[str, ...],
    runs: int | None,
    seed: int,
    confidence: float | None,
    run_id: str | None,
    backtest: bool,
    fresh: bool,
    page: str | None,
    force: bool,
    verbose: bool,
    as_json: bool,
    **flags: str | None,
) -> int:
    """Run PLAN many times in virtual time, with the engine that runs it for real.

    Nothing is executed, and nothing is spent. Each replication draws how long every step takes, what it costs and
    whether it fails: from its `estimate` in the plan, from the steps of earlier runs, or from defaults, which are
    named. The answer is for what is left of the plan after earlier runs.

    The limits of the plan can be changed, to see what that is worth: with the options that name a setting, with
    --set and with --width. All comparisons use the same luck.

    With --run, the answer is for a run that is under way, from where it is now. It is computed here, not in the
    coordinator.

    Exit code: 0; 3 if the ceiling on the cost stops more than one run of ten; 4 if it is less likely than
    --confidence to be done by the time that --by names; 2 if the plan is invalid.
    """
    now = datetime.now().astimezone()
    if confidence is not None and by is None:
        raise InputError(
            "--confidence says how likely it must be to be done in time; add a time, as in --by 07:00"
        )
    if backtest:
        if page is not None:
            raise InputError("--html is for a forecast, and --backtest makes none")
        return _backtest(seed, as_json=as_json)
    with at_work_on_a_plan(as_json=as_json):
        from weft.app.forecast.forecast import ForecastRequest, forecast
        from weft.app.forecast.moments import seconds_until
        from weft.cli.forecast.forecast_text import forecast_json, forecast_lines

        if run_id is not None and (plan is not None or any(flags.values())):
            raise InputError("--run is for a run as it was started; it goes with no plan and no setting")
        request = ForecastRequest(
            source=plan_source(plan) if run_id is None else None,
            directory=directory(),
            run=run_id,
            flags=flags,
            runs=runs,
            seed=seed,
            by=None if by is None else seconds_until(by, now),
            widths=_widths(width),
            changes=[_change(text) for text in sizes],
            is_fresh=fresh,
        )
        with progress_on_terminal("replications") as progress:
            answer = forecast(request, progress=progress or ignore_progress)
        lines = list(forecast_lines(answer, now, verbose=verbose, every_width=width is not None))
        if as_json:
            show_json(forecast_json(answer))
        else:
            show_lines(lines)
        if page is not None:
            _write_page(directory() / page, answer, plan or run_id or "", lines, force=force)
        # A run never spends much more than its ceiling: it stops there. So a stop counts, too.
        is_over = answer.ceiling is not None and answer.summary.cost_p90.value > answer.ceiling
        if is_over or answer.summary.ceiling.value > _OFTEN:
            return _OVER_BUDGET
        least = _CONFIDENCE if confidence is None else confidence
        return _TOO_LATE if answer.in_time is not None and answer.in_time.value < least else 0


def _write_page(path: Path, answer: "PlanForecast", file: str, lines: Sequence[str], *, force: bool) -> None:
    from weft.app.report.plan_report import plan_report
    from weft.web.report_page import report_html
    from weft.web.server.forecasts import check_sections

    report = plan_report(answer, file, check_sections("\n".join(lines)), time.time())
    write_report(path, report_html(report, f"{answer.plan} · forecast · weft"), force=force)
    note(f"wrote {path}")


def _backtest(seed: int, *, as_json: bool) -> int:
    from weft.app.forecast.backtest import backtest
    from weft.cli.forecast.backtest_text import backtest_json, backtest_lines

    with without_gc(), progress_on_terminal("runs") as progress:
        result = backtest(directory(), seed=seed, progress=progress or ignore_progress)
    if as_json:
        show_json(backtest_json(result))
    else:
        show_lines(backtest_lines(result))
    return 0


def ignore_progress(_done: int) -> None:
    pass


def _widths(text: str | None) -> list[int]:
    if text is None:
        return []
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text.strip())
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= low <= high <= _WIDEST:
        raise InputError(
            f"--width is {text!r}; it must be a number from 1 to {_WIDEST:,}, or a range such as 1..16"
        )
    return list(range(low, high + 1))


def _change(text: str) -> tuple[str, int]:
    name, equals, size = text.partition("=")
    if not equals or not size.strip().isdecimal() or int(size) < 1:
        raise InputError(
            f"--set is {text!r}; it must be a limit and a size of at least 1, such as pools.staging-db=2"
        )
    return name.strip(), int(size)
