"""What all workspaces have in common. A test class that inherits this names the workspaces in a fixture.

What becomes of slices that do not go together is not among it: each kind of workspace has its own answer.
"""

from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.ports.workspaces import Merged, MergeRequest, Work, WorkspaceRequest, Workspaces


class WorkspacesContract:
    def test_a_prepared_workspace_is_a_directory_at_its_place(self, workspaces: Workspaces) -> None:
        workspaces.prepare(WorkspaceRequest(path="a"))
        assert workspaces.place("a").is_dir()

    def test_places_are_known_before_they_are_there_and_are_absolute(self, workspaces: Workspaces) -> None:
        assert workspaces.place("group/a").is_absolute()
        assert workspaces.place("").is_absolute()
        assert workspaces.scratch("group/a").is_absolute()

    def test_a_prepared_workspace_is_proven(self, workspaces: Workspaces) -> None:
        workspaces.prepare(WorkspaceRequest(path="a"))
        workspaces.accept("a")
        workspaces.prove("a")

    def test_a_slice_finds_what_the_slices_before_it_wrote(self, workspaces: Workspaces) -> None:
        self.done(workspaces, "a", "one")
        workspaces.prepare(WorkspaceRequest(path="b", after=("a",)))
        assert (workspaces.place("b") / "one").read_text() == "a wrote this"

    def test_a_slice_finds_what_the_slices_in_another_group_wrote(self, workspaces: Workspaces) -> None:
        self.done(workspaces, "group/a", "one")
        self.merged(workspaces, "group", "group/a")
        workspaces.prepare(WorkspaceRequest(path="other/b", after=("group/a",)))
        assert (workspaces.place("other/b") / "one").read_text() == "group/a wrote this"

    def test_what_slices_wrote_comes_together(self, workspaces: Workspaces) -> None:
        self.done(workspaces, "group/a", "one")
        self.done(workspaces, "group/b", "two")
        place = self.gathered(workspaces, "group", "group/a", "group/b")
        assert (place / "one").read_text() == "group/a wrote this"
        assert (place / "two").read_text() == "group/b wrote this"

    def test_what_groups_did_comes_together(self, workspaces: Workspaces) -> None:
        self.done(workspaces, "group/a", "one")
        self.merged(workspaces, "group", "group/a")
        self.done(workspaces, "other/b", "two")
        self.merged(workspaces, "other", "group/a", "other/b")
        place = self.gathered(workspaces, "", "group/a", "other/b")
        assert (place / "one").read_text() == "group/a wrote this"
        assert (place / "two").read_text() == "other/b wrote this"

    def test_what_is_not_to_be_verified_comes_together_at_once(self, workspaces: Workspaces) -> None:
        assert self.done(workspaces, "a", "one").verify_in is None
        assert self.done(workspaces, "b", "two", "a").verify_in is None

    def test_nothing_comes_together_in_a_directory_too(self, workspaces: Workspaces) -> None:
        assert self.gathered(workspaces, "").is_dir()

    def test_what_was_never_to_be_verified_may_be_discarded(self, workspaces: Workspaces) -> None:
        self.done(workspaces, "a", "one")
        workspaces.discard("a")
        assert (self.gathered(workspaces, "", "a") / "one").read_text() == "a wrote this"

    def test_a_conflict_that_was_never_opened_cannot_be_closed(self, workspaces: Workspaces) -> None:
        workspaces.prepare(WorkspaceRequest(path="a"))
        work = Work(path="a", step="@resolve", attempt=1, subject="a: resolve")
        with pytest.raises(WeftError, match="no conflict was opened"):
            workspaces.close_conflict(work)

    def test_everything_may_be_done_twice(self, workspaces: Workspaces) -> None:
        request = WorkspaceRequest(path="group/a")
        workspaces.prepare(request)
        workspaces.prepare(request)
        (workspaces.place("group/a") / "one").write_text("text")
        self.recorded(workspaces, "group/a")
        self.recorded(workspaces, "group/a")
        merge = MergeRequest(path="group/a", subject="a is done", slices=("group/a",))
        workspaces.merge(merge)
        workspaces.merge(merge)
        self.merged(workspaces, "group", "group/a")
        self.merged(workspaces, "group", "group/a")
        self.gathered(workspaces, "", "group/a")
        assert (self.gathered(workspaces, "", "group/a") / "one").read_text() == "text"

    @classmethod
    def done(cls, workspaces: Workspaces, path: str, file: str, *others: str) -> Merged:
        """A slice from its beginning to its end; others came together before."""
        workspaces.prepare(WorkspaceRequest(path=path))
        (workspaces.place(path) / file).write_text(f"{path} wrote this")
        cls.recorded(workspaces, path)
        return workspaces.merge(MergeRequest(path=path, subject=f"{path} is done", slices=(*others, path)))

    @staticmethod
    def recorded(workspaces: Workspaces, path: str) -> None:
        workspaces.record(Work(path=path, step="write", attempt=1, subject=f"{path} wrote something"))

    @staticmethod
    def merged(workspaces: Workspaces, path: str, *slices: str) -> None:
        """A group, all in which is done."""
        request = MergeRequest(path=path, subject=f"{path} is done", slices=slices, is_group=True)
        workspaces.merge(request)

    @staticmethod
    def gathered(workspaces: Workspaces, path: str, *slices: str) -> Path:
        workspaces.gather(MergeRequest(path=path, subject="together", slices=slices, is_group=True))
        return workspaces.place(path)
