"""`weft simulate`: a forecast of what is left of a plan, and the value of other limits."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from weft.app.forecast.samples import read_samples
from weft.app.forecast.workers import play, processors
from weft.app.history.completed_work import kept_of
from weft.app.history.earlier_runs import earlier_runs
from weft.app.history.ledger import spent_by
from weft.app.project.files import InputSource
from weft.app.project.places import project_of
from weft.app.project.plans import NO_FLAGS, Flags, folder_of, load
from weft.engine.messages.events import StepFinishedEvent, StepStartedEvent
from weft.engine.messages.facts import EarlierSlice
from weft.errors import InputError
from weft.forecast.advice import WIDTHS, Saving, WidthReport, enough, savings, widths
from weft.forecast.history import NO_HISTORY, History
from weft.forecast.quantiles import Interval
from weft.forecast.replications import Change, Rehearsal, Start
from weft.forecast.summary import ForecastSummary, share_before, summarize
from weft.forecast.tally import Tally
from weft.garbage import without_gc
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.text.problems import nearest
from weft.ports.journal import JournalReader
from weft.store.sqlite import open_reader
from weft.terms import UNFINISHED

RUNS = 1_000
PATIENCE = 10.0
"""Seconds that an answer may take, unless the number of replications is chosen."""
_BASE = 0.4
"""The share of that time for the forecast itself; the rest is for comparisons."""
_LEAST = 50
"""So many replications are played in any case."""
_PAIRS = 20, 400
"""The least and the most replications of a comparison. Pairs of runs with the same luck need fewer."""


class ForecastRequest(Struct, frozen=True, kw_only=True):
    """What a person wants to know."""

    source: InputSource
    flags: Flags = NO_FLAGS
    runs: int | None = None
    """None: as many as fit into the time."""
    seed: int = 1
    by: float | None = None
    """Seconds from now."""
    widths: Sequence[int] = ()
    changes: Sequence[tuple[str, int]] = ()
    """Sizes of pools, agents or `max_parallel`, by the names that people use."""
    is_fresh: bool = False
    """Whether the work of earlier runs is repeated."""
    compares: bool = True


class PlanForecast(Struct, frozen=True, kw_only=True):
    """The answer."""

    plan: str
    summary: ForecastSummary
    by: float | None
    in_time: Interval | None
    """The share of runs that complete by then."""
    ceiling: int | None
    """The ceiling on the cost of the whole plan, in micro-dollars, less what earlier runs have spent."""
    widths: Sequence[WidthReport]
    width: int
    """The present `max_parallel`."""
    enough: int | None
    """The width beyond which more buys little."""
    savings: Sequence[Saving]
    history: History
    slices: int
    """The slices that are left."""
    done: int
    """The slices that earlier runs have completed."""
    seconds: float
    """The time that the forecast took."""


Progress = Callable[[int, int], None]
"""Called with the number of replications so far, and of all."""


def forecast(
    request: ForecastRequest,
    *,
    environ: Mapping[str, str] = os.environ,
    progress: Progress = lambda _done, _all: None,
) -> PlanForecast:
    """Returns the forecast of a plan."""
    began = time.monotonic()
    with without_gc():
        plan = load(request.source, flags=request.flags, environ=environ)
        history, start = _known(plan, folder_of(request.source), is_fresh=request.is_fresh)
        rehearsal = Rehearsal(plan, history, seed=request.seed, start=start)
        changes = [named_change(rehearsal, name, size) for name, size in request.changes]
        if changes:
            rehearsal = rehearsal.changed(changes)
        tally = _play(rehearsal, request, progress)
        summary = summarize(rehearsal, tally)
        pace = tally.runs / max(time.monotonic() - began, 1e-3)
        compare = _Comparison(request, tally, pace, progress)
        reports = compare.widths(rehearsal) if request.compares else []
        return PlanForecast(
            plan=plan.id,
            summary=summary,
            by=request.by,
            in_time=None if request.by is None else share_before(tally, request.by),
            ceiling=_ceiling(plan, start),
            widths=reports,
            width=rehearsal.sizes["slots"],
            enough=enough(rehearsal, reports, compare.play) if len(reports) > 1 else None,
            savings=savings(rehearsal, summary, compare.play) if request.compares else [],
            history=history,
            slices=sum(plan.outline.leaves) - _done(plan, start),
            done=_done(plan, start),
            seconds=time.monotonic() - began,
        )


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
    seconds = None if request.runs else PATIENCE * (_BASE if request.compares else 1.0)
    return play(
        rehearsal, runs, seconds=seconds, least=min(_LEAST, runs), progress=lambda done: progress(done, runs)
    )


class _Comparison:
    """Plays the same replications with other limits."""

    def __init__(self, request: ForecastRequest, tally: Tally, pace: float, progress: Progress) -> None:
        self._sizes = tuple(request.widths) or WIDTHS
        least, most = _PAIRS
        if request.runs:
            runs = min(request.runs, most)
        else:
            comparisons = len(self._sizes) + 5
            runs = int(pace * PATIENCE * (1.0 - _BASE) / comparisons)
        self._runs = max(min(runs, most, tally.runs), min(least, tally.runs))
        self._progress = progress

    def widths(self, rehearsal: Rehearsal) -> list[WidthReport]:
        return widths(rehearsal, {*self._sizes, rehearsal.sizes["slots"]}, self.play)

    def play(self, rehearsal: Rehearsal) -> Tally:
        return play(
            rehearsal,
            self._runs,
            least=self._runs,
            watches_pools=False,
            progress=lambda done: self._progress(done, self._runs),
        )


def named_change(rehearsal: Rehearsal, name: str, size: int) -> Change:
    """Returns the change of a limit that a person has named: `max_parallel`, `pools.NAME` or `agents.NAME`."""
    sizes = rehearsal.sizes
    names = {"max_parallel": "slots"}
    names |= {_shown(limit): limit for limit in sizes if limit != "slots"}
    if name not in names:
        near = nearest(name, list(names))
        hint = f"did you mean {near}?" if near else f"it can be: {', '.join(sorted(names))}"
        raise InputError(f"--set {name}: the plan has no such limit; {hint}")
    return Change(names[name], size)


def _shown(limit: str) -> str:
    kind, _, label = limit.partition(":")
    return f"{kind}s.{label}"


# What is known


def _known(plan: Plan, folder: Path, *, is_fresh: bool) -> tuple[History, Start]:
    """Returns the history of the project and the state of the plan in it."""
    journal = project_of(folder).journal
    if not os.path.lexists(journal):
        return NO_HISTORY, Start()
    with closing(open_reader(journal)) as reader:
        history = read_samples(reader, plan.id)
        return history, Start() if is_fresh else start_of(plan, reader)


def start_of(plan: Plan, journal: JournalReader) -> Start:
    """Returns where a run of the plan would start, or where the present run is."""
    kept = kept_of(plan, journal, earlier_runs(journal, plan.id))
    return Start(
        carried=kept.paths,
        landed=kept.landed,
        earlier=spent_by(journal, earlier_runs(journal, plan.id)),
        continued=tuple(map(_without_inputs, kept.continued)),
        running=_running(journal, plan.id),
    )


def _without_inputs(slice_: EarlierSlice) -> EarlierSlice:
    """Returns the slice as a rehearsal reads it. Its steps have no templates, so they have no digests of them."""
    return replace(slice_, steps=tuple(replace(step, inputs="") for step in slice_.steps))


def _running(journal: JournalReader, plan: str) -> dict[tuple[str, str], float]:
    """Returns the seconds for which the executions of the unfinished run have run."""
    record = next(iter(journal.runs(plan)), None)
    if record is None or record.state not in UNFINISHED:
        return {}
    started: dict[tuple[int, int], tuple[str, str, float]] = {}
    for recorded in journal.events(record.run):
        event = recorded.event
        if isinstance(event, StepStartedEvent):
            started[event.firing, event.execution] = (event.subplan, event.step, recorded.at)
        elif isinstance(event, StepFinishedEvent):
            started.pop((event.firing, event.execution), None)
    now = time.time()
    return {(path, step): max(now - at, 0.0) for path, step, at in started.values()}


__all__ = ["ForecastRequest", "PlanForecast", "forecast", "processors"]
