"""The executions of a run, stored as columns, are those that were added."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from weft.app.read_model.execution_table import RUNNING, ExecutionTable
from weft.engine.messages.events import StepEnd, StepFinishedEvent, StepStartedEvent
from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.step_refs import ExecutionKey

ROWS = 3
OUTCOMES = (StepEnd.DONE, StepEnd.FAILED, StepEnd.REJECTED)


class Call(Struct, frozen=True):
    """An execution, with its ends: more than one if its result was rejected later."""

    row: int
    step: str
    agent: str | None
    pools: dict[str, tuple[str, ...]] | None
    session: str | None
    ends: tuple[tuple[StepEnd, int | None, str], ...]


CALLS = st.lists(
    st.builds(
        Call,
        row=st.integers(0, ROWS - 1),
        step=st.sampled_from(["code", "test"]),
        agent=st.sampled_from([None, "coder"]),
        pools=st.sampled_from([None, {"port": ("1",)}, {"port": ("2",), "disk": ("",)}]),
        session=st.sampled_from([None, "abc"]),
        ends=st.lists(
            st.tuples(st.sampled_from(OUTCOMES), st.none() | st.integers(0, 9), st.sampled_from(["", "no"])),
            max_size=2,
        ).map(tuple),
    ),
    max_size=12,
)


def filled(calls: Sequence[Call]) -> ExecutionTable:
    """All executions start before the first one ends."""
    table = ExecutionTable(ROWS)
    for number, call in enumerate(calls):
        start = StepStartedEvent(
            subplan="", step=call.step, firing=number, execution=1, agent=call.agent, pools=call.pools,
            session=call.session, transition="t", action="agent",
        )  # fmt: skip
        table.add(call.row, start, float(number))
    for number, call in enumerate(calls):
        for at, (outcome, cost, message) in enumerate(call.ends, start=100):
            fact = Ended(
                at=at, firing=number, execution=1, how=StepOutcome.DONE, stdout_bytes=7, stderr_bytes=8
            )
            end = StepFinishedEvent(
                subplan="", step=call.step, firing=number, execution=1, outcome=outcome, cost=cost,
                message=message, fact=fact,
            )  # fmt: skip
            table.end(call.row, end, float(at))
    return table


@given(CALLS)
def test_each_execution_has_its_start_and_its_last_end(calls: list[Call]) -> None:
    for number, (call, record) in enumerate(zip(calls, filled(calls), strict=True)):
        outcome, cost, message = call.ends[-1] if call.ends else (RUNNING, None, "")
        assert (record.row, record.step, record.agent) == (call.row, call.step, call.agent or "")
        assert (record.key, record.started_at) == (ExecutionKey(number, 1), float(number))
        assert (record.pools, record.session) == (call.pools or {}, call.session or "")
        assert (record.outcome, record.cost, record.message) == (outcome, cost, message)
        assert record.ended_at == (99.0 + len(call.ends) if call.ends else None)
        assert (record.out_bytes, record.err_bytes) == ((7, 8) if call.ends else (0, 0))
        assert record.is_bad == (outcome in {StepEnd.FAILED, StepEnd.REJECTED})


@given(CALLS)
def test_a_row_has_its_executions_in_order(calls: list[Call]) -> None:
    table = filled(calls)
    used = {call.row for call in calls}
    assert list(table.rows()) == sorted(used)
    for row in used:
        records = table.of(row)
        assert [record.key.firing for record in records] == [
            number for number, call in enumerate(calls) if call.row == row
        ]
        assert table.span(row) == (records[0].started_at, records[-1].ended_at)


def test_the_end_of_an_execution_that_never_started_is_overlooked() -> None:
    table = ExecutionTable(ROWS)
    table.end(1, StepFinishedEvent(subplan="", step="code", firing=1, outcome=StepEnd.DONE), 1.0)
    assert list(table) == table.of(1) == []
