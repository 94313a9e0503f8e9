"""What a run has spent, counted once, also while steps run."""

from app.run_stories import Story, group, slices
from weft.app.views.costs import Costs, costs_of


def notes(**more) -> Story:
    story = Story(group("store", *slices("model", "disk")), *slices("cli"), **more)
    story.start()
    story.begin("store", "store/model", "cli")
    return story


def spent(story: Story, path: str, cost: int | None, tokens: int | None) -> None:
    firing = story.firings[path, "code"]
    story.tell("spent", path, "code", cost=cost, tokens=tokens, firing=firing, execution=1)


def known(story: Story, path: str) -> tuple[int, int, int]:
    row_view = story.view.row(path)
    return row_view.cost, row_view.tokens, row_view.unknown_costs


def test_a_run_that_has_spent_nothing_has_its_ceilings() -> None:
    story = notes(budget={"usd": 20, "tokens": "5M"})
    assert costs_of(story.view) == Costs(ceiling=20_000_000, token_ceiling=5_000_000)


def test_what_is_reserved_is_what_running_steps_are_not_known_to_have_spent() -> None:
    story = notes()
    story.step("store/model", "code", agent="coder", reserved=400_000, reserved_tokens=900)
    story.step("cli", "code", agent="coder", reserved=50_000)
    assert costs_of(story.view) == Costs(reserved=450_000, reserved_tokens=900)
    spent(story, "store/model", 100_000, 300)
    spent(story, "cli", 60_000, None)
    assert costs_of(story.view) == Costs(cost=160_000, reserved=300_000, tokens=300, reserved_tokens=600)
    story.end("store/model", "code", cost=350_000, tokens=500)
    assert costs_of(story.view) == Costs(cost=410_000, tokens=500)


def test_what_is_heard_counts_in_all_groups_and_the_end_settles_it() -> None:
    story = notes()
    story.step("store/model", "code", agent="coder")
    for total in (100, 250):
        spent(story, "store/model", total, total * 2)
    assert [known(story, path) for path in ("", "store", "store/model", "cli")] == [(250, 500, 0)] * 3 + [
        (0, 0, 0)
    ]
    story.end("store/model", "code", cost=240, tokens=600)
    assert [known(story, path) for path in ("", "store", "store/model")] == [(240, 600, 0)] * 3


def test_an_end_that_only_says_the_least_is_known_in_part() -> None:
    story = notes()
    story.step("cli", "code", agent="coder")
    spent(story, "cli", 250, None)
    story.end("cli", "code", "failed", cost=250, cost_at_least=True, exit_code=1)
    assert known(story, "cli") == (250, 0, 1)


def test_of_a_further_execution_nothing_is_known() -> None:
    story = notes()
    story.step("cli", "code", agent="coder")
    spent(story, "cli", 250, None)
    story.end("cli", "code", "limited", cost=300)
    story.step("cli", "code", agent="coder", reserved=500)
    assert costs_of(story.view) == Costs(cost=300, reserved=500)


def test_as_json_money_is_dollars() -> None:
    costs = Costs(
        cost=1_250_000,
        reserved=400_000,
        unreported=50_000,
        unreported_tokens=3,
        ceiling=20_000_000,
        unknown=2,
        tokens=7,
        token_ceiling=9,
        earlier=250_000,
        earlier_tokens=2,
        earlier_unknown=1,
        uncounted=100_000,
        uncounted_tokens=1,
    )
    assert costs.to_json() == {
        "usd": 1.25,
        "reserved_usd": 0.4,
        "unreported_usd": 0.05,
        "ceiling_usd": 20.0,
        "unknown": 2,
        "tokens": 7,
        "reserved_tokens": 0,
        "unreported_tokens": 3,
        "ceiling_tokens": 9,
        "earlier_usd": 0.25,
        "earlier_tokens": 2,
        "earlier_unknown": 1,
        "counted_usd": 1.4,
        "counted_tokens": 8,
    }
    assert (Costs().to_json()["ceiling_usd"], Costs().to_json()["ceiling_tokens"]) == (None, None)


def test_agents_at_a_usage_limit_are_listed_until_they_continue() -> None:
    story = notes()
    story.step("cli", "code", agent="coder")
    story.end("cli", "code", "limited", until=1_001.0)
    story.tell("limited", "cli", "code", firing=1, agents=["coder"], until=1_060.0)
    assert story.view.row("cli").limited_until == 1_060.0
    story.step("cli", "code", agent="coder")
    assert story.view.row("cli").limited_until is None
