"""How often each step of a pipeline can run at most: every loop is bounded.

A step with `on_fail` sends the work back to an earlier one up to `max` times; when a later step sends the work
back past it, it starts to count anew. So each time the work comes to such a step, the steps from its target to
itself are run up to `max` times more. Counted from the last step to the first, that takes every loop into account
that can bring the work there. `on_error: retry` multiplies for its own step, and a nested pipeline for all its
steps.

An agent that fails or takes too long has made an attempt. If its step sends the work back, or a later one sends it
back to this step, that counts as an attempt of the loop, but only the step itself is done again. Else the step is
tried again in place, `retries` times at most.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from weft.plan.model import Pipeline, Step
from weft.plan.pipelines.flow import effective, loop_region
from weft.plan.pipelines.nesting import inner_first, nested_in

MOST_STEPS = 2_000
"""Runs of steps that one slice may come to; more is a slip, and would be a very large net."""


def loop_limit(step: Step, retries: int) -> int:
    """How often the step sends the work back."""
    if step.on_fail is None:
        return 0
    return retries if step.on_fail.max is None else step.on_fail.max


def crash_loop(steps: Sequence[Step], number: int) -> int | None:
    """The step that sends the work back and counts a crash at this one: itself, or the nearest that leads here."""
    if loop_region(steps, number) is not None:
        return number
    for later in range(number + 1, len(steps)):
        region = loop_region(steps, later)
        if region is not None and region.start == number:
            return later
    return None


def tries_again(steps: Sequence[Step], number: int, retries: int) -> int:
    """How often the step is tried again in place when it fails, or when its agent crashes."""
    step = steps[number]
    if step.retries_crashes and crash_loop(steps, number) is None:
        return retries
    return step.max_retries


def most_runs(steps: Sequence[Step], retries: int) -> list[int]:
    """For each step, how often it can run, as part of one run of the pipeline."""
    runs = [1] * len(steps)
    for number in reversed(range(len(steps))):
        more = loop_limit(steps[number], retries) * runs[number]
        for inside in loop_region(steps, number) or ():
            runs[inside] += more
    return [
        count * (0 if steps[number].condition == "never" else 1 + tries_again(steps, number, retries))
        for number, count in enumerate(runs)
    ]


class Unrolled(Struct, frozen=True, kw_only=True):
    """How often the steps of a pipeline can run in one slice, those of nested pipelines included."""

    pipelines: Mapping[str, Pipeline]
    retries: int
    verifies: bool

    def runs(self, steps: Sequence[Step]) -> list[tuple[Step, int]]:
        """Each step once, with the number of its runs at most, wherever it stands."""
        times: Counter[str] = Counter()
        found = self._times(steps, 1, times)
        for name in reversed(inner_first(steps, self.pipelines)):
            found += self._times(self.pipelines[name].steps, times[name], times)
        return found

    def _times(self, steps: Sequence[Step], whole: int, times: Counter[str]) -> list[tuple[Step, int]]:
        """The same for the steps of one pipeline, which runs so often; adds up how often those in it run."""
        runs = [own * whole for own in self._own(steps)]
        for step, own in zip(steps, runs, strict=True):
            for _, inner in nested_in((step,), self.pipelines):
                times[inner] += own
        return list(zip(steps, runs, strict=True))

    def size(self, steps: Sequence[Step]) -> int:
        """The runs of all steps together; what never runs takes a place in the net, too, and counts once."""
        sizes: dict[str, int] = {}
        for name in inner_first(steps, self.pipelines):
            sizes[name] = self._size(self.pipelines[name].steps, sizes)
        return self._size(steps, sizes)

    def _size(self, steps: Sequence[Step], sizes: Mapping[str, int]) -> int:
        total = 0
        for step, own in zip(steps, self._own(steps), strict=True):
            inside = sum(sizes[name] for _, name in nested_in((step,), self.pipelines))
            total += max(own, 1) * (1 + inside)
        return total

    def _own(self, steps: Sequence[Step]) -> list[int]:
        return most_runs(effective(steps, verifies=self.verifies), self.retries)
