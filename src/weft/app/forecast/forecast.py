"""`weft simulate`: a forecast of what is left of a plan, and the value of other limits."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from msgspec import Struct

from weft.app.forecast.samples import read_samples
from weft.app.forecast.start import start_of
from weft.app.forecast.workers import play
from weft.app.project.files import InputSource
from weft.app.project.places import project_of
from weft.app.project.plans import NO_FLAGS, Flags, folder_of, load
from weft.app.record.journal import open_book
from weft.app.record.run_plan import plan_of
from weft.app.views.wording.limits import limit_name
from weft.app.views.wording.words import some
from weft.errors import InputError
from weft.forecast.advice import WIDTHS, Saving, WidthReport, enough, savings, widths
from weft.forecast.history import NO_HISTORY, History
from weft.forecast.quantiles import Interval
from weft.forecast.replications import Change, Rehearsal
from weft.forecast.start import Start
from weft.forecast.summary import ForecastSummary, share_before, summarize
from weft.forecast.tally import Tally
from weft.garbage import without_gc
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.text.problems import nearest
from weft.store.sqlite import open_reader

RUNS = 1_000
_NAMES = 12
"""How many names of limits a message lists."""
PATIENCE = 10.0
"""Seconds that an answer may take, unless the number of replications is chosen."""
_BASE = 0.4
"""The share of that time for the forecast itself; the rest is for comparisons."""
_LEAST = 50
"""So many replications are played in any case."""
_SEARCH = 3
"""The comparisons that it takes, about, to find the width beyond which more buys little."""
_PAIRS = 20, 400
"""The least and the most replications of a comparison. Pairs of runs with the same luck need fewer."""


class ForecastRequest(Struct, frozen=True, kw_only=True):
    """What a person wants to know."""

    source: InputSource | None = None
    """The plan; None: that of a run."""
    directory: Path = Path()
    """Without a plan: a directory of the project of the run."""
    run: str | None = None
    """Without a plan: the run; None is the last one."""
    flags: Flags = NO_FLAGS
    runs: int | None = None
    """None: as many as fit into the time."""
    seed: int = 1
    by: float | None = None
    """Seconds from now."""
    widths: Sequence[int] = ()
    changes: Sequence[tuple[str, int]] = ()
    """Sizes of limits, by the names that people use."""
    is_fresh: bool = False
    """Whether the work of earlier runs is repeated."""


class PlanForecast(Struct, frozen=True, kw_only=True):
    """The answer."""

    plan: str
    summary: ForecastSummary
    by: float | None
    in_time: Interval | None
    """The share of runs that complete by then."""
    ceiling: int | None
    """What earlier runs have left of the ceiling on the cost of the whole plan, in micro-dollars."""
    has_spent: bool
    """Whether earlier runs have spent anything of it."""
    widths: Sequence[WidthReport]
    enough: int | None
    """The width beyond which more buys little."""
    savings: Sequence[Saving]
    history: History
    slices: int
    """The slices that are left."""
    done: int
    """The slices that earlier runs have completed."""
    loaded_plan: Plan | None = None
    """The plan with all its subplans; None if only the figures matter."""


Progress = Callable[[int], None]
"""Called with the number of replications so far."""


def forecast(
    request: ForecastRequest,
    *,
    environ: Mapping[str, str] = os.environ,
    progress: Progress = lambda _done: None,
) -> PlanForecast:
    """Returns the forecast of a plan."""
    began = time.monotonic()
    with without_gc():
        plan, history, start = _inputs(request, environ)
        rehearsal = Rehearsal(plan, history, seed=request.seed, start=start)
        changes = [named_change(rehearsal, name, size) for name, size in request.changes]
        if changes:
            rehearsal = rehearsal.changed(changes)
        tally = _play(rehearsal, request, progress)
        summary = summarize(rehearsal, tally)
        pace = tally.runs / max(time.monotonic() - began, 1e-3)
        advice = _Advice()
        if not tally.is_interrupted:
            # After Ctrl-C, what is known so far is the answer.
            with suppress(KeyboardInterrupt):
                limits = sum(pool.wait > 0 for pool in summary.pools)
                advice = _Comparison(request, tally, pace, limits, progress).advice(rehearsal, summary)
        return PlanForecast(
            plan=plan.id,
            summary=summary,
            by=request.by,
            in_time=None if request.by is None else share_before(tally, request.by),
            ceiling=_ceiling(plan, start),
            has_spent=any(spending.cost for spending in start.earlier),
            widths=advice.widths,
            enough=advice.enough,
            savings=advice.savings,
            history=history,
            slices=sum(plan.outline.leaves) - _done(plan, start),
            done=_done(plan, start),
            loaded_plan=plan,
        )


def _inputs(request: ForecastRequest, environ: Mapping[str, str]) -> tuple[Plan, History, Start]:
    """Returns the plan, the history of the project, and the state of the plan in it."""
    if request.source is None:
        with open_book(request.directory, request.run, environ=environ) as recorded_run:
            plan, journal = plan_of(recorded_run), recorded_run.journal
            return plan, read_samples(journal, plan.id), start_of(plan, journal)
    plan = load(request.source, flags=request.flags, environ=environ)
    journal_file = project_of(folder_of(request.source)).journal
    if not os.path.lexists(journal_file):
        return plan, NO_HISTORY, Start()
    with closing(open_reader(journal_file)) as reader:
        return plan, read_samples(reader, plan.id), Start() if request.is_fresh else start_of(plan, reader)


def _done(plan: Plan, start: Start) -> int:
    carried = frozenset(start.carried)
    return sum(
        is_leaf and path in carried
        for path, is_leaf in zip(plan.outline.paths, plan.outline.leaves, strict=True)
    )


def _ceiling(plan: Plan, start: Start) -> int | None:
    budget = plan.scopes[ROOT].settings.budget
    return None if budget is None else max(0, budget - sum(spending.cost for spending in start.earlier))


def _play(rehearsal: Rehearsal, request: ForecastRequest, progress: Progress) -> Tally:
    runs = request.runs or RUNS
    seconds = None if request.runs else PATIENCE * _BASE
    return play(rehearsal, runs, seconds=seconds, least=min(_LEAST, runs), progress=progress)


class _Advice(Struct, frozen=True, kw_only=True):
    """The results of comparisons; empty without any."""

    widths: Sequence[WidthReport] = ()
    enough: int | None = None
    savings: Sequence[Saving] = ()


class _Comparison:
    """Plays the same replications with other limits."""

    def __init__(
        self, request: ForecastRequest, tally: Tally, pace: float, limits: int, progress: Progress
    ) -> None:
        """`limits`: how many limits are compared with one more."""
        self._sizes = tuple(request.widths) or WIDTHS
        least, most = _PAIRS
        if request.runs:
            runs = min(request.runs, most)
        else:
            comparisons = len(self._sizes) + limits + _SEARCH
            runs = int(pace * PATIENCE * (1.0 - _BASE) / comparisons)
        self._runs = max(min(runs, most, tally.runs), min(least, tally.runs))
        self._progress = progress

    def advice(self, rehearsal: Rehearsal, summary: ForecastSummary) -> _Advice:
        reports = widths(rehearsal, {*self._sizes, rehearsal.sizes["slots"]}, self._play)
        return _Advice(
            widths=reports,
            enough=enough(rehearsal, reports, self._play) if len(reports) > 1 else None,
            savings=savings(rehearsal, summary, self._play),
        )

    def _play(self, rehearsal: Rehearsal) -> Tally:
        """Returns the tally of all replications; raises `KeyboardInterrupt` if a person ended them."""
        tally = play(
            rehearsal,
            self._runs,
            least=self._runs,
            watches_pools=False,
            progress=self._progress,
        )
        if tally.is_interrupted:
            raise KeyboardInterrupt
        return tally


def named_change(rehearsal: Rehearsal, name: str, size: int) -> Change:
    """Returns the change of a limit that a person has named as `limit_name` writes it."""
    names = {limit_name(limit): limit for limit in rehearsal.sizes}
    if name not in names:
        near = nearest(name, list(names))
        hint = f"did you mean {near}?" if near else f"it can be: {some(sorted(names), _NAMES)}"
        raise InputError(f"--set {name}: the plan has no such limit; {hint}")
    return Change(names[name], size)
