"""The order of the steps of a pipeline.

A cursor moves through the steps as written. It waits for the end of each sequential step; it starts an async step
and moves on. A step with dependencies waits for them, too. So it is known which steps are *certain to have ended*
when a step starts: those the cursor has waited for, those the step depends on, and those that these waited for in
turn. Sets of steps are bits of a number.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.model import Step, Verify


class Flow(Struct, frozen=True):
    """What each step of a pipeline waits for."""

    ended: tuple[int, ...]
    """For each step, those certain to have ended when it starts."""
    signals: tuple[tuple[int, ...], ...]
    """For each step, the async steps that must signal their end to it, as the cursor did not wait for them."""
    waiters: tuple[tuple[int, ...], ...]
    """For each async step, the steps that it signals its end to: the inverse of `signals`."""
    at_end: int
    """The steps certain to have ended when the cursor reaches the end."""

    def has_ended(self, earlier: int, at: int) -> bool:
        return bool(self.ended[at] >> earlier & 1)


def flow(steps: Sequence[Step]) -> Flow:
    """Returns the flow of a pipeline. It ignores references to steps that do not exist or come later."""
    numbers: dict[str, int] = {}
    ended: list[int] = []
    signals: list[tuple[int, ...]] = []
    waiters: list[list[int]] = [[] for _ in steps]
    behind_cursor = 0
    for number, step in enumerate(steps):
        waits = sorted({numbers[name] for name in step.depends_on if name in numbers})
        # A step that the cursor has waited for needs no signal.
        needed = tuple(earlier for earlier in waits if not behind_cursor >> earlier & 1)
        before = behind_cursor
        for earlier in needed:
            before |= ended[earlier] | 1 << earlier
            waiters[earlier].append(number)
        ended.append(before)
        signals.append(needed)
        # The cursor waits for a sequential step, and with it for everything that this step waited for.
        if not step.is_async:
            behind_cursor = before | 1 << number
        numbers.setdefault(step.id, number)
    return Flow(tuple(ended), tuple(signals), tuple(map(tuple, waiters)), behind_cursor)


def loop_region(steps: Sequence[Step], number: int) -> range | None:
    """Returns the steps that are repeated when this one fails; None if it does not go back to an earlier step."""
    on_fail = steps[number].on_fail
    if on_fail is None:
        return None
    # Only earlier steps: a reference to itself or forwards is reported by the loader, and ignored here.
    for first in range(number):
        if steps[first].id == on_fail.retry_from:
            return range(first, number + 1)
    return None


def effective(steps: Sequence[Step], *, verifies: bool) -> list[Step]:
    """Returns the steps as they can happen: a step that never runs cannot fail, so it has no loop.

    Such a step has the condition `never`, or is a `verify` in a slice without verify commands.
    """
    return [_never(step) if _is_idle(step, verifies=verifies) else step for step in steps]


def _is_idle(step: Step, *, verifies: bool) -> bool:
    return step.condition == "never" or (isinstance(step.body, Verify) and not verifies)


def _never(step: Step) -> Step:
    return replace(step, condition="never", on_fail=None, on_result=(), max_retries=0, retries_crashes=False)
