"""What an agent is told of an earlier execution of its step that was cut off."""

import pytest

from engine.run.stories import Story, agent, ends, fails, run, says, steps
from weft.engine.messages.facts import StepOutcome
from weft.engine.state.cut_off_notice import MOST_FILES

CODE = agent("code", "do {{ feedback }}")


def heard(story: Story) -> list[str]:
    return [task.interruption for task in story.tasks("a:code")]


@pytest.mark.parametrize(
    ("how", "why"),
    [(StepOutcome.LOST, "how it ended is unknown"), (StepOutcome.LIMITED, "a usage limit was reached")],
)
def test_the_next_execution_is_told_that_the_last_one_was_cut_off_and_what_it_left(
    how: StepOutcome, why: str
) -> None:
    story = steps(CODE, how={"code": [ends(how, left="M a.py\nA b.py"), says("")]})
    text = (
        f"An earlier attempt at this task was cut off before it ended: {why}.\n"
        "It left these changes in the directory (A: added, M: modified, D: deleted):\n"
        "- M a.py\n- A b.py\nLook at them first: keep what is right, and finish the task."
    )
    assert (story.state, heard(story)) == ("completed", ["", text])
    values = [event.data.get("interruption") for event in story.of("step_started", "a", "code")]
    assert values == [None, text]


def test_where_nothing_is_known_of_what_it_left_the_agent_is_to_look() -> None:
    story = steps(CODE, how={"code": [ends(StepOutcome.LOST, left=""), says("")]})
    assert heard(story)[1].endswith(
        "Look first at what it may have left in the directory, and finish the task."
    )


def test_of_many_files_the_first_are_named() -> None:
    left = "\n".join(f"A {number}" for number in range(MOST_FILES + 3))
    story = steps(CODE, how={"code": [ends(StepOutcome.LOST, left=left), says("")]})
    assert f"- A {MOST_FILES - 1}\n- and 3 more\n" in heard(story)[1]


def test_after_an_end_of_its_own_the_next_attempt_hears_only_of_that() -> None:
    check = run("check", on_fail={"retry_from": "code", "max": 1})
    how = {"code": [ends(StepOutcome.LOST, left="M a"), says(""), says("")], "check": [fails(), says("")]}
    assert [bool(text) for text in heard(steps(CODE, check, how=how))] == [False, True, False]


def test_of_an_end_without_word_of_what_was_left_nothing_is_told() -> None:
    """As in the journals of earlier versions."""
    assert heard(steps(CODE, how={"code": [ends(StepOutcome.LOST), says("")]})) == ["", ""]


@pytest.mark.parametrize(("told", "hears"), [("s2", False), (None, True)])
def test_who_continues_the_conversation_that_was_cut_off_knows_of_it(told: str | None, hears: bool) -> None:
    lost = ends(StepOutcome.LOST, left="M a", session=told)
    story = steps(
        CODE, agent("more", resume=True), how={"code": says("", session="s1"), "more": [lost, says("")]}
    )
    assert [bool(task.interruption) for task in story.tasks("a:more")] == [False, hears]
