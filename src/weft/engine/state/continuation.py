"""A slice that continues where an earlier run of the plan was cut off.

The new run starts the pipeline of the slice from its beginning. A step with a recorded end is not launched:
it ends at once with the recorded result and costs nothing. Loops, conditions, conversations and feedback
therefore take the same course again, up to the first step without a recorded end, which is launched.

A recorded end is valid only for the same inputs. A slice whose definition changed does not continue. This
module compares the rendered templates of each step; the workspace checks that it still holds the changes of
the earlier steps and of the dependencies. Once a step is launched that the earlier run had not left open,
recorded ends of later steps are invalid. Recorded ends of steps in parallel branches stay valid.
"""

from collections.abc import Callable, Collection

from msgspec import Struct

from weft.engine.messages.facts import EarlierSlice, EarlierStep, Ended, StepOutcome
from weft.engine.state.script import ShapeTransition
from weft.plan.model import Step

Key = tuple[str, int, bool]
"""The address of a step, its attempt, and whether it is a question."""


class Continuation(Struct, eq=False):
    """The recorded ends of a slice that are still valid."""

    slice: EarlierSlice
    _ends: dict[Key, EarlierStep]
    _open: Collection[Key]

    def end_of(self, key: Key, inputs: str) -> EarlierStep | None:
        """Removes and returns the recorded end of a step with these inputs; None if there is none."""
        end = self._ends.get(key)
        if end is not None and end.inputs == inputs:
            return self._ends.pop(key)
        return None

    def launches(self, key: Key, is_beside: Callable[[Key], bool]) -> None:
        """Drops the recorded ends that a launch of this step makes invalid."""
        # Ends recorded after a step that was cut off cannot depend on its result: it had none.
        if key not in self._open:
            self._ends = {recorded: end for recorded, end in self._ends.items() if is_beside(recorded)}

    def reopen(self, key: Key) -> None:
        """Drops the recorded end of a step and keeps the ends recorded in parallel branches."""
        self._ends.pop(key, None)
        self._open = {*self._open, key}

    def recorded_end(self, key: Key) -> EarlierStep | None:
        """Returns the recorded end of a step, whatever its inputs."""
        return self._ends.get(key)


def continuation_of(earlier: EarlierSlice) -> Continuation:
    """Returns the continuation with all ends that the earlier run recorded."""
    ends = {(step.step, step.attempt, not isinstance(step.end, Ended)): step for step in earlier.steps}
    return Continuation(earlier, ends, frozenset(earlier.open))


def is_final_failure(end: EarlierStep, step: Step, move: ShapeTransition) -> bool:
    """Returns whether the recorded end would fail the slice. Such a step is run again instead."""
    if not isinstance(end.end, Ended) or end.end.how is StepOutcome.DONE:
        return False
    if "crashed" in move.ways and not end.end.lasting:
        return False  # a crash of an agent uses up one attempt; the next one follows
    return "failed" in move.final and step.on_error != "continue"
