"""What a run costs, in a few words."""

import pytest

from app.run_stories import Story, slices
from weft.app.views.wording.costs import cost_words
from weft.app.views.wording.words import roughly
from weft.cli.text.run_summary import summary_lines
from weft.engine.messages.facts import EarlierSpending, RunStarted


def running(**plan) -> Story:
    story = Story(*slices("a", "b"), **plan)
    story.start()
    story.begin("a", "b")
    return story


def words(story: Story) -> list[str]:
    return list(cost_words(story.view))


def test_where_nothing_is_spent_and_nothing_reserved_nothing_is_said() -> None:
    assert words(running(budget={"usd": 20, "tokens": "5M"})) == []


def test_spending_is_reported_with_its_ceiling_and_reservations() -> None:
    story = running(budget={"usd": 20, "tokens": "5M"})
    story.step("a", "code", agent="coder", reserved=400_000, reserved_tokens=90_000)
    assert words(story) == ["$0.00 of $20.00, $0.40 reserved", "0 of 5M tokens, 90k reserved"]
    story.tell("spent", "a", "code", cost=250_000, tokens=1_240_000, firing=1, execution=1)
    assert words(story) == ["$0.25 of $20.00, $0.15 reserved", "1.2M of 5M tokens"]
    story.end("a", "code", cost=250_000)
    assert words(story) == ["$0.25 of $20.00", "1.2M of 5M tokens"]


def test_without_a_ceiling_only_what_is_spent_is_reported() -> None:
    story = running()
    story.step("a", "code", agent="coder", reserved=400_000, reserved_tokens=90_000)
    assert words(story) == []
    story.tell("spent", "a", "code", cost=250_000, tokens=7, firing=1, execution=1)
    assert words(story) == ["$0.25"]


def test_what_earlier_runs_spent_counts_and_is_named() -> None:
    story = Story(*slices("a", "b"), budget={"usd": 2, "tokens": "5M"})
    earlier = EarlierSpending(subplan="a", cost=1_900_000, tokens=1_000_000, unknown=1)
    story.start(fact=RunStarted(at=0.0, run="r", earlier=(earlier,)))
    assert words(story) == [
        "$1.90 + 1 unknown of $2.00 ($1.90 by earlier runs)",
        "1M of 5M tokens (1M by earlier runs)",
    ]
    story.begin("a", "b")
    story.run("a", cost=450_000)
    assert words(story)[0] == "$2.35 + 1 unknown of $2.00 ($1.90 by earlier runs)"
    story.tell("budget", outcome="reset")
    assert words(story) == ["$0.00 of $2.00"]
    story.run("b", cost=250_000)
    assert words(story) == ["$0.25 of $2.00"]


def test_what_is_unknown_is_reported_beside_what_is_known() -> None:
    story = running(budget=20)
    story.run("a", cost=1_250_000)
    story.run("b")
    assert words(story) == ["$1.25 + 1 unknown of $20.00"]


def test_what_unreported_calls_keep_is_reserved() -> None:
    story = Story(*slices("a", "b"), budget={"usd": 2, "tokens": "5M"})
    earlier = EarlierSpending(subplan="a", unknown=1, assumed=250_000, assumed_tokens=1_000)
    story.start(fact=RunStarted(at=0.0, run="r", earlier=(earlier,)))
    story.begin("a", "b")
    story.run("b", tokens=500)
    story.tell("cost_unknown", "b", "code", reserved=100_000, reserved_tokens=2_000)
    assert words(story) == ["$0.00 + 2 unknown of $2.00, $0.35 reserved", "500 of 5M tokens, 3k reserved"]
    story.tell("budget", outcome="reset")
    assert words(story) == ["$0.00 + 1 unknown of $2.00"]


def test_the_summary_tells_both_units_also_if_a_cost_is_unknown() -> None:
    story = running(budget={"usd": 20, "tokens": "5M"})
    story.run("a", tokens=1_000)
    story.run("b", cost=250_000, tokens=2_500)
    story.finish()
    costs = [line for line in summary_lines(story.view, story.at) if "token" in line or "$" in line]
    assert [line.removeprefix("Cost").strip() for line in costs] == [
        "$0.25 and more: 1 agent call did not report its cost",
        "3.5k of 5M tokens",
    ]


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1_000, "1k"), (12_449, "12.4k"), (1_500_000, "1.5M"), (2 * 10**9, "2B")],
)
def test_large_numbers_are_reported_roughly(number: int, text: str) -> None:
    assert roughly(number) == text
