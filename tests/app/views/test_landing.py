"""What a view knows of merges: where work is, what is held and why, what lands and what is going to conflict."""

from typing import Any

import pytest

from app.run_stories import Story, group, slices
from stored_events import make_event
from weft.engine.messages.facts import RunStarted
from weft.engine.states import SubplanExecutionState as State

CONFLICT: dict[str, Any] = {"message": "cli cannot be merged", "files": ["f.txt"], "conflict": True}
READY: dict[str, Any] = {"message": "it is ready to land", "asks": True}


def notes(**plan: Any) -> Story:
    """store with model and disk; then cli."""
    return Story(group("store", *slices("model", "disk")), *slices("cli", depends_on=["store"]), **plan)


def hold(story: Story, path: str, step: str, **why: Any) -> None:
    story.step(path, step)
    story.end(path, step, "held", **why)


def lands(story: Story, path: str, branch: str = "main") -> None:
    story.step(path, "@land")
    moves = [{"ref": f"refs/heads/{branch}", "before": "b" * 40, "after": "a" * 40}]
    story.end(path, "@land", moves=moves)
    story.tell("merge", path, "@land", outcome="merged", moves=moves)


def landing(story: Story, *paths: str) -> list[str]:
    return [story.view.row(path).landing for path in paths]


def held(story: Story) -> list[str]:
    return [story.view.outline.paths[row] for row in story.view.row_index.held]


def unlanded(story: Story) -> list[str]:
    return [story.view.outline.paths[row] for row in story.view.landings.unlanded]


def to_agree(story: Story) -> list[str]:
    return [story.view.outline.paths[row] for row in story.view.landings.to_agree()]


# Where work is


def test_a_group_of_which_parts_have_landed_says_so_and_is_unmerged_still() -> None:
    story = notes()
    story.begin("store", "store/model")
    moves = [{"ref": "refs/heads/main", "before": "b" * 40, "after": "a" * 40}]
    row = [str(path) for path in story.view.outline.paths].index("store")
    story.tell("parts", "store", outcome="held", parts=[], moves=[])
    assert story.view.landings.place(row) == ""
    story.tell("parts", "store", outcome="landed", parts=["store/model"], moves=moves)
    assert story.view.landings.place(row) == "landed aaaaaaa in part"
    assert landing(story, "store") == ["unmerged"]


def test_the_work_of_what_has_started_is_unmerged_and_of_what_has_not_there_is_none() -> None:
    story = notes()
    story.begin("store", "store/model")
    assert landing(story, "", "store", "store/model", "store/disk") == ["", "unmerged", "unmerged", ""]


def test_a_slice_in_a_group_is_merged_when_it_is_completed_a_group_at_the_top_when_it_has_landed() -> None:
    story = notes()
    story.begin("store")
    story.run("store/model")
    story.complete("store")
    assert landing(story, "store", "store/model") == ["unmerged", "merged"]
    lands(story, "store")
    assert landing(story, "store") == ["merged"]


def test_where_each_slice_lands_by_itself_it_is_merged_when_it_has_landed() -> None:
    story = notes(merge={"when": "slice"})
    story.begin("store")
    story.run("store/model")
    story.complete("store")
    assert landing(story, "store", "store/model") == ["merged", "unmerged"]
    lands(story, "store/model")
    assert landing(story, "store/model") == ["merged"]


def test_what_changed_nothing_has_landed_but_nothing_of_it_moved() -> None:
    story = notes()
    story.run("cli")
    story.step("cli", "@land")
    story.end("cli", "@land")
    assert landing(story, "cli") == ["merged"]
    assert story.view.landings.landed == {}


@pytest.mark.parametrize("isolation", ["dir", "none"])
def test_what_has_no_branch_does_not_land(isolation) -> None:
    story = notes(isolation=isolation, policy="serial")
    story.run("cli")
    story.step("cli", "@land")
    story.end("cli", "@land")
    assert landing(story, "cli") == [""]


def test_what_failed_is_unmerged() -> None:
    story = notes()
    story.begin("cli")
    story.fail("cli")
    assert landing(story, "cli") == ["unmerged"]


def test_the_target_is_that_of_the_start_of_the_run() -> None:
    story = notes()
    story.view.apply(make_event(kind="run_started", fact=RunStarted(at=0.0, run="r1", target="main")), 0.0)
    assert story.view.landings.target == "main"


def test_what_landed_is_known_with_branch_and_commit() -> None:
    story = notes()
    story.run("cli")
    lands(story, "cli", "trunk/next")
    assert [(move.branch, move.commit) for move in story.view.landings.landed.values()] == [
        ("trunk/next", "a" * 40)
    ]


def test_a_merge_into_a_group_is_no_landing() -> None:
    story = notes()
    moves = [{"ref": "refs/heads/weft/notes/store", "before": "b", "after": "a"}]
    story.tell("merge", "store/model", "@merge", outcome="merged", moves=moves)
    story.tell("merge", "cli", "@land", outcome="held", message="no")
    assert story.view.landings.landed == {}


# What is held


@pytest.mark.parametrize("step", ["@workspace", "@merge"])
def test_a_slice_that_is_held_is_running_and_is_said_to_be_held(step) -> None:
    story = notes()
    story.begin("cli")
    hold(story, "cli", step, **CONFLICT)
    row_view = story.view.row("cli")
    assert (row_view.state, row_view.landing, held(story)) == (State.RUNNING, "conflict", ["cli"])
    assert row_view.held is not None
    assert (row_view.held.step, row_view.held.message, row_view.held.files) == (
        step,
        "cli cannot be merged",
        ("f.txt",),
    )
    assert story.view.held_slices() == 1


def test_a_group_can_be_held_at_its_verify_and_is_no_slice() -> None:
    story = notes()
    story.begin("store")
    hold(story, "store", "@verify", message="no")
    assert (landing(story, "store"), held(story), story.view.held_slices()) == (["held"], ["store"], 0)


def test_held_slices_are_counted_by_group() -> None:
    story = notes()
    story.begin("store", "store/model", "cli")
    hold(story, "store/model", "@merge", **CONFLICT)
    assert [story.view.held_slices(row) for row in (0, 1, 4)] == [1, 1, 0]


def test_what_is_tried_again_is_not_held_and_what_is_merged_never_was() -> None:
    story = notes()
    story.begin("cli")
    hold(story, "cli", "@merge", **CONFLICT)
    story.step("cli", "@merge")
    assert (landing(story, "cli"), held(story), story.view.row("cli").held) == (["unmerged"], [], None)
    story.end("cli", "@merge")
    story.complete("cli")
    assert landing(story, "cli") == ["unmerged"], "it is to land"


def test_another_step_does_not_let_go_of_what_is_held() -> None:
    story = notes()
    story.begin("cli")
    hold(story, "cli", "@merge", **CONFLICT)
    story.step("cli", "code")
    assert story.view.row("cli").held is not None


@pytest.mark.parametrize("ends", ["step_cancelled", "subplan_state"])
def test_what_is_given_up_is_held_no_more(ends) -> None:
    story = notes()
    story.begin("cli")
    hold(story, "cli", "@merge", **CONFLICT)
    happens = {
        "step_cancelled": lambda: story.tell("step_cancelled", "cli", "@merge", firing=1, cause="store"),
        "subplan_state": lambda: story.fail("cli", "cancelled", cause="store"),
    }
    happens[ends]()
    assert (landing(story, "cli"), held(story)) == (["unmerged"], [])


def test_the_time_in_which_it_is_held_is_none_of_the_slice() -> None:
    story = notes()
    story.begin("cli")
    story.wait(10)
    hold(story, "cli", "@merge", **CONFLICT)
    story.wait(1_000)
    story.step("cli", "@merge")
    story.wait(1)
    story.end("cli", "@merge")
    story.complete("cli")
    assert story.view.row("cli").seconds(story.at) == 11.0


def test_the_time_that_is_left_is_not_guessed_from_what_is_held() -> None:
    story = Story(*slices(*"abcd"))
    story.start()
    for path in "abc":
        story.run(path, seconds=60)
    story.begin("d")
    before = story.view.remaining(story.at)
    hold(story, "d", "@merge", **CONFLICT)
    assert (before, story.view.remaining(story.at)) == (60.0, None)


# What waits to land


def test_what_is_only_to_be_agreed_to_needs_no_help() -> None:
    story = notes()
    story.run("cli")
    hold(story, "cli", "@land", **READY)
    assert (landing(story, "cli"), held(story), unlanded(story)) == (["held"], [], ["cli"])
    story.step("cli", "@land")
    assert unlanded(story) == []


def test_what_lands_after_others_needs_no_help() -> None:
    story = notes()
    story.run("cli")
    hold(story, "cli", "@land", message="built on store", waits_for=["store"])
    assert (held(story), unlanded(story)) == ([], ["cli"])


def test_a_file_in_the_way_of_a_landing_needs_help() -> None:
    story = notes()
    story.run("cli")
    hold(story, "cli", "@land", message="in the way", files=["f.txt"])
    assert (landing(story, "cli"), held(story), unlanded(story)) == (["held"], ["cli"], [])
    assert story.view.held_slices() == 0, "it is completed"


def test_what_can_be_agreed_to_is_what_waits_for_nothing_else() -> None:
    story = Story(*slices(*"abcde"))
    for path in "abcde":
        story.run(path)
    hold(story, "a", "@land", **CONFLICT)
    hold(story, "b", "@land", message="built on c and d", waits_for=["c", "d"])
    hold(story, "c", "@land", message="built on d", waits_for=["d"])
    hold(story, "d", "@land", **READY)
    hold(story, "e", "@land", message="built on a", waits_for=["a"])
    assert to_agree(story) == ["b", "c", "d"]


def test_manual_landing_asks_for_no_approval() -> None:
    story = Story(*slices("a"), *slices("b", merge={"mode": "manual"}))
    for path in "ab":
        story.run(path)
        hold(story, path, "@land", **READY)
    assert (to_agree(story), unlanded(story)) == (["a"], ["a", "b"])


# What is going to conflict


def ahead(story: Story) -> list[tuple[str, ...]]:
    paths = story.view.outline.paths
    return [(*(paths[row] for row in pair), *files) for pair, files in story.view.landings.ahead.items()]


def foreseen(story: Story, one: str, other: str, *files: str) -> None:
    outcome = "ahead" if files else "over"
    story.tell("conflict_ahead", one, outcome=outcome, other=other, files=list(files))


def test_a_conflict_ahead_is_known_until_it_is_over() -> None:
    story = notes()
    story.begin("store/model", "cli")
    foreseen(story, "cli", "store/model", "f.txt")
    assert ahead(story) == [("store/model", "cli", "f.txt")]
    foreseen(story, "store/model", "cli", "g.txt")
    assert ahead(story) == [("store/model", "cli", "g.txt")]
    foreseen(story, "cli", "store/model")
    assert ahead(story) == []


def test_a_conflict_ahead_is_still_ahead_when_one_of_the_two_is_there() -> None:
    story = notes()
    story.begin("store/model", "cli")
    foreseen(story, "cli", "store/model", "f.txt")
    story.complete("cli")
    assert ahead(story) == [("store/model", "cli", "f.txt")]
    story.complete("store/model")
    assert ahead(story) == []


def test_with_what_failed_nothing_conflicts() -> None:
    story = notes()
    story.begin("store/model", "cli")
    foreseen(story, "cli", "store/model", "f.txt")
    story.fail("cli")
    assert ahead(story) == []
