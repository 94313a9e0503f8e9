"""The exclusion of parts that break the verify of their group.

A group may exclude parts under `continue_on_error`, if their work has not left the group: nothing in the
group lands by itself, and nothing outside depends on an excluded part. The plan itself never excludes parts,
since they have landed before it is verified.

The group then counts as completed, and so do the excluded parts, which did their own work. But the group and
all groups around it have a gap. Subplans that depend on one of them cannot start, and the run fails at its
end.
"""

from collections.abc import Sequence

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.failures import Failure
from weft.engine.rules.event_writer import EventWriter
from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import SubplanState
from weft.engine.states import FailureReason
from weft.plan.order.outline import ROOT


class PartExclusion:
    """Decides whether a failed verify of a group counts as passed without some parts."""

    def __init__(self, state: EngineState, events: EventWriter) -> None:
        self._state = state
        self._events = events
        self._outline = state.plan.outline

    def leaves_out(self, subplan: SubplanState, how: StepOutcome, fact: Ended) -> bool:
        """Excludes the parts that the fact names, if the group may; returns whether verify counts as passed."""
        if how is not StepOutcome.FAILED or not fact.left_out or not self._may(subplan, fact.left_out):
            return False
        state = self._state
        state.left_out[subplan.row] = fact.left_out
        names = ", ".join(fact.left_out)
        failure = Failure(
            reason=FailureReason.ERROR, message=f"left out: {names}; {fact.message}", cause=subplan.path
        )
        for group in self._up_from(subplan.row):
            state.gaps.setdefault(group, failure)
        for path in fact.left_out:
            self._events.left_out(path, subplan.path, fact)
        return True

    def _may(self, subplan: SubplanState, paths: Sequence[str]) -> bool:
        row = subplan.row
        if subplan.frame.failure is not None or self._state.settings(row).failure_mode != "continue_on_error":
            return False
        inside = self._outline.below(row)
        if any(landing in inside for landing in self._state.compiled.wiring.landings):
            return False
        return not self._is_needed_outside(inside, set(paths))

    def _is_needed_outside(self, inside: range, paths: set[str]) -> bool:
        outline = self._outline
        excluded = {
            row for row in inside if any(outline.paths[group] in paths for group in self._up_from(row))
        }
        others = (row for row in range(len(outline.paths)) if row not in inside)
        return any(not excluded.isdisjoint(outline.depends_on[row]) for row in others)

    def _up_from(self, row: int) -> list[int]:
        """Returns the row and the groups around it."""
        rows = [row]
        while row != ROOT:
            row = self._outline.parents[row]
            rows.append(row)
        return rows
