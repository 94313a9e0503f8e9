"""Where things are kept: which directory is the project, and what stands in the way of one."""

from pathlib import Path

import pytest

from weft.app.project.places import IGNORED, Places, absolute, find_used_project, project_of
from weft.errors import InputError, WeftError


@pytest.mark.parametrize("name", [".weft", ".git/refs"])
def test_the_project_is_the_nearest_directory_that_has_one(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "inner"
    (inner / name).mkdir(parents=True)
    (tmp_path / ".git" / "refs").mkdir(parents=True)
    assert project_of(inner / "deep" / "deeper").project == inner


def test_an_empty_directory_of_gits_makes_no_project(tmp_path: Path) -> None:
    (tmp_path / ".weft").mkdir()
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    assert project_of(tmp_path / "inner").project == tmp_path


def test_a_directory_in_no_project_is_one_itself(tmp_path: Path) -> None:
    assert project_of(tmp_path / "new").project == tmp_path / "new"


def test_all_is_in_one_directory(tmp_path: Path) -> None:
    places, weft = Places(tmp_path), tmp_path / ".weft"
    assert [places.journal, places.status, places.logs("r"), places.host("r"), places.work("p")] == [
        weft / "weft.db",
        weft / "run",
        weft / "runs" / "r" / "logs",
        weft / "runs" / "r" / "host",
        weft / "workspaces" / "p",
    ]


def test_the_gitignore_is_written_once(tmp_path: Path) -> None:
    Places(tmp_path).make()
    assert (tmp_path / ".weft" / ".gitignore").read_text() == IGNORED
    (tmp_path / ".weft" / ".gitignore").write_text("mine\n")
    Places(tmp_path).make()
    assert (tmp_path / ".weft" / ".gitignore").read_text() == "mine\n"


def test_what_an_earlier_version_told_git_to_ignore_is_renewed(tmp_path: Path) -> None:
    (tmp_path / ".weft").mkdir()
    earlier = "# Nothing in here belongs into git but the settings.\n*\n!config.yaml\n"
    (tmp_path / ".weft" / ".gitignore").write_text(earlier)
    Places(tmp_path).make()
    assert (tmp_path / ".weft" / ".gitignore").read_text() == IGNORED


@pytest.mark.parametrize("kind", ["file", "broken link"])
def test_what_is_no_directory_is_in_the_way(tmp_path: Path, kind: str) -> None:
    {"file": Path.touch, "broken link": lambda path: path.symlink_to("nowhere")}[kind](tmp_path / ".weft")
    with pytest.raises(
        InputError, match=r"\.weft is not a directory, but Weft needs a directory of that name"
    ):
        Places(tmp_path).make()


def test_where_none_can_be_made_the_system_s_words_are_reported(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"cannot make .*/gone/\.weft: no such file or directory"):
        Places(tmp_path / "gone").make()


def test_only_a_project_with_a_journal_has_been_used(tmp_path: Path) -> None:
    (tmp_path / ".weft").mkdir()
    (tmp_path / ".weft" / "weft.db").touch()
    inner = tmp_path / "inner"
    (inner / ".weft").mkdir(parents=True)
    assert find_used_project(inner).project == tmp_path
    (tmp_path / ".weft" / "weft.db").unlink()
    with pytest.raises(
        InputError, match=f"nothing has been run in {inner} yet; to write a plan, type: weft init"
    ):
        find_used_project(inner)


def test_a_directory_that_was_deleted_under_our_feet_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InputError, match="the current directory has been deleted; change to another one"):
        absolute(Path("a"))
    assert absolute(tmp_path) == tmp_path


def test_from_a_worktree_that_is_elsewhere_the_project_is_that_of_its_repository(tmp_path: Path) -> None:
    main, elsewhere = tmp_path / "main", tmp_path / "elsewhere"
    (main / ".weft").mkdir(parents=True)
    (main / ".weft" / "weft.db").touch()
    (elsewhere / "src").mkdir(parents=True)
    (elsewhere / ".git").write_text(f"gitdir: {main}/.git/worktrees/elsewhere\n")
    assert find_used_project(elsewhere / "src").project == main


@pytest.mark.parametrize("said", ["gitdir: ../.git/modules/x\n", "nonsense", b"\xff"])
def test_what_else_a_git_file_says_leads_nowhere(tmp_path: Path, said: str | bytes) -> None:
    (tmp_path / ".git").write_bytes(said if isinstance(said, bytes) else said.encode())
    with pytest.raises(InputError, match="nothing has been run"):
        find_used_project(tmp_path)


def test_a_directory_that_cannot_be_written_to_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot make /proc/self/fdinfo/\.weft: "):
        Places(Path("/proc/self/fdinfo")).make()  # a directory in which nobody can make a file
