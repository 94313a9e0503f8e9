"""The feedback of a person: the agents of the slice read it in every attempt, also after a crash."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from engine.run.stories import agent, leaf, plan, run
from weft.engine.engine import Engine
from weft.engine.messages.events import AnyEvent, FeedbackEvent
from weft.engine.messages.facts import (
    AnyFact,
    EarlierSlice,
    EarlierStep,
    Ended,
    RunStarted,
    SliceFeedback,
    StepOutcome,
)
from weft.engine.messages.orders import Launch, Prepare
from weft.engine.state.change_requests import before_request, requested_steps
from weft.engine.state.pipelines import PlacedStep, placed_steps
from weft.plan.compile.plan_net import CompiledPlan

TEXT = "src/a.py:12: the name may be empty\nsrc/b.py:3: why?"
READER = agent("code", "do {{ feedback }}")
CHECK = run("check", on_fail={"retry_from": "code", "max": 2})
Step = dict[str, Any]


def started(text: str = TEXT) -> RunStarted:
    return RunStarted(at=0.0, run="r", feedback=(SliceFeedback(subplan="a", text=text),))


class Play:
    """A run whose processes end as the test says."""

    def __init__(self, compiled: CompiledPlan, first: RunStarted) -> None:
        self.engine = Engine(compiled)
        self.events: list[AnyEvent] = []
        self.facts: list[AnyFact] = []
        self.launches: list[Launch] = []
        self.apply(first)

    def apply(self, fact: AnyFact) -> None:
        self.facts.append(fact)
        self.engine.apply(fact)
        events, orders = self.engine.take_messages()
        self.events += events
        self.launches += [order for order in orders if isinstance(order, Launch)]
        for order in orders:
            if isinstance(order, Prepare):
                self.apply(Ended(at=0.0, firing=order.firing, execution=1, how=StepOutcome.DONE))

    def ends(self, how: StepOutcome = StepOutcome.DONE) -> None:
        """Ends the last process that was launched."""
        last = self.launches[-1]
        code = 0 if how is StepOutcome.DONE else 1
        self.apply(Ended(at=0.0, firing=last.firing, execution=last.execution, how=how, exit_code=code))

    def prompts(self) -> list[str]:
        return [order.task.prompt for order in self.launches if order.task is not None]


def placed(*steps: Step) -> dict[str, PlacedStep]:
    compiled = plan(leaf("a", *steps))
    return dict(placed_steps(compiled.plan.pipeline_of(1).steps, compiled.plan.pipelines, verifies=False))


def test_the_prompt_has_the_text_and_the_event_tells_it() -> None:
    play = Play(plan(leaf("a", READER, CHECK), leaf("b", READER)), started())
    with_text = [prompt for prompt in play.prompts() if TEXT in prompt]
    assert (len(play.prompts()), len(with_text)) == (2, 1)
    (event,) = [event for event in play.events if isinstance(event, FeedbackEvent)]
    assert (event.subplan, event.text) == ("a", TEXT)


def test_a_check_that_fails_does_not_make_the_text_obsolete() -> None:
    play = Play(plan(leaf("a", READER, CHECK)), started())
    play.ends()
    play.ends(StepOutcome.FAILED)
    _first, second = play.prompts()
    assert TEXT in second
    assert "of step 'check' failed with exit code 1" in second


def test_an_agent_that_does_not_read_feedback_gets_the_text_after_its_prompt_once() -> None:
    play = Play(plan(leaf("a", agent("code", "build the feedback form"))), started())
    (prompt,) = play.prompts()
    assert prompt.startswith("build the feedback form\n\n")
    assert prompt.count(TEXT) == 1


def test_without_a_text_the_prompt_is_as_ever() -> None:
    (prompt,) = Play(plan(leaf("a", agent("code", "do it"))), RunStarted(at=0.0, run="r")).prompts()
    assert prompt == "do it"


def test_a_coordinator_that_takes_over_before_the_attempt_has_the_text() -> None:
    compiled = plan(leaf("a", run("before"), READER))
    died = Play(compiled, started())
    stored = msgspec.json.encode(died.facts[0])
    recovered = Play(compiled, msgspec.json.decode(stored, type=RunStarted))
    recovered.ends()
    assert TEXT in recovered.prompts()[0]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([agent("tests", "test"), READER, agent("judge", "judge", read_only=True)], ["code"]),
        (
            [agent("tests", "test"), agent("code", "do"), agent("judge", "judge", read_only=True)],
            ["tests", "code"],
        ),
        ([agent("judge", "judge", read_only=True)], ["judge"]),
        ([run("only")], []),
    ],
)
def test_the_readers_of_feedback_get_the_text_or_else_the_agents_that_change_files(
    steps: Sequence[Step], expected: list[str]
) -> None:
    assert list(requested_steps(placed(*steps))) == expected


def test_the_record_is_cut_before_the_first_step_that_gets_the_text() -> None:
    end = Ended(at=0.0, firing=1, execution=1, how=StepOutcome.DONE)
    names = [("tests", 1), ("code", 1), ("check", 1), ("code", 2), ("check", 2)]
    record = tuple(EarlierStep(step=name, attempt=attempt, end=end) for name, attempt in names)
    earlier = EarlierSlice(subplan="a", run="r", steps=record, open=(("last", 1, False),), merging=True)
    cut = before_request(earlier, placed(agent("tests", "test"), READER, CHECK))
    assert ([step.step for step in cut.steps], cut.open, cut.merging) == (["tests"], (), False)
