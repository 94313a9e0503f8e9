"""Which conversation an agent goes on with, and which it leaves alone."""

from typing import Any

import pytest

from engine.run.stories import (
    Data,
    Ends,
    Story,
    after,
    agent,
    begun,
    ends,
    fails,
    join,
    leaf,
    plan,
    run,
    says,
    steps,
    tell,
)
from weft.engine.messages.facts import Ended, Resumed, StepOutcome, StopAsked
from weft.engine.messages.orders import Launch
from weft.engine.simulate import Interruptions, SimulatedEnd


def resumed(story: Story, name: str) -> list[tuple[str | None, bool]]:
    """What each execution of a step went on with, and whether with a fork."""
    return [(task.session, task.fork) for task in story.tasks(name)]


def speaks(session: str, **more: Any) -> SimulatedEnd:
    return says("", session=session, **more)


def breaks(session: str | None, **more: Any) -> SimulatedEnd:
    return fails(session=session, **more)


def branching(id_: str, **more: Any) -> Data:
    return agent(id_, resume=True, **more) | {"async": True}


# One after the other


def test_it_is_the_last_one_of_the_same_agent() -> None:
    story = steps(
        agent("one"), agent("two"), agent("three", agent="judge"), agent("four", resume=True),
        how={"one": speaks("s1"), "two": speaks("s2"), "three": speaks("s3")},
    )  # fmt: skip
    assert resumed(story, "a:four") == [("s2", False)]


def test_it_is_never_that_of_another_slice() -> None:
    two = plan(leaf("a", agent("one")), leaf("b", agent("one", resume=True), depends_on=["a"]))
    story = tell(two, {"a:one": speaks("s1")})
    assert resumed(story, "b:one") == [(None, False)]


def test_without_one_a_step_begins_anew() -> None:
    story = steps(agent("one"), agent("two", resume=True))
    assert resumed(story, "a:two") == [(None, False)]


def test_a_step_that_does_not_resume_begins_anew_each_time() -> None:
    story = steps(agent("one", on_error="retry", max_retries=1), how={"one": [breaks("s1"), speaks("s2")]})
    assert resumed(story, "a:one") == [(None, False)] * 2


# Tried again


def test_a_further_try_goes_on_with_the_one_that_failed() -> None:
    retrying = agent("two", resume=True, on_error="retry", max_retries=2)
    story = steps(
        agent("one"), retrying,
        how={"one": speaks("s1"), "two": [breaks("s2"), breaks(None), speaks("s4")]},
    )  # fmt: skip
    assert resumed(story, "a:two") == [("s1", False), ("s2", False), ("s2", False)]


def test_a_loop_goes_on_with_the_step_s_own_and_not_with_the_judge_s() -> None:
    story = steps(
        agent("code", resume=True), agent("judge"), run("check", on_fail={"retry_from": "code", "max": 1}),
        how={"code": [speaks("c1"), speaks("c2")], "judge": speaks("j1"), "check": [fails(), says("")]},
    )  # fmt: skip
    assert resumed(story, "a:code") == [(None, False), ("c1", False)]


def test_a_loop_goes_on_where_others_have_gone_on_with_it() -> None:
    story = steps(
        agent("code", resume=True), agent("polish", resume=True),
        run("check", on_fail={"retry_from": "code", "max": 1}),
        how={
            "code": [speaks("c1"), speaks("c2")], "polish": [speaks("p1"), speaks("p2")],
            "check": [fails(), says("")],
        },
    )  # fmt: skip
    assert resumed(story, "a:code") == [(None, False), ("p1", False)]
    assert resumed(story, "a:polish") == [("c1", False), ("c2", False)]


def test_a_conversation_that_was_begun_anew_in_a_loop_counts() -> None:
    story = steps(
        agent("tests"), agent("code", resume=True), run("check", on_fail={"retry_from": "tests", "max": 1}),
        how={"tests": [speaks("t1"), speaks("t2")], "code": speaks("c1"), "check": [fails(), says("")]},
    )  # fmt: skip
    assert resumed(story, "a:code") == [("t1", False), ("t2", False)]


# Executions that end before their work does


@pytest.mark.parametrize("how", [StepOutcome.LIMITED, StepOutcome.INFRA, StepOutcome.LOST])
def test_what_is_done_again_goes_on_with_what_was_told_before_the_end(how: StepOutcome) -> None:
    story = steps(
        agent("one"), agent("two", resume=True),
        how={"one": speaks("s1"), "two": [ends(how, session="s2"), speaks("s3")]}, infra_retries=1,
    )  # fmt: skip
    assert resumed(story, "a:two") == [("s1", False), ("s2", False)]
    assert [launch.attempt for launch in story.launches("a:two")] == [1, 1]


@pytest.mark.parametrize("how", [StepOutcome.LIMITED, StepOutcome.INFRA, StepOutcome.LOST])
def test_what_told_nothing_is_done_again_as_it_was(how: StepOutcome) -> None:
    story = steps(
        agent("one"), agent("two", resume=True),
        how={"one": speaks("s1"), "two": [ends(how), speaks("s3")]}, infra_retries=1,
    )  # fmt: skip
    assert resumed(story, "a:two") == [("s1", False)] * 2


def test_a_usage_limit_is_no_reason_to_resume_what_is_not_to_be_resumed() -> None:
    story = steps(agent("one"), how={"one": [ends(StepOutcome.LIMITED, session="s1"), speaks("s2")]})
    assert resumed(story, "a:one") == [(None, False)] * 2


# Branches


FORKS = (agent("one"), branching("two"), branching("three"), join("all", "two", "three"))
TOLD = {"one": speaks("s1"), "two": speaks("s2"), "three": speaks("s3")}


@pytest.mark.parametrize("most", [1, 2])
def test_branches_fork_the_same_conversation_also_one_after_the_other(most: int) -> None:
    story = steps(*FORKS, how=TOLD, max_concurrency=most)
    assert resumed(story, "a:two") == resumed(story, "a:three") == [("s1", True)]


def test_after_branches_the_last_in_the_plan_counts_whichever_ended_last() -> None:
    slow = {**TOLD, "two": speaks("s2", seconds=50.0)}
    for item in (TOLD, slow):
        assert resumed(steps(*FORKS, agent("end", resume=True), how=item), "a:end") == [("s3", False)]


def test_a_branch_that_is_tried_again_goes_on_with_its_own_fork() -> None:
    retrying = branching("two", on_error="retry", max_retries=1)
    story = steps(
        agent("one"),
        retrying,
        join("all", "two"),
        how={"one": speaks("s1"), "two": [breaks("s2"), speaks("s3")]},
    )
    assert resumed(story, "a:two") == [("s1", True), ("s2", False)]


def test_a_step_beside_a_branch_forks_too_as_the_branch_may_begin_later() -> None:
    story = steps(agent("one"), branching("two"), agent("three", resume=True), join("all", "two"), how=TOLD)
    assert resumed(story, "a:three") == [("s1", True)]


def test_a_branch_alone_leaves_the_conversation_as_it_is() -> None:
    story = steps(agent("one"), branching("two"), join("all", "two"), agent("end", resume=True), how=TOLD)
    assert resumed(story, "a:end") == [("s2", False)]


def test_what_was_to_be_forked_and_was_not_is_to_be_forked_again() -> None:
    retrying = branching("two", on_error="retry", max_retries=1)
    story = steps(
        agent("one"), retrying, join("all", "two"),
        how={"one": speaks("s1"), "two": [breaks("s1"), speaks("s2")]},
    )  # fmt: skip
    assert resumed(story, "a:two") == [("s1", True)] * 2


def test_in_a_branch_that_is_a_pipeline_the_first_forks_and_the_next_goes_on() -> None:
    inner = [agent("first", resume=True), agent("second", resume=True)]
    outer = [{"id": name, "pipeline": "p", "async": True} for name in ("x", "y")]
    story = steps(
        agent("one"), *outer, join("all", "x", "y"),
        how={"one": speaks("s1"), "x.first": speaks("x1"), "y.first": speaks("y1")}, pipelines={"p": inner},
    )  # fmt: skip
    assert resumed(story, "a:x.first") == resumed(story, "a:y.first") == [("s1", True)]
    assert resumed(story, "a:x.second") == [("x1", False)]
    assert resumed(story, "a:y.second") == [("y1", False)]


def test_a_pipeline_in_line_goes_on_and_is_gone_on_with() -> None:
    story = steps(
        agent("one"), {"id": "x", "pipeline": "p"}, agent("end", resume=True),
        how={"one": speaks("s1"), "x.first": speaks("x1")}, pipelines={"p": [agent("first", resume=True)]},
    )  # fmt: skip
    assert resumed(story, "a:x.first") == [("s1", False)]
    assert resumed(story, "a:end") == [("x1", False)]


def test_a_pipeline_in_line_beside_a_branch_forks() -> None:
    story = steps(
        agent("one"), branching("two"), {"id": "x", "pipeline": "p"}, join("all", "two"),
        how=TOLD, pipelines={"p": [agent("first", resume=True)]},
    )  # fmt: skip
    assert resumed(story, "a:x.first") == [("s1", True)]


# What is told, and what is left of it


def test_events_tell_what_was_gone_on_with_and_what_came_of_it() -> None:
    story = steps(agent("one"), branching("two"), join("all", "two"), how=TOLD)
    begun = [event.data for event in story.of("step_started", "a") if "agent" in event.data]
    assert [(item.get("session"), item.get("fork")) for item in begun] == [(None, None), ("s1", True)]
    done = [event.data.get("session") for event in story.of("step_finished", "a", "one")]
    assert done == ["s1"]


@pytest.mark.parametrize("dies", [2, 3, 4, 5])
def test_who_takes_over_goes_on_with_the_same_conversation(dies: int) -> None:
    item = plan(leaf("a", agent("one"), agent("two", resume=True), agent("three", resume=True)))
    table: Ends = {"a:one": speaks("s1"), "a:two": [ends(StepOutcome.LIMITED, session="s2"), speaks("s3")]}
    story = tell(item, table, interruptions=Interruptions(dies=after(dies)))
    assert story.run.deaths == 1
    assert resumed(story, "a:two") == [("s1", False), ("s2", False)]
    assert resumed(story, "a:three") == [("s3", False)]


def test_what_was_stopped_with_the_run_goes_on_with_what_it_had_told() -> None:
    engine = begun(plan(leaf("a", agent("one", resume=True))))
    engine.apply(Ended(at=1.0, firing=1, execution=1, how=StepOutcome.DONE))
    engine.apply(StopAsked(at=2.0))
    engine.apply(Ended(at=3.0, firing=2, execution=1, how=StepOutcome.STOPPED, session="s1"))
    engine.apply(Resumed(at=4.0, epoch=2))
    (again,) = engine.in_flight
    assert isinstance(again, Launch)
    assert again.task is not None
    assert (again.execution, again.task.session) == (2, "s1")
