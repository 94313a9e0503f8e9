"""What the plan foretells of a run: how often a step may be tried, how far it is, how long it will still take.

A slice weighs as many minutes as its estimate says; one without an estimate weighs as much as the others do on
average. The remaining time comes from how long a unit of weight took in this run, so it says nothing before a few
slices have ended, and it is a guess: that the rest goes as it went so far, with as many slices at once as now.
"""

from collections.abc import Iterable

from weft.plan.model import Nested, Plan, Step
from weft.plan.pipelines.flow import effective
from weft.plan.pipelines.unroll import most_runs

FEW = 3
"""Slices that must have ended before the rest is guessed at."""


class Pace:
    def __init__(self, plan: Plan) -> None:
        self.weights = _weights(plan)
        """By row; 0 for groups."""
        self._all = sum(self.weights)
        self._left = self._all
        self._timed = 0
        self._seconds = 0.0
        self._weight_of_timed = 0.0

    def ended(self, row: int, seconds: float | None) -> None:
        """A slice has ended; without a time if it did not run, or not to its end."""
        self._left -= self.weights[row]
        if seconds is not None:
            self._timed += 1
            self._seconds += seconds
            self._weight_of_timed += self.weights[row]

    @property
    def progress(self) -> float:
        """From 0 to 1."""
        return 1.0 - self._left / self._all if self._all else 0.0

    def remaining(self, running: Iterable[tuple[int, float]]) -> float | None:
        """Seconds; the running slices come with how long each has been at it. None: it cannot be told."""
        under_way = list(running)
        if self._timed < FEW or not under_way or not self._weight_of_timed:
            return None
        rate = self._seconds / self._weight_of_timed
        rests = [max(0.0, rate * self.weights[row] - spent) for row, spent in under_way]
        waiting = self._left - sum(self.weights[row] for row, _ in under_way)
        return max((rate * waiting + sum(rests)) / len(under_way), *rests)


def _weights(plan: Plan) -> list[float]:
    leaves = plan.outline.leaves
    given = [_minutes(plan, row) if leaf else 0.0 for row, leaf in enumerate(leaves)]
    known = [minutes for minutes, leaf in zip(given, leaves, strict=True) if leaf and minutes is not None]
    usual = sum(known) / len(known) if known else 1.0
    return [usual if minutes is None else minutes for minutes in given]


def _minutes(plan: Plan, row: int) -> float | None:
    estimate = plan.subplans[row].estimate
    return (
        None
        if estimate is None or estimate.minutes is None
        else sum(estimate.minutes) / len(estimate.minutes)
    )


class Attempts:
    """How often a step of a slice can be tried, with all loops around it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._found: dict[tuple[int, int, bool, str], int] = {}

    def most(self, row: int, step: str) -> int:
        """0 if it is no step of a pipeline: a merge, the verify of a group."""
        plan = self._plan
        if step.startswith("@") or not plan.outline.leaves[row]:
            return 0
        pipeline, retries = plan.pipeline_of(row), plan.scopes[row].settings.retries
        verifies = bool(plan.subplans[row].verify)
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
