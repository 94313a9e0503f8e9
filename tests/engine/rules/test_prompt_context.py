"""What agents are told before their task."""

import pytest

from engine.run.stories import agent, leaf, plan, says, steps, tell

GOAL = "What follows is a part of this:\nA faster store."
FILES = "The files of this part:\n- src/store/**\n- setup.py"
OTHERS = "Others may be working on other files at the same time."
STRICT = "Changing any other file is a failure."


def test_without_a_goal_and_files_it_is_the_task_alone() -> None:
    assert steps(agent("x", "do it")).prompts("a:x") == ["do it"]


def test_every_agent_is_told_the_goal() -> None:
    two = plan(
        leaf("a", agent("x", "do it"), agent("y", "judge it", agent="judge")), goal="A faster store.\n"
    )
    story = tell(two)
    assert [*story.prompts("a:x"), *story.prompts("a:y")] == [f"{GOAL}\n\ndo it", f"{GOAL}\n\njudge it"]


def test_a_prompt_that_tells_the_goal_itself_tells_it_alone() -> None:
    assert steps(agent("x", "for {{ plan.goal }}"), goal="it all").prompts("a:x") == ["for it all"]


@pytest.mark.parametrize(("strict", "last"), [(False, OTHERS), (True, STRICT)])
def test_agents_are_told_the_files_of_their_slice(strict: bool, last: str) -> None:
    item = leaf("a", agent("x", "do it"), files=["src/store/**", "setup.py"])
    messages = tell(plan(item, goal="A faster store.", strict_files=strict)).prompts("a:x")
    assert messages == [f"{GOAL}\n\n{FILES}\n{last}\n\ndo it"]


def test_who_goes_on_with_a_conversation_is_not_told_again() -> None:
    story = steps(
        agent("x", "think"), agent("y", "do it", resume=True),
        how={"x": says("", session="s1")}, goal="A faster store.",
    )  # fmt: skip
    assert story.prompts("a:y") == ["do it"]


def test_who_would_go_on_but_cannot_is_told() -> None:
    story = steps(agent("x", "think"), agent("y", "do it", resume=True), goal="A faster store.")
    assert story.prompts("a:y") == [f"{GOAL}\n\ndo it"]
