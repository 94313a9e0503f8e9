"""A slice that was cut off continues after the steps that were done, and nothing is paid for twice."""

import pytest
from msgspec.structs import replace

from app.continuations import cut_off, ended, launched, play, progress, states
from engine.run.stories import DONE, Ends, agent, ask, branch, ends, fails, group, join, leaf, plan, run, says
from stored_events import make_event
from weft.engine.messages.event_codec import data_of, kind_of, outcome_of
from weft.engine.messages.facts import Answered, EarlierSlice, EarlierStep, Ended, RefMove, StepOutcome
from weft.engine.simulate import SimulatedEnd
from weft.plan.compile.plan_net import CompiledPlan

LOOP = plan(
    leaf(
        "a",
        agent("code", "{{ slice.prompt }} {{ feedback }}"),
        run("check", on_fail={"retry_from": "code", "max": 3}),
        branch("lint"),
        agent("judge", "{{ step.code.result }}"),
        join("end", "lint"),
        run("last"),
    ),
    retries=3,
)
"""The check fails at first, and what it wrote goes back to the agent."""
ENDS: Ends = {
    "a:code": (says("one", cost=10), says("two", cost=20)),
    "a:check": (fails("exit code 1"), DONE),
    "a:lint": says("", seconds=30.0),
}


def earlier(*steps: EarlierStep, **more: object) -> EarlierSlice:
    return EarlierSlice(subplan="a", run="first", steps=steps, **more)  # type: ignore[arg-type]


def end(
    step: str, how: StepOutcome = StepOutcome.DONE, attempt: int = 1, inputs: str = "", **more: object
) -> EarlierStep:
    fact = Ended(at=0.0, firing=7, execution=1, how=how, **more)  # type: ignore[arg-type]
    return EarlierStep(step=step, attempt=attempt, end=fact, inputs=inputs)


def only_slice(found: dict[str, EarlierSlice]) -> EarlierSlice:
    assert list(found) == ["a"]
    return found["a"]


def test_wherever_a_run_is_cut_off_the_next_one_continues_after_it() -> None:
    whole = play(LOOP, ENDS)
    assert whole.state == "completed"
    for cut in range(1, len(whole.facts)):
        facts = whole.facts[:cut]
        paid = [fact for fact in facts if isinstance(fact, Ended) and fact.cost]
        rest = cut_off(LOOP, facts)
        if paid and not rest:
            break  # the slice is completed
        second = play(LOOP, ENDS, rest.values())
        events = [event for _, event in second.events]
        assert sorted(ended(events)) == sorted(ended(event for _, event in whole.events)), cut
        assert len([name for name in launched(second) if "code" in name]) == 2 - len(paid), cut
        third = play(
            LOOP, ENDS, progress(event for event in events if kind_of(event) != "subplan_state").values()
        )
        assert launched(third) == [], "what two runs have done together is done"


def test_what_is_done_is_not_launched_and_costs_nothing_more() -> None:
    compiled = plan(leaf("a", agent("code"), run("check")))
    second = play(compiled, {}, [earlier(end("code", cost=500), open=(("check", 1, False),))])
    assert launched(second) == ["a:check 1"]
    finished = next(event for _, event in second.events if event.step == "code")
    assert (kind_of(finished), outcome_of(finished), finished.cost) == ("step_finished", "done", None)
    assert data_of(finished)["earlier_run"] == "first"
    assert second.events[-1][1].cost == 0


def test_in_a_new_workspace_everything_is_done_again() -> None:
    compiled = plan(leaf("a", agent("code"), run("check")))
    second = play(compiled, {}, [earlier(end("code"))], is_kept=False)
    assert launched(second) == ["a:code 1", "a:check 1"]


def test_a_step_with_other_inputs_is_done_again_and_all_after_it() -> None:
    compiled = plan(
        leaf("a", run("first"), agent("code", "{{ env.MOOD }}"), agent("more")), env_allow=["MOOD"]
    )
    steps = (end("first"), end("code", inputs="of another mood"), end("more"))
    assert launched(play(compiled, {}, [earlier(*steps)], env={"MOOD": "good"})) == ["a:code 1", "a:more 1"]


def test_a_step_that_was_launched_and_not_cut_off_before_ends_the_continuation() -> None:
    compiled = plan(leaf("a", agent("new"), agent("code")))
    assert launched(play(compiled, {}, [earlier(end("code"))])) == ["a:new 1", "a:code 1"]


def test_beside_a_step_that_was_cut_off_what_is_done_stays_done() -> None:
    compiled = plan(leaf("a", branch("slow"), agent("code"), join("end", "slow"), run("last")))
    earlier_work = earlier(end("code"), open=(("slow", 1, False),))
    assert launched(play(compiled, {}, [earlier_work])) == ["a:slow 1", "a:last 1"]


def test_a_step_that_failed_for_good_is_run_again() -> None:
    compiled = plan(leaf("a", agent("code"), run("check")))
    earlier_work = earlier(end("code"), end("check", StepOutcome.FAILED, exit_code=1))
    assert launched(play(compiled, {}, [earlier_work])) == ["a:check 1"]


def test_a_failure_that_the_plan_tolerates_is_an_end() -> None:
    compiled = plan(leaf("a", run("check", on_error="continue"), run("last")))
    earlier_work = earlier(end("check", StepOutcome.FAILED, exit_code=1))
    assert launched(play(compiled, {}, [earlier_work])) == ["a:last 1"]


def test_a_template_that_cannot_be_filled_fails_the_step_as_ever() -> None:
    compiled = plan(leaf("a", agent("code", "{{ env.NOWHERE }}")), env_allow=["NOWHERE"])
    second = play(compiled, {}, [earlier(end("code", inputs="x"))])
    assert (launched(second), second.state) == ([], "failed")


def test_in_the_plan_s_own_directory_nothing_continues() -> None:
    compiled = plan(leaf("a", agent("code")), isolation="none", policy="serial")
    assert launched(play(compiled, {}, [earlier(end("code"))])) == ["a:code 1"]


# Questions


@pytest.mark.parametrize(("question", "is_asked"), [("Go on?", False), ("Really?", True)])
def test_a_question_that_was_answered_is_not_asked_again(question: str, is_asked: bool) -> None:
    compiled = plan(leaf("a", ask("gate", question), run("deploy")))
    yes = Answered(at=0.0, subplan="a", step="gate", accepted=True)
    step = EarlierStep(step="gate", attempt=1, end=yes, inputs="Go on?")
    second = play(compiled, {}, [earlier(step)])
    assert bool([event for _, event in second.events if kind_of(event) == "ask"]) is is_asked
    assert (
        progress([*(event for _, event in second.events if kind_of(event) != "subplan_state")])["a"]
        .steps[0]
        .step
        == "gate"
    )


def test_an_open_question_is_asked_again() -> None:
    compiled = plan(leaf("a", agent("code"), ask("gate"), run("deploy")))
    whole = play(compiled, {})
    until = next(number for number, fact in enumerate(whole.facts) if isinstance(fact, Answered))
    slice_text = only_slice(cut_off(compiled, whole.facts[:until]))
    assert slice_text.open == (("gate", 1, True),)
    assert launched(play(compiled, {}, [slice_text])) == ["a:deploy 1"]


# Which slices continue


def failed(compiled: CompiledPlan, how: dict[str, SimulatedEnd]) -> dict[str, EarlierSlice]:
    first = play(compiled, how)
    assert first.state == "failed"
    return progress(event for _, event in first.events)


def test_a_slice_that_was_cancelled_continues_and_one_that_failed_by_itself_does_not() -> None:
    compiled = plan(leaf("a", agent("code"), run("check")), leaf("b", run("first"), run("second")))
    failures = failed(compiled, {"a:check": says("", seconds=50.0), "b:second": fails(seconds=20.0)})
    assert only_slice(failures).steps[0].step == "code"
    assert failures["a"].open == (("check", 1, False),)


@pytest.mark.parametrize("how", [StepOutcome.LOST, StepOutcome.INFRA])
def test_a_slice_that_was_lost_continues(how: StepOutcome) -> None:
    compiled = plan(leaf("a", agent("code"), run("check")))
    failures = failed(compiled, {"a:check": ends(how)})
    assert [step.step for step in only_slice(failures).steps] == ["code"]
    assert states(play(compiled, {}, failures.values())) == {"a": "completed"}


def test_a_slice_that_met_a_ceiling_continues_when_there_is_more_to_spend() -> None:
    poor = plan(leaf("a", agent("code", max_cost=0.9), agent("more", max_cost=0.2)), budget=1)
    failures = failed(poor, {"a:code": says("", cost=900_000)})
    rich = plan(leaf("a", agent("code", max_cost=0.9), agent("more", max_cost=0.2)), budget=2)
    assert launched(play(rich, {}, failures.values())) == ["a:more 1"]


def test_a_slice_that_was_not_started_again_still_continues_in_the_run_after() -> None:
    compiled = plan(
        group("g", leaf("z", run("work")), failure_mode="fail_fast"),
        leaf("a", agent("code"), depends_on=["g"]),
    )
    first = earlier(end("code"))
    events = [event for _, event in play(compiled, {"g/z:work": fails()}, [first]).events]
    assert progress(events) == {"a": first}


def test_where_nothing_was_done_nothing_continues() -> None:
    compiled = plan(leaf("a", agent("code")))
    assert cut_off(compiled, play(compiled, {}).facts[:2]) == {}


# Merges


def test_a_slice_that_is_only_to_be_merged_says_so_and_where_it_was() -> None:
    compiled = plan(leaf("a", agent("code"), agent("more")))
    facts = play(compiled, {}).facts
    slice_text = only_slice(cut_off(compiled, facts[:4]))
    assert (slice_text.merging, slice_text.resolved) == (True, False)
    assert launched(play(compiled, {}, [slice_text])) == []


def test_the_branch_is_where_the_last_step_left_it() -> None:
    compiled = plan(leaf("a", agent("code"), agent("more")))
    start, code, more = (
        replace(fact, moves=(RefMove(ref="refs/heads/weft/p/a", before="", after=str(number)),))
        for number, fact in enumerate(fact for fact in play(compiled, {}).facts if isinstance(fact, Ended))
        if number < 3
    )
    beginning = play(compiled, {}).facts[0]
    cut = replace(more, how=StepOutcome.LOST)
    assert only_slice(cut_off(compiled, [beginning, start, code])).commit == "1"
    assert only_slice(cut_off(compiled, [beginning, start, code, cut])).commit == "1"
    assert only_slice(cut_off(compiled, [beginning, start, code, more])).commit == "2"


@pytest.mark.parametrize(
    ("how", "is_tried"), [(StepOutcome.DONE, True), (StepOutcome.FAILED, True), (StepOutcome.STOPPED, False)]
)
def test_whether_an_agent_has_tried_to_resolve_a_conflict_is_known(how: StepOutcome, is_tried: bool) -> None:
    done = Ended(at=0.0, firing=1, execution=1, how=StepOutcome.DONE)
    values = [
        make_event(kind="step_finished", subplan="a", step="@workspace", outcome="done", fact=done),
        make_event(kind="step_finished", subplan="a", step="code", attempt=1, outcome="done", fact=done),
        make_event(kind="step_started", subplan="a", step="@merge", attempt=1),
        make_event(
            kind="step_finished", subplan="a", step="@resolve", outcome=how, fact=replace(done, how=how)
        ),
    ]
    slice_text = only_slice(progress(values))
    assert (slice_text.merging, slice_text.resolved) == (True, is_tried)
