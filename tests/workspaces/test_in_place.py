"""`isolation: none`: one directory for all."""

from pathlib import Path

import pytest

from contracts.workspaces_contract import WorkspacesContract
from weft.ports.workspaces import Workspaces
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.in_place import InPlaceWorkspaces
from workspaces.trees import gather, keep, prepare


class TestInPlaceWorkspaces(WorkspacesContract):
    @pytest.fixture
    def workspaces(self, tmp_path: Path) -> Workspaces:
        return InPlaceWorkspaces(tmp_path)


def test_every_place_is_the_plan_s_directory(tmp_path: Path) -> None:
    workspaces = InPlaceWorkspaces(tmp_path)
    assert (
        workspaces.place("a")
        == workspaces.place("")
        == workspaces.scratch("a")
        == gather(workspaces, "b", ["a"])
        == tmp_path
    )


def test_a_plan_s_directory_that_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    workspaces = InPlaceWorkspaces(tmp_path / "gone")
    with pytest.raises(WorkspaceError, match=r"directory is gone: .*/gone; put it back"):
        prepare(workspaces, "a")
    with pytest.raises(WorkspaceError, match="is gone"):
        keep(workspaces, "a")
    with pytest.raises(WorkspaceError, match="is gone"):
        gather(workspaces, "", ["a"])
    with pytest.raises(WorkspaceError, match="is gone"):
        workspaces.prove("a")
