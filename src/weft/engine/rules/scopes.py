"""The order of subplans, and the spread of failures between them.

- Under `fail_fast`, a failed child cancels its group: running steps are stopped, and waiting subplans fail as
  `cancelled`. The group is then certain to fail, so its own group is treated alike at once.
- Under `continue_on_error`, the siblings continue, subplans that depend on the failed one fail as `blocked`, and
  the group fails when it closes. Only then is the group around it affected.
- A failure for lack of budget cancels nothing, in either mode: steps without agents continue, and all others meet
  the same ceiling themselves. This way, a check of work that is already paid for still runs.
- A group closes when everything in it has ended, every process included.

Each subplan ends exactly once, and each dependent is notified exactly once.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from weft.engine import states
from weft.engine.messages.failures import Failure
from weft.engine.pools.lanes import Claims
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.gates import Gates
from weft.engine.state.continuation import continuation_of
from weft.engine.state.engine_state import EngineState
from weft.engine.state.landing_order import LandingOrder
from weft.engine.state.script import ShapeTransition
from weft.engine.state.slice_state import SubplanState
from weft.engine.states import FailureReason, SubplanExecutionState
from weft.plan.compile.parts import READY
from weft.plan.order.outline import ROOT


class Scopes:
    def __init__(self, state: EngineState, events: EventWriter) -> None:
        self._state = state
        self._events = events
        self._gates = Gates(state)
        self._outline = state.compiled.plan.outline
        wiring = self._wiring = state.compiled.wiring
        rows = len(self._outline.paths)
        self._missing = [0] * rows
        self._missing[ROOT] = 1
        for children in (*wiring.opens, *wiring.followers):
            for row in children:
                self._missing[row] += 1
        self._joined = [count > 1 for count in self._missing]
        self._to_close = [len(nodes) for nodes in wiring.closes]
        self._closes = {node: group for group, nodes in enumerate(wiring.closes) for node in nodes}
        self._landings = {row: number for number, row in enumerate(wiring.landings)}
        self._landing_order = LandingOrder(
            [state.settings(row).merge_order == "sequential" for row in wiring.landings]
        )
        self._cancelled_groups: dict[int, Failure] = {}
        self._culprits: dict[int, int] = {}
        self._has_ended = bytearray(rows)
        self._for_budget: set[int] = set()
        """Rows that are known to have failed only because of a ceiling."""
        self._numbers: dict[int, int] = {}  # the requests of slices that wait for their slots
        self.ready: deque[int] = deque()
        """Rows whose dependencies have all ended; the engine passes them to `begin`."""
        self.rejected: deque[int] = deque()
        """Slices that were cancelled while they waited for slots; the engine passes them to `reject`."""
        self.to_cancel: deque[tuple[SubplanState, Failure]] = deque()
        """Subplans to cancel; the engine passes them to `Cancellation`."""

    @property
    def finished(self) -> bool:
        return bool(self._has_ended[ROOT])

    def start(self) -> None:
        self._token(ROOT)

    def _token(self, row: int) -> None:
        self._missing[row] -= 1
        if not self._missing[row]:
            self.ready.append(row)

    # Beginning

    def begin(self, row: int) -> None:
        if self._outline.is_leaf(row):
            self._begin_slice(row)
        else:
            self._open(row)

    def _begin_slice(self, row: int) -> None:
        state = self._state
        if self._joined[row]:
            state.saw_wiring(f"wait {state.path(row)}")
        if row not in state.failures and (failure := self._blocked(row)) is not None:
            self._fail(row, failure)
            self.spread(row)
        if row in state.failures or state.path(row) in state.carried:
            self._start_subplan(row, state.compiled.shape_of[row])
        else:
            self._queue(row)

    def _queue(self, row: int) -> None:
        # A waiting slice is only a number, so that many thousands can wait cheaply.
        state = self._state
        number = state.next_number()
        state.candidates[number] = row
        self._numbers[row] = number
        self._ask_for_slots(number, row)

    def _ask_for_slots(self, number: int, row: int) -> None:
        state = self._state
        if row in state.restrained:
            state.pause(number)
            return
        key = (-state.levels[row], row, self._begin_of(row).number)
        state.allocator.ask(number, self._claims(row), key, self._gates.of(row))

    def _claims(self, row: int) -> Claims:
        state = self._state
        shape = state.scripts[state.compiled.shape_of[row]].shape
        return (*state.limits.slots[row], *state.shared_claims(row, shape, self._begin_of(row)))

    def _begin_of(self, row: int) -> ShapeTransition:
        begin = self._state.scripts[self._state.compiled.shape_of[row]].place_rules[READY].go
        assert begin is not None
        return begin

    def pauses(self, number: int) -> None:
        """Withdraws the request of a slice that was paused."""
        self._state.allocator.withdraw(number)
        self._ask_for_slots(number, self._state.candidates[number])

    def unpause(self, number: int) -> None:
        self._ask_for_slots(number, self._state.candidates[number])

    def waits_on(self, number: int) -> None:
        """Returns slots that were granted to a slice and requests them again."""
        row = self._state.candidates[number]
        self._state.allocator.give_back(self._claims(row))
        self._ask_for_slots(number, row)

    def admits(self, number: int) -> SubplanState:
        """Returns the state of a slice whose slots were granted."""
        state = self._state
        row = state.candidates.pop(number)
        del self._numbers[row]
        subplan = self._new_subplan(row, state.compiled.shape_of[row])
        subplan.slots = state.limits.slots[row]
        subplan.hurries = state.take_overtaken(row)
        return subplan

    def reject(self, row: int) -> None:
        """Moves a cancelled slice to its end without running it."""
        self._start_subplan(row, self._state.compiled.shape_of[row])

    def _start_subplan(self, row: int, shape: int, landing: int | None = None) -> None:
        self._state.arrive(self._new_subplan(row, shape, landing), READY)

    def _new_subplan(self, row: int, shape: int, landing: int | None = None) -> SubplanState:
        state = self._state
        path, failure = state.path(row), state.failures.get(row)
        subplan = SubplanState(row=row, path=path, script=state.scripts[shape], landing=landing)
        if landing is None and self._outline.leaves[row]:
            subplan.steps = state.steps_of(row)
        subplan.request = state.feedback.get(path, "")
        subplan.frame.own_failure = failure
        if landing is None and path in state.continued:
            subplan.continuation = continuation_of(state.continued[path])
        subplan.carried = failure is None and path in state.carried and not self._may_land(row, landing)
        state.active[row if landing is None else len(self._outline.paths) + landing] = subplan
        return subplan

    def _may_land(self, row: int, landing: int | None) -> bool:
        """Returns whether a subplan that an earlier run completed still has to land."""
        if landing is None or row in self._state.landed:
            return False
        return self._state.settings(row).has_branch

    def _blocked(self, row: int) -> Failure | None:
        """Returns why a subplan cannot start, if a dependency has failed or lacks a part."""
        state, paths = self._state, self._outline.paths
        bad = [dep for dep in self._outline.depends_on[row] if dep in state.failures or dep in state.gaps]
        if not bad:
            return None
        names = ", ".join(f"{paths[dep]}{self._gap(dep)}" for dep in bad)
        return Failure(reason=FailureReason.BLOCKED, message=f"blocked by {names}", cause=paths[bad[0]])

    def _gap(self, row: int) -> str:
        return "" if row in self._state.failures else ", without a part that was left out"

    def _open(self, group: int) -> None:
        state = self._state
        state.saw_wiring(f"open {self._outline.paths[group]}".rstrip())
        if group != ROOT and group not in state.failures:
            failure = self._blocked(group)
            if failure is None:
                self.started(group)
            else:
                self._cancel_group(group, failure)
                self._fail(group, failure)
                self.spread(group)
        for child in self._wiring.opens[group]:
            self._token(child)

    # Ends

    def ended(self, subplan: SubplanState) -> None:
        """Handles the end of a slice, a group or a landing."""
        rows = len(self._outline.paths)
        if subplan.landing is None:
            del self._state.active[subplan.row]
            self._row_ended(subplan.row)
        else:
            del self._state.active[rows + subplan.landing]
            self._state.land((subplan.row,))
            self._notify(rows + subplan.landing)

    def _row_ended(self, row: int) -> None:
        if row != ROOT:
            self._settle(row)
        elif ROOT in self._state.gaps:
            self._state.fail_once(ROOT, self._state.gaps[ROOT])
        self._has_ended[row] = 1
        self._notify(row)
        number = self._landings.get(row)
        if number is not None and (row in self._state.failures or self._landing_order.ready(number)):
            self._land(number)

    def _land(self, number: int) -> None:
        """Lets a result join the landing queue, unless it has failed, and then those that waited for it."""
        joining = deque([number])
        while joining:
            number = joining.popleft()
            shape = self._state.compiled.landing_shapes[number]
            self._start_subplan(self._wiring.landings[number], shape, number)
            joining.extend(self._landing_order.passed(number))

    def release_landings(self, rows: Iterable[int] | None = None) -> list[int]:
        """Lets landings that wait for their turn join the queue: those of the given rows, or else the first."""
        numbers = None if rows is None else {self._landings.get(row, -1) for row in rows}
        released = self._landing_order.take(numbers)
        for number in released:
            self._land(number)
        return [self._wiring.landings[number] for number in released]

    def _notify(self, node: int) -> None:
        """Notifies the dependents and the group of a row or a landing that has ended."""
        for follower in self._wiring.followers[node]:
            self._token(follower)
        group = self._closes.get(node)
        if group is not None:
            self._to_close[group] -= 1
            if not self._to_close[group]:
                self._close(group)

    def _close(self, group: int) -> None:
        state = self._state
        state.saw_wiring(f"close {self._outline.paths[group]}".rstrip())
        if group not in state.failures and (failure := self._failure_of_group(group)) is not None:
            state.fail(group, failure)
        shape = state.compiled.shape_of[group]
        if shape < 0:
            self._row_ended(group)
        else:
            self._start_subplan(group, shape)

    def _failure_of_group(self, group: int) -> Failure | None:
        """Returns why a group fails. One with only completed children may be cancelled before its verify."""
        state, paths = self._state, self._outline.paths
        failed = [child for child in self._outline.children(group) if child in state.failures]
        if not failed:
            return self._cancellation_of(group) if state.plan.subplans[group].verify else None
        culprit = self._culprits.get(group)
        if culprit is None:
            return self._cancellation_of(group) or state.failures[failed[0]]
        own = [child for child in failed if state.failures[child].reason is not FailureReason.CANCELLED]
        names = ", ".join(paths[child] for child in own[:3]) + (", …" if own[3:] else "")
        return Failure(reason=FailureReason.ERROR, message=f"{names} failed", cause=paths[culprit])

    def _settle(self, row: int) -> None:
        """Sets the final state of a subplan."""
        state = self._state
        failure = state.failures.get(row)
        if failure is None:
            if state.tracker.is_pending(row - 1):
                self.started(row)
            before = state.tracker.move(row - 1, states.COMPLETED)
            carried = state.path(row) in state.carried
            self._events.state(row, SubplanExecutionState.COMPLETED, before, carried=carried)
        elif not state.tracker.is_failed(row - 1):
            self._fail(row, failure)
            if failure.reason is not FailureReason.CANCELLED:
                self.spread(row)

    # States

    def started(self, row: int) -> None:
        before = self._state.tracker.move(row - 1, states.RUNNING)
        self._events.state(row, SubplanExecutionState.RUNNING, before)

    def _fail(self, row: int, failure: Failure) -> None:
        state = self._state
        state.fail(row, failure)
        self._events.failed(row, state.tracker.move(row - 1, states.FAILED, failure.reason), failure)

    # Failure

    def spread(self, row: int) -> None:
        """Spreads a failure to the groups around a subplan, as far as `fail_fast` demands."""
        scopes, parents = self._state.compiled.plan.scopes, self._outline.parents
        while row != ROOT:
            group = parents[row]
            self._culprits.setdefault(group, row)
            if scopes[group].settings.failure_mode != "fail_fast" or group in self._cancelled_groups:
                return
            if row in self._state.failures and self._is_for_budget(row):
                return
            path = self._outline.paths[row]
            self._cancel_group(
                group,
                Failure(reason=FailureReason.CANCELLED, message=f"cancelled: {path} failed", cause=path),
            )
            row = group

    def _is_for_budget(self, row: int) -> bool:
        """Returns whether ceilings are the only direct and indirect causes of a failure."""
        visited, waiting = {row}, [row]
        while waiting:
            failed = waiting.pop()
            if failed in self._for_budget:
                continue
            causes = self._causes(failed)
            if causes is None:
                return False
            waiting += (cause for cause in causes if cause not in visited)
            visited.update(causes)
        self._for_budget |= visited
        return True

    def _causes(self, row: int) -> list[int] | None:
        """Returns the rows that made a row fail; empty if it lacked budget; None for any other reason."""
        failures, outline = self._state.failures, self._outline
        reason = failures[row].reason
        if reason is FailureReason.BUDGET:
            return []
        related: Iterable[int] = ()
        if reason is FailureReason.BLOCKED:
            related = outline.depends_on[row]
        elif not outline.is_leaf(row):
            related = outline.children(row)
        return [cause for cause in related if cause in failures] or None

    def _cancel_group(self, group: int, failure: Failure) -> None:
        """Keeps everything in a group from starting and stops what runs there."""
        state = self._state
        self._cancelled_groups[group] = failure
        groups: list[int] = []
        for row in self._outline.below(group):
            if not state.tracker.is_pending(row - 1):
                self._cancel_row(row, failure)
            elif self._outline.is_leaf(row):
                self._fail(row, failure)
                self._cancel_row(row, failure)
            else:
                groups.append(row)
        for row in reversed(groups):  # children fail before their group
            self._fail(row, failure)

    def _cancel_row(self, row: int, failure: Failure) -> None:
        state = self._state
        number = self._numbers.pop(row, None)
        if number is not None:
            if number in state.paused:
                state.unpause(number)
            else:
                state.allocator.withdraw(number)
            del state.candidates[number]
            self.rejected.append(row)
        subplan = state.active.get(row)
        if subplan is not None and subplan.frame.own_failure is None:
            self.to_cancel.append((subplan, failure))

    def _cancellation_of(self, row: int) -> Failure | None:
        while row != ROOT:
            row = self._outline.parents[row]
            if row in self._cancelled_groups:
                return self._cancelled_groups[row]
        return None

    # Diagnosis

    def unfinished(self) -> Iterator[str]:
        """Yields each unfinished subplan with the places of its tokens."""
        for row in self._state.candidates.values():
            yield f"{self._state.path(row)}: ready"
        for subplan in self._state.active.values():
            names = subplan.script.shape.net.place_ids
            requests = subplan.requests.values()
            places = subplan.tokens | {request.place for request in requests if request.firing is None}
            where = ", ".join(sorted(names[place] for place in places)) or "under way"
            yield f"{subplan.path or 'the plan'}: {where}"
        for row, missing in enumerate(self._missing):
            if missing > 0:
                yield f"{self._state.path(row) or 'the plan'}: waits for {missing} more to end"
