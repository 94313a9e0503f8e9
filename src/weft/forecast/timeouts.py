"""Steps whose estimate exceeds their timeout, which then ends them."""

from collections.abc import Iterable

from msgspec import Struct

from weft.forecast.estimates import StepEstimate
from weft.forecast.spread import P90


class LateSteps(Struct, frozen=True, kw_only=True):
    """The slices in which the same step, with the same timeout, may time out."""

    worst: StepEstimate
    """The step of the slice in which it takes longest."""
    others: int
    """The number of further slices."""


def late_steps(steps: Iterable[StepEstimate]) -> list[LateSteps]:
    """Returns the steps that may time out, those that exceed their timeout most first."""
    classes: dict[tuple[str, float], list[StepEstimate]] = {}
    for step in steps:
        if step.may_time_out:
            classes.setdefault((step.step, step.timeout), []).append(step)
    late = [
        LateSteps(worst=max(alike, key=lambda step: step.estimate.seconds.at(P90)), others=len(alike) - 1)
        for alike in classes.values()
    ]
    return sorted(late, key=lambda each: -each.worst.estimate.seconds.at(P90) / each.worst.timeout)
