"""Whose work a subplan builds on."""

from typing import Any

from weft.engine.run.orders import Launch, Merge, Prepare
from weft.engine.states import FailureReason, SubplanExecutionState, SubplanTracker
from weft.plan.loading.load import load_plan
from weft.ports.workspaces import WorkspaceRequest
from weft.runtime.lineage import Lineage

PLAN = """\
weft: 1
plan: p
isolation: dir
subplans:
  - id: base
    subplans:
      - {id: a, steps: [{id: s, run: x}]}
      - {id: b, depends_on: [a], steps: [{id: s, run: x}]}
  - id: parts
    depends_on: [base]
    copy: [.env]
    link: [cache]
    subplans:
      - {id: c, steps: [{id: s, run: x}]}
      - {id: d, isolation: none, steps: [{id: s, run: x}]}
      - {id: e, depends_on: [c, d], steps: [{id: s, run: x}]}
  - {id: alone, steps: [{id: s, run: x}]}
"""


def lineage(*completed: str) -> tuple[Lineage, dict[str, int]]:
    plan = load_plan(PLAN)
    tracker = SubplanTracker(plan.outline.paths[1:])
    for path in completed:
        tracker.advance(path, SubplanExecutionState.RUNNING)
        tracker.advance(path, SubplanExecutionState.COMPLETED)
    return Lineage(plan, tracker), {path: row for row, path in enumerate(plan.outline.paths)}


def about(kind: type[Any], path: str, rows: dict[str, int], **more: Any) -> Any:
    return kind(firing=1, execution=1, row=rows[path], path=path, **more)


def verify(path: str, rows: dict[str, int]) -> Launch:
    launch: Launch = about(Launch, path, rows, step="@verify", attempt=1, timeout=1.0, grace=1.0)
    return launch


def test_a_slice_that_depends_on_nothing_starts_with_nothing() -> None:
    found, rows = lineage()
    assert found.request(about(Prepare, "alone", rows)) == WorkspaceRequest(path="alone")


def test_a_slice_starts_with_all_that_it_and_the_groups_around_it_depend_on_near_and_far() -> None:
    found, rows = lineage()
    assert found.request(about(Prepare, "parts/e", rows)) == WorkspaceRequest(
        path="parts/e", after=("base/a", "base/b", "parts/c"), copy=(".env",), link=("cache",)
    )


def test_the_verify_of_a_group_sees_the_slices_in_it_that_have_directories() -> None:
    found, rows = lineage()
    assert found.gathered_for(verify("parts", rows)) == ("parts/c", "parts/e")


def test_nothing_is_brought_together_for_a_slice() -> None:
    found, rows = lineage()
    assert found.gathered_for(verify("alone", rows)) is None


def test_a_slice_is_merged_with_those_beside_it_that_are_completed() -> None:
    found, rows = lineage("base/a")
    assert found.merged_with(about(Merge, "base/b", rows)) == ("base/a", "base/b")
    assert found.merged_with(about(Merge, "base/a", rows)) == ("base/a",)


def test_a_group_is_merged_as_a_whole() -> None:
    found, rows = lineage("alone", "parts/c")
    assert found.merged_with(about(Merge, "base", rows)) == ("base/a", "base/b", "alone")


def test_the_result_is_that_of_all_completed_slices() -> None:
    found, _ = lineage("base/a", "parts/c", "parts/d")
    assert found.all_completed() == ("base/a", "parts/c")


def test_nothing_of_a_group_that_has_failed_is_in_the_result() -> None:
    plan = load_plan(PLAN)
    tracker = SubplanTracker(plan.outline.paths[1:])
    for path in ("base/a", "parts/c", "base"):
        tracker.advance(path, SubplanExecutionState.RUNNING)
    for path in ("base/a", "parts/c"):
        tracker.advance(path, SubplanExecutionState.COMPLETED)
    tracker.advance("base", SubplanExecutionState.FAILED, FailureReason.ERROR)
    assert Lineage(plan, tracker).all_completed() == ("parts/c",)


def test_a_slice_is_no_group() -> None:
    found, rows = lineage()
    assert found.is_slice(rows["alone"])
    assert not found.is_slice(rows["parts"])
