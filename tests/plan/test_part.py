"""A plan of which only a part is left: each slice in it is what it was, and the text of it is the same part."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plan.plan_strategies import SMALL, plan_texts
from weft.ids import SubplanPath
from weft.plan.compile.compile import compile_plan
from weft.plan.digests import plan_digest, subplan_digests
from weft.plan.display.show import record_plan
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan
from weft.plan.order.selection import select
from weft.plan.part import part_of
from weft.plan.proof.prove import prove

STORE = load_plan("""
weft: 1
plan: notes
isolation: dir
verify: make all
subplans:
  - id: store
    verify: make store
    max_parallel: 2
    subplans:
      - {id: model, steps: [{id: work, run: "true"}]}
      - {id: disk, depends_on: [model], steps: [{id: work, run: "true"}]}
  - {id: cli, depends_on: [store], verify: make cli, steps: [{id: work, run: "true"}]}
""")


def part(plan: Plan, *paths: str) -> Plan:
    return part_of(
        plan, select(plan.outline, [plan.outline.paths.index(SubplanPath(path)) for path in paths])
    )


@pytest.mark.parametrize(
    ("chosen", "verified"),
    [
        ("store/model", {"": 0, "store": 0, "store/model": 0}),
        ("store", {"": 0, "store": 1, "store/model": 0, "store/disk": 0}),
        ("cli", {"": 1, "store": 1, "store/model": 0, "store/disk": 0, "cli": 1}),
    ],
)
def test_a_group_is_verified_only_if_all_of_it_is_there(chosen: str, verified: dict[str, int]) -> None:
    left = part(STORE, chosen)
    verify = [len(subplan.verify) for subplan in left.subplans]
    assert dict(zip(left.outline.paths, verify, strict=True)) == verified


def test_what_holds_for_a_subplan_still_does() -> None:
    left = part(STORE, "store/model")
    assert [scope.settings.max_parallel for scope in left.scopes] == [4, 2, 2]


@settings(max_examples=60)
@given(plan_texts(SMALL), st.data())
def test_digests_do_not_know_of_what_is_not_needed(text: str, data: st.DataObject) -> None:
    plan = load_plan(text)
    rows = data.draw(st.sets(st.integers(0, len(plan.subplans) - 1), min_size=1))
    selection = select(plan.outline, rows)
    left = part_of(plan, selection)
    before, after = subplan_digests(plan), subplan_digests(left)
    whole = [(number, row) for number, row in enumerate(selection.rows) if row not in selection.parts]
    assert [after[number] for number, _ in whole] == [before[row] for _, row in whole]


@settings(max_examples=60)
@given(plan_texts(SMALL), st.data())
def test_its_text_gives_it_back(text: str, data: st.DataObject) -> None:
    plan = load_plan(text)
    row = data.draw(st.integers(0, len(plan.subplans) - 1))
    left = part_of(plan, select(plan.outline, [row]))
    again = load_plan(record_plan(left))
    assert again.outline == left.outline
    assert plan_digest(again) == plan_digest(left)
    assert prove(compile_plan(left)).answer == "proved"
