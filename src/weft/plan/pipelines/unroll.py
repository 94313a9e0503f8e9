"""How often each step of a pipeline can run at most: every loop is bounded.

A step with `on_fail` sends the work back to an earlier step up to `max` times. When a later step sends the work
back past it, its count restarts. So each time the work reaches such a step, the steps from its target to itself
run up to `max` more times. Counting from the last step to the first covers every loop that can lead there.
`on_error: retry` multiplies the runs of its own step, and a nested pipeline those of all its steps.

An agent that fails or times out has made an attempt. If its step has a loop, or a later step loops back to it,
the attempt counts for that loop, but only the step itself is repeated. Otherwise the step is retried in place, at
most `retries` times.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from weft.plan.model import Pipeline, Step
from weft.plan.pipelines.flow import effective, loop_region
from weft.plan.pipelines.hierarchy import inner_first, nested_in

MOST_STEPS = 2_000
"""The most step runs in one slice. More is a mistake, and would make a very large net."""


def loop_limit(step: Step, retries: int) -> int:
    """Returns how often the step sends the work back."""
    if step.on_fail is None:
        return 0
    return retries if step.on_fail.max is None else step.on_fail.max


def crash_loop(steps: Sequence[Step], number: int) -> int | None:
    """Returns the step with the loop that counts a crash here: this one, or the nearest that loops back to it."""
    if loop_region(steps, number) is not None:
        return number
    for later in range(number + 1, len(steps)):
        region = loop_region(steps, later)
        if region is not None and region.start == number:
            return later
    return None


def retries_in_place(steps: Sequence[Step], number: int, retries: int) -> int:
    """Returns how often the step is retried in place when it fails, or when its agent crashes."""
    step = steps[number]
    # A loop that counts the crash retries it already.
    if step.retries_crashes and crash_loop(steps, number) is None:
        return retries
    return step.max_retries


def most_runs(steps: Sequence[Step], retries: int) -> list[int]:
    """Returns, for each step, how often it can run during one run of the pipeline."""
    runs = [1] * len(steps)
    for number in reversed(range(len(steps))):
        # From the last step to the first, so that outer loops already multiply the inner ones.
        more = loop_limit(steps[number], retries) * runs[number]
        for inside in loop_region(steps, number) or ():
            runs[inside] += more
    return [
        count * (0 if steps[number].condition == "never" else 1 + retries_in_place(steps, number, retries))
        for number, count in enumerate(runs)
    ]


class RunCounts(Struct, frozen=True, kw_only=True):
    """Counts how often the steps of a pipeline can run in one slice, nested pipelines included."""

    pipelines: Mapping[str, Pipeline]
    retries: int
    verifies: bool

    def runs(self, steps: Sequence[Step]) -> list[tuple[Step, int]]:
        """Returns each step once, with the most runs it can have in total."""
        times: Counter[str] = Counter()
        runs = self._times(steps, 1, times)
        # Outer pipelines first: a pipeline is counted when the runs of all that contain it are known.
        for name in reversed(inner_first(steps, self.pipelines)):
            runs += self._times(self.pipelines[name].steps, times[name], times)
        return runs

    def _times(
        self, steps: Sequence[Step], pipeline_runs: int, times: Counter[str]
    ) -> list[tuple[Step, int]]:
        """Returns the runs of the steps of one pipeline. Adds the runs of pipelines nested in it to `times`."""
        runs = [own * pipeline_runs for own in self._own(steps)]
        for step, own in zip(steps, runs, strict=True):
            for _, inner in nested_in((step,), self.pipelines):
                times[inner] += own
        return list(zip(steps, runs, strict=True))

    def size(self, steps: Sequence[Step]) -> int:
        """Returns the runs of all steps together.

        A step that never runs has a place in the net and counts once.
        """
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
