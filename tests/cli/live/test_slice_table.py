"""The table of slices at the end of a run: exact texts, since their wording is designed."""

from inline_snapshot import snapshot

from app.run_stories import Story, group, slices
from weft.app.views.change_count import ChangeCount
from weft.app.views.wording.style import Style
from weft.cells import cells
from weft.cli.live.slice_table import ROWS, slice_table, table_rows
from weft.cli.text.run_summary import summary_lines

CHANGES = {
    "store/model": ChangeCount(3, 1_240, 2),
    "store/disk": ChangeCount(1, 4, 0),
    "cli": ChangeCount(12, 40, 31),
    "docs": ChangeCount(),
}


def mixed() -> Story:
    """A run with a failure, a question, a completed slice and slices that never started."""
    store = group("store", *slices("model"), *slices("disk"))
    story = Story(store, *slices("cli", "docs", "site", "blog"))
    story.start()
    story.begin("store")
    story.run("store/model", seconds=61, cost=400_000)
    story.begin("store/disk", "cli", "docs")
    story.step("store/disk", "code", agent="coder")
    story.end("store/disk", "code", cost=None)
    story.step("cli", "check", attempt=4, command="pytest -q")
    story.wait(3_700)
    story.end("cli", "check", "failed", attempt=4, exit_code=1)
    story.fail("cli", "exhausted")
    story.tell("ask", "docs", "gate", question="May I?", firing=99)
    story.fail("site", "blocked", cause="cli")
    return story


def shown(story: Story, **more) -> str:
    return "\n".join(slice_table(story.view, story.at, CHANGES, **more))


def test_failed_slices_come_first_and_then_those_that_wait_for_a_person() -> None:
    story = mixed()
    story.finish("stopped")
    assert shown(story) == snapshot("""\
  slice        result           files      lines  attempts   cost     time
✗ cli          failed              12    +40 −31         4         1:01:40
? docs         needs an answer      0                              1:01:40
▶ store/disk   stopped              1      +4 −0         1     $?  1:01:40
✓ store/model  completed            3  +1,240 −2         1  $0.40     1:01
✗ site         blocked
· blog         not started\
""")  # noqa: RUF001


def test_a_narrow_terminal_loses_columns_and_then_the_beginning_of_names() -> None:
    story = mixed()
    for width in (120, 70, 60, 50, 40):
        assert max(map(cells, slice_table(story.view, story.at, CHANGES, width=width))) <= width
    assert shown(story, width=50) == snapshot("""\
  slice        result               lines   cost
✗ cli          failed             +40 −31
? docs         needs an answer
▶ store/disk   under way            +4 −0     $?
✓ store/model  completed        +1,240 −2  $0.40
✗ site         blocked
· blog         not started\
""")  # noqa: RUF001
    deep = Story(group("a-group-with-a-long-name", *slices("first-of-two", "second-of-two")))
    assert "\n".join(slice_table(deep.view, deep.at, width=40)) == snapshot("""\
  slice                      result
· …a-long-name/first-of-two  not started
· …-long-name/second-of-two  not started\
""")


def test_a_terminal_without_unicode_gets_signs_in_ascii() -> None:
    text = shown(mixed(), style=Style(colours=False, unicode=False))
    assert text.isascii()
    assert "+1,240 -2" in text


def test_columns_that_no_slice_fills_are_left_out() -> None:
    story = Story(*slices("a", "b"))
    story.start()
    story.begin("a", "b")
    story.complete("a", "b")
    assert "\n".join(slice_table(story.view, story.at)) == snapshot("""\
  slice  result     time
✓ a      completed  0:00
✓ b      completed  0:00\
""")


def test_one_slice_needs_no_table() -> None:
    story = Story(*slices("only"))
    assert (table_rows(story.view), slice_table(story.view, story.at)) == ([], [])


def test_a_large_plan_shows_the_first_rows_and_counts_the_rest() -> None:
    names = [f"s{number:03}" for number in range(ROWS + 30)]
    story = Story(*slices(*names))
    story.start()
    for name in names[:-2]:
        story.run(name, cost=0)
    story.begin(names[-1])
    story.fail(names[-1])
    lines = slice_table(story.view, story.at)
    assert len(lines) == ROWS + 2
    assert [lines[1].split()[:3], lines[-1]] == snapshot(
        [["✗", "s049", "failed"], "… and 30 more: 29 completed, 1 not started"]
    )


def test_work_of_other_runs_and_groups_has_words_of_its_own() -> None:
    story = Story(*slices("kept", "left", "stuck", "waits", "held", "stopped"))
    story.start()
    story.view.landings_by_path.target = "main"
    story.complete("kept", carried=True)
    story.begin("left", "stuck", "waits", "held", "stopped")
    for path, why in (
        ("stuck", {"conflict": True, "message": "stuck cannot be merged", "files": ["f"]}),
        ("waits", {"asks": True, "message": "waits to land"}),
        ("held", {"message": "held cannot land"}),
    ):
        story.step(path, "@land")
        story.end(path, "@land", "held", **why)
    story.complete("left")
    story.tell("left_out", "left", group="", message="verify fails", culprits=["left"])
    story.finish("stopped")
    assert "\n".join(slice_table(story.view, story.at)) == snapshot("""\
  slice    result                  time
! left     left out                0:00
! stuck    in conflict             0:00
! waits    waits to land           0:00
! held     held                    0:00
▶ stopped  stopped                 0:00
✓ kept     done by an earlier run\
""")


def test_the_summary_has_the_table_before_failures_and_commands() -> None:
    story = mixed()
    story.finish("failed")
    lines = summary_lines(story.view, story.at, table=["the table"])
    assert lines[1:4] == ["", "the table", ""]
    assert lines[4].startswith("Failed ")
