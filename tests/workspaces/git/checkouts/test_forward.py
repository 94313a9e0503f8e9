"""A fast-forward of the user's checkout that was cut off is finished, and no change of the user is lost."""

from pathlib import Path

import pytest

from weft.ports.workspaces import HeldError
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.checkouts.advance_branch import advance, cut_off_in, finish_forwards
from weft.workspaces.git.checkouts.forward import Forward, note_of, write_note
from workspaces.git.repositories import commit, contents, empty_repository

MAIN = "refs/heads/main"
BEFORE = {"kept": "kept\n", "changed": "old\n", "gone": "gone\n", "folder/deep": "deep\n", "mine": "1\n"}
CHANGED = "the new text\n" * 9
AFTER = {"changed": CHANGED, "added/new": "new\n", "folder": "a file\n"}


class Scene:
    """A repository at one commit, that is to go to another."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.git = empty_repository(top).working()
        self.before = commit(self.git, BEFORE)
        self.git.do("switch", "--quiet", "--create", "later")
        self.git.do("rm", "--quiet", "-r", "gone", "folder")
        self.after = commit(self.git, AFTER)
        self.done = contents(top)
        self.git.do("switch", "--quiet", "main")

    def note(self) -> None:
        """As git is about to be started."""
        forward = Forward(ref=MAIN, before=self.before, after=self.after, reason="weft: land a")
        (self.top / ".git" / "weft-forward.lock").touch()
        write_note(self.top / ".git", forward)

    def put(self, path: str, text: str) -> None:
        place = self.top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    @property
    def main(self) -> str:
        return self.git.line("rev-parse", MAIN)

    def status(self) -> str:
        return self.git.line("status", "--porcelain")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "repository")


def half_way(scene: Scene) -> None:
    """Some files are written, one by half, one is removed to be written."""
    (scene.top / "gone").unlink()
    (scene.top / "folder" / "deep").unlink()
    (scene.top / "folder").rmdir()
    scene.put("added/new", "new\n")
    scene.put("changed", "the new text\nthe n")


def test_half_of_the_files_are_written(scene: Scene) -> None:
    scene.note()
    half_way(scene)
    assert cut_off_in(scene.git) == [(scene.top, "main")]
    finish_forwards(scene.git)
    assert (scene.main, scene.status(), contents(scene.top)) == (scene.after, "", scene.done)
    assert cut_off_in(scene.git) == []


def test_files_and_index_have_moved_and_the_branch_has_not(scene: Scene) -> None:
    scene.note()
    scene.git.do("read-tree", "-m", "-u", scene.before, scene.after)
    finish_forwards(scene.git)
    assert (scene.main, scene.status(), contents(scene.top)) == (scene.after, "", scene.done)


def test_the_branch_has_moved_and_the_files_have_not(scene: Scene) -> None:
    scene.note()
    scene.git.do("update-ref", MAIN, scene.after)
    finish_forwards(scene.git)
    assert (scene.status(), contents(scene.top)) == ("", scene.done)


def test_where_nothing_had_started_it_is_left_to_the_next_landing(scene: Scene) -> None:
    scene.note()
    finish_forwards(scene.git)
    assert (scene.main, scene.status()) == (scene.before, "")
    assert note_of(scene.top / ".git") is None


@pytest.mark.parametrize("path", ["folder/untracked", "added"])
def test_a_new_file_of_the_user_in_the_place_of_a_directory_or_below_a_file_stays(
    scene: Scene, path: str
) -> None:
    scene.note()
    (scene.top / "gone").unlink()
    scene.put(path, "mine\n")
    finish_forwards(scene.git)
    assert scene.main == scene.before
    assert scene.status() == f"?? {path}"
    assert (scene.top / path).read_text() == "mine\n"


def test_what_the_user_has_changed_elsewhere_stays_as_it_is(scene: Scene) -> None:
    scene.put("mine", "2\n")
    scene.put("untracked", "mine\n")
    scene.put("kept", "staged\n")
    scene.git.do("add", "kept")
    scene.note()
    half_way(scene)
    finish_forwards(scene.git)
    assert scene.main == scene.after
    assert scene.status().splitlines() == ["M  kept", " M mine", "?? untracked"]
    assert (scene.top / "mine").read_text() == "2\n"


def test_what_was_done_is_taken_back_if_the_user_has_changed_one_of_the_files_since(scene: Scene) -> None:
    scene.note()
    half_way(scene)
    scene.put("changed", "by the user\n")
    with pytest.raises(HeldError, match="changed"):
        advance(scene.git, MAIN, before=scene.before, after=scene.after, reason="r")
    assert scene.main == scene.before
    assert scene.status() == " M changed"
    assert (scene.top / "changed").read_text() == "by the user\n"
    assert note_of(scene.top / ".git") is None


def test_the_next_landing_finishes_it_first(scene: Scene) -> None:
    scene.note()
    half_way(scene)
    assert advance(scene.git, MAIN, before=scene.before, after=scene.after, reason="r")
    assert (scene.main, scene.status(), contents(scene.top)) == (scene.after, "", scene.done)


def test_a_checkout_that_the_user_has_switched_to_another_branch_is_left_alone(scene: Scene) -> None:
    scene.note()
    half_way(scene)
    scene.git.do("symbolic-ref", "HEAD", "refs/heads/later")
    seen = contents(scene.top)
    finish_forwards(scene.git)
    assert (scene.main, contents(scene.top)) == (scene.before, seen)
    assert note_of(scene.top / ".git") is None


def test_a_file_that_a_filter_changes_is_known_again(scene: Scene) -> None:
    scene.git.do("config", "filter.upper.clean", "tr A-Z a-z")
    scene.git.do("config", "filter.upper.smudge", "tr a-z A-Z")
    (scene.top / ".git" / "info").mkdir(exist_ok=True)
    (scene.top / ".git" / "info" / "attributes").write_text("changed filter=upper\n")
    scene.put("changed", "OLD\n")
    scene.note()
    scene.put("changed", CHANGED[:20].upper())
    finish_forwards(Git(scene.top, works=True))
    assert (scene.main, (scene.top / "changed").read_text()) == (scene.after, CHANGED.upper())
