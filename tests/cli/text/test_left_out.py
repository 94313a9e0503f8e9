"""What is seen of subplans that the group around them has gone on without, under way and in the end."""

from datetime import UTC

from inline_snapshot import snapshot

from app.run_stories import Story, group, slices
from weft.app.views.wording.style import Style
from weft.cli.live.screen import screen
from weft.cli.text.run_lines import lines_of
from weft.cli.text.run_summary import summary_lines

SAID = "`verify` of store fails with model and disk together"


def notes(*more) -> Story:
    """A store that has gone on without three of the four in it; one of these is a group."""
    parts = (*slices("model", "disk"), group("index", *slices("a", "b")), *slices("cache"))
    story = Story(group("store", *parts), *slices("cli", depends_on=["store"]), *more, isolation="worktree")
    story.start()
    for path in ("store/model", "store/disk", "store/index/a", "store/index/b", "store/cache"):
        story.run(path)
    story.begin("store", "store/index")
    story.complete("store/index")
    story.step("store", "@verify", command="check")
    story.end("store", "@verify", "failed", exit_code=1, message=SAID, tail="they clash\n")
    for path in ("store/model", "store/disk", "store/index"):
        left_out(story, path)
    return story


def left_out(story: Story, path: str):
    culprits = ["store/model", "store/disk"]
    return story.tell("left_out", path, group="store", message=SAID, culprits=culprits)


def ended() -> Story:
    story = notes()
    story.complete("store")
    story.fail("cli", "blocked", cause="store", message="blocked by store, without a part that was left out")
    story.wait(12)
    story.finish("failed")
    return story


def test_the_end_says_what_was_left_out_why_and_where_it_is() -> None:
    story = ended()
    assert "\n".join(summary_lines(story.view, story.at, plan="plan.yaml")) == snapshot("""\
Failed after 12 s: 5 of 6 slices completed, 4 left out, 1 cancelled or blocked.

Left out   store/model, store/disk, store/index: `verify` of store fails with model and disk together
             | they clash
             what was done is on weft/notes/store.model, weft/notes/store.disk, weft/notes/store.index
Blocked    1 by store: cli
Cost       unknown: 5 agent calls did not report their cost
Next       weft logs store     shows all output of its verify
           weft run plan.yaml  repeats what was left out; other completed work is kept\
""")


def test_while_the_rest_waits_to_land_not_all_is_done() -> None:
    story = notes()
    story.complete("store")
    story.run("cli")
    story.step("store", "@land")
    story.end("store", "@land", "held", message="store is ready to land", asks=True)
    story.view.state = "waiting"
    assert summary_lines(story.view, story.at)[0] == snapshot(
        "Needs you after 0.0 s: 6 of 6 slices completed, 4 left out, 1 result waits to land."
    )


def test_it_is_no_failure_of_its_own() -> None:
    """Nor is it told as one."""
    row = ended().view.row("store/model")
    assert (row.failed_by_itself, row.state, row.landing) == (False, "completed", "unmerged")
    assert row.left_out is not None
    assert row.left_out.is_culprit


def test_a_subplan_based_on_a_culprit_is_no_culprit() -> None:
    row = ended().view.row("store/index")
    assert row.left_out is not None
    assert (row.left_out.is_culprit, row.left_out.group) == (False, "store")


def test_where_no_terminal_is_a_line_tells_of_each_also_to_quiet_readers() -> None:
    story = notes()
    event = left_out(story, "store/model")
    values = [f"00:16:40 store/model  is left out of store: {SAID}"]
    assert lines_of(event, story.at, story.view, zone=UTC) == values
    assert lines_of(event, story.at, story.view, quiet=True, zone=UTC) == values


def test_on_a_terminal_they_stay_in_sight_when_the_group_has_ended() -> None:
    story = notes()
    story.complete("store")
    lines = screen(story.view, story.at, (79, 23), Style(colours=False))
    assert "\n".join(lines[: lines.index("")]) == snapshot("""\
✓ store    5/5  0:00  $?
!   model       0:00  $?  left out: with it, `verify` of store fails
!   disk        0:00  $?  left out: with it, `verify` of store fails
!   index       0:00  $?  left out: with what it is built on, `verify` of stor…
· cli      ready\
""")
