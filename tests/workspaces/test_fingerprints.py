"""Fingerprints show quickly whether files were changed, and which reader is responsible."""

import os
from pathlib import Path

import pytest

from weft.workspaces import fingerprints
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.fingerprints import Prints, Readers, prints_in
from weft.workspaces.safe_walk import FOLDER_FLAGS, Cursor
from workspaces.trees import put


def found(top: Path) -> Prints:
    with Cursor(os.open(top, FOLDER_FLAGS)) as cursor:
        return prints_in(cursor)


def test_files_and_links_have_prints_but_what_can_be_made_again_has_none(tmp_path: Path) -> None:
    put(tmp_path, {"a": "1", "deep/b": "2", "link": ("nowhere",), ".git/c": "", "cache/.gitignore": "*"})
    (tmp_path / "empty").mkdir()
    assert sorted(found(tmp_path)) == [b"a", b"deep/b", b"link"]


def test_a_file_that_was_replaced_by_the_same_has_another_print(tmp_path: Path) -> None:
    put(tmp_path, {"a": "1"})
    before = found(tmp_path)
    put(tmp_path, {"b": "1"})
    (tmp_path / "b").replace(tmp_path / "a")
    assert before[b"a"] != found(tmp_path)[b"a"]
    assert found(tmp_path) == found(tmp_path)


def test_what_is_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"a": "1", "b": "2"})
    monkeypatch.setattr(fingerprints, "MOST_FILES", 2)
    assert len(found(tmp_path)) == 2
    monkeypatch.setattr(fingerprints, "MOST_FILES", 1)
    with pytest.raises(WorkspaceError, match=r"more than 1 files.*isolation: worktree"):
        found(tmp_path)


ONE: Prints = {b"same": (1, 1, 1, 1), b"gone": (2, 2, 2, 2)}
OTHER: Prints = {b"same": (1, 1, 1, 1), b"new": (3, 3, 3, 3)}


def test_the_reader_that_ends_is_responsible_for_all_differences() -> None:
    readers = Readers().with_job("a", ONE).with_job("b", ONE).after_end("a", OTHER)
    assert readers.changed == {"a": ("gone", "new"), "b": ()}
    assert readers.after_end("b", OTHER).changed["b"] == ()


def test_none_is_under_way_when_all_have_answered() -> None:
    readers = Readers().with_job("a", ONE)
    assert Readers().are_none
    assert not readers.are_none
    assert readers.after_end("a", OTHER).are_none


@pytest.mark.parametrize(
    ("jobs", "others_read", "left"),
    [
        ("abc", True, {"a": ("gone", "new"), "b": ()}),
        ("abc", False, {"a": ("gone", "new")}),
        ("b", True, {"b": ()}),
        ("", True, {}),
    ],
)
def test_only_what_was_found_outlasts_others_that_may_change_files(
    jobs: str, others_read: bool, left: dict[str, tuple[str, ...]]
) -> None:
    readers = Readers().with_job("a", ONE).after_end("a", OTHER).with_job("b", OTHER)
    assert readers.limited_to(jobs, others_read=others_read).changed == left
