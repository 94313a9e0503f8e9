"""Forecasts of earlier runs beside what happened.

A run of more than a minute stores the forecast with which it started. For the others, and for runs of earlier
versions, it is computed now: the forecast of a run is a function of its plan, of where it started, of the runs
before it and of a seed, and all of that is in the journal.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weft.app.forecast.forecast_files import StartForecast, read_start_forecast
from weft.app.forecast.samples import Samples
from weft.app.forecast.start import recorded_start
from weft.app.forecast.workers import play
from weft.app.history.earlier_runs import first_fact
from weft.app.record.journal import RecordedRun, open_book
from weft.app.record.run_plan import plan_of
from weft.engine.messages.events import RecoveredEvent, RunFinishedEvent
from weft.errors import WeftError
from weft.forecast.history import History
from weft.forecast.quantiles import quantile
from weft.forecast.replications import Rehearsal
from weft.ports.journal import JournalReader, RunRecord

_RUNS = 200
"""Replications of each forecast."""


class RunBacktest(Struct, frozen=True, kw_only=True):
    """The forecast of a run, and what happened."""

    run: str
    plan: str
    p10: float
    p50: float
    p90: float
    """Seconds."""
    seconds: float
    """The seconds that it took."""
    cost_p50: float
    cost_p90: float
    """Micro-dollars."""
    cost: int
    level: float
    """The share of replications that were shorter than the run."""
    is_stored: bool
    """Whether the forecast is the one that was made during the run; otherwise it was computed now."""


class Backtest(Struct, frozen=True, kw_only=True):
    """The forecasts of a project's completed runs."""

    runs: Sequence[RunBacktest]
    """The newest first."""
    left_out: int
    """Completed runs that cannot be compared, because they were interrupted or their plan cannot be read."""
    older: int = 0
    """Older runs without a stored forecast, which are not compared."""

    def below(self, level: float) -> float | None:
        """Returns the share of runs that took less than a quantile of their forecast; None without any."""
        if not self.runs:
            return None
        return sum(run.level <= level for run in self.runs) / len(self.runs)


def backtest(
    directory: Path,
    *,
    most: int = 20,
    seed: int = 1,
    environ: Mapping[str, str] = os.environ,
    progress: Callable[[int], None] = lambda _done: None,
) -> Backtest:
    """Returns the forecasts of the completed runs of a project beside what happened.

    Of the runs without a stored forecast, only the last `most` are compared.
    """
    with open_book(directory, environ=environ) as book:
        records = book.journal.runs()
        completed = [place for place, record in enumerate(records) if record.state == "completed"]
        results: list[RunBacktest] = []
        computed = left_out = 0
        for place in completed:
            recorded_run = RecordedRun(book.places, book.journal, records[place])
            stored = read_start_forecast(book.places, recorded_run.run.run)
            computed += stored is None
            if stored is not None or computed <= most:
                result = _compare(recorded_run, stored, records[place + 1 :], seed)
                results += [] if result is None else [result]
                left_out += result is None
                progress(len(results))
        return Backtest(runs=tuple(results), left_out=left_out, older=max(0, computed - most))


def _history(journal: JournalReader, plan: str, records: Sequence[RunRecord]) -> History:
    samples = Samples()
    for record in records:
        events = ((recorded.at, recorded.event) for recorded in journal.events(record.run))
        samples.add_run(events, is_same_plan=record.plan == plan)
    return samples.history()


def _compare(
    recorded_run: RecordedRun, stored: StartForecast | None, before: Sequence[RunRecord], seed: int
) -> RunBacktest | None:
    run = recorded_run.run.run
    finished: RunFinishedEvent | None = None
    for recorded in recorded_run.journal.events(run):
        if isinstance(recorded.event, RecoveredEvent):
            return None  # its coordinator was away for a time that no forecast contains
        if isinstance(recorded.event, RunFinishedEvent):
            finished = recorded.event
    if finished is None:
        return None
    forecast = stored or _computed(recorded_run, before, seed)
    if forecast is None:
        return None
    seconds, costs = forecast.seconds, forecast.costs
    return RunBacktest(
        run=run,
        plan=recorded_run.run.plan,
        p10=quantile(seconds, 0.1),
        p50=quantile(seconds, 0.5),
        p90=quantile(seconds, 0.9),
        seconds=finished.seconds,
        cost_p50=quantile(costs, 0.5),
        cost_p90=quantile(costs, 0.9),
        cost=finished.cost or 0,
        level=sum(each < finished.seconds for each in seconds) / len(seconds),
        is_stored=stored is not None,
    )


def start_forecast(recorded_run: RecordedRun, *, seconds: float) -> StartForecast | None:
    """Returns the forecast of a run from what was known when it started; None if its plan cannot be read."""
    records = recorded_run.journal.runs()
    place = next(place for place, record in enumerate(records) if record.run == recorded_run.run.run)
    return _computed(recorded_run, records[place + 1 :], seed=1, seconds=seconds)


def _computed(
    recorded_run: RecordedRun, before: Sequence[RunRecord], seed: int, *, seconds: float | None = None
) -> StartForecast | None:
    started = first_fact(recorded_run.journal, recorded_run.run.run)
    if started is None:
        return None
    try:
        plan = plan_of(recorded_run)
    except WeftError:  # a plan of another version
        return None
    history = _history(recorded_run.journal, plan.id, before)
    rehearsal = Rehearsal(plan, history, seed=seed, start=recorded_start(started))
    tally = play(rehearsal, _RUNS, seconds=seconds, least=_RUNS if seconds is None else 1)
    return StartForecast(
        at=time.time(),
        seed=seed,
        seconds=sorted(tally.seconds.values()),
        costs=sorted(map(float, tally.costs)),
    )
