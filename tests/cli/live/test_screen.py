"""What is seen of a run on a terminal; what is written to it is drawn on a small one."""

import io
import os
import pty
import termios
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from app.run_stories import Story, group, slices
from cli.small_terminal import SmallTerminal
from weft.app.views.finish_forecast import FinishForecast
from weft.app.views.wording.style import Style
from weft.cells import cells, strip_escapes
from weft.cli.live.keyboard import no_echo
from weft.cli.live.screen import Screen, screen, size_of
from weft.cli.terminal_style import style_of

NO_COLOURS = Style(colours=False)
ASCII = Style(colours=False, unicode=False)


def notes(**plan) -> Story:
    store = group("store", *slices("model"), *slices("disk", depends_on=["model"]))
    story = Story(store, *slices("cli", depends_on=["store"], title="Command line"), **plan)
    story.start()
    return story


def many(groups: int, each: int, **plan) -> Story:
    names = [f"s{number}" for number in range(each)]
    story = Story(*(group(f"g{number}", *slices(*names)) for number in range(groups)), **plan)
    story.start()
    return story


def picture(story: Story, width: int = 79, height: int = 23, style: Style = NO_COLOURS) -> str:
    return "\n".join(screen(story.view, story.at, (width, height), style))


def rows_of(story: Story, width: int = 79, height: int = 23) -> list[str]:
    """The table only."""
    lines = screen(story.view, story.at, (width, height), NO_COLOURS)
    return lines[: lines.index("")] if "" in lines else lines[:-2]


# The picture


def test_a_small_plan_is_shown_whole() -> None:
    story = notes()
    story.begin("store", "store/model")
    story.step("store/model", "code", attempt=2, agent="coder")
    story.view.note_output("store/model", "code", "reading src/store.py")
    story.wait(72)
    assert picture(story) == snapshot("""\
▶ store    0/2       1:12  1 running, 1 waiting
▶   model  code 2/4  1:12  reading src/store.py
·   disk   waits for store/model
· cli      waits for store

░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0/3 done, 1 running, 2 waiting
1:12\
""")


def test_what_is_done_again_says_why_until_it_says_something_itself() -> None:
    story = notes()
    story.begin("store", "store/model")
    story.step("store/model", "check", command="pytest -q")
    story.end("store/model", "check", "failed", exit_code=1)
    story.step("store/model", "code", attempt=2)
    assert (
        rows_of(story)[1] == "▶   model  code 2/4  0:00  again, because check failed: exit code 1 (pytest -q)"
    )
    story.view.note_output("store/model", "code", "reading src/store.py")
    assert rows_of(story)[1] == "▶   model  code 2/4  0:00  reading src/store.py"
    story.end("store/model", "code", attempt=2)
    story.step("store/model", "code")
    assert rows_of(story)[1] == "▶   model  code  0:00", "one that is not done again"


def test_what_is_done_and_what_failed_say_how_long_it_took_and_why() -> None:
    story = notes()
    story.begin("store")
    story.run("store/model", seconds=65, cost=1_250_000)
    story.begin("store/disk")
    story.step("store/disk", "check", attempt=2, command="pytest -q")
    story.wait(3)
    story.end("store/disk", "check", "failed", attempt=2, exit_code=1)
    story.fail("store/disk", "exhausted")
    assert picture(story) == snapshot("""\
▶ store    1/2      1:08  $1.25  1 failed
✓   model           1:05  $1.25
✗   disk   check 2  0:03         exit code 1 (pytest -q)
· cli      waits for store

█████████████▒▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░░  1/3 done, 1 failed, 1 waiting
1:08  $1.25\
""")


def test_a_question_is_shown_with_what_to_type() -> None:
    story = notes()
    story.begin("cli")
    story.tell("ask", "cli", "gate", question="May I delete the old files?", firing=1)
    story.wait(5)
    assert picture(story) == snapshot("""\
· store  2 slices, ready
? cli    gate  0:05  May I delete the old files?

Answer with: weft answer cli:gate yes (or no)
░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0/3 done, 1 asking, 2 waiting
0:05\
""")


def test_of_many_questions_the_first_ones_say_what_to_type() -> None:
    story = many(1, 5)
    for number in range(4):
        story.begin(f"g0/s{number}")
        story.tell("ask", f"g0/s{number}", "gate", question="Go on?", firing=number)
    assert picture(story, height=40).splitlines()[-6:] == snapshot(
        [
            "",
            "Answer with: weft answer g0/s0:gate yes (or no)",
            "Answer with: weft answer g0/s1:gate yes (or no)",
            "… 2 more ask",
            "░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0/5 done, 4 asking, 1 waiting",
            "0:00",
        ]
    )


def test_where_there_is_little_room_the_command_comes_before_the_words_around_it() -> None:
    story = many(1, 5)
    story.tell("ask", "g0/s1", "gate", question="Go on?", firing=1)
    assert "weft answer g0/s1:gate yes" in picture(story, width=30).splitlines()


def test_several_steps_of_a_slice_share_its_line() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "tests")
    story.step("cli", "code", attempt=3)
    story.view.note_output("cli", "tests", "one")
    assert rows_of(story)[-1] == snapshot("▶ cli    tests, code 3/4  0:00  one")


def test_a_slice_that_has_written_nothing_yet_shows_its_title() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "code")
    assert rows_of(story)[-1] == snapshot("▶ cli    code  0:00  Command line")


def test_a_slice_between_two_steps_waits_for_room() -> None:
    story = notes()
    story.begin("cli")
    assert rows_of(story)[-1] == snapshot("▶ cli    waits for a free slot or pool")


@pytest.mark.parametrize("budget", [20, {"tokens": "5M"}])
def test_where_there_is_a_ceiling_it_may_be_that_which_is_waited_for(budget: object) -> None:
    story = notes(budget=budget)
    story.begin("cli")
    assert rows_of(story)[-1] == "▶ cli    waits for a free slot, a pool or the budget"


def test_a_usage_limit_is_said_with_how_long_it_still_lasts() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "code")
    story.end("cli", "code", "limited", until=story.at + 600)
    assert rows_of(story)[-1] == snapshot("▶ cli    waits for a usage limit to end, in 10 min")
    story.wait(600)
    assert rows_of(story)[-1] == snapshot("▶ cli    waits for a free slot or pool")


def test_a_step_that_is_being_ended_says_so() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "code")
    story.tell("step_cancelled", "cli", "code", firing=1, execution=1, cause="store")
    assert rows_of(story)[-1] == snapshot("▶ cli    code  0:00  is being ended because of store")


def test_a_group_is_shown_with_its_own_step() -> None:
    story = notes()
    story.begin("store")
    story.step("store", "@verify", command="make")
    story.view.note_output("store", "@verify", "all is well")
    assert rows_of(story)[0] == snapshot("▶ store    verify  0:00  all is well")


def test_a_group_that_failed_by_itself_says_why() -> None:
    story = notes()
    story.begin("store")
    story.step("store", "@verify", command="make")
    story.end("store", "@verify", "failed", exit_code=2)
    story.fail("store", message="@verify: failed (make)")
    assert rows_of(story)[0] == snapshot("✗ store    0/2  0:00  exit code 2 (make)")


def test_the_step_of_the_whole_plan_has_the_name_of_the_plan() -> None:
    story = notes()
    story.step("", "@verify", command="make")
    assert rows_of(story)[0] == snapshot("▶ notes  verify  0:00")


def test_groups_that_ended_or_have_not_started_take_one_line() -> None:
    story = many(3, 4)
    story.begin("g0")
    for number in range(4):
        story.run(f"g0/s{number}", seconds=5)
    story.complete("g0")
    story.begin("g1", "g1/s0")
    assert rows_of(story) == snapshot(
        [
            "✓ g0    4/4  0:20  $?",
            "▶ g1    0/4  0:00      1 running, 3 waiting",
            "▶   s0  waits for a free slot or pool",
            "·   s1  ready",
            "·   s2  ready",
            "·   s3  ready",
            "· g2    4 slices, ready",
        ]
    )


def held(story: Story, path: str, step: str, **why) -> None:
    story.step(path, step)
    story.end(path, step, "held", **why)


def test_what_was_carried_over_has_landed_or_waits_to_says_so() -> None:
    story = Story(*slices("a", "b", "c", "d"), group("e", *slices("f")))
    story.begin("a", "b", "c", "d", "e")
    story.complete("a", carried=True)
    story.complete("b", "c", "d")
    story.run("e/f", cost=1)
    story.complete("e")
    held(story, "b", "@land", message="it is ready", asks=True)
    held(story, "c", "@land", message="built on b", waits_for=["b"])
    held(story, "e", "@land", message="it is ready", asks=True)
    moves = [{"ref": "refs/heads/main", "before": "", "after": "abc1234def"}]
    story.tell("merge", "d", "@land", outcome="merged", moves=moves)
    assert picture(story) == snapshot("""\
✓ a  done by an earlier run
✓ b       0:00          waits to land
✓ c       0:00          lands after b
✓ d       0:00          landed abc1234
✓ e  1/1  0:00  <$0.01  waits to land

████████████████████████████████████████  5/5 done, 3 to land
0:00  <$0.01\
""")


def test_the_place_of_a_result_in_the_landing_queue_is_shown() -> None:
    story = Story(*slices("a", "b", "c", "d"))
    story.begin("a", "b", "c", "d")
    story.complete("a", "b", "c", "d")
    for path in ("a", "b", "c"):
        story.step(path, "@land")
    story.tell("verify", "", "@land", outcome="started", entries=["a", "b"])
    held(story, "d", "@land", message="d does not land on main: `verify` fails with it", red=True)
    details = [" ".join(line.split()[3:]) for line in picture(story).splitlines()[:4]]
    assert details == [
        "0:00 verifying with 1 other",
        "0:00 verifying with 1 other",
        "0:00 queued to land",
        "0:00 held: verify failed",
    ]


def test_what_is_held_says_why_and_where_to_look() -> None:
    story = Story(group("g", *slices("a", "b")), *slices("c", "d", "e"))
    story.start()
    story.begin("g", "g/a", "g/b", "c", "d", "e")
    held(story, "g/a", "@merge", message="no", files=["x.py", "y.py", "z.py", "0.py"], conflict=True)
    story.complete("c")
    held(story, "c", "@land", message="in the way", files=["f.txt"])
    held(story, "d", "@workspace", message="d cannot start: the branch is gone\nand more")
    story.wait(65)
    assert picture(story) == snapshot("""\
▶ g    0/2        1:05  1 held, 1 running
!   a  merge      1:05  in conflict: x.py, y.py, z.py and 1 more
▶   b  waits for a free slot or pool
! c    land       1:05  in the way: f.txt
! d    workspace  1:05  cannot start: the branch is gone
▶ e    waits for a free slot or pool

To see what is held and how to settle it, type: weft merge --list
███████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  1/5 done, 2 held, 2 running
1:05\
""")
    assert "weft merge --list" in picture(story, width=40).splitlines()


def test_a_group_whose_result_cannot_land_is_shown_so() -> None:
    story = Story(group("g", *slices("a")))
    story.begin("g")
    story.run("g/a")
    story.complete("g")
    held(story, "g", "@land", message="no", files=["f.txt"], conflict=True)
    assert rows_of(story) == snapshot(["! g  land  0:00  $?  in conflict: f.txt"])


def test_the_last_change_outside_of_worktrees_is_shown() -> None:
    story = Story(*slices(*"ab"))
    story.begin(*"ab")
    for file in ("first", "last"):
        story.tell("outside_changed", "a", "code", files=[file], during=["a:code"])
    assert picture(story).splitlines()[-3] == "Warning: changed in your checkout while a:code ran: last"


def test_conflicts_that_are_coming_are_hinted_at() -> None:
    story = Story(*slices(*"abcde"))
    story.begin(*"abcde")
    for item, other in ("ab", "bc", "cd", "de"):
        story.tell("conflict_ahead", item, outcome="ahead", other=other, files=["f.txt"])
    held(story, "a", "@merge", message="no", conflict=True)
    assert picture(story).splitlines()[-6:-2] == snapshot(
        [
            "To see what is held and how to settle it, type: weft merge --list",
            "b is going to conflict with c: f.txt",
            "c is going to conflict with d: f.txt",
            "… 1 more conflict ahead",
        ]
    )


def test_a_blocked_subplan_names_the_cause() -> None:
    story = notes()
    story.fail("cli", "blocked", cause="store", message="blocked by store")
    assert rows_of(story)[-1] == snapshot("✗ cli    blocked by store")


def test_of_many_dependencies_two_are_named() -> None:
    story = Story(*slices("a", "b", "c"), *slices("d", depends_on=["a", "b", "c"]))
    assert rows_of(story)[-1] == snapshot("· d  waits for a, b and others")


def test_costs_that_are_unknown_are_not_shown_as_nothing() -> None:
    story = notes(budget=20)
    story.begin("store")
    story.run("store/model")
    story.run("store/disk", cost=2_500_000)
    assert picture(story) == snapshot("""\
▶ store    2/2  0:00  $2.50+?
✓   model       0:00       $?
✓   disk        0:00    $2.50
· cli      waits for store

██████████████████████████░░░░░░░░░░░░░░  2/3 done, 1 waiting
0:00  $2.50 + 1 unknown of $20.00\
""")


def test_the_time_that_is_left_is_reported_when_something_is_known_about_it() -> None:
    story = many(1, 10)
    story.begin("g0")
    for number in range(3):
        story.run(f"g0/s{number}", seconds=60)
    story.begin("g0/s3")
    assert picture(story).splitlines()[-1] == snapshot("3:00  cost of 3 unknown  about 7 min left")


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at).astimezone():%H:%M}"


def test_a_forecast_replaces_the_time_that_is_left() -> None:
    story = many(1, 10)
    story.begin("g0")
    now = story.at
    finish = (now + 600.0, now + 1800.0)
    early, late = map(_moment, finish)
    story.view.forecast = FinishForecast(at=now, finish=finish, cost=(14_100_000, 18_800_000))
    assert picture(story).splitlines()[-1] == f"0:00  finish {early}–{late}, cost $14.10–$18.80"  # noqa: RUF001
    assert picture(story, style=ASCII).splitlines()[-1] == f"0:00  finish {early}-{late}, cost $14.10-$18.80"
    story.view.forecast = FinishForecast(at=now, finish=(now + 600.0, now + 600.0), cost=(0, 0))
    assert picture(story).splitlines()[-1] == f"0:00  finish {early}"


def test_a_forecast_that_has_passed_is_not_shown() -> None:
    story = many(1, 10)
    story.begin("g0")
    story.view.forecast = FinishForecast(at=story.at - 9.0, finish=(story.at - 5.0, story.at), cost=(1, 1))
    assert picture(story).splitlines()[-1] == "0:00"


def test_a_run_that_stops_says_how_to_hurry_it() -> None:
    story = notes()
    story.tell("stopping", now=False)
    assert picture(story).splitlines()[-1] == snapshot(
        "0:00  stopping; Ctrl-C again ends the running steps at once"
    )


# Little room


def test_urgent_failed_and_running_rows_come_before_waiting_ones() -> None:
    story = many(1, 30)
    story.begin("g0")
    story.begin("g0/s27", "g0/s28", "g0/s29")
    story.tell("ask", "g0/s28", "gate", question="Go on?", firing=1)
    story.fail("g0/s29", message="no")
    assert rows_of(story, height=12) == snapshot(
        [
            "▶ g0     0/30  0:00  2 running, 1 failed, 27 waiting",
            "·   s0   ready",
            "·   s1   ready",
            "·   s2   ready",
            "▶   s27  waits for a free slot or pool",
            "?   s28  gate  0:00  Go on?",
            "✗   s29        0:00  no",
            "… 24 more waiting",
        ]
    )


def test_what_is_held_comes_before_what_waits_and_does_not_hide_what_runs() -> None:
    story = many(1, 30)
    story.begin("g0")
    for number in range(20, 29):
        story.begin(f"g0/s{number}")
        held(story, f"g0/s{number}", "@merge", message="no", files=["f.txt"], conflict=True)
    story.begin("g0/s29")
    assert rows_of(story, height=13) == snapshot(
        [
            "▶ g0     0/30   0:00  9 held, 1 running, 20 waiting",
            "!   s20  merge  0:00  in conflict: f.txt",
            "!   s21  merge  0:00  in conflict: f.txt",
            "!   s22  merge  0:00  in conflict: f.txt",
            "!   s23  merge  0:00  in conflict: f.txt",
            "!   s24  merge  0:00  in conflict: f.txt",
            "!   s25  merge  0:00  in conflict: f.txt",
            "▶   s29  waits for a free slot or pool",
            "… 23 more: 3 running, 20 waiting",
        ]
    )


def test_slices_in_a_group_that_has_ended_are_not_counted_as_hidden() -> None:
    story = many(1, 3)
    story.begin("g0")
    story.run("g0/s0", cost=1)
    story.run("g0/s1", cost=1)
    story.begin("g0/s2")
    story.fail("g0/s2", message="no")
    story.fail("g0", cause="g0/s2", message="g0/s2 failed")
    assert rows_of(story) == snapshot(
        ["✗ g0    2/3  0:00  <$0.01  1 failed", "✗   s2       0:00          no"]
    )


def test_many_failures_do_not_hide_what_runs() -> None:
    story = many(1, 40)
    story.begin("g0")
    for number in range(30):
        story.fail(f"g0/s{number}", message="no")
    story.begin("g0/s38", "g0/s39")
    rows = rows_of(story, height=12)
    assert [row for row in rows if row.startswith("▶   ")] == snapshot(
        ["▶   s38  waits for a free slot or pool", "▶   s39  waits for a free slot or pool"]
    )
    assert rows[-1] == snapshot("… 33 more: 25 failed, 8 waiting")


def test_where_groups_would_take_the_room_slices_stand_with_their_paths() -> None:
    story = many(8, 2)
    for number in range(8):
        story.begin(f"g{number}", f"g{number}/s0")
    assert rows_of(story, height=11) == snapshot(
        [
            "▶ g0/s0  waits for a free slot or pool",
            "▶ g1/s0  waits for a free slot or pool",
            "▶ g2/s0  waits for a free slot or pool",
            "▶ g3/s0  waits for a free slot or pool",
            "▶ g4/s0  waits for a free slot or pool",
            "▶ g5/s0  waits for a free slot or pool",
            "▶ g6/s0  waits for a free slot or pool",
            "▶ g7/s0  waits for a free slot or pool",
            "… 8 more waiting",
        ]
    )


def test_what_has_just_ended_is_shown_before_what_waits() -> None:
    story = many(1, 30)
    story.begin("g0")
    for number in range(10):
        story.run(f"g0/s{number}")
    assert rows_of(story, height=10) == snapshot(
        [
            "▶ g0     10/30  0:00  $?  20 waiting",
            "✓   s7          0:00  $?",
            "✓   s8          0:00  $?",
            "✓   s9          0:00  $?",
            "·   s10  ready",
            "·   s11  ready",
            "·   s12  ready",
            "… 24 more: 17 waiting, 7 completed",
        ]
    )


@pytest.mark.parametrize("height", [1, 2, 3, 4, 5])
def test_however_low_the_terminal_how_far_the_run_is_can_be_seen(height) -> None:
    story = many(2, 5)
    story.begin("g0", "g0/s0")
    lines = screen(story.view, story.at, (60, height), NO_COLOURS)
    assert len(lines) <= height
    assert "0/10 done" in "".join(lines)


def test_in_a_narrow_terminal_columns_are_left_out_from_the_right() -> None:
    story = notes()
    story.begin("store", "store/model")
    story.step("store/model", "code", attempt=2)
    story.view.note_output("store/model", "code", "reading")
    assert picture(story, width=30, height=10) == snapshot("""\
▶ store    0/2       0:00
▶   model  code 2/4  0:00
·   disk   waits for store/mo…
· cli      waits for store
0/3 done, 1 running, 2 waiting
0:00\
""")
    assert picture(story, width=12, height=10) == snapshot("""\
▶ store
▶   model
·   disk
· cli
0/3 done
0:00\
""")


def test_what_each_subplan_cost_is_shown_where_there_is_room_for_it() -> None:
    story = many(1, 1)
    story.run("g0/s0", cost=1_000_000)
    assert ["$1.00" in rows_of(story, width=width)[0] for width in (59, 60)] == [False, True]


def test_without_unicode_and_colours_all_is_ascii() -> None:
    story = notes()
    story.begin("store", "store/model", "cli")
    story.step("store/model", "code")
    story.view.note_output("store/model", "code", "模型 " * 40)
    story.complete("cli")
    assert picture(story, style=ASCII) == snapshot("""\
> store    0/2   0:00  1 running, 1 waiting
>   model  code  0:00  ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? ??...
.   disk   waits for store/model
+ cli            0:00

#############---------------------------  1/3 done, 1 running, 1 waiting
0:00\
""")


def test_colours_tell_states_apart() -> None:
    story = Story(*slices("a", "b", "c", "d"))
    story.begin("a", "b", "c")
    story.complete("a")
    story.fail("b", message="no")
    story.tell("ask", "c", "gate", question="Go on?", firing=1)
    lines = screen(story.view, story.at, (79, 23), Style())
    assert [line.partition(" ")[0] for line in lines[:4]] == snapshot(
        ["\x1b[32m✓\x1b[0m", "\x1b[31m✗\x1b[0m", "\x1b[33m?\x1b[0m", "\x1b[2m·\x1b[0m"]
    )


states = st.sampled_from(["begin", "complete", "fail", "ask", "step", "output"])
texts = st.text(max_size=30)


@given(
    st.lists(st.tuples(states, st.integers(0, 11), texts), max_size=40),
    st.integers(1, 120),
    st.integers(1, 40),
    st.booleans(),
)
def test_a_picture_is_never_larger_than_the_terminal(happenings, width, height, unicode) -> None:
    story = many(3, 4)
    for state, number, text in happenings:
        path = f"g{number // 4}/s{number % 4}"
        match state:
            case "begin":
                story.begin(path)
            case "complete":
                story.complete(path)
            case "fail":
                story.fail(path, message=text)
            case "ask":
                story.tell("ask", path, "gate", question=text, firing=1)
            case "step":
                story.step(path, "code")
            case _:
                story.view.note_output(path, "code", text)
    lines = screen(story.view, story.at, (width, height), Style(unicode=unicode))
    assert len(lines) <= height
    assert max(cells(strip_escapes(line)) for line in lines) <= width
    assert all(strip_escapes(line).isprintable() for line in lines)


# Drawing


def drawn_on(terminal: SmallTerminal, style: Style = NO_COLOURS) -> Screen:
    return Screen(terminal, style, size=lambda _: terminal.size)


pictures = st.lists(st.lists(st.text("ab", max_size=3), min_size=1, max_size=5), max_size=6)


@given(pictures)
def test_after_each_change_the_terminal_shows_the_new_picture_and_nothing_else(pictures) -> None:
    terminal = SmallTerminal()
    terminal.write("before\n")
    screen = drawn_on(terminal)
    for lines in pictures:
        screen.draw(lines)
        assert terminal.shown == ["before", *lines]
    screen.clear()
    assert terminal.shown == ["before", ""]
    assert terminal.has_cursor


def test_only_changed_lines_are_written_and_always_the_last_one() -> None:
    terminal = SmallTerminal()
    screen = drawn_on(terminal)
    screen.draw(["one", "two", "three", "four"])
    terminal.typed()
    screen.draw(["one", "zwei", "three", "four"])
    written = terminal.typed()
    assert [text in written for text in ("one", "zwei", "three", "four")] == [False, True, False, True]


def test_the_cursor_is_hidden_while_there_is_a_picture() -> None:
    terminal = SmallTerminal()
    with drawn_on(terminal) as screen:
        screen.draw(["one"])
        assert not terminal.has_cursor
    assert terminal.has_cursor


def test_an_error_leaves_the_terminal_clean() -> None:
    terminal = SmallTerminal()

    def interrupted() -> None:
        with drawn_on(terminal) as screen:
            screen.draw(["one", "two"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (terminal.shown, terminal.has_cursor) == ([""], True)


def test_where_nothing_was_drawn_nothing_is_written() -> None:
    terminal = SmallTerminal()
    with drawn_on(terminal):
        pass
    assert not terminal.typed()


def test_what_is_said_stays_above_the_picture() -> None:
    terminal = SmallTerminal()
    screen = drawn_on(terminal)
    screen.draw(["one", "two"])
    screen.say(["stopping", "\x1b[2Jevil"])
    screen.draw(["three"])
    assert terminal.shown == ["stopping", "evil", "three"]


def test_in_a_terminal_that_became_narrower_wrapped_lines_are_erased_too() -> None:
    terminal = SmallTerminal(columns=80)
    screen = drawn_on(terminal)
    screen.draw(["x" * 70, "y" * 30, "z"])
    terminal.typed()
    terminal.size = (40, 24)
    terminal.row = 3  # as the terminal has wrapped the first line
    screen.draw(["a"])
    assert "\r\x1b[3A\x1b[J" in terminal.typed()


def test_never_more_is_erased_than_the_terminal_is_high() -> None:
    terminal = SmallTerminal()
    screen = drawn_on(terminal)
    screen.draw(["x"] * 20)
    terminal.typed()
    terminal.size = (80, 10)
    screen.draw(["a"])
    assert "\r\x1b[9A\x1b[J" in terminal.typed()


def test_a_picture_is_made_when_something_changed_a_while_ago_or_a_second_has_passed() -> None:
    story = notes()
    screen = drawn_on(SmallTerminal())
    assert screen.show(story.view, 0.0)
    assert [screen.show(story.view, at) for at in (0.5, 0.9, 1.0)] == [False, False, True]
    story.begin("cli")
    assert [screen.show(story.view, at) for at in (1.1, 1.2, 1.3, 1.4)] == [False, False, True, False]


def test_a_terminal_of_another_size_gets_a_new_picture_soon() -> None:
    story = notes()
    terminal = SmallTerminal()
    screen = drawn_on(terminal)
    screen.show(story.view, 0.0)
    terminal.size = (100, 30)
    assert [screen.show(story.view, at) for at in (0.1, 0.25)] == [False, True]


def test_a_clock_that_was_set_back_does_not_stop_the_picture() -> None:
    story = notes()
    screen = drawn_on(SmallTerminal())
    assert [screen.show(story.view, at) for at in (1_000.0, 5.0)] == [True, True]


def test_the_picture_comes_back_at_once_after_something_was_said() -> None:
    story = notes()
    screen = drawn_on(SmallTerminal())
    screen.show(story.view, 0.0)
    screen.say(["hello"])
    assert screen.show(story.view, 0.01)


def test_the_picture_leaves_the_last_column_and_a_line_free() -> None:
    story = many(3, 40)
    for number in range(3):
        story.begin(f"g{number}")
    terminal = SmallTerminal(columns=50, lines=12)
    drawn_on(terminal).show(story.view, story.at)
    assert len(terminal.shown) == 11
    assert max(map(len, terminal.shown)) <= 49


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError("the terminal has gone")


def test_a_terminal_that_has_gone_does_not_stop_the_run() -> None:
    with Screen(Broken(), NO_COLOURS) as screen:
        screen.draw(["one"])
        screen.draw(["two"])


# Terminals


class Stream(io.StringIO):
    def __init__(self, *, tty: bool = True, encoding: str | None = "utf-8") -> None:
        super().__init__()
        self._tty = tty
        self._encoding = encoding

    def isatty(self) -> bool:
        return self._tty

    @property
    def encoding(self) -> str | None:  # type: ignore[override]
        return self._encoding


XTERM = {"TERM": "xterm"}


@pytest.mark.parametrize(
    ("stream", "environ", "style"),
    [
        (Stream(), XTERM, Style()),
        (Stream(encoding="UTF8"), XTERM, Style()),
        (Stream(), XTERM | {"NO_COLOR": "1"}, Style(colours=False)),
        (Stream(), XTERM | {"NO_COLOR": ""}, Style()),
        (Stream(encoding="iso-8859-1"), XTERM, Style(unicode=False)),
        (Stream(encoding=None), XTERM, Style(unicode=False)),
        (Stream(), {"TERM": "dumb"}, None),
        (Stream(), {}, None),
        (Stream(tty=False), XTERM, None),
        (None, XTERM, None),
    ],
)
def test_what_a_terminal_can_show_is_asked_of_it_and_of_the_environment(stream, environ, style) -> None:
    assert style_of(stream, environ) == style


@pytest.fixture
def terminal():
    """A real one, as a stream; nobody sits at it."""
    keyboard, screen = pty.openpty()
    with os.fdopen(screen, "w") as stream:
        yield stream
    os.close(keyboard)


def test_the_size_of_a_terminal_is_asked_of_it(terminal) -> None:
    termios.tcsetwinsize(terminal.fileno(), (30, 100))
    assert size_of(terminal) == (100, 30)


def test_a_terminal_that_does_not_know_its_size_has_a_usual_one(terminal) -> None:
    assert [size_of(terminal), size_of(io.StringIO())] == [(80, 24), (80, 24)]


def echoes(stream) -> bool:
    return bool(termios.tcgetattr(stream.fileno())[3] & termios.ECHO)


def test_what_is_typed_is_not_written_into_the_picture(terminal) -> None:
    seen = [echoes(terminal)]
    with no_echo(terminal):
        seen.append(echoes(terminal))
    assert [*seen, echoes(terminal)] == [True, False, True]


def test_a_terminal_that_another_uses_is_left_alone(terminal, monkeypatch) -> None:
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp() + 1)
    with no_echo(terminal):
        assert echoes(terminal)


def test_what_is_no_terminal_need_not_be_quiet(tmp_path) -> None:
    with (tmp_path / "file").open("w") as stream, no_echo(stream):
        pass


def test_what_ended_says_that_its_agent_changed_nothing() -> None:
    story = notes()
    story.run("store/model", changed=False)
    story.begin("store/disk")
    story.step("store/disk", "code", agent="coder")
    story.end("store/disk", "code", changed=False)
    story.fail("store/disk", "error", message="no")
    rows = [row for row in rows_of(story) if "changed nothing" in row]
    assert len(rows) == 2
    assert rows[0].endswith("  code changed nothing")
    assert rows[1].endswith("; code changed nothing")


def test_a_push_that_failed_is_shown_below_the_table_until_one_succeeds() -> None:
    story = notes()
    story.tell("push", outcome="failed", remote="origin", message="remote: no\nerror: failed")
    assert "Landed, not pushed: remote: no" in picture(story).splitlines()
    story.tell("push", outcome="pushed", remote="origin", commit="0123456789")
    assert "pushed" not in picture(story)
