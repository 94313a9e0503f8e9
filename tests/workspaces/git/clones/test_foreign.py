"""How foreign work enters the repository: whole and checked, or not at all."""

import os
import zlib
from hashlib import sha1
from pathlib import Path

import pytest

from weft.safe_files import Tree
from weft.workspaces.clone_files import (
    UntrustedError,
    exists,
    read_file,
    remove_file,
    write_file,
    write_from,
    write_locked,
)
from weft.workspaces.git.base.index_file import unmerged
from weft.workspaces.git.clones.foreign import ForeignError, WantedCommits, admit, alternate
from weft.workspaces.git.clones.loose_objects import IntakeLimits, LooseObjects
from workspaces.faults import quick_folder
from workspaces.git.repositories import commit, empty_repository, files_of, repository

MANY = IntakeLimits()


class Stranger:
    """A repository, and a clone of it that borrows its objects."""

    def __init__(self, root: Path, *options: str) -> None:
        self.git = empty_repository(root / "ours", *options)
        commit(self.git, {"README": "hello\n"})
        self.base = self.git.line("rev-parse", "HEAD")
        self.common = self.git.directory / ".git"
        self.git.at(root).do("clone", "--quiet", "--shared", str(self.git.directory), "theirs")
        self.theirs = self.git.at(root / "theirs")
        for name, value in {"user.name": "Eve", "user.email": "eve@example.org"}.items():
            self.theirs.do("config", name, value)
        self.place = root / "theirs" / ".git"

    def admit(self, *commits: str, limits: IntakeLimits = MANY) -> int:
        return admit(
            self.common, self.place, WantedCommits(commits=commits, known=(self.base,)), limits=limits
        )

    def has(self, oid: str) -> bool:
        return self.git.says_yes("cat-file", "-e", oid)


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path)


def test_a_commit_enters_with_all_that_it_leads_to_and_no_ref_moves(stranger: Stranger) -> None:
    made = commit(stranger.theirs, {"a/b/c": "deep", "d": "flat"})
    refs = stranger.git.line("for-each-ref")
    assert stranger.admit(made) == 6
    assert files_of(stranger.git, made) == {"README": "hello\n", "a/b/c": "deep", "d": "flat"}
    assert stranger.git.line("for-each-ref") == refs
    assert not any((stranger.common / "weft" / "incoming").glob("q*"))


def test_what_has_entered_does_not_enter_again_and_the_stranger_still_has_it(stranger: Stranger) -> None:
    made = commit(stranger.theirs, {"one": "1"})
    stranger.admit(made)
    assert stranger.admit(made) == 0
    again = commit(stranger.theirs, {"two": "2"})
    assert stranger.admit(again) == 3
    assert stranger.theirs.ask("fsck").exit_code == 0


def test_names_of_sha_256_enter_too(tmp_path: Path) -> None:
    stranger = Stranger(tmp_path, "--object-format=sha256")
    made = commit(stranger.theirs, {"one": "1"})
    assert stranger.admit(made) == 3
    assert stranger.has(made)
    many = commit(stranger.theirs, {f"n{number}": str(number) for number in range(120)})
    assert stranger.admit(many) == 121


def test_a_shared_repository_keeps_its_rights(stranger: Stranger) -> None:
    objects = stranger.common / "objects"
    objects.chmod(0o2770)
    made = commit(stranger.theirs, {"one": "1"})
    before = {folder.name for folder in objects.iterdir()}
    stranger.admit(made)
    fresh = [folder for folder in objects.iterdir() if folder.name not in before]
    assert fresh
    assert {folder.stat().st_mode & 0o7777 for folder in fresh} == {0o2770}


def test_what_a_dead_process_left_is_removed(stranger: Stranger) -> None:
    left = stranger.common / "weft" / "incoming" / "qdead"
    (left / "objects").mkdir(parents=True)
    (left / "lock").touch()
    stranger.admit(commit(stranger.theirs, {"one": "1"}))
    assert not left.exists()


@pytest.mark.parametrize("name", ["HEAD", "", "../x", "0" * 39, "--all"])
def test_only_a_name_of_a_commit_is_asked_for(stranger: Stranger, name: str) -> None:
    with pytest.raises(ForeignError, match="is not the name of a commit"):
        stranger.admit(name)


def test_a_commit_that_refers_to_a_missing_one_does_not_enter(stranger: Stranger) -> None:
    first = commit(stranger.theirs, {"one": "1"})
    second = commit(stranger.theirs, {"two": "2"})
    (stranger.place / "objects" / first[:2] / first[2:]).unlink()
    with pytest.raises(ForeignError, match="refuses it"):
        stranger.admit(second)
    assert not stranger.has(second)


def test_nothing_is_taken_from_the_environment(stranger: Stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_PARAMETERS"):
        monkeypatch.setenv(name, str(stranger.place / "nowhere"))
    made = commit(stranger.theirs, {"one": "1"})
    assert stranger.admit(made) == 3


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (IntakeLimits(objects=2), "more than 2 new objects"),
        (IntakeLimits(bytes_of_one=40), "bytes; at most 40 are"),
        (IntakeLimits(bytes_of_all=300), "more than 300 bytes"),
        (IntakeLimits(bytes_of_links=20), r"the \w+ [0-9a-f]{40} has [\d,]+ bytes"),
    ],
)
def test_limits_hold(stranger: Stranger, limits: IntakeLimits, message: str) -> None:
    made = commit(stranger.theirs, {"one": "1" * 100, "two": "2" * 100})
    with pytest.raises(ForeignError, match=message):
        stranger.admit(made, limits=limits)
    assert not stranger.has(made)


def test_a_git_that_never_ends_is_ended(
    stranger: Stranger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = commit(stranger.theirs, {"one": "1"})
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    with pytest.raises(ForeignError, match=r"took longer than 0\.1 s"):
        stranger.admit(made, limits=IntakeLimits(seconds=0.1))


def test_a_pack_has_a_limit_too(stranger: Stranger) -> None:
    made = commit(stranger.theirs, {"one": "1"})
    stranger.theirs.do("repack", "-adlq")
    with pytest.raises(ForeignError, match="at most 9 are read"):
        stranger.admit(made, limits=IntakeLimits(bytes_of_all=9))


def test_a_repository_whose_path_has_an_end_of_line_is_refused() -> None:
    with pytest.raises(ForeignError, match="contains a line break"):
        alternate(Path("/a\nb"))


# Loose objects


def _put(top: Path, data: bytes, name: str = "") -> str:
    oid = name or sha1(data, usedforsecurity=False).hexdigest()
    folder = top / "objects" / oid[:2]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / oid[2:]).write_bytes(zlib.compress(data))
    return oid


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"commit x\0", "has no header"),
        (b"secret 1\0x", "has no header"),
        (b"tree 3\0abcd", "larger than it says"),
        (b"tree 9\0abcd", "does not end where it should"),
        (b"tree 13\x00100644 a\0xyz!", "ends within an entry"),
    ],
)
def test_a_broken_object_is_reported(tmp_path: Path, data: bytes, message: str) -> None:
    oid = _put(tmp_path, data)
    with pytest.raises(UntrustedError, match=message):
        LooseObjects(Tree(tmp_path), MANY).reachable([oid])


def test_what_follows_an_object_in_its_file_is_refused(tmp_path: Path) -> None:
    oid = _put(tmp_path, b"tree 0\0")
    with (tmp_path / "objects" / oid[:2] / oid[2:]).open("ab") as file:
        file.write(b"more")
    with pytest.raises(UntrustedError, match="does not end where it should"):
        LooseObjects(Tree(tmp_path), MANY).reachable([oid])


def test_a_submodule_is_not_looked_for_and_a_tag_is_followed(tmp_path: Path) -> None:
    tree = _put(tmp_path, b"tree 31\x00160000 sub\0" + bytes(range(20)) + b"")
    tag = _put(tmp_path, b"tag 53\0object " + tree.encode() + b"\ntype\n")
    assert LooseObjects(Tree(tmp_path), MANY).reachable([tag]) == [tag, tree]


# The index


def test_files_in_conflict_are_found_in_an_index_of_each_version(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"README": "1\n", "deep/er/file": "1\n"})
    oid = git.line("rev-parse", "HEAD:README")
    for version in ("2", "3", "4"):
        git.do("update-index", "--index-version", version)
        lines = [f"0 {'0' * 40}\tdeep/er/file"] + [
            f"100644 {oid} {stage}\tdeep/er/file" for stage in (1, 2, 3)
        ]
        git.do("update-index", "--index-info", stdin="\n".join((*lines, "")).encode())
        (tmp_path / "r" / "new").touch()
        git.do("add", "--intent-to-add", "new")
        assert unmerged((tmp_path / "r" / ".git" / "index").read_bytes()) == {b"deep/er/file"}


def test_an_index_of_sha_256_is_read(tmp_path: Path) -> None:
    git = empty_repository(tmp_path / "r", "--object-format=sha256")
    commit(git, {"README": "1\n", "other": "2\n"})
    assert unmerged((tmp_path / "r" / ".git" / "index").read_bytes(), digits=64) == frozenset()


@pytest.mark.parametrize(
    "index", [b"", b"junk" * 9, b"DIRC\0\0\0\2\0\0\0\7" + bytes(30), b"DIRC\0\0\0\4\0\0\0\1"]
)
def test_what_is_no_index_is_refused(index: bytes) -> None:
    with pytest.raises(UntrustedError, match="the index is broken"):
        unmerged(index)


def test_a_path_of_an_index_that_is_cut_too_short_is_refused() -> None:
    entry = bytes(60) + b"\0\5" + b"\7x\0"
    with pytest.raises(UntrustedError, match="the index is broken"):
        unmerged(b"DIRC\0\0\0\4\0\0\0\1" + entry)


# Files of a step


def test_a_file_takes_the_place_of_whatever_is_there(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    (tmp_path / "outside").write_text("as it was")
    (tmp_path / "way").symlink_to("outside")
    (tmp_path / "folder" / "x").mkdir(parents=True)
    write_file(tree, "way/to/file", b"1")
    write_file(tree, "folder", b"2")
    assert write_locked(tree, "way/to/file", b"3")
    assert (tmp_path / "outside").read_text() == "as it was"
    assert [(tmp_path / name).read_bytes() for name in ("way/to/file", "folder")] == [b"3", b"2"]


def test_a_file_can_be_written_elsewhere_first(tmp_path: Path) -> None:
    (tmp_path / "top" / "file" / "x").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "aside").symlink_to(tmp_path / "outside")
    write_from(Tree(tmp_path / "elsewhere"), "aside", Tree(tmp_path / "top"), "file", b"1")
    assert (tmp_path / "top" / "file").read_bytes() == b"1"
    assert sorted(place.name for place in tmp_path.rglob("*")) == ["elsewhere", "file", "top"]


def test_a_file_on_another_disk_is_written_too(tmp_path: Path) -> None:
    with quick_folder() as other:
        write_from(Tree(other), "aside", Tree(tmp_path), "file", b"1")
        assert (tmp_path / "file").read_bytes() == b"1"
        assert list(other.iterdir()) == []


def test_a_file_that_another_has_locked_stays(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    write_file(tree, "index", b"1")
    (tmp_path / "index.lock").touch()
    assert not write_locked(tree, "index", b"2")
    assert read_file(tree, "index", most=9) == b"1"


def test_what_is_missing_is_none_and_what_is_no_file_is_refused(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert read_file(tree, "no/such", most=9) is None
    assert not exists(tree, "nothing")
    with pytest.raises(UntrustedError, match="pipe is not a regular file"):
        read_file(tree, "pipe", most=9)
    remove_file(tree, "pipe")
    remove_file(tree, "no/such")
    assert not exists(tree, "pipe")


def test_a_git_that_the_stranger_configured_is_never_run(stranger: Stranger, tmp_path: Path) -> None:
    made = commit(stranger.theirs, {"one": "1"})
    for name in ("core.fsmonitor", "uploadpack.packObjectsHook", "core.alternateRefsCommand"):
        stranger.theirs.do("config", name, f"touch {tmp_path}/ran")
    (stranger.place / "hooks").mkdir(exist_ok=True)
    stranger.admit(made)
    assert not (tmp_path / "ran").exists()
    assert stranger.git.ask("fsck").exit_code == 0
