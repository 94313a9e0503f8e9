"""What is read of a plan from the record of its run is what is in the plan."""

import json

from hypothesis import given
from hypothesis import strategies as st

from plan.plan_strategies import plan_texts
from weft.app.record.run_record import RecordedPlan, recorded_plan
from weft.plan.display.show import record_plan, show_plan
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.text.document import LIMITS
from weft.plan.text.problems import PlanError
from weft.ports.journal import RunRecord


def recorded(plan: Plan, text: str) -> RecordedPlan:
    record = RunRecord(
        run="r", plan=plan.id, file="f", directory="/", text=text, digest="", created_at=0.0, state="running"
    )
    return recorded_plan(record)


def depends_on(plan: Plan, row: int) -> set[str]:
    names: set[str] = set()
    while row != ROOT:
        names |= {plan.outline.paths[dep] for dep in plan.outline.depends_on[row]}
        row = plan.outline.parents[row]
    return names


@given(plan_texts(), st.sampled_from([record_plan, show_plan]))
def test_it_is_what_the_plan_says(text, written) -> None:
    try:
        plan = load_plan(text)
    except PlanError:
        return
    result = recorded(plan, written(plan))
    assert list(result.paths) == plan.outline.paths[1:]
    for row, path in enumerate(plan.outline.paths[1:], 1):
        item, settings = result.subplan(path), plan.scopes[row].settings
        is_leaf = plan.outline.is_leaf(row)
        lands = is_leaf if settings.merge_when == "slice" else plan.outline.parents[row] == ROOT
        assert (result.slices([path]) == [path], item.is_leaf, item.lands) == (is_leaf, is_leaf, lands)
        assert set(item.depends_on) == depends_on(plan, row)
        assert item.steps == (len(plan.pipeline_of(row).steps) if is_leaf else 0)
        assert (item.has_branch, item.branch_prefix) == (
            settings.isolation == "worktree",
            settings.branch_prefix,
        )
    ways = [result.subplan(path) for path in result.paths]
    assert result.landing(result.paths) == [way.path for way in ways if way.lands and way.has_branch]


def test_a_plan_may_be_as_deep_as_a_file() -> None:
    levels = LIMITS.depth
    data: dict[str, object] = {"id": "s", "steps": []}
    for _ in range(levels):
        data = {"id": "s", "subplans": [data]}
    result = RecordedPlan("deep", json.dumps({"subplans": [data]}).encode())
    assert len(result.paths) == levels + 1
    assert result.subplan("/".join(["s"] * (levels + 1))).is_leaf
