"""Subplans that work in the plan's own directory, among others that have one of their own."""

from pathlib import Path

import pytest

from weft.ports.workspaces import ConflictError, WorkspaceRequest
from weft.workspaces.chosen import ChosenWorkspaces
from weft.workspaces.directories import DirectoryWorkspaces
from weft.workspaces.in_place import InPlaceWorkspaces


@pytest.fixture
def workspaces(tmp_path: Path) -> ChosenWorkspaces:
    plan_dir = tmp_path / "plan"
    plan_dir.mkdir()
    own = DirectoryWorkspaces(tmp_path / "work", plan_dir)
    return ChosenWorkspaces(own, InPlaceWorkspaces(plan_dir), {"shared"})


def test_each_subplan_has_the_workspace_that_the_plan_says(
    workspaces: ChosenWorkspaces, tmp_path: Path
) -> None:
    assert workspaces.place("shared") == tmp_path / "plan"
    assert workspaces.prepare(WorkspaceRequest(path="shared")) == tmp_path / "plan"
    assert workspaces.prepare(WorkspaceRequest(path="a")) == workspaces.place("a") == tmp_path / "work" / "a"


def test_what_is_brought_together_is_what_was_done_in_own_directories(workspaces: ChosenWorkspaces) -> None:
    place = workspaces.prepare(WorkspaceRequest(path="a"))
    (place / "set-up").touch()
    workspaces.accept("a")
    workspaces.accept("shared")
    (place / "made").touch()
    workspaces.keep("a")
    workspaces.keep("shared")
    assert [file.name for file in workspaces.gather("", ["a"]).iterdir()] == ["made"]


def test_conflicts_are_those_between_own_directories(workspaces: ChosenWorkspaces) -> None:
    for path in ("a", "b"):
        (workspaces.prepare(WorkspaceRequest(path=path)) / "same").write_text(path)
        workspaces.keep(path)
    with pytest.raises(ConflictError):
        workspaces.check(["a", "b"])
