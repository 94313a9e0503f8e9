"""Links that a step has put into the git directory of its worktree, where Weft keeps notes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.safe_files import UnsafeFileError
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.sparse import choose, is_chosen
from weft.workspaces.git.base.worktree_links import git_dir_of
from weft.workspaces.git.checkouts.commits import copy_index, index_aside
from weft.workspaces.git.checkouts.untracked_files import _note, copied_into
from weft.workspaces.git.merges.conflict_note import opened_in
from weft.workspaces.git.slices.watch_note import WatchNote, note_watched, watched_in
from workspaces.worlds import World, repository_in

SECRET = "a key of the user"


class Planted:
    def __init__(self, folder: Path) -> None:
        self.outside = folder / "outside"
        self.outside.mkdir()
        (self.outside / "secret").write_text(SECRET)
        self.git_dir = folder / "repository/.git/worktrees/x"
        self.git_dir.mkdir(parents=True)

    def link(self, name: str) -> None:
        place = self.git_dir / name
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(self.outside / "secret")

    def link_all(self) -> None:
        self.git_dir.rmdir()
        self.git_dir.symlink_to(self.outside)

    def is_untouched(self) -> bool:
        names = [path.name for path in self.outside.iterdir()]
        return (self.outside / "secret").read_text() == SECRET and names == ["secret"]


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(tmp_path)


def with_index(git_dir: Path) -> None:
    with index_aside(git_dir):
        pass


WRITES: dict[str, tuple[tuple[str, ...], Callable[[Path], object]]] = {
    "watched": (("weft-watched", "_new.weft-watched"), lambda place: note_watched(place, ())),
    "brought": (("weft-brought", "_new.weft-brought"), lambda place: _note(place, [b"file"])),
    "sparse": (("info/sparse-checkout",), lambda place: choose(place, ["src"])),
    "index": (("weft-index", "weft-index.lock"), with_index),
}


@pytest.mark.parametrize(
    ("name", "how"), [(name, how) for how, (names, _) in WRITES.items() for name in names]
)
def test_a_link_in_place_of_a_note_is_replaced_and_not_followed(
    planted: Planted, name: str, how: str
) -> None:
    planted.link(name)
    WRITES[how][1](planted.git_dir)
    assert planted.is_untouched()


@pytest.mark.parametrize("how", WRITES)
def test_a_link_in_place_of_the_directory_is_refused(planted: Planted, how: str) -> None:
    planted.link_all()
    with pytest.raises(UnsafeFileError, match="worktrees/x is a symbolic link, not a directory"):
        WRITES[how][1](planted.git_dir)
    assert planted.is_untouched()


def test_an_index_that_is_a_link_is_not_copied(planted: Planted) -> None:
    planted.link("index")
    with pytest.raises(UnsafeFileError, match="index is a symbolic link, not a file"):
        with_index(planted.git_dir)
    with pytest.raises(UnsafeFileError, match="index is a symbolic link, not a file"):
        copy_index(planted.git_dir, planted.git_dir / "copy")
    assert planted.is_untouched()


@pytest.mark.parametrize(
    "read", [watched_in, opened_in, copied_into, lambda place: is_chosen(place, ["src"])]
)
def test_a_note_that_is_a_link_is_not_read(planted: Planted, read: Callable[[Path], object]) -> None:
    for name in ("weft-watched", "weft-resolving", "weft-brought", "info/sparse-checkout"):
        planted.link(name)
    with pytest.raises(OSError, match=r"symbolic link"):  # from our helper, or from the system
        read(planted.git_dir)


@pytest.mark.parametrize("name", ["weft-recorded", "weft-recorded.new"])
def test_work_is_recorded_over_a_link(tmp_path: Path, name: str) -> None:
    """The step that plants it does its work as any other; what it has aimed at stays as it was."""
    repository_in(tmp_path / "repository", {"README": "hello\n"})
    world = World(tmp_path / "repository")
    world.prepare("a")
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    (git_dir_of(world.place("a")) / name).symlink_to(secret)
    assert world.step("a", {"new": "1"})
    assert secret.read_text() == SECRET


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_a_worktree_whose_git_file_is_something_else_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    (tmp_path / "worktree").mkdir()
    place = tmp_path / "worktree/.git"
    if kind == "link":
        place.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(place)
    with pytest.raises(WorkspaceError, match="not a file; remove it and type `git worktree repair`"):
        git_dir_of(tmp_path / "worktree")


def test_what_is_noted_is_read_again(planted: Planted) -> None:
    note = WatchNote(job="j", step="s", reads=True, head="")
    note_watched(planted.git_dir, [note])
    assert watched_in(planted.git_dir) == (note,)
