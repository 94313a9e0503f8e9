"""A slice that continues where an earlier run of the plan was cut off.

The new run plays the pipeline of the slice from its beginning. A step whose end the earlier run recorded is not
launched: it ends at once as it ended then, and costs nothing. So loops, conditions, conversations and feedback
come out as they were, and the first step without a recorded end is launched.

A recorded end holds only for the same inputs. The definition of the slice is the same, or it would not continue;
what the templates of a step come to is compared here; whether the workspace holds what the earlier steps left, and
what the slice depends on, is for the workspace to say. Once a step is launched that the earlier run did not leave
open, nothing that comes after it holds; what was on its way before, in another branch, does.
"""

from collections.abc import Callable, Collection

from msgspec import Struct

from weft.engine.messages.facts import EarlierSlice, EarlierStep, Ended, StepOutcome
from weft.engine.state.script import ShapeTransition
from weft.plan.model import Step

Key = tuple[str, int, bool]
"""The address of a step, its attempt, and whether it is a question."""


class Continuation(Struct, eq=False):
    slice: EarlierSlice
    _ends: dict[Key, EarlierStep]
    _open: Collection[Key]

    def end_of(self, key: Key, inputs: str) -> EarlierStep | None:
        """How a step ended that is about to be launched with these inputs; None if it has to be launched."""
        end = self._ends.get(key)
        if end is not None and end.inputs == inputs:
            return self._ends.pop(key)
        return None

    def launches(self, key: Key, is_beside: Callable[[Key], bool]) -> None:
        """A step is launched. What was recorded beside one that was cut off did not depend on its end."""
        if key not in self._open:
            self._ends = {other: end for other, end in self._ends.items() if is_beside(other)}

    def reopen(self, key: Key) -> None:
        """The recorded end of a step does not count, and what was recorded beside it does."""
        self._ends.pop(key, None)
        self._open = {*self._open, key}

    def has(self, key: Key) -> EarlierStep | None:
        return self._ends.get(key)


def continuation_of(earlier: EarlierSlice) -> Continuation:
    ends = {(step.step, step.attempt, not isinstance(step.end, Ended)): step for step in earlier.steps}
    return Continuation(earlier, ends, frozenset(earlier.open))


def is_final_failure(end: EarlierStep, step: Step, move: ShapeTransition) -> bool:
    """Whether the end of a step would fail its slice: a step that failed is run again."""
    if not isinstance(end.end, Ended) or end.end.how is StepOutcome.DONE:
        return False
    if "crashed" in move.ways and not end.end.lasting:
        return False  # an agent that crashed has made an attempt, and another follows
    return "failed" in move.final and step.on_error != "continue"
