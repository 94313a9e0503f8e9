"""What changed together, by the names that files have now."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from weft.app.decompose import file_history
from weft.app.decompose.file_history import FileHistory, changes, history_of
from weft.decompose.references.signals import FILES_OF_A_COMMIT
from weft.workspaces.git.base.program import Git
from workspaces.git.repositories import commit, empty_repository, repository, surroundings


def files(count: int, text: str = "") -> dict[str, str]:
    return {f"f{number:03}": text for number in range(count)}


def changed(git: Git) -> Sequence[Sequence[str]]:
    history = history_of(git)
    assert history.fault == ""
    return history.commits


def written(*commits: Sequence[str]) -> bytes:
    """As git would."""
    return b"".join(b"\0\0\n" + "".join(f"{field}\0" for field in fields).encode() for fields in commits)


def test_each_commit_has_its_files_and_the_newest_is_first(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    commit(git, {"a b": "1", "c\nd": "1"})
    git.do("commit", "--quiet", "--allow-empty", "--message", "nothing")
    commit(git, {"\ne": "1"})
    commit(git, {"a b": "2"})
    assert changed(git) == [["a b"], ["\ne"], ["a b", "c\nd"]]


def test_what_a_repository_begins_with_says_nothing(tmp_path: Path) -> None:
    assert changed(empty_repository(tmp_path / "empty")) == ()
    assert changed(repository(tmp_path / "r", files(3))) == []


def test_what_a_shallow_clone_begins_with_says_nothing(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    commit(git, files(2))
    commit(git, {"a": "1"})
    git.do("clone", "--quiet", "--depth=2", f"file://{tmp_path}/r", f"{tmp_path}/clone")
    assert changed(git.at(tmp_path / "clone")) == [["a"]]


def test_a_commit_of_too_many_files_says_nothing(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    commit(git, files(FILES_OF_A_COMMIT))
    commit(git, files(FILES_OF_A_COMMIT + 1, "2"))
    assert changed(git) == [list(files(FILES_OF_A_COMMIT))]


def test_many_commits_without_files_do_not_make_the_one_before_them_large() -> None:
    log = written(("M", "a")) + b"\0\0" * 100 + written(("M", "b"))
    assert list(changes([log])) == [["a"], ["b"]]


def test_a_file_that_was_moved_has_kept_its_history(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    commit(git, {"one": "1\n", "two": "2\n"})
    git.do("mv", "one", "moved")
    commit(git, {})
    git.do("mv", "moved", "moved-again")
    commit(git, {"one": "another\n"})
    assert changed(git) == [["moved-again", "one"], ["moved-again"], ["moved-again", "two"]]


def test_a_move_of_many_files_is_followed_though_it_says_nothing(tmp_path: Path) -> None:
    many = {name: name for name in files(FILES_OF_A_COMMIT + 1)}
    git = repository(tmp_path / "r", {f"old/{name}": text for name, text in many.items()})
    commit(git, {"old/f000": "changed"})
    git.do("mv", "old", "new")
    commit(git, {})
    assert changed(git) == [["new/f000"]]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_it_does_not_matter_in_which_pieces_the_output_comes(size: int) -> None:
    log = written(("M", "a", "R100", "b", "c"), (), ("A", "\nx", "D", "b"))
    pieces = [log[at : at + size] for at in range(0, len(log), size)]
    assert list(changes(pieces)) == [["a", "c"], ["\nx", "c"]]


def test_of_an_output_beyond_all_bounds_the_newest_part_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_history, "_BYTES", 20)
    pieces = iter([written(("M", "a"), ("M", "b")), written(("M", "c"), ("M", "d")), written(("M", "e"))])
    assert list(changes(pieces)) == [["a"], ["b"], ["c"]]
    assert len(list(pieces)) == 1


def test_nothing_is_fetched_and_what_a_clone_lacks_is_reported(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    commit(git, {"a": "1"})
    git.do("config", "uploadpack.allowFilter", "true")
    git.do("clone", "--quiet", "--no-checkout", "--filter=tree:0", f"file://{tmp_path}/r", f"{tmp_path}/part")
    history = history_of(Git(tmp_path / "part", environ=surroundings(tmp_path)))
    assert (history.commits, bool(history.fault)) == ((), True)


def test_a_head_that_leads_nowhere_is_reported(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    (tmp_path / "r/.git/refs/heads/main").write_text("0" * 39 + "1\n")
    assert history_of(git) == FileHistory(fault="bad object HEAD")
