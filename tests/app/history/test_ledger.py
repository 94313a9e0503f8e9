"""What the runs of a plan spent since a person last reset its budget."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.pasts import Past, a_group, a_plan, a_slice, past
from stored_events import make_event
from weft.app.history.ceiling_use import CeilingUse, EarlierRuns, earlier_runs_of, read_earlier_runs
from weft.app.history.earlier_runs import earlier_runs
from weft.app.history.ledger import spent_before, spent_by
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import EarlierSpending

PLAN = a_plan(a_group("g", a_slice("a"), budget=1), a_slice("b"), budget={"usd": 2, "tokens": 1_000})
RESET = make_event(kind="budget", outcome="reset")


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Past]:
    with past(tmp_path) as made:
        yield made


def started(subplan: str, firing: int, **data: Any) -> AnyEvent:
    more = {"firing": firing, "execution": 1, "agent": "coder", **data}
    return make_event(kind="step_started", subplan=subplan, step="work", data=more)


def spent(subplan: str, firing: int, cost: int) -> AnyEvent:
    return make_event(
        kind="spent", subplan=subplan, step="work", cost=cost, data={"firing": firing, "execution": 1}
    )


def finished(
    subplan: str, firing: int, cost: int | None = None, outcome: str = "done", **more: Any
) -> AnyEvent:
    data = {"firing": firing, "execution": 1}
    return make_event(kind="step_finished", subplan=subplan, outcome=outcome, cost=cost, data=data, **more)


def ledger(runs: Past) -> dict[str, EarlierSpending]:
    result = spent_by(runs.journal, earlier_runs(runs.journal, PLAN.id))
    return {spending.subplan: spending for spending in result}


def test_runs_add_up(runs: Past) -> None:
    runs.ran("r1", PLAN, events=[started("g/a", 1), finished("g/a", 1, 300_000, tokens=7)], earlier=())
    recorded = (EarlierSpending(subplan="g/a", cost=300_000, tokens=7),)
    runs.ran("r2", PLAN, events=[started("g/a", 1), finished("g/a", 1, 200_000)], earlier=recorded)
    assert ledger(runs) == {"g/a": EarlierSpending(subplan="g/a", cost=500_000, tokens=7)}
    assert spent_before(runs.journal, PLAN.id, "r2") == recorded


def test_runs_of_an_old_journal_add_up(runs: Past) -> None:
    for name in ("r1", "r2", "r3"):
        runs.ran(name, PLAN, events=[started("b", 1), finished("b", 1, 300_000)])
    assert ledger(runs)["b"].cost == 900_000
    assert spent_before(runs.journal, PLAN.id, "r2") == (EarlierSpending(subplan="b", cost=300_000),)
    assert spent_before(runs.journal, PLAN.id, "r1") == ()


@pytest.mark.parametrize("is_recorded", [True, False])
def test_what_stands_before_a_reset_does_not_count(runs: Past, is_recorded: bool) -> None:
    earlier = (EarlierSpending(subplan="b", cost=1),) if is_recorded else None
    runs.ran("r1", PLAN, events=[started("b", 1), finished("b", 1, 300_000)])
    events = [started("b", 1), finished("b", 1, 20_000), RESET, started("b", 2), finished("b", 2, 4_000)]
    runs.ran("r2", PLAN, events=events, earlier=earlier)
    assert ledger(runs) == {"b": EarlierSpending(subplan="b", cost=4_000)}


def test_a_run_with_a_fresh_budget_has_no_earlier_runs(runs: Past) -> None:
    runs.ran("r1", PLAN, events=[started("b", 1), finished("b", 1, 300_000)])
    runs.ran("r2", PLAN, earlier=(), fresh_budget=True)
    assert ledger(runs) == {}


def test_an_agent_that_does_not_report_its_cost_keeps_what_was_reserved(runs: Past) -> None:
    runs.ran("r1", PLAN, events=[started("b", 1, reserved=50_000, reserved_tokens=9), finished("b", 1)])
    assert ledger(runs) == {"b": EarlierSpending(subplan="b", unknown=1, assumed=50_000, assumed_tokens=9)}


def test_an_agent_that_an_abandoned_run_left_has_spent_at_least_what_was_heard(runs: Past) -> None:
    events = [started("b", 1, reserved=50_000), spent("b", 1, 30_000)]
    runs.ran("r1", PLAN, events=events, state="abandoned")
    assert ledger(runs) == {"b": EarlierSpending(subplan="b", cost=30_000, unknown=1, assumed=20_000)}


def test_the_cost_of_a_step_that_is_no_agent_counts(runs: Past) -> None:
    runs.ran("r1", PLAN, events=[finished("b", 1, 5), finished("b", 2)])
    assert ledger(runs) == {"b": EarlierSpending(subplan="b", cost=5)}


def test_a_check_reports_each_ceiling_below_which_something_was_spent(runs: Past) -> None:
    runs.ran("r1", PLAN, events=[started("g/a", 1), finished("g/a", 1, 1_500_000, tokens=400)])
    result = read_earlier_runs(PLAN, runs.root / ".weft" / "weft.db")
    assert result.ceilings == (
        CeilingUse(path="", unit="usd", spent=1_500_000, ceiling=2_000_000),
        CeilingUse(path="", unit="tokens", spent=400, ceiling=1_000),
        CeilingUse(path="g", unit="usd", spent=1_500_000, ceiling=1_000_000),
    )
    assert [use.is_used_up for use in result.ceilings] == [False, False, True]
    assert result.to_json() == {
        "usd": 1.5,
        "tokens": 400,
        "unknown": 0,
        "ceilings": [
            {"path": "", "unit": "usd", "spent": 1.5, "ceiling": 2.0, "unreported": 0.0},
            {"path": "", "unit": "tokens", "spent": 400, "ceiling": 1_000, "unreported": 0},
            {"path": "g", "unit": "usd", "spent": 1.5, "ceiling": 1.0, "unreported": 0.0},
        ],
    }


def test_without_a_journal_that_can_be_read_nothing_was_spent(runs: Past) -> None:
    assert read_earlier_runs(PLAN, runs.root / "nowhere") == EarlierRuns()
    runs.spoil()
    assert read_earlier_runs(PLAN, runs.root / ".weft" / "weft.db") == EarlierRuns()


def test_without_spending_there_is_nothing_to_report() -> None:
    assert earlier_runs_of(PLAN, ()) == EarlierRuns()
