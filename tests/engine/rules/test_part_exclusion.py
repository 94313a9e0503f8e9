"""A group whose verify passes without some of what is in it: when it goes on so, and what that means to others."""

import pytest

from engine.run.stories import Data, Story, after, fails, group, leaf, plan, tell
from weft.engine.messages.facts import StepOutcome
from weft.engine.messages.orders import Land, Merge
from weft.engine.simulate import Interruptions, SimulatedEnd

AB = ("g/a", "g/b")
RED = fails("a and b break it", culprits=AB, left_out=AB)
GOES_ON = {"failure_mode": "continue_on_error"}


def g(**more: object) -> Data:
    return group("g", leaf("a"), leaf("b"), leaf("c"), verify="check", **more)


def told(*others: Data, how: SimulatedEnd = RED, path: str = "g", **head: object) -> Story:
    return tell(plan(g(), *others, **(GOES_ON | head)), {f"{path}:@verify": how})


def merges(story: Story) -> list[tuple[str, tuple[str, ...]]]:
    """Of groups, without whom they were merged."""
    result = [order for order in story.run.orders if isinstance(order, Merge)]
    return [(order.path, order.without) for order in result if order.path in {"g", "p", "p/g"}]


def landings(story: Story) -> list[str]:
    return [order.path for order in story.run.orders if isinstance(order, Land)]


# --- it goes on ---


def test_the_group_is_merged_without_them_and_lands() -> None:
    story = told()
    assert merges(story) == [("g", AB)]
    assert landings(story) == ["g"]


def test_each_one_that_is_left_out_is_told_of() -> None:
    story = told()
    assert [(event.subplan, event.data) for event in story.of("left_out")] == [
        (path, {"group": "g", "message": "a and b break it", "culprits": list(AB)}) for path in AB
    ]
    (end,) = story.of("step_finished", "g", "@verify")
    assert (end.outcome, end.data["culprits"]) == ("failed", list(AB))


def test_what_was_done_is_completed_and_the_run_has_failed() -> None:
    story = told()
    assert set(story.states.values()) == {"completed"}
    assert story.state == "failed"
    assert story.last.data["message"] == "left out: g/a, g/b; a and b break it"
    assert (story.last.data["cause"], story.last.data["reason"]) == ("g", "error")


def test_what_depends_on_the_group_is_blocked_and_others_go_on() -> None:
    story = told(leaf("later", depends_on=["g"]), leaf("apart"))
    assert (story.states["later"], story.states["apart"]) == ("blocked", "completed")
    assert story.why("later")["message"] == "blocked by g, without a part that was left out"
    assert story.why("later")["cause"] == "g"
    assert landings(story) == ["g", "apart"]


def test_the_group_around_it_goes_on_and_what_depends_on_that_is_blocked() -> None:
    inner = plan(group("p", g(), verify="all"), leaf("later", depends_on=["p"]), **GOES_ON)
    red = fails("no", culprits=("p/g/a",), left_out=("p/g/a",))
    story = tell(inner, {"p/g:@verify": red})
    assert merges(story) == [("p/g", ("p/g/a",)), ("p", ())]
    assert [event.outcome for event in story.of("step_finished", "p", "@verify")] == ["done"]
    assert (story.states["p"], story.states["later"], story.state) == ("completed", "blocked", "failed")


def test_the_plan_is_still_verified() -> None:
    story = told(verify="all")
    assert [event.outcome for event in story.of("step_finished", step="@verify")] == ["failed", "done"]
    assert story.last.data["message"].startswith("left out: g/a, g/b")


@pytest.mark.parametrize("facts", range(1, 24))
def test_a_successor_comes_to_the_same(facts: int) -> None:
    alone = told()
    again = tell(plan(g(), **GOES_ON), {"g:@verify": RED}, interruptions=Interruptions(dies=after(facts)))
    assert merges(again) == merges(alone)
    assert (again.states, again.state) == (alone.states, alone.state)
    assert [event.subplan for event in again.of("left_out")] == list(AB)


# --- it does not ---


def check_failed(story: Story, path: str = "g") -> None:
    assert story.of("left_out") == []
    assert merges(story) == []
    assert story.state == "failed"
    assert story.why(path)["message"] == "@verify: a and b break it (check)"


def test_under_fail_fast_the_group_has_failed() -> None:
    story = told(failure_mode="fail_fast")
    check_failed(story)
    assert landings(story) == []


def test_where_nothing_passes_without_them_the_group_has_failed() -> None:
    check_failed(told(how=fails("a and b break it", culprits=AB)))


def test_where_slices_land_by_themselves_the_group_has_failed() -> None:
    story = tell(plan(g(), merge={"when": "slice"}, **GOES_ON), {"g:@verify": RED})
    check_failed(story)
    assert landings(story) == ["g/a", "g/b", "g/c"]


def test_where_something_outside_has_their_work_the_group_has_failed() -> None:
    story = told(leaf("user", depends_on=["g/b"]))
    check_failed(story)
    assert story.states["user"] == "completed"


def test_where_something_outside_has_the_work_of_one_in_them_the_group_has_failed() -> None:
    deep = group("g", group("a", leaf("x")), leaf("b"), leaf("c"), verify="check")
    story = tell(plan(deep, leaf("user", depends_on=["g/a/x"]), **GOES_ON), {"g:@verify": RED})
    check_failed(story)


def test_who_depends_on_others_in_the_group_is_no_reason_not_to_go_on() -> None:
    story = told(leaf("user", depends_on=["g/c"]))
    assert merges(story) == [("g", AB)]
    assert story.states["user"] == "completed"


def test_the_whole_plan_has_failed() -> None:
    whole = plan(leaf("a"), leaf("b"), leaf("c"), verify="check", **GOES_ON)
    story = tell(whole, {":@verify": fails("no", culprits=("a",), left_out=("a",))})
    assert (story.of("left_out"), story.state) == ([], "failed")
    assert story.last.data["message"] == "@verify: no (check)"


def test_a_group_that_is_being_cancelled_goes_on_with_nothing() -> None:
    """Its verify fails just after it was told to end."""
    others = (g(**GOES_ON), leaf("bad"))
    calm = tell(plan(*others), {"g:@verify": RED})
    moment = calm.span("g:@verify")[1] - calm.span("bad:work")[0] - 0.0005
    story = tell(plan(*others), {"g:@verify": RED, "bad:work": fails(seconds=moment)})
    assert [event.outcome for event in story.of("step_finished", "g", "@verify")] == ["failed"]
    assert (story.of("left_out"), merges(story)) == ([], [])
    assert (len(calm.of("left_out")), merges(calm)) == (2, [("g", AB)])


def test_an_end_that_is_no_failure_of_the_work_leaves_nobody_out() -> None:
    compiled = plan(g(), infra_retries=0, **GOES_ON)
    story = tell(compiled, {"g:@verify": SimulatedEnd(how=StepOutcome.LOST, left_out=AB)})
    assert (story.of("left_out"), story.states["g"]) == ([], "lost")
