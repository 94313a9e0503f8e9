"""`weft top` over real runs, driven by keys, with the text that a person sees."""

import asyncio
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from textual.pilot import Pilot

from benchmarks.large_run import write_large_run
from cli.running import Project
from tui.driver import drive, settled, shown, text_of
from weft.errors import InputError
from weft.tui.app import TopApp
from weft.tui.commands import complete
from weft.tui.source import RunSource

PLAN = """
failure_mode: continue_on_error
subplans:
  - id: store
    subplans:
      - {id: model, steps: [{id: work, run: "echo made; echo second"}]}
      - {id: disk, steps: [{id: test, run: "echo an error in disk; exit 3"}]}
  - {id: release, steps: [{id: sure, action: ask, question: "Publish it?\\nIt has 14 changes."}]}
  - {id: later, depends_on: [release], steps: [{id: work, run: "true"}]}
"""

ROOT = Path(__file__).parents[2]


@pytest.fixture
def asking(project: Project) -> Project:
    """A run that waits for an answer, with a failed slice."""
    project.plan(PLAN)
    assert project.weft("run", "--no-wait").exit_code == 1
    return project


def test_the_screen_shows_what_needs_a_person_then_the_tree_then_the_log(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await settled(app, pilot)
        assert text_of(app) == snapshot(
            [
                "tried  waiting  0:00",
                "1/4  1 failed  1 needs an answer  1 waiting",
                "? release  Publish it?",
                "✗ store/disk  exit code 3 (echo an error in disk; exit 3)",
                "✗ ▾ store             1/2  0:00  1 fail…│ store/disk  log  why  diff",
                "✗   disk              test  0:00        │ test: echo an error in disk; exit 3",
                "? release             sure  0:00        │ an error in disk",
                "· later               waits for release │ test failed: exit code 3",
                "                                        │",
                "                                        │",
                "                                        │",
                "                                        │",
                "                                        │",
                "                                        │",
                "                                        │",
                "1 hidden: z  j k move  Enter open  L log  W why  D diff  / filter  : go  ? help…",
            ]
        )

    drive(asking.root, script)


def test_a_narrow_terminal_shows_the_tree_or_the_details(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        assert "release" in shown(app)
        assert "log" not in shown(app)
        await pilot.press("e", "enter")
        await settled(app, pilot)
        assert "an error in disk" in shown(app)
        assert "later" not in shown(app)
        await pilot.press("escape")
        await settled(app, pilot)
        assert "later" in shown(app)

    drive(asking.root, script, size=(40, 15))


def test_completed_work_is_hidden_until_it_is_asked_for(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        assert "model" not in shown(app)
        assert "1 hidden: z" in shown(app)
        await pilot.press("z")
        await settled(app, pilot)
        assert "✓   model" in shown(app)

    drive(asking.root, script)


def test_a_filter_shows_matching_subplans_with_their_groups(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("/", *"model", "enter")
        await settled(app, pilot)
        rows = [app._follower.view.outline.paths[row] for row in app._tree.rows]  # type: ignore[union-attr]
        assert rows == ["store", "store/model"]
        await pilot.press("escape")
        await settled(app, pilot)
        assert len(app._tree.rows) == 4

    drive(asking.root, script)


def test_a_colon_jumps_to_a_subplan_and_names_what_is_unknown(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press(":", *"later", "enter")
        await settled(app, pilot)
        assert app._follower.view.outline.paths[app._tree.row] == "later"  # type: ignore[union-attr]
        await pilot.press(":", *"nowhere", "enter")
        await settled(app, pilot)
        assert "no subplan and no command is called 'nowhere'" in shown(app)

    drive(asking.root, script)


def test_a_question_is_shown_whole_and_answered_by_the_command(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await pilot.pause()
        assert "Publish it?" in shown(app)
        assert "It has 14 changes." in shown(app)
        await pilot.press("y")
        await settled(app, pilot)
        assert "$ weft answer release:sure yes: answered release:sure: yes" in shown(app)

    drive(asking.root, script, size=(120, 20))
    assert asking.weft("run").exit_code == 1
    assert "later" in [event.subplan for event in asking.events()]


def test_the_reason_of_a_failure_comes_with_its_output_and_the_command(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("e", "W")
        await settled(app, pilot)
        assert "store/disk failed" in shown(app)
        assert "an error in disk" in shown(app)
        await pilot.press(":", *"later", "enter", "W")
        await settled(app, pilot)
        assert "waits for release: needs an answer" in shown(app)

    drive(asking.root, script, size=(120, 30))


def test_what_would_run_is_copied_and_nothing_runs(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        before = len(asking.events())
        await pilot.press("e", "y", "R")
        await settled(app, pilot)
        assert "copied: weft retry store/disk" in shown(app)
        assert app.clipboard == "weft retry store/disk"
        assert len(asking.events()) == before

    drive(asking.root, script)


def test_a_stop_is_confirmed_first(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("s")
        await pilot.pause()
        assert "Running steps are ended." in shown(app)
        await pilot.press("escape")
        await settled(app, pilot)
        assert "$ weft stop" not in shown(app)

    drive(asking.root, script)


def test_the_help_can_be_searched(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("?", *"copy")
        await pilot.pause()
        assert "copy the command that the key would run" in shown(app)
        assert "down and up" not in shown(app)
        await pilot.press("escape")
        await settled(app, pilot)
        assert "release" in shown(app)

    drive(asking.root, script)


def test_before_the_first_run_it_waits_and_then_shows_the_run(project: Project) -> None:
    project.plan(PLAN)

    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        assert "nothing has been run" in shown(app)
        await asyncio.to_thread(project.process, "run", "--no-wait")
        app._source._next_look = 0.0
        app._tick()
        await settled(app, pilot)
        assert "release" in shown(app)

    drive(project.root, script)


def test_an_unknown_run_is_an_error_with_the_nearest_name(asking: Project) -> None:
    (run,) = asking.runs()
    with pytest.raises(InputError, match=f"did you mean {run}"):
        RunSource(asking.root, run[:-1]).require()


def test_hostile_output_and_questions_do_not_reach_the_terminal(project: Project) -> None:
    (project.root / "hostile").write_bytes(b"red \x1b[31m bidi \xe2\x80\xae title \x1b]0;T\x07 end")
    text = shlex.quote(str(project.root / "hostile"))
    project.plan(f'subplans: [{{id: a, steps: [{{id: x, run: "cat {text}; exit 1"}}]}}]\n')
    assert project.weft("run").exit_code == 1

    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("j")
        await settled(app, pilot)
        assert "\x1b" not in shown(app)
        assert "\u202e" not in shown(app)
        assert "end" in shown(app)

    drive(project.root, script)


def test_a_run_whose_coordinator_was_killed_says_so(tmp_path: Path) -> None:
    # In a process of its own, which has ended when the run is looked at.
    code = "import sys; from benchmarks.large_run import *; write_large_run(Path(sys.argv[1]), groups=3, slices=4)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "large")], check=True, cwd=ROOT)

    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        assert "has died" in text_of(app)[0]
        assert "the coordinator has ended unexpectedly" in shown(app)

    drive(tmp_path / "large", script, size=(100, 20))


def test_groups_fold_and_unfold(tmp_path: Path) -> None:
    write_large_run(tmp_path / "large", groups=3, slices=4)

    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        before = len(app._tree.rows)
        await pilot.press("g", "h")
        await settled(app, pilot)
        assert len(app._tree.rows) < before
        await pilot.press("l")
        await settled(app, pilot)
        assert len(app._tree.rows) == before

    drive(tmp_path / "large", script)


# The prompt


def chosen(app: TopApp) -> str:
    assert app._follower is not None
    return str(app._follower.view.outline.paths[app._tree.row])


def test_a_command_is_typed_with_the_subplan_and_completed_by_tab(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press(":", *"w", "tab", *" store/d", "tab", "enter")
        await settled(app, pilot)
        assert chosen(app) == "store/disk"
        assert "store/disk failed" in shown(app)
        await pilot.press(":", *"pause lat", "tab", "enter")
        await settled(app, pilot)
        assert "$ weft pause later: " in shown(app)
        await pilot.press(":", *"resume release", "enter")
        await settled(app, pilot)
        assert "it is not paused" in shown(app)

    drive(asking.root, script, size=(120, 20))


def test_the_prompt_names_unknown_subplans_and_is_left_by_escape(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press(":", *"stop nowhere", "tab", "enter")
        await settled(app, pilot)
        assert "no subplan is called 'nowhere'" in shown(app)
        await pilot.press("/", "x", "tab", "escape")
        await settled(app, pilot)
        assert len(app._tree.rows) == 4
        await pilot.press(":", "escape", ":", "enter")
        await settled(app, pilot)
        assert "release" in shown(app)
        await pilot.press(":", "q", "enter")

    drive(asking.root, script)


@pytest.mark.parametrize(
    ("text", "completed"),
    [
        ("re", "re"),
        ("pa", "pause"),
        ("sto", "sto"),
        ("stor", "store"),
        ("pause store/", "pause store/"),
        ("pause store/m", "pause store/model"),
        ("x", "x"),
        ("x y", "x y"),
    ],
)
def test_the_prompt_is_completed_as_far_as_all_names_agree(text: str, completed: str) -> None:
    assert complete(text, ["", "store", "store/model", "store/disk", "release"]) == completed


# Keys


def test_a_key_without_anything_to_do_says_so(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        for keys, words in {
            ("m",): "nothing is held",
            ("G", "R"): "later has not failed",
            ("y", "x"): "x stands for no command",
            ("y", "m"): "nothing is held",
            ("y", "L"): "copied: weft logs later",
            ("y", "D"): "copied: weft diff later",
            ("y", "p"): "copied: weft pause later",
            ("y", "s"): "copied: weft stop later",
            ("y", "a"): "copied: weft answer release:sure yes",
        }.items():
            await pilot.press(*keys)
            await pilot.pause()
            assert words in text_of(app)[-1]

    drive(asking.root, script, size=(110, 16))


def test_the_next_subplan_that_needs_a_person_is_chosen(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        places = []
        for _ in range(4):
            await pilot.press("n")
            places.append(chosen(app))
        assert places == ["store/disk", "release", "store", "store/disk"]

    drive(asking.root, script)


def test_a_need_is_opened_with_its_reason(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("shift+tab", "down", "up", "enter")
        await settled(app, pilot)
        assert chosen(app) == "release"
        assert "It has 14 changes." in shown(app)
        assert app.focused is app._details
        await pilot.press("escape", "shift+tab", "a")
        await pilot.pause()
        assert "release:sure asks" in shown(app)
        await pilot.press("x", "escape")

    drive(asking.root, script, size=(100, 20))


def test_a_log_is_searched_and_followed(project: Project) -> None:
    lines = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; echo an Error; seq 100 140"
    project.plan(f'subplans: [{{id: a, steps: [{{id: x, run: "{lines}; exit 1"}}]}}]\n')
    assert project.weft("run").exit_code == 1

    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        assert "x failed: exit code 1" in shown(app)
        await pilot.press("enter", "g")
        await settled(app, pilot)
        assert "line 1" in shown(app)
        await pilot.press("/", *"LINE 7", "enter")
        await settled(app, pilot)
        assert "line 7" in text_of(app)[4]
        await pilot.press("e")
        await settled(app, pilot)
        assert "an Error" in text_of(app)[4]
        await pilot.press("/", *"nothing", "enter")
        await settled(app, pilot)
        assert "not found: nothing" in shown(app)
        await pilot.press("f")
        await settled(app, pilot)
        assert "x failed: exit code 1" in shown(app)
        assert "follows the end" in shown(app)
        await pilot.press("f", "space", "pageup", "k", "G")
        await settled(app, pilot)
        assert "x failed: exit code 1" in shown(app)

    drive(project.root, script, size=(90, 14))


def test_a_stop_that_is_confirmed_runs_the_command(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press(":", *"later", "enter", "s", "y")
        await settled(app, pilot)
        assert "$ weft stop later: " in shown(app)

    drive(asking.root, script, size=(110, 16))


def test_folding_a_slice_moves_to_its_group_and_then_folds_that(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press(":", *"store/disk", "enter", "l", "h")
        assert chosen(app) == "store"
        await pilot.press("h")
        assert len(app._tree.rows) == 3
        await pilot.press("h", "e")
        assert chosen(app) == "store"
        await pilot.press("right", ":", *"store/model", "enter")
        assert chosen(app) == "store/model"  # completed work is shown when it is asked for

    drive(asking.root, script)


def test_a_click_chooses_a_subplan_and_none_below_the_last(asking: Project) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.click("#tree", offset=(3, 2))
        assert chosen(app) == "release"
        await pilot.click("#tree", offset=(3, 8))
        assert chosen(app) == "release"
        await pilot.click("#details", offset=(3, 1))
        assert chosen(app) == "release"

    drive(asking.root, script)


def test_nothing_to_find_is_said(project: Project) -> None:
    project.plan("subplans: [{id: a, title: Letters, steps: [{id: x, run: 'true'}]}]\n")
    assert project.weft("run").exit_code == 0

    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        for keys, words in [
            ("e", "nothing failed"),
            ("n", "nothing needs you"),
            ("a", "no question is open"),
        ]:
            await pilot.press(keys)
            await pilot.pause()
            assert words in text_of(app)[-1]
        await pilot.press("h", "z", "W")
        await settled(app, pilot)
        assert "Letters" in shown(app)
        await pilot.press("enter", "L", "e")
        await settled(app, pilot)
        assert "no error in this log" in text_of(app)[-1]

    drive(project.root, script)
