"""Which work goes first."""

from plan.compile.compiled_plans import firings, group, leaf, plan
from weft.net.game import TokenGame
from weft.plan.compile.parts import Role
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.compile.priorities import priorities


def minutes(much: float) -> dict[str, dict[str, float]]:
    return {"estimate": {"minutes": much}}


def ranks(compiled_plan: CompiledPlan) -> list[int]:
    return priorities(compiled_plan.plan, compiled_plan.after)


def begun(compiled_plan: CompiledPlan) -> list[str]:
    """What begins, one after the other, if nothing is left out and always the highest, then the first goes on."""
    game, net = TokenGame(compiled_plan.net), compiled_plan.net
    left_out = {t for t, act in enumerate(compiled_plan.assembled.acts) if act.role in {Role.STOP, Role.DROP}}
    fired = firings(game, left_out, lambda t: (net.priorities[t], -t))
    explored = [
        (compiled_plan.assembled.acts[number], compiled_plan.assembled.rows[number]) for number in fired
    ]
    begun_rows = [row for act, row in explored if act.role is Role.BEGIN or act.kind == "verify"]
    return [compiled_plan.plan.outline.paths[row] or "the plan" for row in begun_rows]


def test_the_longer_the_path_behind_it_the_sooner_it_goes():
    compiled_plan = plan(leaf("a"), leaf("b"), leaf("c", "b"), leaf("d", "c"))
    assert begun(compiled_plan) == ["b", "c", "a", "d"]


def test_estimates_count_as_the_middle_of_what_they_say():
    compiled_plan = plan(
        leaf("a", **minutes(4)), leaf("b", **minutes(6)), leaf("c", estimate={"minutes": "1..9"})
    )
    _, a, b, c = ranks(compiled_plan)
    assert b > c > a


def test_equal_slices_go_in_the_order_of_the_plan():
    assert begun(plan(leaf("a"), leaf("b"), leaf("c"))) == ["a", "b", "c"]


def test_what_is_put_in_order_because_of_files_counts_as_a_path():
    compiled_plan = plan(leaf("a"), leaf("b", files=["x"]), leaf("c", files=["x"]), overlap="serialize")
    _, a, b, c = ranks(compiled_plan)
    assert b > a == c


def test_in_a_serial_group_the_order_of_the_plan_decides_and_a_group_ends_before_what_comes_after_it():
    compiled_plan = plan(
        group("g", leaf("a", **minutes(1)), leaf("b", **minutes(9)), verify="true"),
        leaf("c", **minutes(99)),
        policy="serial",
        verify="true",
    )
    assert begun(compiled_plan) == ["g/a", "g/b", "g", "c"]


def test_every_transition_of_a_subplan_has_its_priority():
    compiled_plan = plan(leaf("a"), leaf("b", "a"))
    expected = [ranks(compiled_plan)[row] for row in compiled_plan.assembled.rows]
    assert list(compiled_plan.net.priorities) == expected
