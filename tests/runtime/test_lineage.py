"""Whose work a subplan builds on."""

from typing import Any

from msgspec.structs import replace

from weft.engine.messages.orders import Launch, Merge, Prepare
from weft.engine.states import FailureReason, SubplanExecutionState, SubplanTracker
from weft.ids import SubplanPath
from weft.plan.loader.load import load_plan
from weft.ports.workspaces import GroupPart, MergeRequest, WorkspaceRequest
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
    title: The parts
    depends_on: [base]
    strict_files: true
    merge: {take_branch: ["*.lock"]}
    copy: [.env]
    link: [cache]
    subplans:
      - {id: c, title: c, files: [src/c/**], verify: [one, [two, "2"]], steps: [{id: s, run: x}]}
      - {id: d, isolation: none, steps: [{id: s, run: x}]}
      - {id: e, depends_on: [c, d], verify: [three, one], steps: [{id: s, run: x}]}
  - {id: alone, verify: [four], steps: [{id: s, run: x}]}
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
    result, rows = lineage()
    assert result.request(about(Prepare, "alone", rows)) == WorkspaceRequest(path="alone")


def test_a_slice_starts_with_all_that_it_and_the_groups_around_it_depend_on_near_and_far() -> None:
    result, rows = lineage()
    assert result.request(about(Prepare, "parts/e", rows)) == WorkspaceRequest(
        path="parts/e", after=("base/a", "base/b", "parts/c"), copy=(".env",), link=("cache",)
    )


def test_the_verify_of_a_group_sees_the_slices_in_it_that_have_directories() -> None:
    result, rows = lineage()
    assert result.gathered_for(verify("parts", rows)) == MergeRequest(
        path="parts",
        subject="Merge parts: The parts",
        slices=("parts/c", "parts/e"),
        is_group=True,
        copy=(".env",),
        link=("cache",),
    )


def test_nothing_is_brought_together_for_a_group_in_the_plan_s_own_directory() -> None:
    plan = load_plan(PLAN.replace("title: The parts", "isolation: none"))
    rows = {str(path): row for row, path in enumerate(plan.outline.paths)}
    assert Lineage(plan, SubplanTracker(plan.outline.paths[1:])).gathered_for(verify("parts", rows)) is None


def test_nothing_is_brought_together_for_a_slice() -> None:
    result, rows = lineage()
    assert result.gathered_for(verify("alone", rows)) is None


def merged(path: str, *completed: str) -> MergeRequest:
    result, rows = lineage(*completed)
    return result.merge(about(Merge, path, rows))


def test_a_slice_is_merged_with_those_beside_it_that_are_completed() -> None:
    assert merged("base/b", "base/a").slices == ("base/a", "base/b")
    assert merged("base/a", "base/b").slices == ("base/a", "base/b")
    assert merged("base/a").slices == ("base/a",)


def test_a_group_is_merged_as_a_whole() -> None:
    assert merged("base", "alone", "parts/c").slices == ("base/a", "base/b", "alone")


def test_a_merge_is_asked_for_with_all_that_the_plan_says_about_it() -> None:
    assert merged("parts/c") == MergeRequest(
        path="parts/c",
        subject="Merge parts/c",
        slices=("parts/c",),
        take_branch=("*.lock",),
        files=("src/c/**",),
        verifies=True,
        copy=(".env",),
        link=("cache",),
    )


def test_a_merge_says_whether_an_agent_was_to_resolve_its_conflict() -> None:
    assert not merged("parts/c").resolved
    result, rows = lineage()
    assert result.merge(about(Merge, "parts/c", rows, resolved=True)).resolved


def test_a_group_may_change_whatever_those_in_it_may() -> None:
    request = merged("parts")
    assert (request.files, request.is_group) == (None, True)
    assert request.subject == "Merge parts: The parts"


def test_files_bind_only_where_the_plan_is_strict() -> None:
    assert merged("alone").files is None


def test_a_slice_is_verified_by_its_own_verify() -> None:
    result, rows = lineage()
    assert result.verify_of(rows["parts/c"]) == ("one", ("two", "2"))
    assert result.verify_of(rows["base/a"]) == ()


def test_a_group_without_a_verify_is_verified_by_those_of_what_is_in_it_each_once() -> None:
    result, rows = lineage()
    assert result.verify_of(rows["parts"]) == ("one", ("two", "2"), "three")
    assert result.verify_of(rows[""]) == ("one", ("two", "2"), "three", "four")


def test_a_group_with_a_verify_has_no_need_of_others() -> None:
    plan = load_plan(PLAN.replace("title: The parts", "verify: [all]"))
    row = list(plan.outline.paths).index(SubplanPath("parts"))
    assert Lineage(plan, SubplanTracker(plan.outline.paths[1:])).verify_of(row) == ("all",)


def test_what_nothing_verifies_is_not_verified() -> None:
    assert not merged("base").verifies
    assert merged("parts").verifies


def test_the_whole_is_all_that_is_completed() -> None:
    result, _ = lineage("base/a", "parts/c", "parts/d")
    assert result.whole() == MergeRequest(
        path="", subject="Merge p", slices=("base/a", "parts/c"), is_group=True
    )


def test_the_result_is_that_of_all_completed_slices() -> None:
    result, _ = lineage("base/a", "parts/c", "parts/d")
    assert result.all_completed() == ("base/a", "parts/c")


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
    result, rows = lineage()
    assert result.is_slice(rows["alone"])
    assert not result.is_slice(rows["parts"])


# --- the parts of a group ---

PARTED = """
weft: 1
plan: p
subplans:
  - id: g
    verify: [all]
    subplans:
      - {id: a, title: First, merge: {take_branch: ["*.lock"]}, steps: [{id: s, run: x}]}
      - {id: deep, subplans: [{id: x, depends_on: [/g/a, /other], steps: [{id: s, run: x}]}]}
      - {id: plain, isolation: none, steps: [{id: s, run: x}]}
      - {id: b, depends_on: [deep/x], steps: [{id: s, run: x}]}
  - {id: other, steps: [{id: s, run: x}]}
"""
PARTS = (
    GroupPart(path="g/a", subject="Merge g/a: First", needs=(), take_branch=("*.lock",)),
    GroupPart(path="g/deep", subject="Merge g/deep", after=("g/a",)),
    GroupPart(path="g/b", subject="Merge g/b", after=("g/deep",), needs=("g/a", "g/deep/x", "other")),
)


def parted() -> tuple[Lineage, dict[str, int]]:
    plan = load_plan(PARTED)
    tracker = SubplanTracker(plan.outline.paths[1:])
    return Lineage(plan, tracker), {path: row for row, path in enumerate(plan.outline.paths)}


def test_the_parts_of_a_group_come_with_their_dependencies_in_it() -> None:
    result, rows = parted()
    request = result.with_parts(verify("g", rows))
    assert request is not None
    assert result.gathered_for(verify("g", rows)) == replace(request, parts=())
    assert (request.parts, request.without) == (PARTS, ())


def test_the_merge_of_a_group_without_some_names_them_and_the_parts() -> None:
    result, rows = parted()
    request = result.merge(about(Merge, "g", rows, without=("g/b",)))
    assert (request.parts, request.without) == (PARTS, ("g/b",))


def test_other_merges_need_no_parts() -> None:
    result, rows = parted()
    for order in (about(Merge, "g", rows), about(Merge, "g/a", rows)):
        request = result.merge(order)
        assert (request.parts, request.without) == ((), ())
