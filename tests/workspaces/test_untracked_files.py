"""Files of the plan's directory that slices are given, by globs."""

import os
import stat
from pathlib import Path

import pytest

from weft.workspaces.directories import DirectoryWorkspaces
from weft.workspaces.errors import WorkspaceError
from workspaces.trees import Made, do, gather, keep, prepare, put, tree


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    made = tmp_path / "plan"
    put(
        made,
        {
            ".env": "secret",
            "src/main.py": "main",
            "src/deep/er/util.py": "util",
            "src/tool": ["#!"],
            "big/one/file": "1",
            "big/two/file": "2",
            "[odd]*/x": "odd",
            "link": ("src/main.py",),
            "outside": ("../elsewhere",),
            ".weft/workspaces/state": "Weft's",
            "src/.weft/state": "Weft's, too",
        },
    )
    put(tmp_path, {"elsewhere/secret": "not to be read"})
    return made


@pytest.fixture
def workspaces(plan: Path, tmp_path: Path) -> DirectoryWorkspaces:
    return DirectoryWorkspaces(tmp_path / "root", plan)


def given(workspaces: DirectoryWorkspaces, *copy: str, link: tuple[str, ...] = ()) -> dict[str, Made]:
    return tree(prepare(workspaces, "a", copy=copy, link=link))


def test_a_name_without_wildcards_is_a_file_or_a_directory_with_all_that_is_below(
    workspaces: DirectoryWorkspaces,
) -> None:
    assert given(workspaces, ".env") == {".env": "secret"}
    expected = {"src/main.py": "main", "src/deep/er/util.py": "util", "src/tool": ["#!"]}
    assert given(workspaces, "src") == expected


def test_wildcards_are_those_of_files(workspaces: DirectoryWorkspaces) -> None:
    assert given(workspaces, "src/*.py") == {"src/main.py": "main"}
    assert given(workspaces, "**/*.py") == {"src/main.py": "main", "src/deep/er/util.py": "util"}
    assert given(workspaces, "src/deep/**") == {"src/deep/er/util.py": "util"}


def test_a_directory_whose_name_has_wildcards_in_it_is_found(workspaces: DirectoryWorkspaces) -> None:
    assert given(workspaces, "[[]odd][*]/x") == {"[odd]*/x": "odd"}


def test_a_glob_that_fits_nothing_is_no_error(workspaces: DirectoryWorkspaces) -> None:
    assert given(workspaces, "nothing/**", link=("nobody",)) == {}


def test_nothing_of_weft_s_own_is_given(workspaces: DirectoryWorkspaces, plan: Path) -> None:
    assert not [name for name in given(workspaces, "**", ".weft/**") if ".weft" in name]
    assert given(workspaces, link=(".weft", "src/.weft/**")) == {}


def test_links_are_copied_as_links(workspaces: DirectoryWorkspaces) -> None:
    assert given(workspaces, "link", "outside") == {"link": ("src/main.py",), "outside": ("../elsewhere",)}


def test_what_is_linked_leads_to_the_plan_s_directory_and_is_not_copied(
    workspaces: DirectoryWorkspaces, plan: Path
) -> None:
    assert given(workspaces, "big/**", link=("big", ".env")) == {
        "big": (str(plan / "big"),),
        ".env": (str(plan / ".env"),),
    }
    assert given(workspaces, "big/two/file", link=("big/o*",)) == {
        "big/one": (str(plan / "big/one"),),
        "big/two/file": "2",
    }


def test_a_copy_has_the_permissions_of_the_original(workspaces: DirectoryWorkspaces, plan: Path) -> None:
    (plan / ".env").chmod(0o640)
    given(workspaces, ".env")
    assert stat.S_IMODE((workspaces.place("a") / ".env").stat().st_mode) == 0o640


def test_a_fifo_is_not_copied(workspaces: DirectoryWorkspaces, plan: Path) -> None:
    os.mkfifo(plan / "pipe")
    assert given(workspaces, "pipe", ".env") == {".env": "secret"}


def test_what_was_given_and_not_changed_is_no_change(workspaces: DirectoryWorkspaces) -> None:
    given(workspaces, "src", link=("big", ".env"))
    keep(workspaces, "a")
    assert tree(gather(workspaces, "", ["a"])) == {}


def test_a_link_is_never_followed_when_files_are_kept(workspaces: DirectoryWorkspaces, plan: Path) -> None:
    given(workspaces, link=("big",))
    put(workspaces.place("a"), {"big/new": "written through the link"})
    keep(workspaces, "a")
    assert tree(gather(workspaces, "", ["a"])) == {}


def test_a_copy_that_was_changed_or_removed_is_so_for_those_that_come_after(
    workspaces: DirectoryWorkspaces,
) -> None:
    copy = (".env", "src")
    given(workspaces, *copy)
    put(workspaces.place("a"), {".env": "changed", "src/main.py": None, "src/tool": "#!"})
    keep(workspaces, "a")
    assert tree(prepare(workspaces, "b", after=("a",), copy=copy)) == {
        ".env": "changed",
        "src/deep/er/util.py": "util",
        "src/tool": "#!",
    }


def test_two_that_changed_a_copy_differ_from_each_other_and_not_from_the_plan_s(
    workspaces: DirectoryWorkspaces, plan: Path
) -> None:
    given(workspaces, ".env")
    put(workspaces.place("a"), {".env": "changed"})
    keep(workspaces, "a")
    put(plan, {".env": "changed by a person"})
    assert tree(prepare(workspaces, "b", after=("a",), copy=(".env",))) == {".env": "changed"}


def test_what_slices_wrote_goes_before_what_is_given_in_its_way(workspaces: DirectoryWorkspaces) -> None:
    written: dict[str, Made] = {"src": "a file", ".env/inside": "a directory", "big/mine": "not a link"}
    do(workspaces, "w", written)
    assert tree(prepare(workspaces, "b", after=("w",), copy=("src", ".env"), link=("big",))) == written


def test_a_plan_s_directory_that_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    workspaces = DirectoryWorkspaces(tmp_path / "root", tmp_path / "gone")
    with pytest.raises(WorkspaceError, match=r"directory is gone: .*/gone; put it back"):
        prepare(workspaces, "a", copy=("**",))


def test_a_copy_of_weft_s_or_git_s_things_is_not_held_to_be_removed(
    workspaces: DirectoryWorkspaces, plan: Path
) -> None:
    put(plan, {".git/HEAD": "ref"})
    assert given(workspaces, ".git") == {".git/HEAD": "ref"}
    put(workspaces.place("a"), {".git/HEAD": None, "x": "1"})
    keep(workspaces, "a")
    assert tree(gather(workspaces, "", ["a"])) == {"x": "1"}
