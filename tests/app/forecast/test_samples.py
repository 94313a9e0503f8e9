"""What the events of earlier runs say about the work of a plan."""

from math import exp, log
from typing import Any

import pytest

from weft.app.forecast.samples import Samples
from weft.engine.messages.events import (
    AnyEvent,
    LimitedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    VerifyEvent,
)
from weft.engine.messages.landing_events import VerifyOutcome
from weft.engine.messages.step_events import StepEnd
from weft.forecast.history import History, WorkSample

Timed = tuple[float, AnyEvent]


class Run:
    """The events of a run."""

    def __init__(self) -> None:
        self.events: list[Timed] = []
        self._firing = 0

    def step(
        self,
        path: str,
        step: str,
        seconds: float | None,
        *,
        agent: str | None = None,
        end: StepEnd = StepEnd.DONE,
        **more: Any,
    ) -> "Run":
        self._firing += 1
        key: Any = {"subplan": path, "step": step, "firing": self._firing, "execution": 1, "attempt": 1}
        self.events.append((0.0, StepStartedEvent(**key, agent=agent)))
        self.events.append((1.0, StepFinishedEvent(**key, outcome=end, seconds=seconds, **more)))
        return self

    def other(self, at: float, event: AnyEvent) -> "Run":
        self.events.append((at, event))
        return self


def history(*runs: Run, others: tuple[Run, ...] = ()) -> History:
    samples = Samples()
    for run in runs:
        samples.add_run(run.events, is_same_plan=True)
    for run in others:
        samples.add_run(run.events, is_same_plan=False)
    return samples.history()


def median(sample: WorkSample) -> float:
    return exp(sample.seconds.mean)


def test_no_run_is_no_history() -> None:
    assert history() == History()


def test_executions_count_for_their_step_their_agent_and_their_kind() -> None:
    run = Run().step("a", "code", 60.0, agent="coder").step("b", "code", 240.0, agent="coder")
    run.step("a", "test", 5.0).step("a", "@merge", 0.5)
    result = history(run)
    assert {key: median(each) for key, each in result.steps.items()} == {
        ("a", "code"): pytest.approx(60.0),
        ("b", "code"): pytest.approx(240.0),
        ("a", "test"): pytest.approx(5.0),
        ("a", "@merge"): pytest.approx(0.5),
    }
    assert median(result.agents["coder"]) == pytest.approx(120.0)
    # A command tells about no other command.
    assert {name: median(each) for name, each in result.kinds.items()} == {"@merge": pytest.approx(0.5)}
    assert (result.runs, result.executions) == (1, 3)


def test_other_plans_say_something_about_agents_and_kinds_only() -> None:
    result = history(others=(Run().step("a", "code", 60.0, agent="coder").step("a", "@merge", 5.0),))
    assert not result.steps
    assert result.agents["coder"].count == result.kinds["@merge"].count == 1
    assert (result.runs, result.executions) == (0, 0)


@pytest.mark.parametrize(
    "end", sorted(set(StepEnd) - {StepEnd.DONE, StepEnd.FAILED, StepEnd.REJECTED, StepEnd.TIMEOUT})
)
def test_an_execution_that_was_cut_off_says_nothing(end: StepEnd) -> None:
    assert not history(Run().step("a", "x", 60.0, end=end)).steps


@pytest.mark.parametrize("end", [StepEnd.FAILED, StepEnd.REJECTED, StepEnd.TIMEOUT])
def test_a_failure_counts_with_its_duration(end: StepEnd) -> None:
    result = history(Run().step("a", "x", 60.0).step("a", "x", 60.0, end=end)).steps["a", "x"]
    assert (result.count, result.failures) == (2, 1)


def test_an_execution_without_a_duration_and_one_without_a_start_say_nothing() -> None:
    run = Run().step("a", "x", None)
    orphan = Run().step("b", "x", 5.0)
    del orphan.events[0]
    assert not history(run, orphan).steps


def test_the_wait_of_a_landing_is_not_its_duration() -> None:
    run = Run().step("a", "@land", 500.0)
    run.other(5.0, VerifyEvent(outcome=VerifyOutcome.STARTED))
    run.other(9.0, VerifyEvent(outcome=VerifyOutcome.PASSED, seconds=30.0))
    run.other(9.0, VerifyEvent(outcome=VerifyOutcome.FAILED, seconds=99.0))
    result = history(run)
    assert not result.steps
    assert median(result.kinds["@land"]) == pytest.approx(30.0)


def test_costs_are_known_free_or_unknown() -> None:
    run = Run()
    for cost, at_least in ((1_000_000, False), (0, False), (None, False), (500_000, True)):
        run.step("a", "code", 60.0, agent="coder", cost=cost, cost_at_least=at_least)
    run.step("a", "x", 5.0)
    sample = history(run).agents["coder"]
    assert (sample.cost.count, sample.free, sample.unpriced) == (1, 1, 2)
    assert sample.cost.mean == pytest.approx(log(1e6))
    assert history(run).steps["a", "x"].unpriced == 0


def test_usage_limits_are_a_share_of_the_calls_with_their_length() -> None:
    run = Run()
    for _ in range(8):
        run.step("a", "code", 60.0, agent="coder")
    for _ in range(2):
        run.step("a", "code", 9.0, agent="coder", end=StepEnd.LIMITED)
        run.other(100.0, LimitedEvent(agents=("coder",), until=700.0))
    limit = history(run).limits["coder"]
    assert limit.share == pytest.approx(0.2)
    assert limit.wait.median == pytest.approx(600.0)


def test_a_limit_that_is_over_when_it_is_noticed_lasts_a_moment() -> None:
    run = Run().other(100.0, LimitedEvent(agents=("coder",), until=50.0))
    limit = history(run).limits["coder"]
    assert limit.share == 0.9
    assert limit.wait.median == pytest.approx(1.0, rel=0.05)


def test_how_much_whole_runs_differ_is_seen_in_at_least_three_with_enough_in_common() -> None:
    def night(factor: float, steps: int = 3) -> Run:
        run = Run()
        for number in range(steps):
            run.step("a", f"x{number}", 10.0 * (number + 1) * factor)
        return run

    assert history(night(1.0), night(2.0)).sigma is None
    assert history(night(1.0), night(2.0), night(0.5, 1)).sigma is None
    assert history(night(1.0), night(1.0), night(1.0)).sigma == pytest.approx(0.0, abs=1e-12)
    different = history(night(0.5), night(1.0), night(2.0)).sigma
    assert different == pytest.approx(log(2.0))
