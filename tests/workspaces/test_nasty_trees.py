"""Trees as no sane program leaves them: links that lead out, modes that lock out, names that are no text."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from weft.workspaces import comparison
from weft.workspaces.changes import Change, FileVersion, SliceChanges, VersionKind
from weft.workspaces.contents import Contents
from weft.workspaces.directories import DirectoryWorkspaces
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.safe_walk import Cursor, EntryKind, WalkEntry, walk, wipe
from workspaces.faults import quick_folder
from workspaces.trees import do, gather, inside, keep, prepare, put, tree

NOBODY = 65534


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """Something that is not to be touched."""
    place = tmp_path / "outside"
    put(place, {"file": "precious", "sub/file": "precious, too"})
    before = inside(place)
    yield place
    assert inside(place) == before


@pytest.fixture
def workspaces(root: Path, tmp_path: Path) -> DirectoryWorkspaces:
    (tmp_path / "plan").mkdir()
    return DirectoryWorkspaces(root, tmp_path / "plan")


@pytest.fixture
def ordinary() -> Iterator[Path]:
    """A directory of somebody for whom modes mean something, and that is who runs the test."""
    place = Path(tempfile.mkdtemp())
    user = os.geteuid()
    if user == 0:
        os.chown(place, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    (place / "plan").mkdir()
    yield place
    os.seteuid(user)
    for folder, _, _ in os.walk(place):
        Path(folder).chmod(0o700)
    shutil.rmtree(place)


# Links


def test_a_workspace_that_was_replaced_by_a_link_is_not_kept(
    workspaces: DirectoryWorkspaces, outside: Path
) -> None:
    place = prepare(workspaces, "a")
    place.rmdir()
    place.symlink_to(outside)
    with pytest.raises(WorkspaceError, match="is not a directory"):
        keep(workspaces, "a")


@pytest.mark.parametrize("name", ["a", "_new.a", "_old.a", "_starts/_new.a", "_starts/a"])
def test_a_link_in_the_way_is_replaced_and_not_followed(
    workspaces: DirectoryWorkspaces, root: Path, outside: Path, name: str
) -> None:
    do(workspaces, "b", {"x": "1"})
    (root / name).symlink_to(outside / "sub")
    place = prepare(workspaces, "a", after=("b",))
    assert tree(place) == {"x": "1"}
    assert not place.is_symlink()


@pytest.mark.parametrize("name", ["_objects/_a", "_records/_new.a"])
def test_a_link_where_something_is_to_be_written_is_not_written_to(
    workspaces: DirectoryWorkspaces, root: Path, outside: Path, name: str
) -> None:
    put(prepare(workspaces, "a"), {"x": "1"})
    (root / name).symlink_to(outside / "file")
    keep(workspaces, "a")
    assert tree(gather(workspaces, "", ["a"])) == {"x": "1"}


def test_a_link_where_a_content_is_to_be_is_not_taken_for_it(
    workspaces: DirectoryWorkspaces, root: Path, outside: Path
) -> None:
    do(workspaces, "a", {"x": "precious"})
    (content,) = (root / "_objects").iterdir()
    content.unlink()
    content.symlink_to(outside / "file")
    with pytest.raises(OSError, match="symbolic links"):
        gather(workspaces, "", ["a"])
    do(workspaces, "b", {"y": "precious"})
    assert tree(gather(workspaces, "", ["a", "b"])) == {"x": "precious", "y": "precious"}
    assert not content.is_symlink()


@pytest.mark.parametrize("name", ["_objects", "_records", "_starts"])
def test_a_link_in_place_of_weft_s_own_directory_is_an_error(
    workspaces: DirectoryWorkspaces, root: Path, outside: Path, name: str
) -> None:
    do(workspaces, "a", {"x": "1"})
    shutil.rmtree(root / name)
    (root / name).symlink_to(outside)
    with pytest.raises(WorkspaceError, match=f"{name} in .* is no directory; remove it"):
        do(workspaces, "a", {"x": "1"})


def test_a_root_that_is_a_link_is_an_error(
    workspaces: DirectoryWorkspaces, root: Path, outside: Path
) -> None:
    root.symlink_to(outside)
    with pytest.raises(WorkspaceError, match="root is a symbolic link, not a directory"):
        prepare(workspaces, "a")


def test_links_in_a_workspace_are_kept_as_links_and_removed_as_links(
    workspaces: DirectoryWorkspaces, outside: Path
) -> None:
    links = {"folder": (str(outside),), "file": (str(outside / "file"),), "up": ("../../outside",)}
    do(workspaces, "a", links)
    result = gather(workspaces, "", ["a"])
    assert {place.name: (str(place.readlink()),) for place in result.iterdir()} == links
    gather(workspaces, "", [])
    prepare(workspaces, "a")


@pytest.mark.parametrize("path", [b"../outside/new", b"sub/../../outside/new", b"/etc/new", b"a//b"])
def test_a_record_that_a_person_changed_leads_nowhere_else(
    workspaces: DirectoryWorkspaces, root: Path, outside: Path, path: bytes
) -> None:
    do(workspaces, "a", {"x": "1"})
    link = Change(before=None, after=FileVersion(kind=VersionKind.LINK, content=b"target"))
    record = SliceChanges(preparation="", after=(), changes={path: link})
    (root / "_records" / "a").write_bytes(msgspec.msgpack.encode(record))
    with pytest.raises(WorkspaceError, match="leads out of its directory"):
        gather(workspaces, "", ["a"])


def test_a_directory_that_is_moved_while_it_is_read_does_not_lead_elsewhere(tmp_path: Path) -> None:
    put(tmp_path, {"top/sub/file": "", "other/file": ""})
    with Cursor(os.open(tmp_path / "top", os.O_RDONLY)) as cursor:
        cursor.down(b"sub")
        (tmp_path / "top" / "sub").rename(tmp_path / "other" / "sub")
        with pytest.raises(WorkspaceError, match="'sub' was moved while its files were read"):
            cursor.up()


def test_a_file_that_becomes_a_fifo_while_it_is_read_is_an_error_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    entry = WalkEntry(b"pipe", b"pipe", EntryKind.FILE)
    with Cursor(os.open(tmp_path, os.O_RDONLY)) as cursor:
        contents = Contents(cursor.fd, "a")
        with pytest.raises(WorkspaceError, match="'pipe' was replaced while it was read"):
            comparison._version(entry, None, cursor, contents)


# Names, depths, hard links


def test_names_that_are_no_text_are_kept(workspaces: DirectoryWorkspaces) -> None:
    names = [b"\xff\xfe", b"new\nline", b" ", b"*?[", b"-rf", "é\u202e".encode(), b"sub\xff/\n", b"n" * 255]
    place = prepare(workspaces, "a")
    for name in names:
        put(place, {os.fsdecode(name): repr(name)})
    keep(workspaces, "a")
    parts = tree(gather(workspaces, "", ["a"]))
    assert parts == {os.fsdecode(name): repr(name) for name in names}


def test_a_tree_may_be_deeper_than_paths_can_be_long_or_files_can_be_open() -> None:
    folders = [b"directory"] * 1500
    with quick_folder() as top:
        root = top / "root"
        workspaces = DirectoryWorkspaces(root, top)
        with Cursor(os.open(prepare(workspaces, "a"), os.O_RDONLY)) as cursor:
            cursor.go(folders, make=True)
            os.symlink("target", "link", dir_fd=cursor.fd)
        keep(workspaces, "a")
        with Cursor(os.open(gather(workspaces, "", ["a"]), os.O_RDONLY)) as cursor:
            links = [
                entry.path for entry in walk(cursor, without=frozenset()) if entry.kind is EntryKind.LINK
            ]
        assert links == [b"/".join((*folders, b"link"))]
        prepare(workspaces, "a")
        gather(workspaces, "", [])
        assert {place.name for place in root.iterdir()} == {"a", "_plan", "_objects", "_records", "_starts"}
        assert [*(root / "a").iterdir(), *(root / "_plan").iterdir()] == []


def test_hard_links_are_files_of_their_own(workspaces: DirectoryWorkspaces, outside: Path) -> None:
    place = prepare(workspaces, "a")
    put(place, {"one": "1"})
    (place / "two").hardlink_to(place / "one")
    (place / "three").hardlink_to(outside / "file")
    keep(workspaces, "a")
    preparation = prepare(workspaces, "b", after=("a",))
    assert tree(preparation) == {"one": "1", "two": "1", "three": "precious"}
    put(preparation, {"one": "changed", "three": "changed"})
    prepare(workspaces, "a")
    assert tree(preparation)["two"] == "1"


# Modes


@pytest.mark.parametrize("mode", [0o555, 0o333, 0o000], ids=["read-only", "write-only", "nothing"])
def test_directories_that_lock_their_owner_out_are_removed(ordinary: Path, mode: int) -> None:
    workspaces = DirectoryWorkspaces(ordinary / "root", ordinary / "plan")
    place = prepare(workspaces, "a")
    put(place, {"sub/folder/file": "text"})
    (place / "sub" / "folder" / "file").chmod(0)
    for folder in (place / "sub" / "folder", place / "sub", place):
        folder.chmod(mode)
    assert tree(prepare(workspaces, "a")) == {}
    assert {place.name for place in (ordinary / "root").iterdir()} == {"a", "_objects", "_records", "_starts"}


def test_read_only_files_and_directories_are_kept(ordinary: Path) -> None:
    workspaces = DirectoryWorkspaces(ordinary / "root", ordinary / "plan")
    place = prepare(workspaces, "a")
    put(place, {"sub/file": "text"})
    (place / "sub" / "file").chmod(0o444)
    (place / "sub").chmod(0o555)
    keep(workspaces, "a")
    preparation = prepare(workspaces, "b", after=("a",))
    put(preparation, {"sub/file": "may be written", "sub/more": ""})
    assert tree(preparation) == {"sub/file": "may be written", "sub/more": ""}


def test_a_file_that_may_not_be_read_is_the_system_s_error_with_its_name(ordinary: Path) -> None:
    workspaces = DirectoryWorkspaces(ordinary / "root", ordinary / "plan")
    place = prepare(workspaces, "a")
    put(place, {"sub/locked": "text"})
    (place / "sub" / "locked").chmod(0)
    with pytest.raises(PermissionError) as caught:
        keep(workspaces, "a")
    assert caught.value.filename == "sub/locked"


def test_to_wipe_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    wipe(folder, "nothing")
    os.close(folder)
