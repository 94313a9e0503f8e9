"""`isolation: dir`: a directory for each slice, made of what the slices before it did."""

import os
import shutil
import stat
import threading
from pathlib import Path

import pytest

from contracts.workspaces_contract import OwnWorkspacesContract
from weft.engine.messages.facts import EarlierSlice
from weft.ports.workspaces import ConflictError, WorkspaceRequest, Workspaces
from weft.workspaces.directories import DirectoryWorkspaces
from weft.workspaces.errors import WorkspaceError
from workspaces.trees import Made, check, do, gather, keep, prepare, put, tree


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    made = tmp_path / "plan"
    made.mkdir()
    return made


@pytest.fixture
def root(plan: Path) -> Path:
    return plan / ".weft" / "work" / "plan"


@pytest.fixture
def workspaces(root: Path, plan: Path) -> DirectoryWorkspaces:
    return DirectoryWorkspaces(root, plan)


class TestDirectoryWorkspaces(OwnWorkspacesContract):
    @pytest.fixture
    def workspaces(self, root: Path, plan: Path) -> Workspaces:
        return DirectoryWorkspaces(root, plan)


# Names


def test_a_place_is_below_the_root_with_dots_for_slashes(workspaces: DirectoryWorkspaces, root: Path) -> None:
    assert workspaces.place("store/model") == root / "store.model"
    assert workspaces.place("") == root / "_plan"


def test_the_longest_of_paths_have_places_of_their_own(workspaces: DirectoryWorkspaces) -> None:
    long = "/".join(["a" * 64] * 6)
    do(workspaces, long + "/b", {"x": "1"})
    do(workspaces, long + "/c", {"y": "2"})
    assert tree(gather(workspaces, long, [long + "/b", long + "/c"])) == {"x": "1", "y": "2"}
    assert workspaces.place(long + "/b") != workspaces.place(long + "/c")


@pytest.mark.parametrize("path", ["..", "a/../b", "/a", "a/", "A", "_plan", "a.b", "a//b", ".", "a\n"])
def test_what_is_no_path_of_a_subplan_has_no_place(workspaces: DirectoryWorkspaces, path: str) -> None:
    with pytest.raises(WorkspaceError, match="is not the path of a subplan"):
        workspaces.place(path)


def test_slices_named_as_weft_names_things_are_in_nobody_s_way(workspaces: DirectoryWorkspaces) -> None:
    for name in ("objects", "records", "starts", "new", "old", "plan"):
        do(workspaces, name, {name: name})
    assert sorted(tree(gather(workspaces, "", ["objects", "plan"]))) == ["objects", "plan"]


# Starting


def test_a_slice_starts_with_the_files_of_those_before_it_and_only_those(
    workspaces: DirectoryWorkspaces,
) -> None:
    do(
        workspaces,
        "a",
        {"one": "1", "sub/program": ["#!"], "link": ("one",), "dangling": ("nowhere/at/all",)},
    )
    do(workspaces, "b", {"two": "2"})
    do(workspaces, "c", {"one": None, "sub/three": "3"}, after=("a",))
    place = prepare(workspaces, "d", after=("a", "c"))
    expected = {"sub/program": ["#!"], "link": ("one",), "dangling": ("nowhere/at/all",), "sub/three": "3"}
    assert tree(place) == expected


def test_what_an_earlier_try_left_is_gone(workspaces: DirectoryWorkspaces) -> None:
    put(prepare(workspaces, "a"), {"x": "1", "deep/er/y": "2"})
    assert list(prepare(workspaces, "a").iterdir()) == []


def test_a_slice_before_that_was_not_kept_is_an_error(workspaces: DirectoryWorkspaces) -> None:
    prepare(workspaces, "a")
    with pytest.raises(
        WorkspaceError,
        match="there is no record of the work of 'a'; to repeat everything, run the plan with --fresh",
    ):
        prepare(workspaces, "b", after=("a",))


def test_a_slice_after_two_in_conflict_does_not_start_and_its_workspace_is_untouched(
    workspaces: DirectoryWorkspaces,
) -> None:
    do(workspaces, "a", {"x": "1"})
    do(workspaces, "b", {"x": "2"})
    do(workspaces, "c", {"mine": ""})
    with pytest.raises(ConflictError, match=r"x \(a, b\)"):
        prepare(workspaces, "c", after=("a", "b"))
    assert tree(workspaces.place("c")) == {"mine": ""}


def test_a_modified_file_keeps_no_tie_to_what_is_kept(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"x": "1"})
    place = prepare(workspaces, "b", after=("a",))
    (place / "x").write_text("in place")
    assert tree(gather(workspaces, "", ["a"])) == {"x": "1"}


# Keeping


def test_what_is_kept_is_not_changed_by_what_happens_later(workspaces: DirectoryWorkspaces) -> None:
    place = do(workspaces, "a", {"x": "1"})
    put(place, {"x": "2", "y": "2"})
    keep(workspaces, "a")
    assert tree(gather(workspaces, "", ["a"])) == {"x": "1"}


def test_a_slice_that_was_prepared_again_is_kept_anew(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"x": "1"})
    do(workspaces, "a", {"y": "2"})
    assert tree(gather(workspaces, "", ["a"])) == {"y": "2"}


def test_what_was_kept_stays_until_something_else_is_kept(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"x": "1"})
    prepare(workspaces, "a")
    assert tree(gather(workspaces, "", ["a"])) == {"x": "1"}


def test_a_workspace_that_was_not_prepared_cannot_be_kept(workspaces: DirectoryWorkspaces) -> None:
    with pytest.raises(
        WorkspaceError,
        match="the workspace of 'g/a' is incomplete; to repeat everything, run the plan with --fresh",
    ):
        keep(workspaces, "g/a")


def test_a_workspace_that_is_gone_cannot_be_kept(workspaces: DirectoryWorkspaces) -> None:
    prepare(workspaces, "a").rmdir()
    with pytest.raises(WorkspaceError, match="the workspace of 'a' is not a directory"):
        keep(workspaces, "a")


def test_a_workspace_that_is_gone_is_not_proven(workspaces: DirectoryWorkspaces) -> None:
    place = prepare(workspaces, "a")
    workspaces.prove("a")
    place.rmdir()
    with pytest.raises(WorkspaceError, match="the workspace of 'a' is not a directory"):
        workspaces.prove("a")


def test_changes_of_one_byte_with_the_same_size_and_time_are_kept(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"x": "1"})
    place = prepare(workspaces, "b", after=("a",))
    before = (place / "x").stat()
    (place / "x").write_text("2")
    os.utime(place / "x", ns=(before.st_atime_ns, before.st_mtime_ns))
    keep(workspaces, "b")
    assert tree(gather(workspaces, "", ["a", "b"])) == {"x": "2"}


def test_an_executable_bit_that_was_set_or_taken_is_a_change(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"x": "1", "y": ["2"]})
    do(workspaces, "b", {"x": ["1"], "y": "2"}, after=("a",))
    assert tree(gather(workspaces, "", ["a", "b"])) == {"x": ["1"], "y": "2"}


def test_a_file_may_become_a_link_or_a_directory_and_back(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"x": "1", "y": ("x",), "z/f": "2"})
    place = prepare(workspaces, "b", after=("a",))
    put(place, {"x": ("y",), "y": None, "z/f": None})
    (place / "z").rmdir()
    put(place, {"y/f": "3", "z": "4"})
    keep(workspaces, "b")
    assert tree(gather(workspaces, "", ["a", "b"])) == {"x": ("y",), "y/f": "3", "z": "4"}


def test_empty_directories_are_not_kept(workspaces: DirectoryWorkspaces) -> None:
    place = prepare(workspaces, "a")
    (place / "empty" / "er").mkdir(parents=True)
    keep(workspaces, "a")
    assert list(gather(workspaces, "", ["a"]).iterdir()) == []


def test_what_is_no_file_is_left_out_and_told(workspaces: DirectoryWorkspaces) -> None:
    place = prepare(workspaces, "a")
    put(place, {"x": "1"})
    os.mkfifo(place / "pipe\n")
    keep(workspaces, "a")
    assert tree(gather(workspaces, "", ["a"])) == {"x": "1"}
    assert workspaces.left_out("a") == (r"pipe\n",)


@pytest.mark.parametrize(
    "mark",
    [
        {"CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# a cache"},
        {".gitignore": "# made by a tool\n*\n"},
    ],
    ids=["tag", "ignored by itself"],
)
def test_a_directory_that_says_that_it_is_a_cache_is_not_kept(
    workspaces: DirectoryWorkspaces, mark: dict[str, str]
) -> None:
    do(workspaces, "a", {"cache/old": "kept when it was no cache", "x": "1"})
    marked = {f"cache/{name}": text for name, text in mark.items()}
    do(workspaces, "b", {"cache/old": None, "cache/new": "2", "cache/sub/new": "3", **marked}, after=("a",))
    assert tree(gather(workspaces, "", ["a", "b"])) == {"cache/old": "kept when it was no cache", "x": "1"}


@pytest.mark.parametrize(
    "files",
    [
        {"sub/CACHEDIR.TAG": "no signature"},
        {"sub/.gitignore": "*\n!x\n"},
        {"sub/.gitignore": ("elsewhere",), "sub/CACHEDIR.TAG": ("elsewhere",)},
        {"sub/.gitignore/x": "", "sub/CACHEDIR.TAG/x": ""},
        {".gitignore": "*"},
    ],
)
def test_a_directory_that_only_looks_like_a_cache_is_kept(
    workspaces: DirectoryWorkspaces, files: dict[str, Made]
) -> None:
    do(workspaces, "a", {"sub/x": "1", **files})
    assert tree(gather(workspaces, "", ["a"])) == {"sub/x": "1", **files}


def test_what_git_and_weft_keep_about_files_is_not_kept(workspaces: DirectoryWorkspaces) -> None:
    do(
        workspaces,
        "a",
        {"x": "1", ".git/HEAD": "ref", "sub/.git": "gitdir: elsewhere", ".weft/run": "", ".gitignore": ""},
    )
    assert tree(gather(workspaces, "", ["a"])) == {"x": "1", ".gitignore": ""}


def test_the_same_content_is_stored_once_for_all(workspaces: DirectoryWorkspaces, root: Path) -> None:
    do(workspaces, "a", {"x": "1", "y": "1", "z": ["1"]})
    do(workspaces, "b", {"w": "1"})
    assert len(list((root / "_objects").iterdir())) == 1


def test_an_empty_file_and_a_large_one_are_kept(workspaces: DirectoryWorkspaces) -> None:
    large = "0123456789abcdef" * 200_000
    do(workspaces, "a", {"empty": "", "large": large})
    assert tree(gather(workspaces, "", ["a"])) == {"empty": "", "large": large}


# Gathering


def test_leftovers_of_an_earlier_verify_are_gone(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "g/a", {"x": "1"})
    put(gather(workspaces, "g", ["g/a"]), {"x": "broken", "build/out": ""})
    assert tree(gather(workspaces, "g", ["g/a"])) == {"x": "1"}


def test_slices_in_conflict_do_not_come_together_and_what_was_gathered_stays(
    workspaces: DirectoryWorkspaces,
) -> None:
    do(workspaces, "a", {"x": "1"})
    do(workspaces, "b", {"x": "2", "y": "2"})
    gather(workspaces, "", ["a"])
    with pytest.raises(ConflictError) as caught:
        gather(workspaces, "", ["a", "b"])
    assert caught.value.files == ("x",)
    with pytest.raises(ConflictError):
        check(workspaces, ["a", "b"])
    assert tree(workspaces.place("")) == {"x": "1"}


def test_what_is_gathered_may_be_given_files_of_the_plan_too(
    workspaces: DirectoryWorkspaces, plan: Path
) -> None:
    put(plan, {".env": "secret", "big/file": "large"})
    do(workspaces, "a", {"x": "1"})
    place = gather(workspaces, "", ["a"], copy=[".env"], link=["big"])
    assert tree(place) == {".env": "secret", "big": (str(plan / "big"),), "x": "1"}


def test_threads_may_work_for_different_slices_at_the_same_time(workspaces: DirectoryWorkspaces) -> None:
    names = [f"s{number}" for number in range(8)]
    together = threading.Barrier(len(names))

    def work(name: str) -> None:
        together.wait()
        do(workspaces, name, {name: name, "same": "for all", **{f"{name}.{n}": f"{n}" for n in range(5)}})

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tree(gather(workspaces, "", names))) == 8 * 6 + 1


# Damage


def damaged(workspaces: DirectoryWorkspaces, root: Path, text: str) -> None:
    do(workspaces, "a", {"x": "1"})
    (content,) = (root / "_objects").iterdir()
    content.unlink()
    if text:
        content.write_text(text)


@pytest.mark.parametrize(("text", "said"), [("", "is gone"), ("2", "was changed")])
def test_a_content_that_is_not_as_it_was_kept_is_told(
    workspaces: DirectoryWorkspaces, root: Path, text: str, said: str
) -> None:
    damaged(workspaces, root, text)
    with pytest.raises(WorkspaceError, match=f"of a slice {said}; to repeat everything"):
        gather(workspaces, "", ["a"])


def test_a_content_that_is_not_as_it_was_kept_is_fixed_by_keeping_it_again(
    workspaces: DirectoryWorkspaces, root: Path
) -> None:
    damaged(workspaces, root, "longer")
    do(workspaces, "b", {"y": "1"})
    assert tree(gather(workspaces, "", ["a"])) == {"x": "1"}


@pytest.mark.parametrize("data", [b"", b"\x81", b"\x81\xa1\xff\xc0"], ids=["empty", "cut off", "no text"])
def test_a_record_that_cannot_be_read_is_told(
    workspaces: DirectoryWorkspaces, root: Path, data: bytes
) -> None:
    do(workspaces, "a", {"x": "1"})
    (root / "_records" / "a").write_bytes(data)
    with pytest.raises(WorkspaceError, match=r"cannot read the record of 'a': .* to repeat everything"):
        gather(workspaces, "", ["a"])


def test_what_is_kept_is_nobody_else_s_to_read(workspaces: DirectoryWorkspaces, root: Path) -> None:
    do(workspaces, "a", {"x": "1"})
    assert {stat.S_IMODE((root / name).stat().st_mode) for name in ("_objects", "_records", "_starts")} == {
        0o700
    }


def test_what_is_accepted_is_no_work_of_the_slice(workspaces: DirectoryWorkspaces) -> None:
    place = prepare(workspaces, "a")
    (place / "installed").write_text("by a command that set it up")
    (place / "gone").write_text("for a while")
    workspaces.accept("a")
    (place / "gone").unlink()
    (place / "made").write_text("by the slice")
    keep(workspaces, "a")
    assert sorted(file.name for file in gather(workspaces, "", ["a"]).iterdir()) == ["made"]


def test_two_slices_that_were_set_up_differently_go_together(workspaces: DirectoryWorkspaces) -> None:
    for path in ("a", "b"):
        (prepare(workspaces, path) / "installed").write_text(path)
        workspaces.accept(path)
        keep(workspaces, path)
    check(workspaces, ["a", "b"])


def test_a_workspace_that_is_not_whole_cannot_be_accepted(workspaces: DirectoryWorkspaces) -> None:
    with pytest.raises(WorkspaceError, match="the workspace of 'a' is incomplete"):
        workspaces.accept("a")


# Continuing


def continued(workspaces: DirectoryWorkspaces, path: str, *after: str) -> bool:
    request = WorkspaceRequest(path=path, after=after)
    return workspaces.continue_after(request, EarlierSlice(subplan=path, run="r1")).is_kept


def test_a_slice_continues_in_the_directory_that_an_earlier_run_left(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"one": "1"})
    place = prepare(workspaces, "b", after=["a"])
    put(place, {"two": "2"})
    assert continued(workspaces, "b", "a")
    assert tree(place) == {"one": "1", "two": "2"}


def test_nothing_continues_that_was_built_on_something_else(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"one": "1"})
    prepare(workspaces, "b", after=["a"])
    assert not continued(workspaces, "b")
    do(workspaces, "a", {"one": "1"})
    assert not continued(workspaces, "b", "a"), "it was done once more, and may have come out differently"


def test_nothing_continues_in_a_directory_that_is_not_there(workspaces: DirectoryWorkspaces) -> None:
    assert not continued(workspaces, "a")
    shutil.rmtree(prepare(workspaces, "a"))
    assert not continued(workspaces, "a")
