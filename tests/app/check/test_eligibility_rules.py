"""Which slices can start and why the others cannot, by the plan and by what has become of it."""

from typing import Any

import pytest

from app.pasts import a_group, a_plan, a_slice
from weft.app.check.eligibility_rules import BlockKind, Eligibility, Facts, UnlandedResult, judge
from weft.plan.compile.compile import compile_plan

PLAN = compile_plan(
    a_plan(
        a_group("store", a_slice("model"), a_slice("disk", "model")),
        a_slice("cli", "store"),
        a_slice("docs", merge={"when": "slice"}),
    )
)
BY = dict.fromkeys(["store/model", "store/disk", "store", "docs"], "r1")
STORE = UnlandedResult(path="store", branch="weft/tried/store", command="weft merge store", is_group=True)


def judged(**facts: Any) -> Eligibility:
    return judge(PLAN, Facts(**facts))


def able(found: Eligibility) -> dict[str, str]:
    return {candidate.path: candidate.reason for candidate in found.eligible}


def unable(found: Eligibility) -> dict[str, str]:
    return {refusal.path: refusal.reason for refusal in found.ineligible}


def test_before_anything_is_run_the_plan_alone_decides() -> None:
    verdict = judge(PLAN)
    nothing = "nothing it depends on"
    assert able(verdict) == {"store/model": nothing, "docs": nothing}
    assert unable(verdict) == {"store/disk": "blocked by store/model", "cli": "blocked by store"}
    assert verdict.is_known


def test_a_complete_slice_is_not_repeated_and_blocks_nothing() -> None:
    verdict = judged(done={"store/model": "r1", "docs": "r2"})
    assert able(verdict) == {"store/disk": "all it depends on is complete: store/model"}
    assert unable(verdict) == {
        "store/model": "already complete: by run r1, and the plan has not changed it since",
        "docs": "already complete: by run r2, and the plan has not changed it since",
        "cli": "blocked by store",
    }


def test_a_group_is_waited_for_until_it_is_complete_itself() -> None:
    slices = {"store/model": "r1", "store/disk": "r1"}
    assert unable(judged(done=slices))["cli"] == "blocked by store"
    assert able(judged(done=slices | {"store": "r1"}))["cli"] == "all it depends on is complete: store"


def test_only_what_is_not_complete_of_several_is_named() -> None:
    plan = compile_plan(
        a_plan(a_slice("a"), a_slice("b"), a_group("g", a_slice("c", "/b"), depends_on=["a"]))
    )
    verdict = judge(plan, Facts(done={"b": "r1"}))
    assert unable(verdict)["g/c"] == "blocked by a"
    assert judge(plan, Facts(done={"a": "r1", "b": "r1"})).eligible[0].after == ("b", "a")


def test_a_serialized_slice_does_not_wait_for_a_complete_one() -> None:
    plan = compile_plan(a_plan(a_slice("a", files=["x"]), a_slice("b", files=["x"]), overlap="serialize"))
    assert unable(judge(plan)) == {"b": "waits for a (overlap)"}
    assert able(judge(plan, Facts(done={"a": "r1"}))) == {"b": "nothing it depends on"}


def test_an_unlanded_result_is_reported_for_each_slice_and_blocks_nothing() -> None:
    verdict = judged(done=BY, unlanded={"store": STORE})
    text = "unmerged: complete, and has not landed; it is on weft/tried/store; to land it, type: weft merge store"
    assert {path: reason for path, reason in unable(verdict).items() if path != "docs"} == {
        "store/model": text,
        "store/disk": text,
    }
    assert [refusal.kind for refusal in verdict.ineligible] == [
        BlockKind.UNMERGED,
        BlockKind.UNMERGED,
        BlockKind.COMPLETE,
    ]
    assert able(verdict) == {"cli": "all it depends on is complete: store"}


def test_with_merge_when_slice_a_slice_lands_by_itself() -> None:
    docs = UnlandedResult(path="docs", branch="weft/tried/docs")
    verdict = judged(done=BY, unlanded={"docs": docs})
    assert unable(verdict)["docs"] == (
        "unmerged: complete, and has not landed; it is on weft/tried/docs; it waits for the next run of the plan"
    )


def test_a_slice_that_is_held_before_it_is_merged_is_not_done_again_and_holds_up_others() -> None:
    held = UnlandedResult(
        path="store/model", branch="weft/tried/store.model", command="weft merge store/model", is_done=False
    )
    verdict = judged(unlanded={"store/model": held})
    assert unable(verdict)["store/model"] == (
        "unmerged: done, and is held before it is merged; it is on weft/tried/store.model; "
        "to merge it, type: weft merge store/model"
    )
    assert unable(verdict)["store/disk"] == "blocked by store/model"


def test_where_nothing_can_be_read_nothing_is_guessed() -> None:
    verdict = judged(unread={"": "the journal: it is torn"})
    assert verdict.eligible == ()
    assert unable(verdict) == dict.fromkeys(
        ["store/model", "store/disk", "cli", "docs"], "cannot read: the journal: it is torn"
    )
    assert not verdict.is_known


@pytest.mark.parametrize(
    ("facts", "paths"),
    [
        ({"done": BY, "unread": {"store": "its branch"}}, ["store/model", "store/disk"]),
        ({"unread": {"store/model": "its branch"}}, ["store/model"]),
        ({"unread": {"store": "its branch"}}, []),
    ],
)
def test_where_one_result_cannot_be_read_that_is_said_of_what_is_in_it(
    facts: dict[str, Any], paths: list[str]
) -> None:
    verdict = judged(**facts)
    assert [refusal.path for refusal in verdict.ineligible if refusal.kind is BlockKind.UNREADABLE] == paths


def test_for_programs() -> None:
    result = judged(done={"store/model": "r1"}, unread={}).to_json()
    assert result["eligible"] == [
        {
            "path": "store/disk",
            "reason": "all it depends on is complete: store/model",
            "after": ["store/model"],
        },
        {"path": "docs", "reason": "nothing it depends on", "after": []},
    ]
    assert result["ineligible"] == [
        {
            "path": "store/model",
            "kind": "complete",
            "reason": "already complete: by run r1, and the plan has not changed it since",
            "blocked_by": [],
            "apart_from": [],
            "run": "r1",
            "lands_with": None,
            "branch": None,
            "command": None,
        },
        {
            "path": "cli",
            "kind": "blocked",
            "reason": "blocked by store",
            "blocked_by": ["store"],
            "apart_from": [],
            "run": None,
            "lands_with": None,
            "branch": None,
            "command": None,
        },
    ]
    unlanded = judged(done=BY, unlanded={"store": STORE}).ineligible[0].to_json()
    assert (unlanded["lands_with"], unlanded["branch"], unlanded["command"]) == (
        "store",
        "weft/tried/store",
        "weft merge store",
    )
