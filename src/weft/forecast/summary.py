"""The forecast of a plan: quantiles, probabilities, paths, and the work that they depend on."""

from collections.abc import Sequence

from msgspec import Struct

from weft.forecast.estimates import Basis, Estimates, StepEstimate
from weft.forecast.quantiles import Interval, interval, quantile, share_interval
from weft.forecast.replications import Rehearsal
from weft.forecast.tally import Tally

_PATHS = 5
_MATTERING = 5
_LEAST_SHARE = 0.05
_ROUNDING = 1e-9


class PoolReport(Struct, frozen=True, kw_only=True):
    """How busy a limit is."""

    name: str
    """`slots` for `max_parallel`, `slots:PATH` for that of a group; else `pool:`, `agent:` or `host:NAME`."""
    size: int
    busy: float
    """The share of its tokens in use, on average."""
    wait: float
    """Seconds that all requests together waited for it, on average."""


class PathShare(Struct, frozen=True):
    """A chain of subplans, each of which let the next one start, at the end of a run."""

    subplans: tuple[str, ...]
    share: float


class Influence(Struct, frozen=True):
    """How much the finish depends on the work of a subplan: the share of its variance."""

    path: str
    share: float


class ForecastSummary(Struct, frozen=True, kw_only=True):
    """The result of all replications of a plan."""

    runs: int
    seed: int
    p10: Interval
    p50: Interval
    p90: Interval
    """Of the seconds until the run is over."""
    cost_p50: Interval
    cost_p90: Interval
    """In micro-dollars."""
    unpriced: float
    """Agent calls with an unknown cost in a run, on average."""
    fails: Interval
    """The share of runs that do not complete."""
    ceiling: Interval
    """The share of runs that a ceiling stops."""
    lower_bound: float
    """Seconds, in the median of runs, below which no schedule is: the longest chain of dependencies, or the work
    of the plan or a group divided by its slots."""
    pools: tuple[PoolReport, ...]
    paths: tuple[PathShare, ...]
    influences: tuple[Influence, ...]
    steps: tuple[StepEstimate, ...]

    @property
    def defaults(self) -> list[StepEstimate]:
        """The steps of which nothing is known."""
        return [step for step in self.steps if step.estimate.basis is Basis.DEFAULT]


def summarize(rehearsal: Rehearsal, tally: Tally) -> ForecastSummary:
    """Returns the forecast of a plan whose replications are in the tally."""
    runs = tally.runs
    seconds = sorted(tally.seconds.values())
    costs = sorted(map(float, tally.costs))
    return ForecastSummary(
        runs=runs,
        seed=rehearsal.seed,
        p10=interval(seconds, 0.1),
        p50=interval(seconds, 0.5),
        p90=interval(seconds, 0.9),
        cost_p50=interval(costs, 0.5),
        cost_p90=interval(costs, 0.9),
        unpriced=tally.unpriced / runs,
        fails=share_interval(len(tally.failed), runs),
        ceiling=share_interval(tally.ceilings, runs),
        lower_bound=quantile(sorted(tally.bounds), 0.5),
        pools=tuple(_pools(rehearsal, tally)),
        paths=tuple(_paths(tally)),
        influences=tuple(_influences(tally)),
        steps=tuple(_steps(rehearsal.estimates)),
    )


def share_before(tally: Tally, seconds: float) -> Interval:
    """Returns the share of runs that complete within this time."""
    # A run that fails is never done, however early it ends.
    in_time = sum(each <= seconds and number not in tally.failed for number, each in tally.seconds.items())
    return share_interval(in_time, tally.runs)


def _steps(estimates: Estimates) -> Sequence[StepEstimate]:
    return list(estimates.listed())


def _pools(rehearsal: Rehearsal, tally: Tally) -> list[PoolReport]:
    sizes = rehearsal.sizes
    return [
        PoolReport(
            name=name,
            size=sizes[name],
            busy=pool.busy / tally.runs / sizes[name],
            wait=pool.waiting / tally.runs,
        )
        for name, pool in tally.pools.items()
    ]


def _paths(tally: Tally) -> list[PathShare]:
    """Returns the chains that most often decide the length of a run."""
    best = sorted(tally.paths.items(), key=lambda item: (-item[1], item[0]))[:_PATHS]
    return [PathShare(path, count / tally.runs) for path, count in best if path]


def _influences(tally: Tally) -> list[Influence]:
    """Returns the subplans whose work explains most of the variance of the makespan."""
    runs = tally.runs
    mean = tally.makespan.seconds / runs
    variance = tally.makespan.squares / runs - mean * mean
    influences: list[Influence] = []
    for path, work in tally.slices.items():
        own_mean = work.seconds / runs
        own_variance = work.squares / runs - own_mean * own_mean
        covariance = work.products / runs - own_mean * mean
        # A variance that is only the rounding of the sums explains nothing.
        is_fixed = own_variance <= _ROUNDING * own_mean * own_mean or variance <= _ROUNDING * mean * mean
        if path and not is_fixed and covariance > 0.0:
            influences.append(Influence(path, covariance * covariance / (own_variance * variance)))
    influences.sort(key=lambda influence: (-influence.share, influence.path))
    return [influence for influence in influences[:_MATTERING] if influence.share >= _LEAST_SHARE]
