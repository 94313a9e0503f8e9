"""From a plan to its run: what is done, in which order, and what comes of it, under both policies."""

import pytest
from msgspec.structs import replace

from engine.run.stories import DONE, agent, ends, fails, group, leaf, plan, run, says, tell
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import data_of
from weft.engine.messages.facts import RunStarted, StepOutcome
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.compile.wait_graph import Wiring

POLICIES = pytest.mark.parametrize("policy", ["serial", "parallel"])
ACCEPTED = says({"accepted": True, "reasons": []})
REJECTED = says({"accepted": False, "reasons": ["the edge case is missing"]})


def tdd(policy: str, **more: object) -> CompiledPlan:
    return plan(
        group("g", {"id": "a", "prompt": "sort", "pipeline": "tdd", "verify": "pytest", **more}),
        policy=policy,
    )


@POLICIES
def test_one_group_with_one_slice_completes_and_nothing_else_is_told(policy: str) -> None:
    story = tell(plan(group("g", leaf("a")), policy=policy))
    assert story.state == "completed"
    assert story.states == {"g": "completed", "g/a": "completed"}
    assert story.last.data["counts"] == {"pending": 0, "running": 0, "completed": 2, "failed": 0}


@POLICIES
def test_tests_come_before_code_then_check_then_judge(policy: str) -> None:
    story = tell(tdd(policy), {"g/a:judge": ACCEPTED})
    assert story.started == ["g/a:tests", "g/a:code", "g/a:check", "g/a:judge"]


@POLICIES
def test_each_step_leaves_an_event_with_its_outcome(policy: str) -> None:
    story = tell(tdd(policy), {"g/a:judge": ACCEPTED})
    assert story.finished == ["g/a:tests done", "g/a:code done", "g/a:check done", "g/a:judge done"]


@POLICIES
def test_a_slice_that_depends_on_another_starts_when_all_of_that_has_ended(policy: str) -> None:
    two = [run("one"), run("two")]
    story = tell(plan(leaf("b", *two, depends_on=["a"]), leaf("a", *two), policy=policy))
    assert story.started == ["a:one", "a:two", "b:one", "b:two"]
    assert story.span("a:@merge")[1] <= story.span("b:one")[0]
    assert list(story.states) == ["b", "a"]


@POLICIES
def test_a_group_that_depends_on_another_starts_after_all_of_it(policy: str) -> None:
    story = tell(
        plan(group("g", leaf("a"), leaf("b")), group("h", leaf("c"), depends_on=["g"]), policy=policy)
    )
    assert story.started == ["g/a:work", "g/b:work", "h/c:work"]


@POLICIES
def test_a_slice_may_depend_on_a_slice_of_another_group(policy: str) -> None:
    slow = leaf("slow", run("work"), run("more"), run("most"))
    story = tell(plan(group("g", leaf("a"), slow), group("h", leaf("c", depends_on=["/g/a"])), policy=policy))
    assert story.span("g/a:work")[1] <= story.span("h/c:work")[0]
    assert story.state == "completed"


@POLICIES
def test_a_group_completes_when_its_verify_passes(policy: str) -> None:
    story = tell(plan(group("g", leaf("a"), verify="make test"), policy=policy))
    assert story.states["g"] == "completed"
    assert story.commands("g:@verify") == ["make test"]
    assert story.span("g/a:work")[1] <= story.span("g:@verify")[0]


@POLICIES
def test_a_group_whose_verify_fails_has_failed_and_blocks_its_dependents(policy: str) -> None:
    compiled = plan(
        group("g", leaf("a"), verify="make test"),
        leaf("b", depends_on=["g"]),
        policy=policy,
        failure_mode="continue_on_error",
    )
    story = tell(compiled, {"g:@verify": fails("exit code 2", exit_code=2)})
    assert story.states == {"g": "error", "g/a": "completed", "b": "blocked"}
    assert story.why("g")["message"] == "@verify: exit code 2 (make test)"
    assert (story.why("b")["message"], story.why("b")["cause"]) == ("blocked by g", "g")


@POLICIES
def test_a_check_that_fails_once_sends_the_work_back_with_its_output(policy: str) -> None:
    check = [fails(result="expected 3, got 4"), DONE]
    story = tell(tdd(policy), {"g/a:check": check, "g/a:judge": ACCEPTED})
    assert story.state == "completed"
    first, second = story.prompts("g/a:code")
    assert "expected 3" not in first
    assert "expected 3, got 4" in second
    assert "exit code 1" in second


@POLICIES
def test_a_check_that_always_fails_ends_the_slice_as_exhausted(policy: str) -> None:
    story = tell(tdd(policy, retries=2), {"g/a:check": fails()})
    assert story.states == {"g": "error", "g/a": "exhausted"}
    assert len(story.prompts("g/a:code")) == 3
    assert story.why("g/a")["failure"]["attempt"] == 3


@POLICIES
def test_a_judge_who_rejects_once_gets_another_cycle(policy: str) -> None:
    story = tell(tdd(policy), {"g/a:judge": [REJECTED, ACCEPTED]})
    assert story.state == "completed"
    assert story.started.count("g/a:judge") == 2
    assert "the edge case is missing" in story.prompts("g/a:code")[1]


@POLICIES
def test_a_judge_who_always_rejects_ends_the_slice_as_exhausted(policy: str) -> None:
    story = tell(tdd(policy, retries=2), {"g/a:judge": REJECTED})
    assert story.states["g/a"] == "exhausted"
    assert story.started.count("g/a:judge") == 3
    assert story.why("g/a")["message"].startswith("judge: ")
    assert "the edge case is missing" in story.why("g/a")["failure"]["tail"]


@POLICIES
def test_what_a_handler_said_as_it_failed_is_the_reason(policy: str) -> None:
    compiled = plan(leaf("a"), leaf("b"), policy=policy, failure_mode="continue_on_error")
    story = tell(compiled, {"a:work": fails("boom", exit_code=None)})
    assert story.states == {"a": "error", "b": "completed"}
    assert "boom" in story.why("a")["message"]


@POLICIES
def test_a_judge_who_says_no_to_green_tests_for_ever_comes_to_an_end(policy: str) -> None:
    story = tell(tdd(policy, retries=10), {"g/a:judge": REJECTED})
    assert story.state == "failed"
    assert story.started.count("g/a:code") == 11


@POLICIES
def test_what_cannot_be_started_is_tried_within_its_own_bound_and_no_agent_hears_of_it(policy: str) -> None:
    story = tell(
        tdd(policy, infra_retries=1), {"g/a:check": ends(StepOutcome.INFRA, message="no such program")}
    )
    assert story.states["g/a"] == "infra"
    assert story.started == ["g/a:tests", "g/a:code", "g/a:check", "g/a:check"]
    assert "no such program" in story.why("g/a")["message"]


@POLICIES
def test_nothing_left_to_do_while_work_remains_is_told_as_stuck(policy: str) -> None:
    """A compiled plan is never so: here somebody has cut a wire."""
    compiled = plan(leaf("a"), leaf("b", depends_on=["a"]), policy=policy)
    wires = compiled.wiring
    cut = Wiring([[] for _ in wires.opens], wires.followers, wires.closes, wires.landings)
    story = tell(replace(compiled, wiring=cut))
    assert story.state == "failed"
    assert story.last.data["stuck"] == ["b: waits for 1 more to end"]


def test_a_token_that_waits_for_ever_is_told_by_its_place() -> None:
    compiled = plan(leaf("a"), max_parallel=1)
    engine = Engine(compiled)
    engine._state.allocator._pools[0].free = 0
    engine.apply(RunStarted(at=0.0, run="r"))
    assert engine.state == "failed"
    assert data_of(engine.take_messages()[0][-1])["stuck"][0] == "a: ready"


def test_a_step_that_waits_for_ever_for_a_pool_is_told_by_its_place() -> None:
    engine = Engine(plan(leaf("a", run("work", pool="db")), isolation="none", pools={"db": 1}))
    engine._state.allocator._pools[engine._state.limits.named["pool:db"]].free = 0
    engine.apply(RunStarted(at=0.0, run="r"))
    assert data_of(engine.take_messages()[0][-1])["stuck"] == ["a: started"]


# Things of pools


def test_several_things_of_a_pool_can_be_told_apart() -> None:
    pools = {"dir": {"values": ["my files", "b"]}, "port": {"values": [8001, 8002, 8003]}}
    step = run("work", pools={"dir": 2, "port": 1})
    (launch,) = tell(plan(leaf("a", step), pools=pools)).launches("a:work")
    assert launch.env == {
        "WEFT_POOL_DIR": "my files\nb",
        "WEFT_POOL_DIR_1": "my files",
        "WEFT_POOL_DIR_2": "b",
        "WEFT_POOL_PORT": "8001",
        "WEFT_POOL_PORT_1": "8001",
    }


# Room


def test_serial_never_has_more_than_one_thing_under_way() -> None:
    story = tell(plan(*map(leaf, "abc"), policy="serial"))
    assert story.run.peak == 1
    assert story.started == ["a:work", "b:work", "c:work"]


def test_independent_slices_run_at_once() -> None:
    assert tell(plan(*map(leaf, "abc"), isolation="none")).run.peak == 3


def test_serial_goes_depth_first_in_the_order_of_the_plan() -> None:
    two = [run("one"), run("two")]
    story = tell(plan(group("g", leaf("a", *two), leaf("b")), leaf("c"), policy="serial", isolation="none"))
    assert story.started == ["g/a:one", "g/a:two", "g/b:work", "c:work"]


@pytest.mark.parametrize(("size", "peak"), [(1, 1), (2, 2), (3, 3)])
def test_a_pool_lets_exactly_so_many_in(size: int, peak: int) -> None:
    slices = [leaf(name, run("work", pool="db")) for name in "abc"]
    assert tell(plan(*slices, pools={"db": size}, isolation="none")).run.peak == peak


def test_max_parallel_limits_the_slices_and_nothing_else_does() -> None:
    slices = [leaf(f"s{number}") for number in range(6)]
    assert tell(plan(*slices, isolation="none")).run.peak == 4
    assert tell(plan(*slices, isolation="none", max_parallel=6)).run.peak == 6
    assert tell(plan(group("g", *slices, max_parallel=2), isolation="none")).run.peak == 2


def test_an_agent_has_a_pool_of_its_own() -> None:
    slices = [leaf(name, agent("work")) for name in "abc"]
    story = tell(plan(*slices, agents={"coder": {"use": "claude", "pool": 1}}))
    assert not story.overlap("a:work", "b:work")
    assert not story.overlap("b:work", "c:work")
    assert story.state == "completed"


def test_a_step_that_takes_two_pools_holds_none_while_it_waits_for_the_other() -> None:
    compiled = plan(
        leaf("a", run("work", pool="x")),
        leaf("b", run("work", pools=["x", "y"])),
        leaf("c", run("work", pool="y")),
        pools={"x": 1, "y": 1},
        isolation="none",
    )
    story = tell(compiled)
    assert story.overlap("a:work", "c:work")
    assert story.span("b:work") == (1.0, 2.0)


def test_a_step_hears_which_thing_of_a_pool_it_has() -> None:
    slices = [leaf(name, run("work", pool="port")) for name in "abc"]
    story = tell(plan(*slices, pools={"port": {"values": [8001, 8002]}}, isolation="none"))
    ports = {name: story.launches(f"{name}:work")[0].env["WEFT_POOL_PORT"] for name in "abc"}
    assert ports == {"a": "8001", "b": "8002", "c": "8001"}
    assert story.of("step_started", "b")[0].data["pools"] == {"port": ["8002"]}


def test_the_successors_of_quick_slices_run_while_a_slow_one_still_runs() -> None:
    compiled = plan(leaf("slow"), leaf("a"), leaf("b", depends_on=["a"]), leaf("c", depends_on=["b"]))
    story = tell(compiled, {"slow:work": says("", seconds=100.0)})
    assert story.span("c:work")[1] < story.span("slow:work")[1]


def test_two_slices_that_wait_for_the_same_third_both_hear_of_it() -> None:
    story = tell(plan(leaf("a"), leaf("b", depends_on=["a"]), leaf("c", depends_on=["a"])))
    assert story.overlap("b:work", "c:work")
    assert set(story.states.values()) == {"completed"}


# Carried over from an earlier run


def test_what_an_earlier_run_has_completed_is_not_done_again() -> None:
    compiled = plan(group("g", leaf("a"), leaf("b"), verify="make"), leaf("c", depends_on=["g"]))
    story = tell(compiled, carried=("g/a",))
    assert story.started == ["g/b:work", "c:work"]
    assert story.of("subplan_state", "g/a")[-1].data["carried"] is True
    assert story.states == dict.fromkeys(["g", "g/a", "g/b", "c"], "completed")


def test_a_group_that_is_carried_over_does_not_verify_or_merge_again() -> None:
    story = tell(plan(group("g", leaf("a"), verify="make"), leaf("c")), carried=("g", "g/a"))
    assert [event.subplan for event in story.of("step_started")] == ["c"] * 4
    assert story.state == "completed"
