"""Where an agent resolves conflicts: the way of a slice's merge in the net."""

import pytest

from plan.compile.compiled_plans import group, leaf, plan, rendered, run, shape_of
from weft.net.verdict import Answer
from weft.plan.compile.parts import Role
from weft.plan.proof.prove import prove
from weft.plan.proof.words import in_words

RESOLVES = {"merge": {"resolve": "agent"}}


def lines(**more: object) -> list[str]:
    """Of the net of a slice, all that is about its merge."""
    shape = shape_of(run("x"), **more)
    result = rendered(shape.net)
    return [
        line for line in result if any(word in line.split(":")[0] for word in ("merge", "resolve", "drop"))
    ]


def test_a_conflict_leads_to_an_agent_and_then_to_a_merge_that_is_the_last() -> None:
    assert lines(**RESOLVES) == [
        "drop: over → end",
        "merge: over + branch → done, failed, cancelled, lost, infra: end | conflict: conflict",
        "stop resolve: conflict → end",
        "resolve: conflict + agent:coder → done, failed, lost, infra: resolved | cancelled: end",
        "stop merge again: resolved → end",
        "merge again: resolved + branch → done, conflict, failed, cancelled, lost, infra: end",
    ]


def test_what_is_lost_is_retried_within_its_bound_everywhere() -> None:
    result = lines(**RESOLVES, infra_retries=1)
    assert [line for line in result if "~" in line.split(":")[0]] == [
        "stop merge~1: merge~1 ready → end",
        "merge~1: merge~1 ready + branch → done, failed, cancelled, lost, infra: end | conflict: conflict",
        "stop resolve~1: resolve~1 ready → end",
        "resolve~1: resolve~1 ready + agent:coder → done, failed, lost, infra: resolved | cancelled: end",
        "stop merge again~1: merge again~1 ready → end",
        "merge again~1: merge again~1 ready + branch → done, conflict, failed, cancelled, lost, infra: end",
    ]


def test_it_takes_the_turn_where_there_is_one_and_no_pool_of_an_agent_without_one() -> None:
    result = lines(**RESOLVES, policy="serial", agent="tester")
    assert "resolve: conflict + turn → done, failed, lost, infra: resolved | cancelled: end" in result


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"merge": {"resolve": "hold"}},
        {**RESOLVES, "isolation": "dir"},
        {**RESOLVES, "isolation": "none", "policy": "serial"},
    ],
)
def test_elsewhere_nothing_changes(more: dict[str, object]) -> None:
    assert [line for line in lines(**more) if "resolve" in line] == []


def test_groups_and_landings_have_no_agent_for_their_conflicts() -> None:
    compiled_plan = plan(group("g", leaf("a")), **RESOLVES)
    roles = {
        str(compiled_plan.plan.outline.paths[row]): {
            act.role for act in compiled_plan.shapes[compiled_plan.shape_of[row]].acts
        }
        for row in (1, 2)
    }
    assert (Role.RESOLVE in roles["g"], Role.RESOLVE in roles["g/a"]) == (False, True)
    assert all(
        act.role is not Role.RESOLVE for act in compiled_plan.shapes[compiled_plan.landing_shapes[0]].acts
    )


def test_slices_with_and_without_it_stand_in_one_plan_that_is_proved_to_end() -> None:
    compiled_plan = plan(
        leaf("a", **RESOLVES), leaf("b"), leaf("c", **RESOLVES, policy="serial"), infra_retries=2
    )
    assert compiled_plan.shape_of[1] != compiled_plan.shape_of[2]
    assert prove(compiled_plan).answer is Answer.PROVED
    assert compiled_plan.pools == {"agent:coder": 2}


def test_a_run_of_it_can_be_reported_in_words() -> None:
    shape = shape_of(run("x"), **RESOLVES)
    trace = ["merge.start", "merge.conflict", "resolve.start", "resolve.failed", "merge again.start"]
    assert list(in_words(shape, "a", trace)) == [
        "a: its merge starts",
        "a: its merge meets a conflict",
        "a: the agent that resolves its conflict starts",
        "a: the agent that resolves its conflict fails",
        "a: its merge starts",
    ]
