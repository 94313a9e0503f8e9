"""Ceilings and usage limits: whether an agent may start.

A step that would exceed a ceiling waits while running steps have reservations below it, since they may turn out
cheaper. If there are none, the slice fails with the reason `budget`. Money and tokens are treated alike.

An agent that has met a usage limit starts nothing until the limit ends. Limits belong to accounts, so they
apply to all agents with the same command, whatever their model. The wait doubles each time an account meets
its limit again, even if the provider reports an earlier end.
"""

from collections.abc import Iterable

from weft.engine.messages.facts import BudgetReset, EarlierSpending, Ended, Spent, StepOutcome
from weft.engine.messages.failures import Failure
from weft.engine.messages.orders import Halt, WakeAt
from weft.engine.messages.run_events import Unit
from weft.engine.messages.step_events import StepEnd
from weft.engine.rules.cancellation import Cancellation
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.moves import Moves
from weft.engine.rules.step_result import part_name
from weft.engine.state.budget import Bill, Budget, SettledCost
from weft.engine.state.ceilings import carry
from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import Amounts, PoolRequest, StepFiring
from weft.engine.states import FailureReason
from weft.plan.compile.parts import Role
from weft.plan.model import Agent, AgentWork
from weft.plan.prices import dollars

ALL = 100
"""The percentage at which a ceiling is reached."""
SOONEST, LONGEST, LATEST = 1.0, 900.0, 7 * 86400.0
"""The shortest wait in seconds, the first time and after many limits in a row; and the longest wait."""
_DOUBLINGS = 10

_PERHAPS_NEVER_RAN = frozenset({StepOutcome.INFRA, StepOutcome.CANCELLED, StepOutcome.STOPPED})
"""Outcomes that may occur without a process; it then has neither an exit code nor a signal."""
_KILLED = 9
"""SIGKILL."""
_WHOLE = frozenset({StepOutcome.DONE, StepOutcome.FAILED, StepOutcome.TIMEOUT})
"""Outcomes of complete executions, whose costs are used for estimates."""


class Expenses:
    """Reserves, counts and limits the spending of agents."""

    def __init__(
        self, state: EngineState, moves: Moves, cancellation: Cancellation, events: EventWriter
    ) -> None:
        self._state = state
        self._moves = moves
        self._cancellation = cancellation
        self._events = events
        self._units: tuple[tuple[Unit, Budget], ...] = (("usd", state.budget), ("tokens", state.token_budget))
        self._has_ceilings = any(budget.has_ceilings for _, budget in self._units)
        self._met: dict[str, int] = {}
        """By account: how many times in a row it has met its usage limit."""

    # Earlier runs

    def carries(self, earlier: Iterable[EarlierSpending]) -> None:
        state = self._state
        carry(state.plan, (state.budget, state.token_budget), earlier)

    def resets(self, fact: BudgetReset | None = None) -> None:
        """Restarts the count of all ceilings at zero, as a person asked."""
        for _, budget in self._units:
            budget.reset()
        self._events.budget_reset(fact)
        self.looks_again()

    # Starts

    def estimates(self, row: int, work: AgentWork, agent: Agent) -> Amounts:
        """Returns the amounts to reserve for a step."""
        settings, state = self._state.settings(row), self._state
        cost = work.max_cost if work.max_cost is not None else agent.max_cost
        tokens = work.max_tokens if work.max_tokens is not None else agent.max_tokens
        return (
            state.budget.estimate(agent.name, cost, settings.reserve or 0),
            state.token_budget.estimate(agent.name, tokens, settings.reserve_tokens or 0),
        )

    def allows(self, request: PoolRequest, agent: Agent, amounts: Amounts) -> bool:
        """Returns whether the step may start. If not, the request is queued or the slice fails."""
        state = self._state
        if self._is_limited(agent):
            self._moves.waits(request, state.throttled)
            return False
        over = self._over(request.subplan.row, amounts)
        for unit, budget, row, amount in over:
            if not budget.reserved[row]:
                self._fail(request, self._used_up(unit, row, request.move.act.step, amount))
                return False
        if over:
            self._moves.waits(request, state.short)
        return not over

    @property
    def may_wait(self) -> bool:
        """Whether any step may have to wait for a usage limit or for reserved money."""
        return self._has_ceilings or bool(self._state.limited)

    def would_wait(self, row: int, work: AgentWork, agent: Agent) -> bool:
        """Returns whether a step would have to wait for a usage limit or for reserved money."""
        if self._is_limited(agent):
            return True
        over = self._over(row, self.estimates(row, work, agent))
        return bool(over) and all(budget.reserved[ceiling] for _, budget, ceiling, _ in over)

    def _is_limited(self, agent: Agent) -> bool:
        state = self._state
        return bool(state.limited) and state.limited.get(account_of(agent), state.at) > state.at

    def _over(self, row: int, amounts: Amounts) -> list[tuple[Unit, Budget, int, int]]:
        """Returns the ceilings that the amounts would exceed: unit, budget, row of the ceiling, amount."""
        if not self._has_ceilings:
            return []
        return [
            (unit, budget, over, amount)
            for (unit, budget), amount in zip(self._units, amounts, strict=True)
            if (over := budget.fits(row, amount)) is not None
        ]

    def opens(self, firing: StepFiring, amounts: Amounts) -> None:
        """Reserves the amounts for an execution that starts."""
        firing.reserved = amounts
        for (_, budget), amount in zip(self._units, amounts, strict=True):
            budget.open(firing.serial, firing.subplan.row, amount)

    def abandons(self, firing: StepFiring) -> None:
        """Releases the reservation of an execution that could not be started."""
        for _, budget in self._units:
            if budget.is_open(firing.serial):
                budget.settle(firing.serial, 0)

    def _fail(self, request: PoolRequest, failure: Failure) -> None:
        subplan = request.subplan
        if request.move.act.role is Role.RESOLVE:
            self._leave_to_a_person(request, failure)
            return
        self._cancellation.cancel_frame(subplan, subplan.frame, failure)
        if request.firing is None:
            stop = subplan.script.place_rules[request.place].stop
            assert stop is not None
            self._cancellation.stops(subplan, stop)

    def _leave_to_a_person(self, request: PoolRequest, failure: Failure) -> None:
        """Leaves a conflict to a person if the budget does not allow an agent. The slice itself has not failed."""
        subplan, move = request.subplan, request.move
        if request.firing is not None:
            self._events.cancelled(request.firing, "the budget")
        self._events.concluded(subplan, part_name(move), StepEnd.FAILED, failure.message)
        firing = request.firing or self._moves.begins(subplan, move, ())
        self._moves.ends(firing)
        self._moves.leads(firing, "failed")

    def _used_up(self, unit: Unit, row: int, step: str, amount: int = 0) -> Failure:
        """Returns the failure, with a message that names the ceiling and the amounts."""
        budget = dict(self._units)[unit]
        format_amount = dollars if unit == "usd" else _in_tokens
        name = "budget" if unit == "usd" else "token budget"
        text = f"{format_amount(budget.spent[row])} of {format_amount(budget.ceiling(row) or 0)} spent"
        if budget.earlier(row):
            text += f" ({format_amount(budget.earlier(row))} by earlier runs)"
        if budget.assumed[row]:
            text += (
                f", {format_amount(budget.assumed[row])} reserved for calls that did not report their cost"
            )
        if amount:
            text += f", and this may cost {format_amount(amount)}"
        message = f"the {name} of {self._state.path(row) or 'the plan'} is used up: {text}"
        return Failure(reason=FailureReason.BUDGET, message=message, step=step, detail=message)

    # Running steps

    def record(self, firing: StepFiring, fact: Spent) -> None:
        """Records the reported spending of a running execution."""
        self._events.spent(firing, fact)
        for (_, budget), total in zip(self._units, (fact.cost, fact.tokens), strict=True):
            if total is not None and budget.is_open(firing.serial):
                budget.record(firing.serial, total)
        self.alerts()

    def so_far(self, firing: int) -> Amounts:
        """Returns the reported spending of a running execution."""
        cost, tokens = (budget.so_far(firing) if budget.is_open(firing) else 0 for _, budget in self._units)
        return cost, tokens

    # Ends

    def settles(self, firing: StepFiring, fact: Ended, how: StepOutcome) -> Bill | None:
        """Counts the cost of an ended execution and returns its bill; None for a command without a cost."""
        task = firing.task
        if task is None and fact.cost is None:
            return None
        agent = None if task is None else task.agent
        kind = ""
        if agent is not None and how in _WHOLE:
            kind = agent.name
            if self._met:
                self._met.pop(account_of(agent), None)
        state = self._state
        return Bill(
            self._settle(state.budget, firing, fact, (fact.cost, kind)),
            self._settle(state.token_budget, firing, fact, (fact.tokens, kind)),
        )

    def _settle(
        self, budget: Budget, firing: StepFiring, fact: Ended, report: tuple[int | None, str]
    ) -> SettledCost:
        """`report` is the reported amount, if any, and the kind of the execution."""
        step, (reported, kind) = firing.serial, report
        if not budget.is_open(step):
            budget.open(step, firing.subplan.row, 0)
        if reported is None and _never_ran(fact) and not budget.so_far(step):
            reported = 0
        if reported is not None and _is_cut_short(fact):
            budget.record(step, reported)
            reported = None
        return budget.settle(step, reported, kind=kind)

    def alerts(self, ended: StepFiring | None = None) -> None:
        """Raises alerts. A ceiling that is reached stops the agents below it under `on_budget: stop`."""
        for unit, budget in self._units if self._has_ceilings else ():
            for over, percent in budget.alerts():
                self._events.budget(over, percent, unit, budget)
                if percent >= ALL and self._state.settings(over).on_budget == "stop":
                    self._end_agents(unit, over, ended)

    def _end_agents(self, unit: Unit, over: int, ended: StepFiring | None) -> None:
        state = self._state
        below = range(over, over + state.plan.outline.sizes[over])
        for firing in list(state.firings.values()):
            subplan = firing.subplan
            if subplan.row not in below or firing.launch is None or firing is ended:
                continue
            if firing.move.act.role is Role.RESOLVE:
                self._interrupt(firing)
            else:
                self._cancellation.cancel_frame(
                    subplan, subplan.frame, self._used_up(unit, over, firing.step)
                )

    def _interrupt(self, firing: StepFiring) -> None:
        """Stops an agent that resolves a conflict."""
        # When it would run again, `allows` finds the ceiling reached and leaves the conflict to a person.
        if firing.is_under_way and not firing.halted:
            firing.halted = "stopped"
            self._state.order(Halt(firing=firing.serial, execution=firing.execution, how="stopped"))

    def looks_again(self) -> None:
        """Repeats the requests that wait for money."""
        if self._state.short:
            self._moves.asks_after(self._state.short)

    # Usage limits

    def limit(self, firing: StepFiring, agent: Agent, until: float | None) -> float:
        """Parks the account of an agent; returns the time until which it starts nothing."""
        state, account = self._state, account_of(agent)
        before = state.limited.get(account, 0.0)
        if before <= state.at:  # otherwise another step has met the same limit
            self._met[account] = self._met.get(account, 0) + 1
        least = min(LONGEST, SOONEST * (1 << min(self._met.get(account, 1) - 1, _DOUBLINGS)))
        wait = min(max(least, 0.0 if until is None else until - state.at), LATEST)
        state.limited[account] = end = max(before, state.at + wait)
        names = sorted(
            name for name, candidate in state.plan.agents.items() if account_of(candidate) == account
        )
        self._events.limited(firing, names or [agent.name], end)
        state.order(WakeAt(at=end))
        return end

    def end_limits(self) -> None:
        """Forgets all limits, because a person says that they have ended. The next call of an agent shows it."""
        self._state.limited.clear()
        self._met.clear()

    def unlimit(self) -> None:
        """Forgets limits that have ended and repeats all requests that waited; the others wait again."""
        state = self._state
        state.limited = {name: until for name, until in state.limited.items() if until > state.at}
        self._moves.asks_after(state.throttled)

    def wake_again(self) -> None:
        """Repeats the wake-up orders for a new coordinator, which does not have them."""
        for at in sorted(set(self._state.limited.values())):
            self._state.order(WakeAt(at=at))


def _never_ran(fact: Ended) -> bool:
    # Uses the reported outcome: a lost execution of a cancelled slice counts as cancelled, but it did run.
    return fact.how in _PERHAPS_NEVER_RAN and fact.exit_code is None and fact.signal is None


def _is_cut_short(fact: Ended) -> bool:
    """Returns whether it ended without a final report, so that it may have spent more than reported."""
    return fact.how is StepOutcome.LOST or fact.signal == _KILLED


def account_of(agent: Agent) -> str:
    """Returns a key that is equal for agents with a common usage limit: all settings but model and count."""
    return f"{agent.use} {agent.command} {agent.script} {sorted(agent.env.items())}"


def _in_tokens(amount: int) -> str:
    return f"{amount:,} tokens"
