"""`isolation: dir`: what a slice did is kept if it may be, and goes together with what others did."""

import os
from pathlib import Path

import pytest

from weft.ports.workspaces import ConflictError, MergeRequest, MergeResult, StepWork
from weft.workspaces.directories import DirectoryWorkspaces
from weft.workspaces.errors import WorkspaceError
from workspaces.trees import Made, do, gather, inside, keep, prepare, put, tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def workspaces(root: Path, tmp_path: Path) -> DirectoryWorkspaces:
    (tmp_path / "plan").mkdir()
    return DirectoryWorkspaces(root, tmp_path / "plan")


# Only some files


def test_a_slice_may_change_what_its_files_say(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"elsewhere": "1", "src/old": "1"})
    put(prepare(workspaces, "b", after=("a",)), {"src/old": None, "src/deep/new": "2", "README": "3"})
    keep(workspaces, "b", files=("src/**", "README"))
    assert tree(gather(workspaces, "", ["a", "b"])) == {"elsewhere": "1", "src/deep/new": "2", "README": "3"}


@pytest.mark.parametrize("edit", [{"elsewhere": "2"}, {"elsewhere": None}, {"elsewhere": ["1"]}])
def test_a_slice_that_changed_other_files_is_refused_and_not_kept(
    workspaces: DirectoryWorkspaces, edit: dict[str, Made]
) -> None:
    do(workspaces, "a", {"elsewhere": "1"})
    put(prepare(workspaces, "b", after=("a",)), {"src/new": "2", **edit})
    text = "b changed files outside of its `files`, and `strict_files` forbids that: elsewhere$"
    with pytest.raises(WorkspaceError, match=text):
        keep(workspaces, "b", files=("src/**",))
    with pytest.raises(WorkspaceError, match="there is no record of the work of 'b'"):
        gather(workspaces, "", ["a", "b"])


def test_of_many_other_files_the_first_are_reported(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"b": "1"})
    written: dict[str, Made] = dict.fromkeys(("g", "a", "f", "d\n", "e", "c"), "")
    put(prepare(workspaces, "b", after=("a",)), {**written, "b": None})
    with pytest.raises(WorkspaceError, match=r"forbids that: a, b, c, d\\n, e and 2 more$"):
        keep(workspaces, "b", files=())


def test_what_was_kept_is_held_against_the_files_again(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"x": "1"})
    with pytest.raises(WorkspaceError, match=r"forbids that: x$"):
        keep(workspaces, "a", files=("y",))


def test_names_that_are_no_text_may_be_meant_by_files(workspaces: DirectoryWorkspaces) -> None:
    name = os.fsdecode(b"src/\xff")
    put(prepare(workspaces, "a"), {name: "1"})
    keep(workspaces, "a", files=("src/?",))
    assert tree(gather(workspaces, "", ["a"])) == {name: "1"}


# Merging


def test_a_slice_in_conflict_with_those_it_is_merged_with_is_reported(
    workspaces: DirectoryWorkspaces,
) -> None:
    do(workspaces, "a", {"x": "1"})
    put(prepare(workspaces, "b"), {"x": "2"})
    with pytest.raises(ConflictError, match=r"x \(a, b\)") as caught:
        workspaces.merge(MergeRequest(path="b", subject="b is done", slices=("a", "b")))
    assert caught.value.files == ("x",)


def test_a_group_has_nothing_of_its_own_to_keep(workspaces: DirectoryWorkspaces, root: Path) -> None:
    do(workspaces, "g/a", {"x": "1"})
    put(gather(workspaces, "g", ["g/a"]), {"left by": "a verify"})
    merged = workspaces.merge(
        MergeRequest(path="g", subject="g is done", slices=("g/a",), is_group=True, verifies=True)
    )
    assert merged == MergeResult()
    assert [record.name for record in (root / "_records").iterdir()] == ["g.a"]


def test_nothing_has_to_land_and_no_step_is_recorded(workspaces: DirectoryWorkspaces, root: Path) -> None:
    do(workspaces, "a", {"x": "1"})
    before = inside(root)
    assert not workspaces.has_history("a")
    assert workspaces.scratch("a") == workspaces.place("a")
    assert workspaces.record(StepWork(path="a", step="x", attempt=1, subject="a")) == ()
    assert workspaces.publish("a") == MergeResult()
    workspaces.discard("a")
    assert inside(root) == before


def test_no_agent_can_resolve_conflicts_of_what_has_no_history(workspaces: DirectoryWorkspaces) -> None:
    do(workspaces, "a", {"x": "1"})
    work = StepWork(path="a", step="@resolve", attempt=1, subject="a")
    with pytest.raises(WorkspaceError, match="no history, so no agent can resolve its conflicts"):
        workspaces.open_conflict(MergeRequest(path="a", subject="a"), work)
