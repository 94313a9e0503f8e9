"""The events of a run, built from the state of the engine. A quiet engine builds none."""

from collections.abc import Sequence

from msgspec.structs import asdict

from weft.engine.messages.events import Event
from weft.engine.messages.facts import (
    Answered,
    AnyFact,
    BudgetReset,
    Controlled,
    ControlState,
    Ended,
    Foreseen,
    OutsideChange,
    Pushed,
    Resumed,
    RunStarted,
    Spent,
    StepOutcome,
    StopAsked,
    VerifyEnded,
    VerifyStarted,
)
from weft.engine.messages.failures import REJECTED, Failure
from weft.engine.messages.orders import AgentTask, Launch
from weft.engine.rules.result_check import ResultJudgement
from weft.engine.rules.step_result import output_tail, part_name, shown
from weft.engine.state import unchanged_files
from weft.engine.state.budget import Bill, Budget
from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import StepFiring, SubplanState
from weft.engine.states import SubplanExecutionState
from weft.plan.order.outline import ROOT

Data = dict[str, object]
Costs = tuple[int | None, int | None]
"""Micro-dollars and tokens; None is unknown."""


_RESERVED = ("reserved", "reserved_tokens")


class EventWriter:
    def __init__(self, state: EngineState) -> None:
        self._state = state

    # The run

    def run_started(self, fact: RunStarted) -> None:
        plan = self._state.plan
        slices = sum(plan.outline.leaves)
        data: Data = {"plan": plan.id, "run": fact.run, "subplans": len(plan.subplans) - 1, "slices": slices}
        self._state.emit(Event(kind="run_started", data=data, fact=fact))

    def run_finished(self, outcome: str, stuck: Sequence[str] = ()) -> None:
        state = self._state
        counts = {str(name): count for name, count in state.tracker.counts().items()}
        data: Data = {"counts": counts, "seconds": round(state.at - state.started_at, 3)}
        failure = state.failures.get(ROOT)
        if failure is not None:
            data |= {"message": failure.message, "cause": failure.cause, "reason": failure.reason}
        if stuck:
            data["stuck"] = list(stuck)
        if state.budget.own_unknown:
            data["unknown_costs"] = state.budget.own_unknown
        spent, tokens = state.budget.own(ROOT), state.token_budget.own(ROOT) or None
        state.emit(Event(kind="run_finished", outcome=outcome, cost=spent, tokens=tokens, data=data))

    def stopping(self, fact: StopAsked) -> None:
        self._state.emit(Event(kind="stopping", data={"now": fact.now}, fact=fact))

    def controlled(self, fact: Controlled) -> None:
        kind = "resumed" if fact.wanted is ControlState.GO else "paused"
        data: Data = {"now": True} if fact.now else {}
        event = Event(kind=kind, subplan=fact.subplan, outcome=fact.wanted, data=data, fact=fact)
        self._state.emit(event)

    def paused(self, path: str) -> None:
        """Writes a pause that the run takes over from the run it replaces."""
        self._state.emit(Event(kind="paused", subplan=path, outcome=ControlState.PAUSE))

    def recovered(self, fact: Resumed, running: Sequence[int]) -> None:
        data: Data = {"epoch": fact.epoch, "running": list(running)}
        self._state.emit(Event(kind="recovered", data=data, fact=fact))

    def noted(self, kind: str, fact: AnyFact, **data: object) -> None:
        """Writes the event of a fact that has no method of its own."""
        self._state.emit(Event(kind=kind, data=data, fact=fact))

    def foreseen(self, fact: Foreseen) -> None:
        data: Data = {"other": fact.other, "files": list(fact.files)}
        outcome = "ahead" if fact.files else "over"
        event = Event(kind="conflict_ahead", subplan=fact.subplan, outcome=outcome, data=data, fact=fact)
        self._state.emit(event)

    def merged(self, firing: StepFiring, fact: Ended, how: StepOutcome) -> None:
        """Writes the event of a merge or a landing that changed refs or could not be done."""
        conflict = "conflict" if fact.conflict else None
        outcome = {
            StepOutcome.DONE: "merged",
            StepOutcome.HELD: conflict or "held",
            StepOutcome.CONFLICT: conflict,
        }.get(how)
        if self._state.quiet or outcome is None or not (fact.moves or how is not StepOutcome.DONE):
            return
        data: Data = {
            name: value
            for name, value in _details(fact).items()
            if name in {"message", "files", "waits_for", "red", "moves"}
        }
        if how is StepOutcome.CONFLICT:
            data["message"] = " ".join((*fact.message.splitlines()[:1], "An agent resolves it."))
        step = part_name(firing.move)
        self._emit("merge", firing.subplan.path, step, firing.attempt, outcome, data)

    def queue(self, fact: VerifyStarted | VerifyEnded | Pushed) -> None:
        """Writes the event of a verify or a push of the landing queue."""
        if isinstance(fact, Pushed):
            data: Data = {"remote": fact.remote, "commit": fact.commit}
            data |= {"message": fact.message, "final": fact.is_final} if fact.message else {}
            data |= {"command": fact.command} if fact.command else {}
            outcome = "failed" if fact.message else "pushed"
            self._state.emit(Event(kind="push", outcome=outcome, data=data, fact=fact))
            return
        data = {
            "tree": fact.tree,
            "commit": fact.commit,
            "entries": list(fact.entries),
            "commands": list(fact.commands),
        }
        outcome = "started"
        data |= {"log": fact.log} if fact.log else {}
        if isinstance(fact, VerifyEnded):
            outcome = "passed" if fact.how is StepOutcome.DONE else str(fact.how)
            more = ("exit_code", "signal", "message", "tail")
            data |= {name: value for name in more if (value := getattr(fact, name)) not in {None, ""}}
            data["seconds"] = round(fact.seconds, 3)
        self._state.emit(Event(kind="verify", step="@land", outcome=outcome, data=data, fact=fact))

    def budget(self, row: int, percent: int, unit: str, budget: Budget) -> None:
        data: Data = {
            "unit": unit,
            "spent": budget.spent[row],
            "reserved": budget.reserved[row],
            "ceiling": budget.ceiling(row),
            "percent": percent,
        }
        outcome = "reached" if percent >= 100 else "alert"  # noqa: PLR2004
        self._state.emit(Event(kind="budget", subplan=self._state.path(row), outcome=outcome, data=data))

    def budget_reset(self, fact: BudgetReset | None) -> None:
        self._state.emit(Event(kind="budget", outcome="reset", fact=fact))

    def spent(self, firing: StepFiring, fact: Spent) -> None:
        event = Event(
            kind="spent",
            subplan=firing.subplan.path,
            step=part_name(firing.move),
            attempt=firing.attempt,
            cost=fact.cost,
            tokens=fact.tokens,
            data={"firing": fact.firing, "execution": fact.execution},
            fact=fact,
        )
        self._state.emit(event)

    def limited(self, firing: StepFiring, agents: Sequence[str], until: float) -> None:
        data: Data = {"firing": firing.serial, "agents": list(agents), "until": until}
        self._emit("limited", firing.subplan.path, part_name(firing.move), firing.attempt, "", data)

    # Subplans

    def left_out(self, path: str, group: str, fact: Ended) -> None:
        data: Data = {"group": group, "message": fact.message, "culprits": list(fact.culprits)}
        self._state.emit(Event(kind="left_out", subplan=path, data=data))

    def state(self, row: int, outcome: str, before: SubplanExecutionState, **more: object) -> None:
        if not self._state.quiet:
            data: Data = {"from": before, **more}
            self._emit("subplan_state", self._state.path(row), outcome=outcome, data=data)

    def failed(self, row: int, before: SubplanExecutionState, failure: Failure) -> None:
        if self._state.quiet:
            return
        more: Data = {"failure": failure.to_json()} if failure.step else {}
        self.state(
            row, "failed", before,
            reason=failure.reason, message=failure.message, cause=failure.cause, **more,
        )  # fmt: skip

    # Steps

    def started(self, firing: StepFiring) -> None:
        if self._state.quiet:
            return
        data: Data = {
            "firing": firing.serial,
            "execution": firing.execution,
            "transition": firing.move.name,
            "kind": firing.move.act.kind,
        }
        order = firing.order
        if isinstance(order, Launch) and (task := order.task) is not None:
            data["agent"] = task.agent.name
            data |= {} if task.model is None else {"model": task.model}
            data |= _resumed(task)
            data |= {"interruption": task.interruption} if task.interruption else {}
            data |= {name: amount for name, amount in zip(_RESERVED, firing.reserved, strict=True) if amount}
        elif isinstance(order, Launch):
            data["command"] = " && ".join(shown(command) for command in order.commands)
        if isinstance(order, Launch) and order.inputs:
            data["inputs"] = order.inputs
        if firing.leases:
            data["pools"] = {name: list(values) for name, values in firing.leases}
        self._emit_for(firing, "step_started", data)

    def finished(
        self,
        firing: StepFiring,
        fact: Ended,
        how: StepOutcome,
        bill: Bill | None,
        judgement: ResultJudgement | None = None,
    ) -> None:
        """Writes the end of an execution: the fact as reported, and its interpretation."""
        if self._state.quiet:
            return
        data: Data = {"firing": firing.serial, "execution": firing.execution, **_details(fact)}
        changed = unchanged_files.changed(firing)
        if changed is not None:
            data["changed"] = changed
        is_rejected = judgement is not None and bool(judgement.rejected_by)
        if judgement is not None and is_rejected:
            data |= {"message": judgement.reason, "rejected_by": judgement.rejected_by}
        if how is not StepOutcome.DONE or is_rejected:
            data["tail"] = output_tail(fact.result, fact.errors)
        costs: Costs = (None, None) if bill is None else (bill.money.reported, bill.tokens.reported)
        if bill is not None:
            data |= _lower_bounds(bill)
        self._emit_for(firing, "step_finished", data, REJECTED if is_rejected else how, (fact, costs))
        for change in fact.outside:
            self._outside_changed(firing, change)
        if firing.launch is not None and bill is not None and not bill.money.is_known:
            self._unreported(firing, bill)

    def _unreported(self, firing: StepFiring, bill: Bill) -> None:
        """Writes that an agent did not report its cost, with the amounts that stay reserved."""
        data: Data = {"firing": firing.serial, "execution": firing.execution}
        for name, settled in zip(_RESERVED, (bill.money, bill.tokens), strict=True):
            if settled.kept:
                data[name] = settled.kept
        self._emit("cost_unknown", firing.subplan.path, part_name(firing.move), firing.attempt, "", data)

    def ended_before(
        self, firing: StepFiring, fact: Ended, run: str, judgement: ResultJudgement | None
    ) -> None:
        """Writes the end of a step that an earlier run completed. Its cost counts there."""
        if self._state.quiet:
            return
        outcome = REJECTED if judgement is not None and judgement.rejected_by else str(fact.how)
        data: Data = {"earlier_run": run}
        data |= {"message": fact.message} if fact.message else {}
        if firing.step in firing.subplan.launched:
            data |= self._launched(firing.subplan, firing.step, ended=True)
        self._emit("step_finished", firing.subplan.path, firing.step, firing.attempt, outcome, data)

    def answered_before(self, firing: StepFiring, fact: Answered, run: str) -> None:
        """Writes an answer that a person gave in an earlier run."""
        data: Data = {"text": fact.text, "earlier_run": run}
        outcome = "yes" if fact.accepted else "no"
        self._emit("answered", firing.subplan.path, firing.step, firing.attempt, outcome, data)

    def _outside_changed(self, firing: StepFiring, change: OutsideChange) -> None:
        data: Data = {
            "place": change.place,
            "directory": change.directory,
            "files": list(change.files),
            "during": list(change.during),
            **({"more": change.more} if change.more else {}),
        }
        self._emit("outside_changed", firing.subplan.path, part_name(firing.move), firing.attempt, "", data)

    def _emit_for(
        self,
        firing: StepFiring,
        kind: str,
        data: Data,
        outcome: str = "",
        end: tuple[Ended | None, Costs] = (None, (None, None)),
    ) -> None:
        subplan = firing.subplan
        fact, (cost, tokens) = end
        if firing.step in subplan.launched:
            data |= self._launched(subplan, firing.step, ended=fact is not None)
        self._state.emit(
            Event(
                kind=kind,
                subplan=subplan.path,
                step=part_name(firing.move),
                attempt=firing.attempt,
                outcome=outcome,
                cost=cost,
                tokens=tokens,
                data=data,
                fact=fact,
            )
        )

    def concluded(self, subplan: SubplanState, step: str, outcome: str, message: str = "") -> None:
        """Writes the end of a step without a process, such as a join or a step that could not start."""
        if self._state.quiet:
            return
        data: Data = {"message": message} if message else {}
        if step in subplan.launched:
            data |= self._launched(subplan, step, ended=True)
        self._emit("step_finished", subplan.path, step, subplan.attempts.get(step, 1), outcome, data)

    def skipped(self, subplan: SubplanState, step: str, outcome: str, message: str = "") -> None:
        if not self._state.quiet:
            self._emit(
                "step_skipped", subplan.path, step, 0, outcome, {"message": message} if message else {}
            )

    def cancelled(self, firing: StepFiring, cause: str) -> None:
        if not self._state.quiet:
            data: Data = {"firing": firing.serial, "execution": firing.execution, "cause": cause}
            step = part_name(firing.move)
            self._emit("step_cancelled", firing.subplan.path, step, firing.attempt, "", data)

    def asked(self, firing: StepFiring) -> None:
        data: Data = {"firing": firing.serial, "question": firing.question, "transition": firing.move.name}
        self._emit("ask", firing.subplan.path, firing.step, firing.attempt, "", data)

    def answered(self, firing: StepFiring, fact: Answered) -> None:
        self._state.emit(
            Event(
                kind="answered",
                subplan=fact.subplan,
                step=firing.step,
                attempt=firing.attempt,
                outcome="yes" if fact.accepted else "no",
                data={"text": fact.text},
                fact=fact,
            )
        )

    def _emit(
        self,
        kind: str,
        path: str,
        step: str = "",
        attempt: int = 0,
        outcome: str = "",
        data: Data | None = None,
    ) -> None:
        self._state.emit(
            Event(kind=kind, subplan=path, step=step, attempt=attempt, outcome=outcome, data=data or {})
        )

    def _launched(self, subplan: SubplanState, step: str, *, ended: bool) -> Data:
        group, at = subplan.launched[step]
        data: Data = {"concurrent_group": group, "launched_at": at}
        return data | {"completed_at": self._state.at} if ended else data


def _resumed(task: AgentTask) -> Data:
    """Returns the conversation that an agent continues."""
    if task.session is None:
        return {}
    return {"session": task.session, "fork": True} if task.fork else {"session": task.session}


def _details(fact: Ended) -> Data:
    """Returns the details of an end that are set."""
    details: Data = {
        "exit_code": fact.exit_code,
        "signal": fact.signal,
        "message": fact.message or None,
        "files": list(fact.files) or None,
        "conflict": fact.conflict or None,
        "kept": fact.kept or None,
        "waits_for": list(fact.waits_for) or None,
        "asks": fact.asks or None,
        "red": fact.red or None,
        "culprits": list(fact.culprits) or None,
        "moves": [asdict(move) for move in fact.moves] or None,
        "session": fact.session,
        "until": fact.until,
        "seconds": round(fact.seconds, 3),
    }
    return {name: value for name, value in details.items() if value is not None}


def _lower_bounds(bill: Bill) -> Data:
    """Returns marks for the amounts of an event that are lower bounds."""
    amounts = (("cost_at_least", bill.money), ("tokens_at_least", bill.tokens))
    return {name: True for name, settled in amounts if settled.amount and not settled.is_known}
