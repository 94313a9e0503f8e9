"""Forecasts of earlier runs beside what happened.

The forecast of a run is a function of its plan, of where it started, of the runs before it and of a seed, and all
of that is in the journal. So it is computed when it is asked for, from what was known when the run started.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

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


class Backtest(Struct, frozen=True, kw_only=True):
    """The forecasts of a project's completed runs."""

    runs: Sequence[RunBacktest]
    """The newest first."""
    left_out: int
    """Completed runs that cannot be compared, because they were interrupted or their plan cannot be read."""

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
    """Returns the forecasts of the last completed runs of a project beside what happened."""
    with open_book(directory, environ=environ) as book:
        records = book.journal.runs()
        completed = [place for place, record in enumerate(records) if record.state == "completed"][:most]
        results: list[RunBacktest] = []
        for place in completed:
            recorded_run = RecordedRun(book.places, book.journal, records[place])
            result = _compare(recorded_run, records[place + 1 :], seed)
            results += [] if result is None else [result]
            progress(len(results))
        return Backtest(runs=tuple(results), left_out=len(completed) - len(results))


def _history(journal: JournalReader, plan: str, records: Sequence[RunRecord]) -> History:
    samples = Samples()
    for record in records:
        events = ((recorded.at, recorded.event) for recorded in journal.events(record.run))
        samples.add_run(events, is_same_plan=record.plan == plan)
    return samples.history()


def _compare(recorded_run: RecordedRun, before: Sequence[RunRecord], seed: int) -> RunBacktest | None:
    run = recorded_run.run.run
    finished: RunFinishedEvent | None = None
    for recorded in recorded_run.journal.events(run):
        if isinstance(recorded.event, RecoveredEvent):
            return None  # its coordinator was away for a time that no forecast contains
        if isinstance(recorded.event, RunFinishedEvent):
            finished = recorded.event
    started = first_fact(recorded_run.journal, run)
    if finished is None or started is None:
        return None
    try:
        plan = plan_of(recorded_run)
    except WeftError:  # a plan of another version
        return None
    history = _history(recorded_run.journal, plan.id, before)
    tally = play(Rehearsal(plan, history, seed=seed, start=recorded_start(started)), _RUNS, least=_RUNS)
    seconds, costs = sorted(tally.seconds.values()), sorted(map(float, tally.costs))
    return RunBacktest(
        run=run,
        plan=plan.id,
        p10=quantile(seconds, 0.1),
        p50=quantile(seconds, 0.5),
        p90=quantile(seconds, 0.9),
        seconds=finished.seconds,
        cost_p50=quantile(costs, 0.5),
        cost_p90=quantile(costs, 0.9),
        cost=finished.cost or 0,
        level=sum(each < finished.seconds for each in seconds) / len(seconds),
    )
