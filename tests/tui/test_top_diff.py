"""The changes of a subplan in `weft top`, of a real repository; and results that can land."""

from collections.abc import Iterator

import pytest
from textual.pilot import Pilot

from e2e.repositories import Repository
from tui.driver import drive, settled, shown, text_of
from weft.app.record.journal import open_book
from weft.tui.app import TopApp
from weft.tui.details import MOST_DIFF_LINES, diff_parts

PLAN = """
merge: {mode: confirm}
subplans:
  - {id: text, steps: [{id: work, run: "echo new > added; rm README"}]}
  - {id: binary, steps: [{id: work, run: "printf 'a\\\\000b' > data"}]}
  - {id: long, steps: [{id: work, run: "seq 3000 > numbers"}]}
  - {id: none, steps: [{id: work, run: "true"}]}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    repository = Repository(tmp_path_factory.mktemp("ran") / "project")
    repository.plan(PLAN)
    repository.run()
    yield repository
    repository.end()


def parts_of(repository: Repository, path: str) -> list[tuple[str, str]]:
    with open_book(repository.root) as recorded_run:
        return diff_parts(repository.root, recorded_run.run.run, path)


def test_changes_have_colours_and_are_counted(ran: Repository) -> None:
    parts = parts_of(ran, "text")
    assert parts[:3] == [("deleted  README  +0 -1", "bold"), ("added    added  +1 -0", "bold"), ("", "")]
    assert ("+new", "green") in parts
    assert {"red", "cyan"} <= {colour for _, colour in parts}


def test_a_binary_file_is_named(ran: Repository) -> None:
    assert parts_of(ran, "binary")[0] == ("added    data  binary binary", "bold")


def test_a_long_diff_is_cut_with_the_command_that_shows_it_whole(ran: Repository) -> None:
    parts = parts_of(ran, "long")
    assert parts[-1] == ("1,006 more lines: weft diff long", "dim")
    assert len(parts) == MOST_DIFF_LINES + 3


def test_no_change_and_no_branch_are_said(ran: Repository) -> None:
    assert parts_of(ran, "none") == [("nothing has changed", "dim")]
    assert parts_of(ran, "nowhere")[0][1] == "dim"


def test_the_diff_follows_the_chosen_subplan_and_a_result_lands_by_its_key(ran: Repository) -> None:
    async def script(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("z", "g", "D")
        await settled(app, pilot)
        assert "+new" in shown(app)
        await pilot.press("j")
        await settled(app, pilot)
        assert "data  binary" in shown(app)
        await pilot.press("k", "m")
        await pilot.pause()
        assert "text: ready to land on main. Land" in shown(app)
        await pilot.press("y")
        await settled(app, pilot)
        assert "$ weft merge text: " in text_of(app)[-1]

    drive(ran.root, script, size=(110, 30))
