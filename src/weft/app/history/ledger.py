"""The ledger of a plan: the spending of its runs since a person last reset its budget.

A ceiling belongs to the plan and outlives a run. Each run records at its start the spending of all earlier runs.
The ledger is therefore that record of the last run plus the spending of that run itself. A journal of an older
version has no such record; then the runs before it are read as well. A reset is an event of the run that was
current at the time: everything before it, in that run and in earlier runs, does not count.
"""

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from weft.app.history.earlier_runs import Earlier, earlier_runs, first_fact
from weft.engine.messages import events as kinds
from weft.engine.messages.events import AnyEvent, StepFinishedEvent, execution_of
from weft.engine.messages.facts import EarlierSpending, Ended
from weft.ports.journal import JournalReader


class _Execution(Struct):
    """The spending of an agent execution that has not ended."""

    subplan: str
    reserved: int
    reserved_tokens: int
    cost: int = 0
    tokens: int = 0


class Ledger(Struct):
    """Sums by subplan, folded from the events of runs."""

    entries: dict[str, EarlierSpending] = field(default_factory=dict[str, EarlierSpending])
    is_reset: bool = False
    """Whether the budget was reset in the run that was last added."""
    _open: dict[tuple[int, int], _Execution] = field(default_factory=dict[tuple[int, int], _Execution])

    def add(self, spending: EarlierSpending) -> None:
        before = self.entries.get(spending.subplan, EarlierSpending(subplan=spending.subplan))
        self.entries[spending.subplan] = replace(
            before,
            cost=before.cost + spending.cost,
            tokens=before.tokens + spending.tokens,
            unknown=before.unknown + spending.unknown,
            assumed=before.assumed + spending.assumed,
            assumed_tokens=before.assumed_tokens + spending.assumed_tokens,
        )

    def add_run(self, events: Iterable[AnyEvent]) -> None:
        """Adds the spending of a run. An agent that never ended, as its run was abandoned, has an unknown cost."""
        run = Ledger()
        for event in events:
            run._apply(event)
        # Such an agent may have spent up to its reservation, so `_end` keeps the whole reservation: a ceiling must
        # hold even if the truth is never known.
        for execution in run._open.values():
            run.add(_end(execution, None, None))
        for spending in run.entries.values():
            self.add(spending)
        self.is_reset = run.is_reset

    def _apply(self, event: AnyEvent) -> None:
        match event:
            case kinds.StepStartedEvent():
                if event.agent is not None:
                    # Only agents cost money; commands have no reservation.
                    self._open[execution_of(event)] = _Execution(
                        event.subplan, event.reserved, event.reserved_tokens
                    )
            case kinds.StepFinishedEvent():
                self._finish(event, self._open.pop(execution_of(event), None))
            case kinds.SpentEvent():
                execution = self._open.get(execution_of(event))
                if execution is not None:
                    # Reports during a step are running totals, not increments.
                    execution.cost = execution.cost if event.cost is None else event.cost
                    execution.tokens = execution.tokens if event.tokens is None else event.tokens
            case kinds.BudgetEvent():
                if event.outcome == "reset":
                    self.entries.clear()
                    self.is_reset = True
            case _:
                kinds.overlook(event)

    def _finish(self, event: StepFinishedEvent, execution: _Execution | None) -> None:
        if execution is not None:
            # A killed agent cannot write its final report, and some programs report less at the end than they did
            # while running.
            execution.cost = max(execution.cost, event.cost or 0)
            execution.tokens = max(execution.tokens, event.tokens or 0)
            cost, tokens = _reported_spending(event)
            self.add(_end(execution, cost, tokens))
        elif event.cost or event.tokens:
            self.add(EarlierSpending(subplan=event.subplan, cost=event.cost or 0, tokens=event.tokens or 0))


def _reported_spending(event: StepFinishedEvent) -> tuple[int | None, int | None]:
    """Returns the cost and tokens of an ended execution; None where only a lower bound is known."""
    # The event, but not the fact, contains an amount that was reported only while the agent ran. Journals of older
    # versions do not mark tokens.
    fact = event.fact if isinstance(event.fact, Ended) else None
    cost_is_open = event.cost_at_least or (fact is not None and fact.cost is None and event.cost)
    tokens_are_open = event.tokens_at_least or (fact is not None and fact.tokens is None and event.tokens)
    return None if cost_is_open else event.cost, None if tokens_are_open else event.tokens


def _end(execution: _Execution, cost: int | None, tokens: int | None) -> EarlierSpending:
    """Returns the spending of an ended execution. An amount that it did not report (None) stays reserved."""
    assumed = 0 if cost is not None else max(0, execution.reserved - execution.cost)
    assumed_tokens = 0 if tokens is not None else max(0, execution.reserved_tokens - execution.tokens)
    return EarlierSpending(
        subplan=execution.subplan,
        cost=execution.cost if cost is None else cost,
        tokens=execution.tokens if tokens is None else tokens,
        unknown=int(cost is None),
        assumed=assumed,
        assumed_tokens=assumed_tokens,
    )


def spent_by(journal: JournalReader, runs: Iterable[Earlier]) -> tuple[EarlierSpending, ...]:
    """Returns the spending since the last reset, by subplan; `runs` are all runs of a plan, newest first."""
    ledger = Ledger()
    for record, started in runs:
        ledger.add_run(recorded.event for recorded in journal.events(record.run))
        if ledger.is_reset:
            break
        # This run recorded the sum of everything before it, so older runs need not be read.
        if started.earlier is not None:
            for spending in started.earlier:
                ledger.add(spending)
            break
    return tuple(ledger.entries[path] for path in sorted(ledger.entries))


def spent_before(journal: JournalReader, plan: str, run: str) -> tuple[EarlierSpending, ...]:
    """Returns the spending of the runs before this one, since the last reset."""
    started = first_fact(journal, run)
    if started is not None and started.earlier is not None:
        return started.earlier
    older = iter(earlier_runs(journal, plan))
    # Consumes the iterator up to and including `run`; what remains are the runs before it.
    for record, _ in older:
        if record.run == run:
            break
    return spent_by(journal, older)


def total(spendings: Iterable[EarlierSpending]) -> EarlierSpending:
    ledger = Ledger()
    for spending in spendings:
        ledger.add(replace(spending, subplan=""))
    return ledger.entries.get("", EarlierSpending())
