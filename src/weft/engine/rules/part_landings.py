"""Landings of completed parts, on request: `weft merge ID --now`.

A group that lands as a whole waits for all of its parts. A person may want the completed parts on the target
earlier. The integration branch of a group holds exactly the work of its completed parts, so it lands as it
is, and so does the branch of each uncompleted group inside. Such a landing is not part of the net: the group
itself lands once, later, and the merge then brings the rest. It is never held; to land more parts, the person
repeats the request.
"""

from collections.abc import Iterator

from weft.engine.messages.facts import Ended, MergeAsked, StepOutcome
from weft.engine.messages.landing_events import PartsEvent, PartsOutcome
from weft.engine.messages.orders import Halt, Land
from weft.engine.rules.holds import HoldRules
from weft.engine.rules.scopes import Scopes
from weft.engine.state.engine_state import EngineState
from weft.plan.order.outline import ROOT


class PartLandings:
    """Starts and ends landings of completed parts."""

    def __init__(self, state: EngineState, scopes: Scopes, holds: HoldRules) -> None:
        self._state = state
        self._outline = state.plan.outline
        self._scopes = scopes
        self._holds = holds

    def merge_asked(self, fact: MergeAsked) -> None:
        """Lands everything that is completed in a group: waiting results, and parts of groups."""
        state = self._state
        inside = [row for row, path in enumerate(self._outline.paths) if _is_in(path, fact.subplan)]
        joins = [state.path(row) for row in self._scopes.release_landings(inside)]
        rows = list(self._rows_of(fact.subplan))
        self._holds.merge_asked(fact, joins=joins, parts=[state.path(row) for row in rows])
        under_way = {order.row for order in state.part_landings.values()}
        for row in rows:
            if row not in under_way:
                self._start(row)

    def _rows_of(self, path: str) -> Iterator[int]:
        """Yields the subplans whose branches together hold all completed work of an uncompleted one."""
        row = next((row for row, each in enumerate(self._outline.paths) if each == path), ROOT)
        if row != ROOT and self._lands_with_group(row):
            yield from self._branches(row)

    def _lands_with_group(self, row: int) -> bool:
        """Returns whether the subplan lands with a group that is not completed."""
        settings = self._state.settings(row)
        if settings.isolation != "worktree" or settings.merge_when != "milestone":
            return False
        return not self._is_done(self._top(row))

    def _top(self, row: int) -> int:
        while self._outline.parents[row] != ROOT:
            row = self._outline.parents[row]
        return row

    def _branches(self, row: int) -> Iterator[int]:
        if self._is_done(row):
            yield row
        elif not self._outline.is_leaf(row):
            children = list(self._outline.children(row))
            if any(self._is_done(child) for child in children):
                yield row
            for child in children:
                if not self._is_done(child):
                    yield from self._branches(child)

    def _is_done(self, row: int) -> bool:
        return self._state.tracker.is_completed(row - 1)

    def _start(self, row: int) -> None:
        state, top = self._state, self._top(row)
        order = Land(
            firing=state.next_serial(),
            execution=1,
            row=row,
            path=state.path(row),
            within=state.path(top),
        )
        state.part_landings[order.firing] = order
        state.order(order)
        event = PartsEvent(
            subplan=order.path, outcome=PartsOutcome.STARTED, firing=order.firing, execution=order.execution
        )
        state.emit(event)

    def ended(self, order: Land, fact: Ended) -> None:
        state = self._state
        del state.part_landings[order.firing]
        if fact.how is StepOutcome.DONE:
            rows = {str(path): row for row, path in enumerate(self._outline.paths)}
            state.reach_target(rows[path] for path in fact.parts if path in rows)
        event = PartsEvent(
            subplan=order.path,
            outcome=PartsOutcome.LANDED if fact.how is StepOutcome.DONE else PartsOutcome(fact.how),
            firing=order.firing,
            execution=order.execution,
            parts=fact.parts,
            moves=fact.moves[-1:],
            message=fact.message,
            red=fact.red,
            fact=fact,
        )
        state.emit(event)

    def stops(self, *, now: bool) -> None:
        for order in self._state.part_landings.values():
            halt = Halt(firing=order.firing, execution=order.execution, how="stopped", now=now)
            self._state.order(halt)


def _is_in(path: str, group: str) -> bool:
    return path == group or path.startswith(f"{group}/")
