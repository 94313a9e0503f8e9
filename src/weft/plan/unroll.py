"""How often each step of a pipeline can run at most: every loop is bounded.

A step with `on_fail` sends the work back to an earlier one up to `max` times, so the steps in between run up to
`max + 1` times; loops around loops multiply, as the inner one starts anew each time. `on_error: retry` multiplies
for its own step, and a nested pipeline for all its steps.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.plan.flow import effective, loop_region
from weft.plan.model import Nested, Pipeline, Step

MOST_STEPS = 2_000
"""Runs of steps that one slice may come to; more is a slip, and would be a very large net."""


def loop_limit(step: Step, retries: int) -> int:
    """How often the step sends the work back."""
    if step.on_fail is None:
        return 0
    return retries if step.on_fail.max is None else step.on_fail.max


def most_runs(steps: Sequence[Step], retries: int) -> list[int]:
    """For each step, how often it can run, as part of one run of the pipeline."""
    runs = [int(step.condition != "never") * (1 + step.max_retries) for step in steps]
    for number, step in enumerate(steps):
        for inside in loop_region(steps, number) or ():
            runs[inside] *= 1 + loop_limit(step, retries)
    return runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrolled:
    """How often the steps of a pipeline can run in one slice, those of nested pipelines included."""

    pipelines: Mapping[str, Pipeline]
    retries: int
    verifies: bool

    def runs(self, steps: Sequence[Step], times: int = 1, depth: int = 0) -> Iterator[tuple[Step, int]]:
        """Each step with its number of runs at most; a pipeline that stands within itself is not followed."""
        real = effective(steps, verifies=self.verifies)
        for step, runs in zip(real, most_runs(real, self.retries), strict=True):
            yield step, runs * times
            inner = self.pipelines.get(step.body.pipeline) if isinstance(step.body, Nested) else None
            if inner is not None and depth <= len(self.pipelines) and runs:
                yield from self.runs(inner.steps, runs * times, depth + 1)
