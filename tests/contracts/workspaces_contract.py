"""What all workspaces have in common. A test class that inherits this names the workspaces in a fixture."""

from pathlib import Path

from weft.ports.workspaces import WorkspaceRequest, Workspaces


class WorkspacesContract:
    def test_a_prepared_workspace_is_a_directory_at_its_place(self, workspaces: Workspaces) -> None:
        assert workspaces.prepare(WorkspaceRequest(path="a")) == workspaces.place("a")
        assert workspaces.place("a").is_dir()

    def test_the_place_is_known_before_it_is_there_and_is_absolute(self, workspaces: Workspaces) -> None:
        assert workspaces.place("group/a").is_absolute()
        assert workspaces.place("").is_absolute()

    def test_a_slice_finds_what_the_slices_before_it_wrote(self, workspaces: Workspaces) -> None:
        self.done(workspaces, "a", "one")
        place = workspaces.prepare(WorkspaceRequest(path="b", after=("a",)))
        assert (place / "one").read_text() == "a wrote this"

    def test_what_slices_wrote_comes_together(self, workspaces: Workspaces) -> None:
        self.done(workspaces, "group/a", "one")
        self.done(workspaces, "group/b", "two")
        place = workspaces.gather("group", ["group/a", "group/b"])
        assert (place / "one").read_text() == "group/a wrote this"
        assert (place / "two").read_text() == "group/b wrote this"

    def test_slices_that_wrote_different_files_go_together(self, workspaces: Workspaces) -> None:
        self.done(workspaces, "a", "one")
        self.done(workspaces, "b", "two")
        workspaces.check(["a", "b"])

    def test_nothing_comes_together_in_a_directory_too(self, workspaces: Workspaces) -> None:
        assert workspaces.gather("", []).is_dir()

    def test_everything_may_be_done_twice(self, workspaces: Workspaces) -> None:
        request = WorkspaceRequest(path="a")
        workspaces.prepare(request)
        place = workspaces.prepare(request)
        (place / "one").write_text("text")
        workspaces.keep("a")
        workspaces.keep("a")
        workspaces.gather("", ["a"])
        assert (workspaces.gather("", ["a"]) / "one").read_text() == "text"

    @staticmethod
    def done(workspaces: Workspaces, path: str, file: str) -> Path:
        place = workspaces.prepare(WorkspaceRequest(path=path))
        (place / file).write_text(f"{path} wrote this")
        workspaces.keep(path)
        return place
