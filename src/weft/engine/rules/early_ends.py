"""Executions that end early because the run is stopped or a usage limit is reached. Another execution follows."""

from collections.abc import Collection

from weft.engine.messages.facts import Ended, LimitsEnded, Resumed, StepOutcome, StopAsked, Woke
from weft.engine.messages.orders import Halt
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.expenses import Expenses
from weft.engine.rules.holds import HoldRules
from weft.engine.rules.moves import Moves
from weft.engine.rules.start import Starter
from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import PoolRequest, StepFiring


class EarlyEnds:
    """Parks firings and starts their next executions."""

    def __init__(
        self,
        state: EngineState,
        moves: Moves,
        starter: Starter,
        expenses: Expenses,
        holds: HoldRules,
        events: EventWriter,
    ) -> None:
        self._state = state
        self._moves = moves
        self._starter = starter
        self._expenses = expenses
        self._holds = holds
        self._events = events

    def parks(self, firing: StepFiring, how: StepOutcome, fact: Ended) -> None:
        """Keeps a firing for another execution, after the run is resumed or the usage limit has ended."""
        if how is StepOutcome.LIMITED and firing.task is not None:
            firing.parked = "limited"
            firing.until = self._expenses.limit(firing, firing.task.agent, fact.until)
            self._moves.lends(firing)
            return
        firing.parked = "stopped"
        state = self._state
        if state.stopping:
            return
        if firing.subplan.row in state.restrained:
            self._moves.lends(firing)
        else:  # the stop was revoked after the order had reached this execution
            self._starter.resumes(firing)

    def wakes(self, fact: Woke | LimitsEnded) -> None:
        """Retries firings whose usage limit has ended: those that are due, or all if a person says so."""
        state = self._state
        if isinstance(fact, LimitsEnded):
            self._events.limits_ended(fact)
            self._expenses.end_limits()
        else:
            self._events.woke(fact)
        for firing in list(state.firings.values()):
            if firing.parked == "limited" and (firing.until <= state.at or not state.limited):
                firing.parked = "asking"
                self._moves.asks(PoolRequest(subplan=firing.subplan, move=firing.move, firing=firing))
        self._expenses.unlimit()

    # The whole run

    def stops(self, fact: StopAsked) -> None:
        state = self._state
        state.stopping = state.stop_asked = True
        self._events.stopping(fact)
        for firing in state.firings.values():
            if firing.is_under_way and (fact.now or firing.halted in {"", "revoked"}):
                firing.halted = "cancelled" if firing.halted == "cancelled" else "stopped"
                self._halt(firing, now=fact.now)

    def resumes(self, fact: Resumed) -> None:
        """Continues after a new coordinator has taken over: stopped firings run again, held ones are retried."""
        state = self._state
        running = [firing.serial for firing in state.firings.values() if firing.is_under_way]
        self._events.recovered(fact, running)
        if fact.fresh_budget:  # before anything restarts, since each restart checks the budget
            self._expenses.resets()
        state.stopping, state.merges_only = fact.merges_only or fact.settles, fact.merges_only
        state.stop_asked = False
        if fact.settles:
            self._settle(fact.ends)
        if state.stopping:
            return
        self._holds.resumes()
        for firing in list(state.firings.values()):
            self._resume(firing)
        self._expenses.wake_again()

    def _resume(self, firing: StepFiring) -> None:
        state = self._state
        match firing.parked:
            case "stopped" if firing.subplan.row not in state.restrained:
                self._starter.resumes(firing)
            case "stopped" if not firing.lent:
                self._moves.lends(firing)
            case "" if firing.halted == "stopped":
                firing.halted = "revoked"  # the order to stop may or may not have reached it
            case "" if firing.halted == "cancelled":
                self._halt(firing)
            case _:
                pass

    def _settle(self, ends: Collection[str]) -> None:
        """Lets running agents finish, except those of the given subplans, and stops everything else."""
        for firing in self._state.firings.values():
            if not firing.is_under_way:
                continue
            if firing.halted == "cancelled" or firing.launch is None or firing.subplan.path in ends:
                firing.halted = firing.halted if firing.halted == "cancelled" else "stopped"
                self._halt(firing)
                continue
            firing.halted = "revoked"  # the previous coordinator may have stopped it

    def _halt(self, firing: StepFiring, *, now: bool = False) -> None:
        halt = Halt(firing=firing.serial, execution=firing.execution, how=firing.halted, now=now)
        self._state.order(halt)
