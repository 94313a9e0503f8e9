"""The decisions of the dispatcher: ends go in, orders come out. No clock, no tasks, no waiting.

A driver calls `start`, starts the leaves that it returns, and reports each end with `settle`; each call returns
the *orders* that follow: leaves to start and leaves to cancel. `events` collects the changes of state for
listeners. The net decides which leaves may run; this module decides what the ends mean:

- A failed child under `fail_fast` cancels its group: running children are cancelled, and waiting ones fail as
  `cancelled`. The group is then certain to fail, so the same happens to the group around it at once.
- Under `continue_on_error` the siblings continue, children that depend on the failed one fail as `blocked`, and
  the group fails when it closes; only then is the group around it affected.
- A group closes when each child has ended and no work of theirs is left.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from weft.engine import states
from weft.engine.states import FailureReason, SubplanExecutionState, SubplanTracker
from weft.errors import StateError
from weft.ids import SubplanPath
from weft.net.game import Firing, TokenGame
from weft.subplans.agenda import Agenda
from weft.subplans.compile import CANCELLED, COMPLETED, TransitionRole, compile_tree
from weft.subplans.model import FailureMode, Work
from weft.subplans.results import (
    AggregateSubplanError,
    SubplanEvent,
    SubplanExecutionError,
    SubplanResult,
)
from weft.subplans.tree import ROOT, SubplanTree

_RUNNING = SubplanExecutionState.RUNNING
_COMPLETED = SubplanExecutionState.COMPLETED
_FAILED = SubplanExecutionState.FAILED

_new = cast("Callable[..., Any]", tuple.__new__)
"""Creates a named tuple in half the time of calling its class."""


class Orders:
    """The leaves that the driver starts and cancels next."""

    __slots__ = ("cancel", "start")

    def __init__(self) -> None:
        self.start: list[int] = []
        self.cancel: list[int] = []


@dataclass(frozen=True, slots=True)
class _FailureCause:
    """Why a subplan fails, or why nothing in a group may start any more."""

    reason: FailureReason
    cause: int | None


class Dispatch:
    """One run of a tree of subplans. Rows of the tree stand for subplans throughout."""

    def __init__(self, tree: SubplanTree) -> None:
        compiled = compile_tree(tree)
        self._tree = tree
        self._rows, self._roles, self._skips = compiled.rows, compiled.roles, compiled.skips
        self._game = TokenGame(compiled.net)
        skips = (number for number in self._skips if number >= 0)
        self._agenda = Agenda(self._game, manual=skips)
        self.tracker = SubplanTracker(tree.paths[1:])  # without the root, row 0, which is no subplan
        self._firings: dict[int, Firing] = {}
        self._cancelled: set[int] = set()  # leaves that the driver was ordered to cancel
        self._cancelled_groups: dict[int, _FailureCause] = {}
        self._culprits: dict[int, int] = {}  # group → the child that failed first
        self._started: dict[int, float] = {}
        self._results: dict[int, SubplanResult] = {}
        self._now = 0.0
        self._seq = 0
        self.events: list[SubplanEvent] = []
        """Changes of state not yet taken by the driver; it takes them and empties the list."""

    # Queries of the driver

    @property
    def works(self) -> Mapping[int, Work]:
        """The work of each leaf."""
        return {row: work for row, work in enumerate(self._tree.works) if work is not None}

    def path(self, row: int) -> SubplanPath:
        return self._tree.paths[row]

    @property
    def in_flight(self) -> tuple[int, ...]:
        """Leaves that were started and have not been settled."""
        return tuple(self._firings)

    def results(self) -> dict[str, SubplanResult]:
        """Returns the results of the ended subplans, in plan order."""
        return {self._tree.paths[row]: self._results[row] for row in sorted(self._results)}

    def failure(self) -> SubplanExecutionError | AggregateSubplanError | None:
        """Returns the error of the whole run; the mode of each group decides how its failures are combined."""
        return _failure(self._tree, self._culprits, self._results, self.results())

    # Reports of the driver

    def start(self, now: float) -> Orders:
        self._now = now
        return self._decide(Orders())

    def settle(
        self, leaf: int, outcome: int, now: float, *, value: object = None, error: BaseException | None = None
    ) -> Orders:
        """Records the end of a leaf that was started."""
        self._now = now
        # The results are recorded before the tokens move: a group that closes because of these tokens reads
        # them.
        firing = self._firings.pop(leaf, None)
        if firing is None:
            raise StateError(f"{self._tree.paths[leaf]!r} is not in flight")
        orders = Orders()
        if outcome == COMPLETED:
            self._complete(leaf, value)
        elif outcome == CANCELLED:
            self._fail(leaf, _FailureCause(FailureReason.CANCELLED, self._cancellation_cause(leaf)))
        else:
            self._fail(leaf, _FailureCause(FailureReason.ERROR, None), error)
            self._spread(leaf, orders)
        offered = self._agenda.finish(firing, outcome)
        if offered:
            self._take_skips(offered, orders)
        return self._decide(orders)

    def cancel(self, now: float) -> Orders:
        """Cancels everything: running leaves are cancelled, waiting ones do not start."""
        self._now = now
        orders = Orders()
        if ROOT not in self._cancelled_groups:
            self._cancel_group(ROOT, _FailureCause(FailureReason.CANCELLED, None), orders)
        return self._decide(orders)

    # The net moves

    def _decide(self, orders: Orders) -> Orders:
        """Fires all enabled transitions; those that are no work finish at once."""
        agenda, roles, rows = self._agenda, self._roles, self._rows
        while (firing := agenda.next()) is not None:
            transition = firing.transition
            role, row = roles[transition], rows[transition]
            if role == TransitionRole.RUN:
                self._firings[row] = firing
                self._start(row)
                orders.start.append(row)
                continue
            if role == TransitionRole.OPEN:
                self._open(row, orders)
            elif role == TransitionRole.CLOSE:
                self._close(row, orders)
            self._take_skips(agenda.finish(firing, 0), orders)
        return orders

    def _take_skips(self, offered: Iterable[int], orders: Orders) -> None:
        """Skips those of the leaves now ready that will not run. A skip may make more leaves ready."""
        waiting = list(offered)
        for transition in waiting:  # grows while it is walked
            if self._roles[transition] == TransitionRole.SKIP and self._will_not_run(
                self._rows[transition], orders
            ):
                waiting.extend(self._agenda.fire(transition))

    def _will_not_run(self, leaf: int, orders: Orders) -> bool:
        if self._results.get(leaf) is not None:
            return True
        blocker = self._blocker(leaf)
        if blocker is None:
            return False
        self._fail(leaf, _FailureCause(FailureReason.BLOCKED, blocker))
        self._spread(leaf, orders)
        return True

    def _blocker(self, row: int) -> int | None:
        """Returns the first failed subplan that this one depends on."""
        return next((dep for dep in self._tree.depends_on[row] if not self._results[dep].ok), None)

    def _open(self, group: int, orders: Orders) -> None:
        if group == ROOT or group in self._results:
            return
        blocker = self._blocker(group)
        if blocker is None:
            self._start(group)
            return
        self._cancel_group(group, _FailureCause(FailureReason.BLOCKED, blocker), orders)
        self._fail(group, self._cancelled_groups[group])
        self._spread(group, orders)

    def _close(self, group: int, orders: Orders) -> None:
        if group == ROOT or group in self._results:
            return
        culprit = self._culprits.get(group)
        if culprit is not None:
            self._fail(group, _FailureCause(FailureReason.ERROR, culprit))
            self._spread(group, orders)
        elif any(not self._results[child].ok for child in self._tree.children(group)):
            self._fail(group, _FailureCause(FailureReason.CANCELLED, self._cancellation_cause(group)))
        else:
            self._complete(group)

    # Failure

    def _spread(self, row: int, orders: Orders) -> None:
        """Passes a failure on to the group and, if that must fail now, to the groups around it."""
        tree = self._tree
        while row != ROOT:
            group = tree.parents[row]
            self._culprits.setdefault(group, row)
            if tree.modes[group] is not FailureMode.FAIL_FAST or group in self._cancelled_groups:
                return
            self._cancel_group(group, _FailureCause(FailureReason.CANCELLED, row), orders)
            row = group

    def _cancel_group(self, group: int, failure: _FailureCause, orders: Orders) -> None:
        """Prevents everything in the group from starting, and cancels what runs there."""
        tree, is_pending = self._tree, self.tracker.is_pending
        self._cancelled_groups[group] = failure
        never_ran: list[int] = []
        groups: list[int] = []
        for row in tree.below(group):
            if is_pending(row - 1):
                (never_ran if tree.is_leaf(row) else groups).append(row)
            elif row in self._firings and row not in self._cancelled:
                self._cancelled.add(row)
                orders.cancel.append(row)
        for row in (*never_ran, *reversed(groups)):  # a group after what is in it
            self._fail(row, failure)
        missing = self._game.missing
        # Leaves that are ready already are skipped at once, before the agenda can start them. The others are
        # skipped when their tokens arrive.
        self._take_skips((self._skips[row] for row in never_ran if not missing[self._skips[row]]), orders)

    def _cancellation_cause(self, row: int) -> int | None:
        while row != ROOT:
            row = self._tree.parents[row]
            if row in self._cancelled_groups:
                return self._cancelled_groups[row].cause
        return None

    # Changes of state. These are not factored out: each runs once for every subplan, and calls would cost time

    def _start(self, row: int) -> None:
        now = self._started[row] = self._now
        before = self.tracker.move(row - 1, states.RUNNING)
        self._seq = seq = self._seq + 1
        path = self._tree.paths[row]
        self.events.append(_new(SubplanEvent, (seq, now, path, before, _RUNNING, None, None, None)))

    def _complete(self, row: int, value: object = None) -> None:
        path, now = self._tree.paths[row], self._now
        before = self.tracker.move(row - 1, states.COMPLETED)
        self._seq = seq = self._seq + 1
        self.events.append(_new(SubplanEvent, (seq, now, path, before, _COMPLETED, None, None, None)))
        started = self._started.pop(row)
        self._results[row] = _new(SubplanResult, (path, _COMPLETED, value, None, None, None, started, now))

    def _fail(self, row: int, why: _FailureCause, error: BaseException | None = None) -> None:
        path, now, reason = self._tree.paths[row], self._now, why.reason
        cause = None if why.cause is None else self._tree.paths[why.cause]
        before = self.tracker.move(row - 1, states.FAILED, reason)
        self._seq = seq = self._seq + 1
        self.events.append(SubplanEvent(seq, now, path, before, _FAILED, reason, cause, error))
        started = self._started.pop(row, None)
        self._results[row] = SubplanResult(path, _FAILED, None, reason, cause, error, started, now)


def _failure(
    tree: SubplanTree,
    culprits: dict[int, int],
    results: dict[int, SubplanResult],
    by_path: dict[str, SubplanResult],
) -> SubplanExecutionError | AggregateSubplanError | None:
    """Returns the error of the run: combines failures group by group, from the innermost groups to the root."""
    raised: dict[int, SubplanExecutionError] = {}
    for row in sorted(results, reverse=True):
        result = results[row]
        if result.ok:
            continue
        cause = result.error
        if not tree.is_leaf(row) and row in culprits:
            inner = _failure_of_group(tree, row, culprits[row], raised, by_path)
            if isinstance(inner, SubplanExecutionError):
                raised[row] = inner
                continue
            cause = inner
        raised[row] = SubplanExecutionError(result, cause, by_path)
    if ROOT not in culprits:
        return None
    return _failure_of_group(tree, ROOT, culprits[ROOT], raised, by_path)


def _failure_of_group(
    tree: SubplanTree,
    group: int,
    culprit: int,
    raised: dict[int, SubplanExecutionError],
    by_path: dict[str, SubplanResult],
) -> SubplanExecutionError | AggregateSubplanError:
    if tree.modes[group] is FailureMode.FAIL_FAST:
        return raised[culprit]
    failures = [raised[child] for child in tree.children(group) if child in raised]
    where = f" of {tree.paths[group]!r}" if group != ROOT else ""
    count = sum(1 for _ in tree.children(group))
    return AggregateSubplanError(f"{len(failures)} of {count} subplans{where} failed", failures, by_path)
