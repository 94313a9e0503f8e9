"""An agent that was to change files and changed none: it has not failed, but it is told."""

import msgspec
import pytest

from engine.run.stories import Story, agent, ends, fails, run, says, steps
from weft.engine.messages.facts import AnyFact, Ended, StepOutcome
from weft.engine.simulate import SimulatedEnd

IDLE, BUSY = SimulatedEnd(changed=False), SimulatedEnd(changed=True)
SCHEMA = {"type": "object"}
NOTHING = "The last attempt at step 'code' changed no file."
CODE = agent("code", "do {{ feedback }}")
CHECK = run("check", on_fail={"retry_from": "code", "max": 2})


def told(story: Story, step: str = "code") -> list[object]:
    return [event.data.get("changed") for event in story.of("step_finished", "a", step)]


# Who is to change files


@pytest.mark.parametrize(
    ("step", "is_to_change"),
    [
        (agent("code"), True),
        (agent("code", on_result=[{"when": "step.code.result == 'x'", "action": "fail"}]), True),
        (agent("code", read_only=True), False),
        (agent("code", output_schema=SCHEMA), False),
        (agent("code", output_schema=SCHEMA, read_only=True), False),
        (run("code"), False),
    ],
)
def test_an_agent_is_to_change_files_unless_it_may_only_read_or_promises_a_result(
    step: dict[str, object], is_to_change: bool
) -> None:
    (launch,) = steps(step, how={"code": says({})}).launches("a:code")
    assert (launch.task is not None and launch.task.is_to_change) is is_to_change


# What is told


@pytest.mark.parametrize("changed", [True, False, None])
def test_whether_an_agent_changed_files_is_told_and_fails_nothing(changed: bool | None) -> None:
    story = steps(CODE, how={"code": SimulatedEnd(changed=changed)})
    assert story.state == "completed"
    assert told(story) == [changed]


def test_of_who_was_not_to_change_files_nothing_is_told() -> None:
    assert told(steps(agent("code", read_only=True), how={"code": BUSY})) == [None]


@pytest.mark.parametrize(
    ("executions", "expected"),
    [
        ([True, False], [True, True]),
        ([False, True], [False, True]),
        ([False, False], [False, False]),
        ([None, False], [None, None]),
        ([False, None], [False, None]),
        ([None, True], [None, True]),
    ],
)
def test_an_attempt_changed_files_if_one_of_its_executions_did(
    executions: list[bool | None], expected: list[bool | None]
) -> None:
    hows = zip((StepOutcome.LIMITED, StepOutcome.DONE), executions, strict=True)
    story = steps(CODE, how={"code": [ends(how, changed=changed) for how, changed in hows]})
    assert told(story) == expected


def test_another_attempt_is_judged_by_itself() -> None:
    how = {"code": [BUSY, IDLE], "check": [fails(), SimulatedEnd()]}
    assert told(steps(CODE, CHECK, how=how)) == [True, False]


# What the next attempt hears


def prompts(story: Story, step: str = "code") -> list[bool]:
    """For each attempt whether it was told that nothing was changed."""
    return [NOTHING in prompt for prompt in story.prompts(f"a:{step}")]


def test_the_next_attempt_is_told_that_the_last_one_changed_nothing() -> None:
    story = steps(CODE, CHECK, how={"code": [IDLE, BUSY], "check": [fails(), SimulatedEnd()]})
    assert story.state == "completed"
    first, second = story.prompts("a:code")
    assert first == "do "
    assert second.startswith("do The command `true` of step 'check' failed with exit code 1.")
    assert second.endswith(f"\n\n{NOTHING}")


@pytest.mark.parametrize(("code", "expected"), [(BUSY, [False, False]), (SimulatedEnd(), [False, False])])
def test_it_is_not_told_so_if_files_were_changed_or_nobody_knows(
    code: SimulatedEnd, expected: list[bool]
) -> None:
    assert prompts(steps(CODE, CHECK, how={"code": code, "check": [fails(), SimulatedEnd()]})) == expected


def test_it_is_told_of_the_last_attempt_only() -> None:
    story = steps(CODE, CHECK, how={"code": [IDLE, BUSY, IDLE], "check": fails()})
    assert prompts(story) == [False, True, False]


def test_a_step_that_is_not_done_again_is_told_of_once() -> None:
    polish = agent("polish", "do {{ feedback }}")
    check = run("check", on_fail={"retry_from": "polish", "max": 2})
    story = steps(CODE, polish, check, how={"code": IDLE, "polish": BUSY, "check": fails()})
    assert prompts(story, "polish") == [False, True, False]


def test_who_failed_is_told_why_and_not_that_it_changed_nothing() -> None:
    code = agent("code", "do {{ feedback }}", on_error="retry", max_retries=1)
    story = steps(code, how={"code": [fails(changed=False), BUSY]})
    assert prompts(story) == [False, False]


def test_who_is_judged_by_its_result_is_told_both() -> None:
    rules = [{"when": "step.code.result == 'no'", "action": "fail"}]
    code = agent("code", "do {{ feedback }}", on_result=rules, on_error="retry", max_retries=1)
    story = steps(code, how={"code": [says("no", changed=False), says("yes", changed=True)]})
    assert prompts(story) == [False, True]


# Journals


def test_facts_that_were_written_before_there_was_such_a_thing_are_read() -> None:
    old = b'{"fact":"ended","at":1.0,"firing":1,"execution":1,"how":"done"}'
    fact = msgspec.json.decode(old, type=AnyFact)
    assert fact == Ended(at=1.0, firing=1, execution=1, how=StepOutcome.DONE)
    assert msgspec.json.encode(fact) == old


@pytest.mark.parametrize("changed", [True, False])
def test_whether_files_were_changed_is_written_down(changed: bool) -> None:
    fact = Ended(at=1.0, firing=1, execution=1, how=StepOutcome.DONE, changed=changed)
    assert msgspec.json.decode(msgspec.json.encode(fact), type=AnyFact) == fact
