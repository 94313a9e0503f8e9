"""Output of `weft simulate`: when a plan will be done, what it will cost, what holds it up."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from weft.app.forecast.forecast import PlanForecast
from weft.app.forecast.outlook import Outlook
from weft.app.views.wording.forecasts import moment
from weft.app.views.wording.limits import limit_name
from weft.app.views.wording.timeouts import late_words
from weft.app.views.wording.words import span
from weft.cli.terminal import Paragraph
from weft.cli.text.sections import count, few
from weft.forecast.advice import Saving, WidthReport
from weft.forecast.estimates import AGENT_MINUTES, COMMAND_SECONDS, StepEstimate
from weft.forecast.quantiles import Interval
from weft.forecast.summary import PoolReport
from weft.forecast.timeouts import late_steps
from weft.plan.prices import dollars

LABEL = 12
_VISIBLE = 60.0
"""A saving of less than a minute is not worth a sentence, unless the whole run is short."""
_UNSURE = 0.05
"""A quantile whose interval is wider than this share of it is shown with its interval."""
_NO_GAIN = 0.005
"""A wider plan that saves less than this share of the time gains nothing."""
_PATHS = 1
_WARNINGS = 3


def forecast_lines(
    forecast: PlanForecast, now: datetime, *, verbose: bool, every_width: bool = False
) -> Iterator[str]:
    """Yields the forecast for people; `now` is in the user's time zone.

    `every_width`: also the widths that gain nothing, as a person has asked for them.
    """
    if not forecast.slices:
        yield from _section("Finish", ["every slice is done; for a forecast of the whole plan, add --fresh"])
        return
    sections = (
        ("Finish", _finish(forecast, now)),
        ("Cost", _cost(forecast)),
        ("Width", _widths(forecast, every_width=every_width)),
        ("Bottleneck", _bottlenecks(forecast)),
        ("Path", _path(forecast, verbose=verbose)),
        ("Estimates", _influences(forecast)),
        ("Basis", _basis(forecast, verbose=verbose)),
    )
    for label, sentences in sections:
        yield from _section(label, sentences)
    if verbose:
        yield from _details(forecast)


def _section(label: str, sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        yield Paragraph(f"{label:<{LABEL}}{sentence}", hang=LABEL + 2)
        label = ""


def outlook_line(outlook: Outlook, now: datetime) -> str:
    """Returns the forecast of a run in one line."""
    early, late = (moment(now, seconds) for seconds in outlook.seconds)
    line = f"Forecast: done at {early}" if early == late else f"Forecast: done between {early} and {late}"
    low, high = map(dollars, outlook.cost)
    return f"{line}, for {low} to {high} more" if outlook.cost[1] else line


def _share(value: float) -> str:
    percent = 100 * value
    if 0 < percent < 1:
        return "under 1 %"
    return "over 99 %" if 99 < percent < 100 else f"{percent:.0f} %"  # noqa: PLR2004 - percent


def _finish(forecast: PlanForecast, now: datetime) -> Iterator[str]:
    summary = forecast.summary
    parts = [
        f"{name} {moment(now, quantile.value)} ({span(quantile.value)}{_doubt(quantile, span)})"
        for name, quantile in (("P50", summary.p50), ("P90", summary.p90))
    ]
    sentence = ", ".join(parts)
    if forecast.by is not None and forecast.in_time is not None:
        sentence += f"; by {moment(now, forecast.by)} in {_share(forecast.in_time.value)} of runs"
    yield sentence
    if forecast.done:
        yield f"{count(forecast.done, 'slice')} done by earlier runs, {count(forecast.slices, 'slice')} left"
    if summary.fails.value:
        yield f"{_share(summary.fails.value)} of runs do not complete everything"
    late = late_steps(summary.steps)
    yield from (f"warning: {late_words(each)}" for each in late[:_WARNINGS])
    if len(late) > _WARNINGS:
        yield f"… and {count(len(late) - _WARNINGS, 'more such warning')}"


def _doubt(quantile: Interval, write: Callable[[float], str]) -> str:
    """Returns the interval of a quantile if it is wide."""
    if quantile.high - quantile.low <= 2 * _UNSURE * quantile.value:
        return ""
    return f", {write(quantile.low)} to {write(quantile.high)}"


def _cost(forecast: PlanForecast) -> Iterator[str]:
    summary = forecast.summary
    has_price = bool(summary.cost_p90.value)
    if not has_price and all(step.agent is None for step in summary.steps):
        yield "no agent is called"
        return
    if summary.unpriced >= 1 and not has_price:
        yield f"unknown: no price is known for about {summary.unpriced:.0f} agent calls"
        return
    sentence = f"P50 {dollars(round(summary.cost_p50.value))}, P90 {dollars(round(summary.cost_p90.value))}"
    if summary.unpriced >= 1:
        sentence += f", and about {summary.unpriced:.0f} agent calls of unknown price"
    if forecast.ceiling is not None:
        stops = (
            f"stops the run in {_share(summary.ceiling.value)}" if summary.ceiling.value else "is not reached"
        )
        amount = dollars(forecast.ceiling)
        ceiling = f"the {amount} left of the ceiling" if forecast.has_spent else f"the ceiling of {amount}"
        sentence += f"; {ceiling} {stops}"
    yield sentence


def _widths(forecast: PlanForecast, *, every_width: bool) -> Iterator[str]:
    if not forecast.widths:
        yield "not compared, because Ctrl-C came first"
        return
    reports = forecast.widths if every_width else _gaining(forecast.widths)
    times = "   ".join(f"{report.width}: {span(report.p50.value)}" for report in reports)
    enough = forecast.enough
    yield times if enough is None else f"{times}   more than {enough} at once buy little"


def _gaining(reports: Sequence[WidthReport]) -> Sequence[WidthReport]:
    """Returns the reports up to the first after which no wider one gains anything."""
    medians = [report.p50.value for report in reports]
    last = next(place for place, own in enumerate(medians) if min(medians[place:]) >= own * (1.0 - _NO_GAIN))
    return reports[: last + 1]


def name_of(limit: str) -> str:
    """Returns the name of a limit as the plan writes it."""
    kind, _, label = limit.partition(":")
    return limit_name(limit) if kind in {"slots", "host"} else label


def _bottlenecks(forecast: PlanForecast) -> Iterator[str]:
    total = forecast.summary.p50.value
    helpful = [
        saving
        for saving in forecast.savings
        if saving.is_certain and saving.saves.value >= min(_VISIBLE, 0.02 * total)
    ]
    if forecast.savings and not helpful:
        yield "none: one more of any limit saves next to nothing"
    for place, saving in enumerate(helpful):
        yield _bottleneck(saving, is_first=not place)


def _bottleneck(saving: Saving, *, is_first: bool) -> str:
    name = f"{name_of(saving.name)} ({saving.size})"
    busy = f" is busy {_share(saving.busy)} of the time;" if is_first else ":"
    half = (saving.saves.high - saving.saves.low) / 2
    doubt = f", ± {span(half)}" if half > 0.1 * saving.saves.value else ""
    return f"{name}{busy} one more saves {span(saving.saves.value)} (P50{doubt})"


def _path(forecast: PlanForecast, *, verbose: bool) -> Iterator[str]:
    paths = forecast.summary.paths
    for place, path in enumerate(paths if verbose else paths[:_PATHS]):
        words = "most often last" if not place else "then"
        yield f"{words}: {_chain(path.subplans)} ({_share(path.share)} of runs)"


def _chain(names: Sequence[str]) -> str:
    most = 6
    shown = names if len(names) <= most else ("…", *names[-most:])
    return " → ".join(shown)


def _influences(forecast: PlanForecast) -> Iterator[str]:
    influences = forecast.summary.influences
    if influences:
        shares = ", ".join(f"{each.path} ({_share(each.share)})" for each in influences[:3])
        yield f"most of the uncertainty comes from: {shares}; a better estimate there helps most"


def _basis(forecast: PlanForecast, *, verbose: bool) -> Iterator[str]:
    history, summary = forecast.history, forecast.summary
    if history.executions:
        yield f"{count(history.executions, 'step')} of {count(history.runs, 'earlier run')}"
    else:
        yield "no earlier runs of this plan"
    agents = [step for step in summary.defaults if step.agent is not None]
    commands = [step for step in summary.defaults if step.agent is None]
    low, high = AGENT_MINUTES
    yield from _defaults(agents, f"{low:g}..{high:g} min", verbose=verbose)
    low, high = COMMAND_SECONDS
    yield from _defaults(commands, f"{low:g}..{high:g} s", verbose=verbose)
    yield f"{count(summary.runs, 'replication')}, seed {summary.seed}"


def _defaults(steps: Sequence[StepEstimate], words: str, *, verbose: bool) -> Iterator[str]:
    if steps:
        names = [f"{step.path}:{step.step}" for step in steps]
        shown = ", ".join(names) if verbose else few(names)
        yield f"defaults ({words}) for {count(len(steps), 'step')}: {shown}"


def _details(forecast: PlanForecast) -> Iterator[str]:
    """Yields what `--verbose` adds."""
    summary = forecast.summary
    bound, median = summary.lower_bound, summary.p50.value
    above = median / bound - 1 if bound else 0.0
    distance = f", {_share(above)} above it" if above > 0 else ", which is no more"
    yield from _section("Bound", [f"no schedule is below {span(bound)}; P50 is {span(median)}{distance}"])
    yield from _section("Limits", map(_limit, summary.pools))
    yield from _section("Steps", map(_step, summary.steps))


def _limit(pool: PoolReport) -> str:
    waits = f"; requests wait {span(pool.wait)} for it, all in all" if pool.wait else ""
    return f"{name_of(pool.name)} ({pool.size}): busy {_share(pool.busy)}{waits}"


def _step(step: StepEstimate) -> str:
    estimate = step.estimate
    words = [span(estimate.seconds.median)]
    if estimate.cost is None:
        words.append("price unknown")
    elif estimate.cost.median:
        words.append(dollars(round(estimate.cost.median)))
    if estimate.fail:
        words.append(f"fails in {_share(estimate.fail)}")
    return f"{step.path}:{step.step}: {', '.join(words)} ({estimate.basis})"


# JSON


def forecast_json(forecast: PlanForecast) -> dict[str, object]:
    """Returns the data of `--json`."""
    summary, micro = forecast.summary, 1_000_000
    return {
        "plan": forecast.plan,
        "makespan_s": {"p10": summary.p10.value, **_quantiles(summary.p50, summary.p90, 1)},
        "cost_usd": {
            **_quantiles(summary.cost_p50, summary.cost_p90, micro),
            "unknown": round(summary.unpriced, 3),
        },
        "p_by": None if forecast.in_time is None else forecast.in_time.value,
        "by_s": forecast.by,
        "p_ceiling": summary.ceiling.value,
        "ceiling_usd": None if forecast.ceiling is None else forecast.ceiling / micro,
        "p_fails": summary.fails.value,
        "lower_bound_s": summary.lower_bound,
        "width": [
            {
                "n": report.width,
                "p50_s": report.p50.value,
                "p90_s": report.p90.value,
                "cost_p50_usd": report.cost_p50.value / micro,
            }
            for report in forecast.widths
        ],
        "enough": forecast.enough,
        "pools": list(_pools_json(forecast)),
        "paths": [{"share": path.share, "subplans": list(path.subplans)} for path in summary.paths],
        "influences": [{"subplan": each.path, "share": each.share} for each in summary.influences],
        "timeouts": [f"{step.path}:{step.step}" for step in summary.steps if step.may_time_out],
        "defaults": [f"{step.path}:{step.step}" for step in summary.defaults],
        "history": {"steps": forecast.history.executions, "runs": forecast.history.runs},
        "slices": {"left": forecast.slices, "done": forecast.done},
        "runs": summary.runs,
        "seed": summary.seed,
    }


def _pools_json(forecast: PlanForecast) -> Iterator[dict[str, object]]:
    """Yields the limits, the most useful ones first; after Ctrl-C, what one more saves may be unknown."""
    for limit in forecast.savings or forecast.summary.pools:
        saves = limit.saves if isinstance(limit, Saving) else None
        yield {
            "name": name_of(limit.name),
            "size": limit.size,
            "busy": limit.busy,
            "wait_s": limit.wait,
            "one_more_saves_s": saves and saves.value,
            "one_more_saves_95_s": saves and [saves.low, saves.high],
        }


def _quantiles(p50: Interval, p90: Interval, unit: int) -> dict[str, object]:
    return {
        "p50": p50.value / unit,
        "p90": p90.value / unit,
        "p50_95": [p50.low / unit, p50.high / unit],
        "p90_95": [p90.low / unit, p90.high / unit],
    }
