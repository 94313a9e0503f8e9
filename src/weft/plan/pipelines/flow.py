"""In which order the steps of a pipeline come.

A cursor goes through the steps as they are written. At a sequential step it waits until that has ended; an async
step it launches, and goes on. A step that depends on others waits for them, too. So for each step it is known
which others are *certain to have ended* when it starts: what the cursor has waited for, what the step itself waits
for, and what those waited for in turn. Sets of steps are bits of a number.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.model import Step, Verify


class Flow(Struct, frozen=True):
    ended: tuple[int, ...]
    """For each step, those certain to have ended when it starts."""
    signals: tuple[tuple[int, ...], ...]
    """For each step, the async ones that have to tell it that they ended: the cursor cannot know."""
    heard_by: tuple[tuple[int, ...], ...]
    """The same the other way round."""
    at_end: int
    """Those certain to have ended when the cursor has come to the end."""

    def has_ended(self, earlier: int, at: int) -> bool:
        return bool(self.ended[at] >> earlier & 1)


def flow(steps: Sequence[Step]) -> Flow:
    """References to steps that do not exist or come later are left out."""
    numbers: dict[str, int] = {}
    ended: list[int] = []
    signals: list[tuple[int, ...]] = []
    heard_by: list[list[int]] = [[] for _ in steps]
    behind_cursor = 0
    for number, step in enumerate(steps):
        waits = sorted({numbers[name] for name in step.depends_on if name in numbers})
        needed = tuple(earlier for earlier in waits if not behind_cursor >> earlier & 1)
        before = behind_cursor
        for earlier in needed:
            before |= ended[earlier] | 1 << earlier
            heard_by[earlier].append(number)
        ended.append(before)
        signals.append(needed)
        if not step.is_async:
            behind_cursor = before | 1 << number
        numbers.setdefault(step.id, number)
    return Flow(tuple(ended), tuple(signals), tuple(map(tuple, heard_by)), behind_cursor)


def loop_region(steps: Sequence[Step], number: int) -> range | None:
    """The steps that are done again when this one fails; None if it does not go back to an earlier one."""
    on_fail = steps[number].on_fail
    if on_fail is None:
        return None
    for first in range(number):
        if steps[first].id == on_fail.retry_from:
            return range(first, number + 1)
    return None


def effective(steps: Sequence[Step], *, verifies: bool) -> list[Step]:
    """The steps as they can come to pass: what never runs cannot fail, so it sends nothing back.

    That is a step with the condition `never`, and `verify` in a slice that has nothing to verify.
    """
    return [_never(step) if _is_idle(step, verifies=verifies) else step for step in steps]


def _is_idle(step: Step, *, verifies: bool) -> bool:
    return step.condition == "never" or (isinstance(step.body, Verify) and not verifies)


def _never(step: Step) -> Step:
    return replace(step, condition="never", on_fail=None, on_result=(), max_retries=0, retries_crashes=False)
