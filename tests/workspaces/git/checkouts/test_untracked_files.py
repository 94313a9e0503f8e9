"""Files that are brought into a worktree, and never in place of what is anybody's work."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from weft.workspaces.git.base.program import Git, GitError
from weft.workspaces.git.base.worktree_links import git_dir_of
from weft.workspaces.git.checkouts.untracked_files import CopiedFiles, copied_into, copy_in, is_in
from weft.workspaces.git.worktrees.worktrees import Worktrees
from workspaces.faults import KilledError, Machine, quick_folder
from workspaces.git.repositories import commit, repository, surroundings, write
from workspaces.trees import Made, tree

FILES = {
    ".gitignore": ".env\n*.key\nnode_modules/\n.weft/\n",
    "src/main.py": "main\n",
    "plans/plan.yaml": "plan\n",
}
NOT_IN_GIT = {
    ".env": "secret",
    "local": "neither ignored nor tracked",
    "src/one.key": "1",
    "node_modules/p/index.js": "js",
    "big/file": "large",
}


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> Iterator[Git]:
    with quick_folder() as folder:
        for name, value in surroundings(folder).items():
            monkeypatch.setenv(name, value)
        git = repository(folder / "top", FILES)
        write(git.directory, NOT_IN_GIT)
        yield git


@pytest.fixture
def top(git: Git) -> Path:
    return git.directory


@pytest.fixture
def worktree(git: Git) -> Path:
    place = git.directory / ".weft" / "a"
    head = git.line("rev-parse", "HEAD")
    Worktrees(git, git.directory / ".git").make(place, branch="refs/heads/a", commit=head)
    return place


def brought(worktree: Path, *copy: str, link: tuple[str, ...] = (), inside: str = ".") -> CopiedFiles:
    top = worktree.parents[1]
    return copy_in(top / inside, worktree / inside, copy=copy, link=link, top=top, worktree=worktree)


def new(worktree: Path) -> dict[str, Made]:
    return {path: made for path, made in tree(worktree).items() if path not in FILES and path != ".git"}


# By globs


def test_what_is_asked_for_is_copied_or_linked(top: Path, worktree: Path) -> None:
    copied_files = brought(worktree, ".env", "src/**", link=("big", "node_modules"))
    assert new(worktree) == {
        ".env": "secret",
        "src/one.key": "1",
        "big": (str(top / "big"),),
        "node_modules": (str(top / "node_modules"),),
    }
    assert copied_files.files == (".env", "big", "node_modules", "src/one.key")
    assert copied_files.left_out == ("src/main.py",)


def test_globs_are_relative_to_the_plan_s_directory(top: Path, worktree: Path) -> None:
    write(top, {"plans/deep/.env": "of the plan"})
    brought(worktree, "**/.env", inside="plans")
    assert new(worktree) == {"plans/deep/.env": "of the plan"}


def test_a_copy_has_the_permissions_of_the_original_and_a_link_stays_one(top: Path, worktree: Path) -> None:
    (top / ".env").chmod(0o640)
    (top / "link.key").symlink_to(str(top.parent / "nowhere"))
    brought(worktree, ".env", "link.key")
    assert stat.S_IMODE((worktree / ".env").stat().st_mode) == 0o640
    assert new(worktree)["link.key"] == (str(top.parent / "nowhere"),)


def test_nothing_of_git_s_or_weft_s_own_is_brought(top: Path, worktree: Path) -> None:
    write(top, {"vendor/.git/HEAD": "ref: x", "vendor/x": "1"})
    link = (worktree / ".git").read_text()
    copied_files = brought(worktree, "**")
    assert (worktree / ".git").read_text() == link
    assert not [path for path in copied_files.files if ".git/" in path or ".weft" in path]
    assert new(worktree)["vendor/x"] == "1"


def test_nothing_that_is_tracked_is_replaced(git: Git, top: Path, worktree: Path) -> None:
    write(worktree, {"src/main.py": "changed by an agent"})
    copied_files = brought(worktree, "src/main.py", link=("src", "plans/plan.yaml"))
    assert copied_files == CopiedFiles(files=(), left_out=("plans/plan.yaml", "src"))
    assert tree(worktree)["src/main.py"] == "changed by an agent"


def test_a_tracked_folder_that_is_not_there_now_is_not_replaced(worktree: Path) -> None:
    shutil.rmtree(worktree / "src")
    assert brought(worktree, link=("src",)).left_out == ("src",)


def test_a_folder_in_place_of_a_tracked_file_is_not_brought(git: Git, top: Path, worktree: Path) -> None:
    inside = git.at(worktree)
    commit(inside, {"big": "a file here"})
    assert brought(worktree, "big/**").left_out == ("big/file",)
    assert tree(worktree)["big"] == "a file here"


def test_what_another_program_put_there_is_left(top: Path, worktree: Path) -> None:
    write(worktree, {".env": "an agent's", "node_modules/x": "an agent's"})
    (worktree / "big").symlink_to(str(top.parent / "nowhere"))
    copied_files = brought(worktree, ".env", "big/**", link=("node_modules",))
    assert copied_files == CopiedFiles(files=(), left_out=(".env", "big/file", "node_modules"))
    assert new(worktree) == {
        ".env": "an agent's",
        "node_modules/x": "an agent's",
        "big": (str(top.parent / "nowhere"),),
    }


def test_links_on_the_way_are_not_followed(top: Path, worktree: Path) -> None:
    outside = top.parent / "outside"
    outside.mkdir()
    (worktree / "big").symlink_to(outside)
    brought(worktree, "big/**")
    assert list(outside.iterdir()) == []


def test_an_empty_directory_gives_way(top: Path, worktree: Path) -> None:
    (worktree / "big").mkdir()
    brought(worktree, link=("big",))
    assert new(worktree) == {"big": (str(top / "big"),)}


# Again


def test_brought_again_it_is_as_it_is_now(top: Path, worktree: Path) -> None:
    brought(worktree, ".env", link=("big",))
    write(top, {".env": "new secret"})
    write(worktree, {"own": "an agent's"})
    brought(worktree, ".env", "big/**")
    assert new(worktree) == {".env": "new secret", "big/file": "large", "own": "an agent's"}
    assert copied_into(git_dir_of(worktree)) == {b".env", b"big", b"big/file"}


def test_what_was_brought_and_then_committed_is_the_slice_s(git: Git, worktree: Path) -> None:
    brought(worktree, "local")
    commit(git.at(worktree), {"local": "mine now"})
    assert brought(worktree, "local").left_out == ("local",)
    assert tree(worktree)["local"] == "mine now"


def test_what_was_brought_and_became_a_directory_is_left(worktree: Path) -> None:
    brought(worktree, "local")
    (worktree / "local").unlink()
    write(worktree, {"local/x": "an agent's"})
    assert brought(worktree, "local").left_out == ("local",)
    assert new(worktree) == {"local/x": "an agent's"}


def test_nothing_to_bring_is_no_trouble(worktree: Path) -> None:
    assert brought(worktree) == CopiedFiles(files=(), left_out=())
    assert copied_into(git_dir_of(worktree)) == frozenset()


def test_whenever_it_fails_the_next_try_brings_all_and_all_is_noted(worktree: Path) -> None:
    def action() -> None:
        brought(worktree, ".env", "src/one.key", link=("big",))

    expected = {".env", "src/one.key", "big"}
    git_dir = git_dir_of(worktree)
    number, cut = 0, True
    while cut:
        number += 1
        cut = is_cut_off(action, number)
        assert new(worktree).keys() <= set(map(os.fsdecode, copied_into(git_dir)))
        action()
        assert new(worktree).keys() == expected
        for path in expected:
            (worktree / path).unlink()
        (git_dir / "weft-brought").unlink()
    assert number > 5


def is_cut_off(action: Callable[[], None], number: int) -> bool:
    """At the n-th change of files; what only reads is left alone, for git is started by it."""
    machine = Machine(number, dies=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fchmod", "rename", "rmdir", "symlink", "unlink"):
            patch.setattr(os, name, machine.wrapped(name, getattr(os, name)))
        try:
            action()
        except KilledError:
            return True
    return False


# By .worktreeinclude


def test_what_the_file_names_and_git_ignores_is_copied(top: Path, worktree: Path) -> None:
    write(top, {".worktreeinclude": "# secrets\n.env\n*.key\n!two.key\nlocal\nsrc/main.py\n", "two.key": "2"})
    brought(worktree)
    assert new(worktree) == {".env": "secret", "src/one.key": "1"}


def test_a_directory_that_the_file_names_is_copied_with_all_that_is_in_it(top: Path, worktree: Path) -> None:
    write(top, {".worktreeinclude": "node_modules/\n"})
    (top / "node_modules" / "bin").symlink_to("p/index.js")
    assert brought(worktree).files == ("node_modules/bin", "node_modules/p/index.js")
    assert new(worktree) == {"node_modules/p/index.js": "js", "node_modules/bin": ("p/index.js",)}


def test_a_link_to_a_directory_stands_for_what_the_file_names_in_it(top: Path, worktree: Path) -> None:
    write(top, {".worktreeinclude": "node_modules/\n"})
    brought(worktree, link=("node_modules",))
    assert new(worktree) == {"node_modules": (str(top / "node_modules"),)}


def test_worktrees_are_not_copied_into_each_other(top: Path, worktree: Path) -> None:
    write(top, {".worktreeinclude": ".env\n**/*.key\n", ".weft/x/.env": "Weft's"})
    write(worktree, {"other.key": "an agent's"})
    assert brought(worktree) == CopiedFiles(files=(".env", "src/one.key"), left_out=())


def test_a_repository_among_what_is_ignored_is_not_copied(top: Path, worktree: Path) -> None:
    repository(top / "node_modules" / "inner")
    write(top, {".worktreeinclude": "node_modules/\n"})
    assert brought(worktree).files == ("node_modules/p/index.js",)


def test_a_file_that_names_nothing_is_no_trouble(top: Path, worktree: Path) -> None:
    write(top, {".worktreeinclude": "nothing\n"})
    assert brought(worktree) == CopiedFiles(files=(), left_out=())


def test_names_may_be_anything(top: Path, worktree: Path) -> None:
    name = os.fsdecode(b"new\nline\xff.key")
    write(top, {".worktreeinclude": "*.key\n", name: "odd"})
    assert brought(worktree).files == (r"new\nline\xff.key", "src/one.key")
    assert (worktree / name).read_text() == "odd"


def test_a_repository_that_cannot_be_asked_is_an_error(top: Path, worktree: Path) -> None:
    write(top, {".worktreeinclude": ".env\n"})
    (top / ".git" / "HEAD").unlink()
    with pytest.raises(GitError, match="not a git repository"):
        brought(worktree)


# The note


def test_what_is_below_something_is_in_it() -> None:
    paths = frozenset({b"lib", b"a/b"})
    assert [is_in(paths, path) for path in (b"lib", b"lib/x/y", b"library", b"a", b"a/b/c")] == [
        True, True, False, False, True,
    ]  # fmt: skip
    assert not is_in(frozenset(), b"lib")
