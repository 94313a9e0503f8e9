"""What another size of a limit is worth, on the same luck."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from weft.forecast.quantiles import Interval, interval, paired_saving
from weft.forecast.replications import Change, Rehearsal
from weft.forecast.summary import ForecastSummary
from weft.forecast.tally import Tally

Player = Callable[[Rehearsal], Tally]
"""Plays the replications of a comparison; the same numbers each time."""

WIDTHS = (1, 2, 4, 8, 16)
_LITTLE = 0.05
"""A wider plan that saves less than this share of the time buys little."""


class WidthReport(Struct, frozen=True, kw_only=True):
    """The finish and the cost with another `max_parallel`."""

    width: int
    p50: Interval
    p90: Interval
    cost_p50: Interval


class Saving(Struct, frozen=True, kw_only=True):
    """The value of one more token of a limit."""

    name: str
    size: int
    """The present size."""
    busy: float
    wait: float
    saves: Interval
    """Seconds, as the difference of the medians."""

    @property
    def is_certain(self) -> bool:
        """Whether more than luck is behind the saving."""
        return self.saves.low > 0.0


def widths(rehearsal: Rehearsal, sizes: Iterable[int], play: Player) -> list[WidthReport]:
    """Returns the forecasts for these widths."""
    return [_width(rehearsal, size, play) for size in sorted(set(sizes))]


def _width(rehearsal: Rehearsal, size: int, play: Player) -> WidthReport:
    tally = play(rehearsal.changed([Change("slots", size)]))
    seconds, costs = sorted(tally.seconds.values()), sorted(map(float, tally.costs))
    return WidthReport(
        width=size, p50=interval(seconds, 0.5), p90=interval(seconds, 0.9), cost_p50=interval(costs, 0.5)
    )


def enough(rehearsal: Rehearsal, reports: Sequence[WidthReport], play: Player) -> int:
    """Returns the smallest width whose median is within a few percent of the widest; searches between reports."""
    best = reports[-1].p50.value * (1 + _LITTLE)
    position = next(place for place, report in enumerate(reports) if report.p50.value <= best)
    high = reports[position].width
    low = reports[position - 1].width if position else high
    # A wider plan is not slower, but for luck, so half of the range can be left out each time.
    while high - low > 1:
        middle = (low + high) // 2
        if _width(rehearsal, middle, play).p50.value <= best:
            high = middle
        else:
            low = middle
    return high


def savings(rehearsal: Rehearsal, summary: ForecastSummary, play: Player) -> list[Saving]:
    """Returns what one more token of each limit saves, the greatest saving first."""
    base = play(rehearsal)
    results: list[Saving] = []
    for pool in summary.pools:
        # Where nothing ever waits, one more changes nothing.
        tally = play(rehearsal.changed([Change(pool.name, pool.size + 1)])) if pool.wait else base
        numbers = sorted(base.seconds.keys() & tally.seconds.keys())
        saves = paired_saving([base.seconds[n] for n in numbers], [tally.seconds[n] for n in numbers])
        results.append(Saving(name=pool.name, size=pool.size, busy=pool.busy, wait=pool.wait, saves=saves))
    return sorted(results, key=lambda saving: (-saving.saves.value, saving.name))
