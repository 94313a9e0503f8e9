"""Files of the worktree, and only those."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.agents.builtin import files as module
from weft.agents.builtin.files import Files, ToolError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]\n")
    (tmp_path / "secret").write_text("secret\n")
    (tmp_path / "workmate").mkdir()
    return root


@pytest.fixture
def files(root: Path) -> Files:
    return Files(str(root))


# --- reading ---


def test_a_file_is_read_whole_or_in_part(files: Files) -> None:
    assert files.read("src/a.py") == "one\ntwo\nthree\n"
    assert files.read("src/a.py", first=2, lines=1) == "two\n\n[1 more lines; continue with first=3]"
    assert files.read("src/a.py", first=3) == "three\n"
    assert files.read("src/a.py", first=9) == ""


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("none", "No such file"),
        ("src", "not a file|directory"),
        ("nul", "holds no text"),
        ("a\0b", "invalid path"),
        ("f", "not a file"),
    ],
)
def test_what_is_no_text_is_reported(files: Files, root: Path, path: str, problem: str) -> None:
    (root / "nul").write_bytes(b"a\0b")
    os.mkfifo(root / "f")
    with pytest.raises(ToolError, match=problem):
        files.read(path)


def test_a_file_that_is_too_large_is_reported(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 3)
    with pytest.raises(ToolError, match="larger than 3 bytes"):
        files.read("src/a.py")


def test_files_are_listed_level_by_level_without_those_of_git(files: Files, root: Path) -> None:
    (root / "z.txt").touch()
    (root / "link").symlink_to("/")
    assert files.list() == "link\nsrc/\nz.txt\nsrc/a.py"
    assert files.list("src") == "src/a.py"
    assert files.list(pattern="*.py") == files.list(pattern="src/*") == "src/a.py"
    assert files.list(pattern="*.rs") == "[there are none]"


def test_a_long_list_is_cut(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LISTED", 1)
    assert files.list() == "src/\n[there are more]"


def test_lines_are_found_with_their_place(files: Files, root: Path) -> None:
    (root / "nul").write_bytes(b"two\0")
    (root / "b.txt").write_text("two\n")
    assert files.search("^t") == "b.txt:1: two\nsrc/a.py:2: two\nsrc/a.py:3: three"
    assert files.search("two", files="*.py") == files.search("two", path="src/a.py") == "src/a.py:2: two"
    assert files.search("four") == "[nothing is found]"


def test_a_long_search_is_cut(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_MATCHES", 1)
    assert files.search("t", path="src") == "src/a.py:2: two\n[there are more]"


def test_an_expression_that_is_none_or_takes_ages_is_reported(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ToolError, match="invalid regular expression: missing"):
        files.search("(")
    monkeypatch.setattr(module, "_SEARCH_SECONDS", 1)
    (root / "long").write_text("a" * 60 + "\n")
    with pytest.raises(ToolError, match="longer than 1 seconds"):
        files.search("(a+)+b")


# --- writing ---


def test_a_file_is_written_with_its_directories(files: Files, root: Path) -> None:
    assert files.write("new/deep/b.txt", "ä\n") == "wrote new/deep/b.txt: 3 bytes"
    assert (root / "new" / "deep" / "b.txt").read_text() == "ä\n"
    files.write("new/deep/b.txt", "\ud800")
    assert (root / "new" / "deep" / "b.txt").read_text() == "?"


def test_a_file_keeps_its_mode(files: Files, root: Path) -> None:
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o755)
    files.write("run.sh", "new")
    assert (root / "run.sh").stat().st_mode & 0o777 == 0o755


def test_text_is_replaced_where_it_is_once(files: Files, root: Path) -> None:
    assert files.edit("src/a.py", "two", "2") == "replaced it once in src/a.py"
    assert (root / "src" / "a.py").read_text() == "one\n2\nthree\n"
    with pytest.raises(ToolError, match=r"`old` is not in src/a\.py"):
        files.edit("src/a.py", "two", "2")
    with pytest.raises(ToolError, match="not be empty"):
        files.edit("src/a.py", "", "2")


def test_text_is_replaced_everywhere_if_that_is_said(files: Files, root: Path) -> None:
    with pytest.raises(ToolError, match=r"`old` is 3 times in src/a\.py"):
        files.edit("src/a.py", "e", "E")
    assert files.edit("src/a.py", "e", "E", all=True) == "replaced it 3 times in src/a.py"
    assert (root / "src" / "a.py").read_text() == "onE\ntwo\nthrEE\n"


def test_bytes_that_are_no_text_survive_an_edit(files: Files, root: Path) -> None:
    (root / "latin").write_bytes(b"gr\xfc\xdfe one")
    files.edit("latin", "one", "two")
    assert (root / "latin").read_bytes() == b"gr\xfc\xdfe two"


def test_a_directory_is_no_file_to_write(files: Files) -> None:
    with pytest.raises(ToolError, match="is a directory"):
        files.write("src", "x")
    with pytest.raises(ToolError, match="the working directory itself"):
        files.write(".", "x")


def test_a_fifo_without_a_reader_cannot_be_written_to(files: Files, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match="No such device"):
        files.write("pipe", "x")


# --- the way out ---

OUTSIDE = ["../secret", "/etc/passwd", "src/../../secret", "link", "way/secret", "../workmate/x", "src/deep"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out(files: Files, root: Path, path: str) -> None:
    (root / "link").symlink_to("../secret")
    (root / "way").symlink_to("..")
    (root / "src" / "deep").symlink_to("../link")
    for attempt in (
        lambda: files.read(path),
        lambda: files.list(path),
        lambda: files.search("x", path),
        lambda: files.write(path, "x"),
        lambda: files.edit(path, "secret", "x"),
    ):
        with pytest.raises(ToolError, match="leads out of the working directory"):
            attempt()
    assert (root.parent / "secret").read_text() == "secret\n"


def test_a_link_that_stays_inside_is_followed(files: Files, root: Path) -> None:
    (root / "link").symlink_to("src/a.py")
    files.write("link", "x")
    assert (root / "src" / "a.py").read_text() == "x"
    assert (root / "link").is_symlink()


def test_links_that_lead_out_are_not_searched(files: Files, root: Path) -> None:
    (root / "way").symlink_to("..")
    (root / "link").symlink_to("../secret")
    assert files.search("secret") == "[nothing is found]"


@pytest.mark.parametrize("path", [".git", ".git/config", ".GIT/config", "src/.git/hooks/x", "link/config"])
def test_nothing_is_written_that_is_gits(files: Files, root: Path, path: str) -> None:
    (root / "link").symlink_to(".git")
    with pytest.raises(ToolError, match="is git's own"):
        files.write(path, "x")
    assert (root / ".git" / "config").read_text() == "[core]\n"


parts = st.lists(st.sampled_from(["..", ".", "src", "way", "a.py", "", "/", "~", "new"]), max_size=6)


@given(parts)
def test_whatever_the_path_nothing_outside_is_touched(
    tmp_path_factory: pytest.TempPathFactory, some: list[str]
) -> None:
    outer = tmp_path_factory.mktemp("outer")
    root = outer / "work"
    (root / "src").mkdir(parents=True)
    (root / "way").symlink_to("../")
    with suppress(ToolError):
        Files(str(root)).write("/".join(some), "x")
    assert list(outer.iterdir()) == [root]
