"""Whether a directory is in a repository: what git would say, and what it would complain of."""

from pathlib import Path

import pytest

from weft.workspaces.git.base.discovery import repository_around
from weft.workspaces.git.base.program import Git


@pytest.fixture
def inner(tmp_path: Path) -> Path:
    Git(tmp_path).do("init", "--quiet")
    inner = tmp_path / "inner"
    inner.mkdir()
    return inner


def test_the_nearest_repository_is_meant(inner: Path, tmp_path: Path) -> None:
    assert repository_around(inner / "deep") == tmp_path
    Git(inner).do("init", "--quiet")
    assert repository_around(inner / "deep") == inner


def test_a_worktree_is_in_a_repository_too(inner: Path) -> None:
    (inner / ".git").write_text("gitdir: elsewhere\n")
    assert repository_around(inner) == inner


def test_an_empty_directory_is_none_for_us_as_for_git(inner: Path, tmp_path: Path) -> None:
    (inner / ".git").mkdir()
    assert repository_around(inner) == tmp_path == Path(Git(inner).line("rev-parse", "--show-toplevel"))


def test_a_broken_one_counts_so_that_git_says_what_is_wrong(inner: Path) -> None:
    (inner / ".git").symlink_to("nowhere")
    assert repository_around(inner) == inner


def test_what_is_no_directory_has_no_repository(tmp_path: Path) -> None:
    Git(tmp_path).do("init", "--quiet")
    (tmp_path / "file").write_text("")
    assert repository_around(tmp_path / "file") == tmp_path
