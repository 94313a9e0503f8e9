"""Estimates of a run: its progress, its remaining time, and the number of attempts that a step may have.

The weight of a slice is its estimate in minutes; a slice without an estimate has the average weight of the others.
The remaining time follows from the seconds per unit of weight in this run, so there is none before a few slices
have ended. It assumes that the rest takes as long per unit and that as many slices run at once as now.
"""

from collections.abc import Iterable

from weft.engine.messages.internal_steps import is_internal
from weft.plan.model import Nested, Plan, Step
from weft.plan.pipelines.flow import effective
from weft.plan.pipelines.unroll import most_runs

FEW = 3
"""Number of slices that must have ended before the remaining time is estimated."""


class Pace:
    def __init__(self, plan: Plan) -> None:
        self.weights = _weights(plan)
        """Weights by row; 0 for groups."""
        self._all = sum(self.weights)
        self._left = self._all
        self._timed = 0
        self._seconds = 0.0
        self._weight_of_timed = 0.0

    def ended(self, row: int, seconds: float | None) -> None:
        """Records the end of a slice; `seconds` is None if the slice did not run to its end."""
        self._left -= self.weights[row]
        if seconds is not None:
            self._timed += 1
            self._seconds += seconds
            self._weight_of_timed += self.weights[row]

    @property
    def progress(self) -> float:
        """The weight of the ended slices, from 0 to 1."""
        return 1.0 - self._left / self._all if self._all else 0.0

    def remaining(self, running: Iterable[tuple[int, float]]) -> float | None:
        """Returns the estimated seconds until the end; None without enough data.

        `running` has the row of each running slice and the seconds since it started.
        """
        under_way = list(running)
        if self._timed < FEW or not under_way or not self._weight_of_timed:
            return None
        rate = self._seconds / self._weight_of_timed
        # A slice that has already taken longer than expected is counted as about to end, not as negative work.
        rests = [max(0.0, rate * self.weights[row] - spent) for row, spent in under_way]
        waiting = self._left - sum(self.weights[row] for row, _ in under_way)
        # All work divided by the slices at once is a lower bound, and so is the longest remaining slice.
        return max((rate * waiting + sum(rests)) / len(under_way), *rests)


def _weights(plan: Plan) -> list[float]:
    leaves = plan.outline.leaves
    estimates = [_minutes(plan, row) if leaf else 0.0 for row, leaf in enumerate(leaves)]
    known_minutes = [
        minutes for minutes, leaf in zip(estimates, leaves, strict=True) if leaf and minutes is not None
    ]
    usual = sum(known_minutes) / len(known_minutes) if known_minutes else 1.0
    return [usual if minutes is None else minutes for minutes in estimates]


def _minutes(plan: Plan, row: int) -> float | None:
    estimate = plan.subplans[row].estimate
    return (
        None
        if estimate is None or estimate.minutes is None
        else sum(estimate.minutes) / len(estimate.minutes)
    )


class Attempts:
    """The largest number of attempts of steps, with all loops around them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._found: dict[tuple[int, int, bool, str], int] = {}

    def most(self, row: int, step: str) -> int:
        """Returns the largest number of attempts; 0 for a step outside a pipeline, such as a merge."""
        plan = self._plan
        if is_internal(step) or not plan.outline.leaves[row]:
            return 0
        pipeline, retries = plan.pipeline_of(row), plan.scopes[row].settings.retries
        verifies = bool(plan.subplans[row].verify)
        # Unrolling a pipeline is slow, and equal slices share the pipeline object.
        key = (id(pipeline), retries, verifies, step)
        if key not in self._found:
            self._found[key] = self._count(effective(pipeline.steps, verifies=verifies), key)
        return self._found[key]

    def _count(self, steps: list[Step], key: tuple[int, int, bool, str]) -> int:
        _, retries, verifies, address = key
        times = 1
        for name in address.split("."):
            runs = most_runs(steps, retries)
            number = [step.id for step in steps].index(name)
            times *= runs[number]
            body = steps[number].body
            if isinstance(body, Nested):
                steps = effective(self._plan.pipelines[body.pipeline].steps, verifies=verifies)
        return times
