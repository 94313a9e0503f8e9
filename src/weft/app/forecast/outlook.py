"""A short forecast of a run that is under way, for a person who looks at its status."""

import time

from msgspec import Struct

from weft.app.forecast.samples import read_samples
from weft.app.forecast.start import start_of
from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.forecast.quantiles import quantile
from weft.forecast.replications import Rehearsal
from weft.forecast.tally import Tally

_AFTER = 60.0
"""Seconds before a run has a forecast: a short run is over before it is read."""
_SLICES = 500
"""The most slices of a plan that is forecast. One replication of a larger plan takes longer than people wait."""
_SECONDS = 0.5
"""The time for a person who waits for the answer."""
_RUNS = 200


class Outlook(Struct, frozen=True):
    """When a run is over and what the rest of it costs, as P50 and P90."""

    seconds: tuple[float, float]
    """From now."""
    cost: tuple[int, int]
    """Micro-dollars from now on; zeros if nothing costs anything, or its price is unknown."""


def outlook_of(
    recorded_run: RecordedRun, *, after: float = _AFTER, seconds: float = _SECONDS
) -> Outlook | None:
    """Returns the outlook of a run; None if it is not under way, is younger than `after`, or is too large.

    The computation ends after `seconds`, with as many replications as were played.
    """
    record = recorded_run.run
    if recorded_run.state() != "running" or time.time() - record.created_at < after:
        return None
    plan = plan_of(recorded_run)
    if sum(plan.outline.leaves) > _SLICES:
        return None
    journal = recorded_run.journal
    rehearsal = Rehearsal(plan, read_samples(journal, plan.id), start=start_of(plan, journal))
    tally, until = Tally(), time.monotonic() + seconds
    for number in range(_RUNS):
        rehearsal.add_to(tally, number, watches_pools=False)
        if time.monotonic() >= until:
            break
    spans, costs = sorted(tally.seconds.values()), sorted(map(float, tally.costs))
    return Outlook(
        (quantile(spans, 0.5), quantile(spans, 0.9)),
        (round(quantile(costs, 0.5)), round(quantile(costs, 0.9))),
    )
