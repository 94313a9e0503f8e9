"""The copies of each step of a pipeline in its net: one for each attempt that can reach it.

A step with `on_fail` counts how often it has sent the work back, until the work moves past it. When a later step
sends the work back past it, its count restarts; when an earlier step does, its count stays. So a copy of a step
is identified by the counts of the loops that end at or behind it. Read from the last loop to the first, the
counts increase with each way back, however the loops are nested or overlap. The copies therefore form no cycle,
and their order is the order of attempts.

An agent that crashes at the first or the last step of a loop has made an attempt of that loop. The work continues
at the next copy of the step.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from weft.plan.model import Step
from weft.plan.pipelines.flow import loop_region
from weft.plan.pipelines.unroll import crash_loop, loop_limit

Counts = tuple[int, ...]
"""How often each loop has sent the work back, the last loop first; 0 once the work has moved past it."""


class _Loop(Struct, frozen=True):
    """A step that sends the work back: from `last` to `first`, at most `limit` times."""

    first: int
    last: int
    limit: int


class Copies:
    """The copies of the steps of one pipeline, and how the work moves between them."""

    def __init__(self, steps: Sequence[Step], retries: int) -> None:
        self._loops = list(_loops(steps, retries))
        self._ends_at = {loop.last: place for place, loop in enumerate(self._loops)}
        self._crashes_at = {
            number: self._ends_at[last]
            for number, step in enumerate(steps)
            if step.retries_crashes and (last := crash_loop(steps, number)) in self._ends_at
        }
        # All loops start at 0, and are back at 0 once the work has passed the last step.
        self.start: Counts = (0,) * len(self._loops)
        """The counts of the first copy of the first step, and those behind the last step."""
        self.of = self._reachable_counts(len(steps))
        """The copies of each step, the first attempt first."""
        self._attempts = [{counts: n for n, counts in enumerate(copies)} for copies in self.of]

    def attempt(self, step: int, counts: Counts) -> int:
        """Returns the number of this copy among those of its step; the first is 0."""
        return self._attempts[step][counts]

    def onward(self, step: int, counts: Counts) -> Counts:
        """Returns the counts behind a step that does not send the work back."""
        place = self._ends_at.get(step)
        return counts if place is None else _with(counts, place, 0)

    def back(self, step: int, counts: Counts) -> tuple[int, Counts] | None:
        """Returns the copy where the work continues if this one fails; None if it is not sent back any more."""
        place = self._ends_at.get(step)
        if place is None or counts[place] == self._loops[place].limit:
            return None
        return self._loops[place].first, _with(counts, place, counts[place] + 1)

    def after_crash(self, step: int, counts: Counts) -> tuple[int, Counts] | None:
        """Returns the copy of the step to use after its agent crashed; None if no loop counts the crash."""
        place = self._crashes_at.get(step)
        if place is None or counts[place] == self._loops[place].limit:
            return None
        return step, _with(counts, place, counts[place] + 1)

    def _reachable_counts(self, steps: int) -> list[list[Counts]]:
        """Returns the counts with which each step can be reached."""
        reached: list[set[Counts]] = [set() for _ in range(steps)]
        waiting = [(0, self.start)]
        while waiting:
            step, counts = waiting.pop()
            if step == steps or counts in reached[step]:
                continue
            reached[step].add(counts)
            waiting.append((step + 1, self.onward(step, counts)))
            # Only reachable combinations of counts get a copy, which keeps nets small.
            waiting += filter(None, (self.back(step, counts), self.after_crash(step, counts)))
        return [sorted(copies) for copies in reached]


def _with(counts: Counts, place: int, count: int) -> Counts:
    return (*counts[:place], count, *counts[place + 1 :])


def _loops(steps: Sequence[Step], retries: int) -> Iterator[_Loop]:
    """Yields the loops, the last one first."""
    for number in reversed(range(len(steps))):
        region = loop_region(steps, number)
        limit = loop_limit(steps[number], retries)
        if region is not None and limit:
            yield _Loop(region.start, number, limit)
