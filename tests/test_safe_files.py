"""Files below a directory that a step can write."""

import ast
import errno
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.app.inspect.checked_out_branches import worktrees_of
from weft.safe_files import (
    Tree,
    UnsafeFileError,
    locate,
    open_file,
    open_folder,
    read_text,
    replace_file,
    touch,
)

MOST = 1000
SECRET = b"a key of the user"


class World:
    """A directory that a step can write, and one outside that it cannot."""

    def __init__(self, folder: Path) -> None:
        self.inside = folder / "inside"
        self.outside = folder / "outside"
        for place in (self.inside, self.inside / "deep" / "er", self.outside):
            place.mkdir(parents=True)
        self.secret = self.outside / "secret"
        self.secret.write_bytes(SECRET)
        self.tree = Tree(self.inside)

    def is_untouched(self) -> bool:
        return self.secret.read_bytes() == SECRET and [path.name for path in self.outside.iterdir()] == [
            "secret"
        ]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def write(descriptor: int, data: bytes) -> None:
    os.write(descriptor, data)
    os.close(descriptor)


OPERATIONS: dict[str, Callable[[Tree, str], object]] = {
    "read": lambda tree, path: tree.read(path, most=MOST),
    "append": lambda tree, path: write(tree.append(path), b"more"),
    "truncate": lambda tree, path: write(tree.open(path, os.O_WRONLY | os.O_TRUNC), b"other"),
    "create": lambda tree, path: write(tree.create(path), b"other"),
    "replace": lambda tree, path: tree.replace(path, b"other"),
    "replace durably": lambda tree, path: tree.replace(path, b"other", durable=True),
    "remove": lambda tree, path: tree.remove(path),
    "remove tree": lambda tree, path: tree.remove_tree(path),
    "make": lambda tree, path: tree.make(path),
    "names": lambda tree, path: tree.names(path),
    "move": lambda tree, path: tree.move(path, f"{path}.older"),
    "status": lambda tree, path: tree.status(path),
}
OPENS = ("read", "append", "truncate")
"""Operations on the content of a file that is there."""
NO_PATHS = (
    *(
        "../outside/secret",
        "deep/../../outside/secret",
        "/etc/passwd",
        "deep//er",
        "deep/.",
        "deep/..",
        "deep/",
    ),
    *(".", "..", "a\0b"),
)
REPLACES = ("create", "replace", "replace durably")


# --- what it is for ---


def test_what_is_written_is_read_again(world: World) -> None:
    world.tree.replace("deep/er/note", b"first")
    world.tree.replace("deep/er/note", b"second", durable=True)
    write(world.tree.append("deep/er/note"), b" and more")
    assert world.tree.read("deep/er/note", most=MOST) == b"second and more"
    write(world.tree.create("deep/er/note"), b"third")
    assert (world.inside / "deep/er/note").read_bytes() == b"third"
    assert world.tree.names("deep/er") == ["note"]


def test_renamed_and_removed(world: World) -> None:
    world.tree.replace("deep/log", b"text")
    world.tree.move("deep/log", "deep/log.1")
    assert world.tree.names("deep") == ["er", "log.1"]
    assert world.tree.exists("deep/log.1")
    assert not world.tree.exists("deep/log")
    assert world.tree.remove("deep/log.1")
    assert not world.tree.remove("deep/log.1")
    assert not world.tree.remove("nowhere/log.1")


def test_directories_are_made_on_request_only(world: World) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        world.tree.open("a/b/file", os.O_WRONLY | os.O_CREAT)
    assert caught.value.filename == str(world.inside / "a")
    write(world.tree.open("a/b/file", os.O_WRONLY | os.O_CREAT, make=True), b"text")
    assert world.tree.read("a/b/file", most=MOST) == b"text"
    assert world.tree.names("missing") == []


def test_a_tree_is_removed_with_what_is_in_it_and_no_more(world: World) -> None:
    (world.inside / "deep/link").symlink_to(world.outside)
    (world.inside / "deep/er/link").symlink_to(world.secret)
    world.tree.remove_tree("deep")
    assert world.tree.names() == []
    assert world.is_untouched()


def test_a_read_is_bounded(world: World) -> None:
    (world.inside / "large").write_bytes(b"x" * (MOST + 1))
    with pytest.raises(UnsafeFileError, match="is longer than 1,000 bytes"):
        world.tree.read("large", most=MOST)
    assert len(world.tree.read("large", most=MOST + 1)) == MOST + 1
    with (world.inside / "endless").open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)
    with pytest.raises(UnsafeFileError, match="is longer than"):
        world.tree.read("endless", most=MOST)


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(world: World) -> None:
    world.tree.replace("deep/note", b"old")
    (world.inside / "deep/note").unlink()
    (world.inside / "deep/note").mkdir()
    with pytest.raises(IsADirectoryError):
        world.tree.replace("deep/note", b"new")
    assert world.tree.names("deep") == ["er", "note"]


# --- modes ---


@pytest.mark.usefixtures("umask")
def test_what_is_created_belongs_to_its_owner_alone_whatever_the_umask(world: World) -> None:
    world.tree.make("new/folder")
    write(world.tree.open("some/where/log", os.O_WRONLY | os.O_CREAT, make=True), b"")
    world.tree.replace("new/replaced", b"")
    write(world.tree.create("new/created"), b"")
    write(world.tree.append("new/appended"), b"")
    for folder in ("new", "new/folder", "some", "some/where"):
        assert stat.S_IMODE(world.tree.status(folder).st_mode) == 0o700, folder
    for file in ("some/where/log", "new/replaced", "new/created", "new/appended"):
        assert stat.S_IMODE(world.tree.status(file).st_mode) == 0o600, file


def test_what_others_could_read_is_restricted_when_it_is_written(world: World) -> None:
    (world.inside / "log").write_bytes(b"text")
    (world.inside / "log").chmod(0o666)
    (world.inside / "deep").chmod(0o755)
    write(world.tree.append("log"), b"")
    world.tree.make("deep")
    assert stat.S_IMODE(world.tree.status("log").st_mode) == 0o600
    assert stat.S_IMODE(world.tree.status("deep").st_mode) == 0o700


def test_looking_changes_no_mode(world: World) -> None:
    (world.inside / "log").write_bytes(b"text")
    (world.inside / "log").chmod(0o644)
    (world.inside / "deep").chmod(0o755)
    world.tree.read("log", most=MOST)
    world.tree.names("deep")
    world.tree.folder("deep/er").close()
    assert stat.S_IMODE(world.tree.status("log").st_mode) == 0o644
    assert stat.S_IMODE(world.tree.status("deep").st_mode) == 0o755


# --- attacks ---


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("path", ["link/secret", "link/new", "deep/link/secret", "deep/up/secret"])
def test_a_link_in_place_of_a_directory_is_refused(world: World, operation: str, path: str) -> None:
    (world.inside / "link").symlink_to(world.outside)
    (world.inside / "deep/link").symlink_to(world.outside)
    (world.inside / "deep/up").symlink_to("../../outside")
    with pytest.raises(UnsafeFileError, match="is a symbolic link, not a directory"):
        OPERATIONS[operation](world.tree, path)
    assert world.is_untouched()


@pytest.mark.parametrize("operation", OPENS)
@pytest.mark.parametrize(
    "target", ["../outside/secret", "../outside/new", "link", "/dev/zero", "/proc/self/environ"]
)
def test_a_link_in_place_of_a_file_is_refused(world: World, operation: str, target: str) -> None:
    (world.inside / "link").symlink_to(target)
    with pytest.raises(UnsafeFileError, match="is a symbolic link, not a file"):
        OPERATIONS[operation](world.tree, "link")
    assert world.is_untouched()


@pytest.mark.parametrize("operation", [*REPLACES, "remove", "remove tree", "move", "status"])
def test_a_link_in_place_of_a_file_is_replaced_moved_or_removed_itself(world: World, operation: str) -> None:
    (world.inside / "link").symlink_to(world.secret)
    OPERATIONS[operation](world.tree, "link")
    assert world.is_untouched()
    if operation in REPLACES:
        assert world.tree.read("link", most=MOST) == b"other"


@pytest.mark.parametrize("operation", ["names", "make"])
def test_a_link_in_place_of_the_directory_itself_is_refused(world: World, operation: str) -> None:
    (world.inside / "link").symlink_to(world.outside)
    with pytest.raises(UnsafeFileError, match="is a symbolic link, not a directory"):
        OPERATIONS[operation](world.tree, "link")
    assert world.is_untouched()


@pytest.mark.parametrize("operation", OPENS)
def test_a_fifo_is_refused_and_not_waited_for(world: World, operation: str) -> None:
    os.mkfifo(world.inside / "pipe")
    with pytest.raises(UnsafeFileError, match="is a FIFO, not a file"):
        OPERATIONS[operation](world.tree, "pipe")


@pytest.mark.parametrize("operation", OPENS)
def test_a_fifo_with_a_reader_is_refused_too(world: World, operation: str) -> None:
    os.mkfifo(world.inside / "pipe")
    reader = os.open(world.inside / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(UnsafeFileError, match="is a FIFO, not a file"):
            OPERATIONS[operation](world.tree, "pipe")
    finally:
        os.close(reader)


@pytest.mark.parametrize("operation", OPENS)
def test_a_socket_is_refused(world: World, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.inside)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with pytest.raises(UnsafeFileError, match="is a socket, not a file"):
            OPERATIONS[operation](world.tree, "socket")


@pytest.mark.parametrize("operation", OPENS)
def test_a_directory_in_place_of_a_file_is_refused(world: World, operation: str) -> None:
    with pytest.raises(UnsafeFileError, match="is a directory, not a file"):
        OPERATIONS[operation](world.tree, "deep")


def test_a_file_in_place_of_a_directory_is_refused(world: World) -> None:
    world.tree.replace("file", b"")
    with pytest.raises(UnsafeFileError, match="is a file, not a directory"):
        world.tree.read("file/inner", most=MOST)


@pytest.mark.parametrize("operation", ["append", "truncate"])
def test_a_file_with_a_second_name_is_not_written_to(world: World, operation: str) -> None:
    (world.inside / "hard").hardlink_to(world.secret)
    with pytest.raises(UnsafeFileError, match="has a second name"):
        OPERATIONS[operation](world.tree, "hard")
    assert world.is_untouched()


@pytest.mark.parametrize("operation", REPLACES)
def test_a_second_name_is_taken_away_when_the_file_is_replaced(world: World, operation: str) -> None:
    (world.inside / "hard").hardlink_to(world.secret)
    OPERATIONS[operation](world.tree, "hard")
    assert world.is_untouched()
    assert world.tree.read("hard", most=MOST) == b"other"


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("path", NO_PATHS)
def test_a_path_that_leads_out_or_is_none_is_refused(world: World, operation: str, path: str) -> None:
    with pytest.raises(UnsafeFileError, match="is not a file name"):
        OPERATIONS[operation](world.tree, path)
    assert world.is_untouched()
    assert world.tree.names() == ["deep"]


def test_a_name_that_leads_out_of_an_open_directory_is_refused(world: World) -> None:
    with world.tree.folder("deep") as folder, pytest.raises(UnsafeFileError, match="is not a file name"):
        folder.file("../../outside/secret", os.O_RDONLY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_a_stranger_is_refused(world: World) -> None:
    world.tree.replace("deep/file", b"")
    os.chown(world.inside / "deep/file", 12345, -1)
    with pytest.raises(UnsafeFileError, match=r"deep/file belongs to another user \(uid 12345\)"):
        world.tree.read("deep/file", most=MOST)
    os.chown(world.inside / "deep", 12345, -1)
    with pytest.raises(UnsafeFileError, match=r"inside/deep belongs to another user \(uid 12345\)"):
        world.tree.names("deep")
    with pytest.raises(UnsafeFileError, match=r"inside/deep belongs to another user \(uid 12345\)"):
        world.tree.make("deep")
    os.chown(world.inside, 12345, -1)
    assert world.tree.names("deep") == ["er", "file"], "the owner of the top is trusted"


def test_an_unsafe_file_is_an_os_error_that_names_it(world: World) -> None:
    (world.inside / "link").symlink_to(world.secret)
    with pytest.raises(OSError, match=r"inside/link is a symbolic link, not a file") as caught:
        world.tree.read("link", most=MOST)
    assert caught.value.errno == errno.ELOOP
    assert caught.value.filename == str(world.inside / "link")


def test_a_directory_that_is_swapped_for_a_link_during_the_walk_changes_nothing(world: World) -> None:
    """The walk is stopped between two components, the swap is made, and the walk continues."""
    with world.tree.folder("deep") as folder:
        (world.inside / "deep").rename(world.inside / "moved")
        (world.inside / "deep").symlink_to(world.outside)
        os.close(folder.file("secret", os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
        with folder.inner("er") as inner:
            os.close(inner.file("secret", os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
    assert world.is_untouched()
    assert sorted(path.name for path in (world.inside / "moved").iterdir()) == ["er", "secret"]


def test_no_swap_between_a_directory_and_a_link_leads_out(world: World) -> None:
    """A second thread swaps all the time; each call works inside, or is refused."""
    (world.inside / "link").symlink_to(world.outside)
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            for old, new in (("deep", "kept"), ("link", "deep"), ("deep", "link"), ("kept", "deep")):
                (world.inside / old).rename(world.inside / new)

    thread = threading.Thread(target=swap)
    thread.start()
    outcomes = {"inside": 0, "refused": 0}
    try:
        for number in range(3000):
            try:
                world.tree.replace("deep/secret", b"%d" % number)
                world.tree.read("deep/secret", most=MOST)
                outcomes["inside"] += 1
            except (UnsafeFileError, FileNotFoundError):
                outcomes["refused"] += 1
    finally:
        ended.set()
        thread.join()
    assert world.is_untouched()
    assert sum(outcomes.values()) == 3000


# --- what Weft keeps ---


def test_what_is_kept_in_a_project_is_below_the_project(world: World) -> None:
    touch(world.inside / ".weft/runs/r/gathered")
    assert world.tree.read(".weft/runs/r/gathered", most=0) == b""
    tree, path = locate(world.inside / ".weft/runs/r/gathered")
    assert (path, tree.names(".weft/runs")) == (".weft/runs/r/gathered", ["r"])


@pytest.mark.parametrize("link", [".weft", ".weft/runs", ".weft/runs/r"])
def test_no_link_on_the_way_to_what_is_kept_is_followed(world: World, link: str) -> None:
    (world.inside / link).parent.mkdir(parents=True, exist_ok=True)
    (world.inside / link).symlink_to(world.outside)
    for action in (touch, open_file, lambda path: open_folder(path, make=True)):
        with pytest.raises(UnsafeFileError, match=f"inside/{link} is a symbolic link, not a directory"):
            action(world.inside / ".weft/runs/r/secret")
    assert world.is_untouched()


def test_of_another_file_the_directory_is_trusted_and_made(world: World) -> None:
    with open_folder(world.inside / "some/where", make=True) as folder:
        assert os.fstat(folder.descriptor).st_ino == (world.inside / "some/where").stat().st_ino
    assert stat.S_IMODE((world.inside / "some").stat().st_mode) == 0o700
    (world.inside / "home").symlink_to(world.outside)
    os.close(open_file(world.inside / "home/secret"))


def test_a_relative_path_is_one_from_here(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.inside)
    touch("note")
    assert world.tree.names() == ["deep", "note"]


def test_an_owner_who_may_not_write_stays_so(world: World) -> None:
    (world.inside / "deep").chmod(0o555)
    world.tree.make("deep")
    assert stat.S_IMODE(world.tree.status("deep").st_mode) == 0o500
    (world.inside / "deep").chmod(0o700)


# --- properties ---

NAMES = st.text(st.sampled_from("ab.\udcff é"), min_size=1, max_size=3).filter(
    lambda name: name not in {".", ".."}
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@given(files=st.dictionaries(PATHS, st.binary(max_size=20), max_size=6))
def test_it_holds_what_was_written_under_any_names(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    tree = Tree(tmp_path_factory.mktemp("any"))
    kept: dict[str, bytes] = {}
    for path, data in files.items():
        above = path.rpartition("/")[0]
        try:
            if above:
                tree.make(above)
            tree.replace(path, data)
        except (
            UnsafeFileError,
            IsADirectoryError,
        ):  # a file where a directory is to be, or the other way round
            assert any(path.startswith(f"{item}/") or item.startswith(f"{path}/") for item in kept)
            continue
        kept[path] = data
    assert {path: tree.read(path, most=MOST) for path in kept} == kept


@given(
    before=st.lists(NAMES, max_size=3),
    after=st.lists(NAMES, max_size=3),
    operation=st.sampled_from([*OPERATIONS]),
)
def test_no_path_through_a_link_is_walked(
    before: list[str], after: list[str], operation: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world = World(tmp_path_factory.mktemp("any"))
    folder = world.inside.joinpath(*before)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "~link").symlink_to(world.outside)
    with pytest.raises(UnsafeFileError, match="is a symbolic link, not a directory"):
        OPERATIONS[operation](world.tree, "/".join((*before, "~link", *after, "secret")))
    assert world.is_untouched()


# --- no other module reads or writes by a path that a step could have changed ---

BY_PATH = frozenset({"read_text", "read_bytes", "write_text", "write_bytes"})
SOURCES = Path(weft.__file__).parent
ELSEWHERE = {
    "agents/builtin/files.py": "tools of the built-in agent, inside the step",
    "agents/builtin/record.py": "the built-in agent, inside the step",
    "agents/builtin/shell.py": "/proc, inside the step",
    "agents/player.py": "the scripted agent, inside the step",
    "agents/shared/result_writer.py": "an agent writes its report, inside the step",
    "agents/script.py": "a script that the plan names",
    "app/project/approval_file.py": "the user's own directory",
    "app/run/background.py": "a pipe",
    "app/doctor/disk.py": "/proc, and a directory that is locked and not read",
    "app/doctor/worktrees.py": "a directory, opened with O_DIRECTORY, to remove an empty one",
    "app/project/files.py": "files that the user names",
    "app/init/init.py": "files that the user has written or `weft init` wrote, in the project",
    "app/project/plan_names.py": "plans that the user may name",
    "app/preflight/python_installs.py": "installed packages",
    "app/decompose/source_files.py": "sources of the project, opened with O_NOFOLLOW",
    "app/init/survey.py": "sources of the project",
    "cli/commands/plan/decompose.py": "the file that the user names",
    "cli/main.py": "standard streams",
    "cli/output.py": "/dev/null",
    "hosts/carriers/bootstrap.py": "files of the package",
    "hosts/carriers/loader.py": "a directory that only the user can write to, as it checks; it runs elsewhere",
    "hosts/far/serve.py": "/dev/null",
    "hosts/far_program.py": "files of the package",
    "hosts/far/workspaces.py": "payloads in a directory of the far program",
    "hosts/machines/session.py": "a file that its caller has just made",
    "hosts/supervisor/processes.py": "/proc",
    "hosts/supervisor/reaper.py": "/proc",
    "runtime/sandbox/probe.py": "/proc and /sys",
    "runtime/sandbox/programs.py": "/etc",
    "safe_files.py": "this is where it is done",
    "store/failures.py": "/dev/null",
    "store/lease.py": "/proc",
    "store/queries.py": "files of the package",
    "store/sqlite.py": "a directory that is brought to the disk, and not read",
    "testing/models/__main__.py": "files that the user names",
    "web/report_page.py": "files of the package",
    "workspaces/git/checkouts/untracked_files.py": "the top of a worktree, from which it walks by descriptors",
    "workspaces/git/base/child_records.py": "with O_NOFOLLOW",
    "workspaces/git/copies/exchange.py": "a directory that it has just made",
    "workspaces/git/clones/clone.py": "a clone's own git directory, before its step runs",
    "workspaces/git/clones/foreign.py": "a quarantine that has just been made",
    "workspaces/git/base/damage.py": "a new lock, which must not be there yet",
    "workspaces/git/checkouts/forward.py": "files of the user's checkout",
    "workspaces/git/base/worktree_links.py": "with O_NOFOLLOW and O_NONBLOCK",
    "workspaces/git/base/lock_files.py": "/proc",
    "workspaces/git/base/ref_files.py": "a loose ref, with O_NOFOLLOW and O_NONBLOCK",
    "workspaces/git/worktrees/worktrees.py": "a directory, opened with O_DIRECTORY, to remove what was put aside",
    "workspaces/untracked_files.py": "the directory of the plan, from which it walks by descriptors",
    "workspaces/git/base/merge_tree.py": "a new directory of its own in the temporary one",
}
"""Modules that open files by their path, and why no step can make that harmful."""


def opens_by_path(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id == "open"
    if not isinstance(call.func, ast.Attribute):
        return False
    owner, method = ast.unparse(call.func.value), call.func.attr
    if method != "open":
        return method in BY_PATH
    if owner == "os":
        return "dir_fd" not in {keyword.arg for keyword in call.keywords}
    mode = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    return isinstance(mode, str) and set(mode) <= set("rwabx+t")


def test_files_that_a_step_can_change_are_opened_here_and_nowhere_else() -> None:
    modules = {
        str(source.relative_to(SOURCES))
        for source in SOURCES.rglob("*.py")
        if any(
            isinstance(node, ast.Call) and opens_by_path(node)
            for node in ast.walk(ast.parse(source.read_text()))
        )
    }
    assert sorted(modules - ELSEWHERE.keys()) == []
    assert sorted(ELSEWHERE.keys() - modules) == []


def test_a_fifo_in_place_of_a_file_of_git_does_not_make_status_wait(tmp_path: Path) -> None:
    entry = tmp_path / ".git" / "worktrees" / "a"
    entry.mkdir(parents=True)
    os.mkfifo(entry / "HEAD")
    (entry / "gitdir").write_text("/x/.git\n")
    assert worktrees_of(tmp_path) == {}


def test_a_link_in_place_of_a_note_does_not_write_elsewhere(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    note = tmp_path / ".git" / "weft" / "note"
    note.parent.mkdir(parents=True)
    note.symlink_to(victim)
    replace_file(note, b"new")
    assert (victim.read_text(), read_text(note)) == ("mine", "new")


def test_an_entry_moves_between_directories_of_the_tree_and_through_no_link(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for name in ("from", "to", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "from" / "entry").write_text("content")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeFileError):
        tree.move("from/entry", "link/entry")
    tree.move("from/entry", "to/entry")
    assert (tmp_path / "to" / "entry").read_text() == "content"
    assert list((tmp_path / "elsewhere").iterdir()) == []
