"""How often each step of a pipeline stands in its net: once for each attempt that can come to it.

A step with `on_fail` counts how often it has sent the work back, until the work goes on behind it. When a later
step sends the work back past it, it counts anew; when an earlier one does, it goes on counting. So a copy of a
step is told by the counts of those at or behind it. Read from the last such step to the first, the counts go up
with each way back, however the loops lie to each other: the copies make no circle, and their order is that of the
attempts.

An agent that crashes at the first or the last step of a loop has made an attempt of that loop: the work goes on at
the next copy of its step.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from weft.plan.model import Step
from weft.plan.pipelines.flow import loop_region
from weft.plan.pipelines.unroll import crash_loop, loop_limit

Counts = tuple[int, ...]
"""How often each step that can send the work back has done so, the last of them first; 0 once it is passed."""


class _Loop(Struct, frozen=True):
    first: int
    last: int
    limit: int


class Copies:
    def __init__(self, steps: Sequence[Step], retries: int) -> None:
        self._loops = list(_loops(steps, retries))
        self._ends_at = {loop.last: place for place, loop in enumerate(self._loops)}
        self._crashes_at = {
            number: self._ends_at[last]
            for number, step in enumerate(steps)
            if step.retries_crashes and (last := crash_loop(steps, number)) in self._ends_at
        }
        self.start: Counts = (0,) * len(self._loops)
        """Of the first copy of the first step; also what is left behind the last step."""
        self.of = self._reached(len(steps))
        """The copies of each step, the first attempt first."""
        self._attempts = [{counts: n for n, counts in enumerate(copies)} for copies in self.of]

    def attempt(self, step: int, counts: Counts) -> int:
        """Which of its copies this is; the first is 0."""
        return self._attempts[step][counts]

    def onward(self, step: int, counts: Counts) -> Counts:
        """The counts behind a step that does not send the work back."""
        place = self._ends_at.get(step)
        return counts if place is None else _with(counts, place, 0)

    def back(self, step: int, counts: Counts) -> tuple[int, Counts] | None:
        """The copy at which the work goes on when this one fails; None if it is not sent back, or no more."""
        place = self._ends_at.get(step)
        if place is None or counts[place] == self._loops[place].limit:
            return None
        return self._loops[place].first, _with(counts, place, counts[place] + 1)

    def after_crash(self, step: int, counts: Counts) -> tuple[int, Counts] | None:
        """The copy of the step at which the work goes on when its agent has crashed; None if that is no loop's."""
        place = self._crashes_at.get(step)
        if place is None or counts[place] == self._loops[place].limit:
            return None
        return step, _with(counts, place, counts[place] + 1)

    def _reached(self, steps: int) -> list[list[Counts]]:
        found: list[set[Counts]] = [set() for _ in range(steps)]
        waiting = [(0, self.start)]
        while waiting:
            step, counts = waiting.pop()
            if step == steps or counts in found[step]:
                continue
            found[step].add(counts)
            waiting.append((step + 1, self.onward(step, counts)))
            waiting += filter(None, (self.back(step, counts), self.after_crash(step, counts)))
        return [sorted(copies) for copies in found]


def _with(counts: Counts, place: int, count: int) -> Counts:
    return (*counts[:place], count, *counts[place + 1 :])


def _loops(steps: Sequence[Step], retries: int) -> Iterator[_Loop]:
    """The last one first."""
    for number in reversed(range(len(steps))):
        region = loop_region(steps, number)
        limit = loop_limit(steps[number], retries)
        if region is not None and limit:
            yield _Loop(region.start, number, limit)
