"""What all workspaces have in common. A test class that inherits this names the workspaces in a fixture.

What becomes of slices that do not go together is not among it: each kind of workspace has its own answer.
"""

from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.ports.workspaces import MergeRequest, MergeResult, StepWatch, StepWork, WorkspaceRequest, Workspaces

READING = StepWork(path="a", step="read", attempt=1, subject="a: read")


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
        work = StepWork(path="a", step="@resolve", attempt=1, subject="a: resolve")
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

    def test_a_reader_that_changed_nothing_is_not_blamed(self, workspaces: Workspaces) -> None:
        workspaces.prepare(WorkspaceRequest(path="a"))
        self.watched(workspaces, "one")
        assert workspaces.restore("a", "one") is None

    def test_of_who_was_not_watched_nothing_is_known(self, workspaces: Workspaces) -> None:
        workspaces.prepare(WorkspaceRequest(path="a"))
        (workspaces.place("a") / "file").write_text("text")
        assert workspaces.restore("a", "one") is None
        assert workspaces.has_changed("a", "one") is None
        workspaces.unwatch("a", ["one"])
        assert (workspaces.place("a") / "file").read_text() == "text"

    @staticmethod
    def watched(workspaces: Workspaces, job: str, *beside: str, reads: bool = True) -> None:
        workspaces.watch(StepWatch(work=READING, job=job, reads=reads, beside=beside))

    @classmethod
    def done(cls, workspaces: Workspaces, path: str, file: str, *others: str) -> MergeResult:
        """A slice from its beginning to its end; others came together before."""
        workspaces.prepare(WorkspaceRequest(path=path))
        (workspaces.place(path) / file).write_text(f"{path} wrote this")
        cls.recorded(workspaces, path)
        return workspaces.merge(MergeRequest(path=path, subject=f"{path} is done", slices=(*others, path)))

    @staticmethod
    def recorded(workspaces: Workspaces, path: str) -> None:
        workspaces.record(StepWork(path=path, step="write", attempt=1, subject=f"{path} wrote something"))

    @staticmethod
    def merged(workspaces: Workspaces, path: str, *slices: str) -> None:
        """A group, all in which is done."""
        request = MergeRequest(path=path, subject=f"{path} is done", slices=slices, is_group=True)
        workspaces.merge(request)

    @staticmethod
    def gathered(workspaces: Workspaces, path: str, *slices: str) -> Path:
        workspaces.gather(MergeRequest(path=path, subject="together", slices=slices, is_group=True))
        return workspaces.place(path)


class OwnWorkspacesContract(WorkspacesContract):
    """Of those in which nobody but the steps of a slice works."""

    @pytest.fixture
    def place(self, workspaces: Workspaces) -> Path:
        """With a file in it, which is recorded."""
        workspaces.prepare(WorkspaceRequest(path="a"))
        place = workspaces.place("a")
        (place / "old").write_text("old")
        self.recorded(workspaces, "a")
        return place

    def test_a_change_there_is_of_a_step(self, workspaces: Workspaces) -> None:
        assert workspaces.is_own("a")

    @pytest.mark.parametrize("file", ["new", "old", "deep/new"])
    def test_a_reader_answers_for_what_it_changed(
        self, workspaces: Workspaces, place: Path, file: str
    ) -> None:
        self.watched(workspaces, "one")
        (place / file).parent.mkdir(exist_ok=True)
        (place / file).write_text("something else")
        breach = workspaces.restore("a", "one")
        assert breach is not None
        assert breach.files == (file,)
        assert breach.message.startswith(f"it may only read, and changed {file}; that ")

    def test_a_reader_answers_for_what_it_removed_and_for_rights(
        self, workspaces: Workspaces, place: Path
    ) -> None:
        (place / "program").write_text("#!")
        self.watched(workspaces, "one")
        (place / "old").unlink()
        (place / "program").chmod(0o755)
        breach = workspaces.restore("a", "one")
        assert breach is not None
        assert breach.files == ("old", "program")

    def test_asked_again_it_tells_the_same_whatever_is_there_by_then(
        self, workspaces: Workspaces, place: Path
    ) -> None:
        self.watched(workspaces, "one")
        (place / "new").write_text("something")
        breach = workspaces.restore("a", "one")
        assert breach is not None
        workspaces.unwatch("a", ["one"])
        (place / "other").write_text("of another step")
        assert workspaces.restore("a", "one") == breach
        assert (place / "other").read_text() == "of another step"

    def test_what_was_there_before_is_not_the_reader_s(self, workspaces: Workspaces, place: Path) -> None:
        (place / "mine").write_text("a person's")
        self.watched(workspaces, "one")
        assert workspaces.restore("a", "one") is None
        assert (place / "mine").read_text() == "a person's"

    def test_caches_that_say_what_they_are_are_no_changes(self, workspaces: Workspaces, place: Path) -> None:
        self.watched(workspaces, "one")
        (place / ".cache").mkdir()
        (place / ".cache" / ".gitignore").write_text("*\n")
        (place / ".cache" / "file").write_text("text")
        assert workspaces.restore("a", "one") is None
        assert (place / ".cache" / "file").exists()

    # Several at once

    def test_of_readers_that_overlap_the_first_to_end_answers_and_no_other(
        self, workspaces: Workspaces, place: Path
    ) -> None:
        self.watched(workspaces, "one")
        (place / "new").write_text("of the first")
        self.watched(workspaces, "two", "one")
        breach = workspaces.restore("a", "two")
        assert breach is not None
        assert breach.files == ("new",)
        assert workspaces.restore("a", "one") is None

    def test_what_changes_after_that_is_answered_for_by_the_next(
        self, workspaces: Workspaces, place: Path
    ) -> None:
        self.watched(workspaces, "one")
        self.watched(workspaces, "two", "one")
        (place / "new").write_text("first")
        assert workspaces.restore("a", "one") is not None
        (place / "newer").write_text("second")
        breach = workspaces.restore("a", "two")
        assert breach is not None
        assert breach.files == ("newer",)

    def test_a_reader_that_begins_when_others_have_ended_begins_anew(
        self, workspaces: Workspaces, place: Path
    ) -> None:
        self.watched(workspaces, "one")
        (place / "new").write_text("a person's")
        self.watched(workspaces, "two")
        assert workspaces.restore("a", "two") is None
        assert workspaces.restore("a", "one") is None

    def test_where_somebody_may_change_files_nobody_answers(
        self, workspaces: Workspaces, place: Path
    ) -> None:
        self.watched(workspaces, "one")
        workspaces.unwatch("a", ["one"])
        (place / "new").write_text("whose")
        assert workspaces.restore("a", "one") is None
        assert (place / "new").read_text() == "whose"

    def test_who_may_change_files_ends_the_watch_of_readers(
        self, workspaces: Workspaces, place: Path
    ) -> None:
        self.watched(workspaces, "one")
        self.watched(workspaces, "two", "one", reads=False)
        (place / "new").write_text("whose")
        assert workspaces.restore("a", "one") is None
        assert workspaces.restore("a", "two") is None

    @pytest.mark.parametrize("reads", [True, False])
    def test_what_was_found_is_known_until_nobody_asks_any_more(
        self, workspaces: Workspaces, place: Path, reads: bool
    ) -> None:
        self.watched(workspaces, "one")
        (place / "new").write_text("something")
        breach = workspaces.restore("a", "one")
        self.watched(workspaces, "two", "one", reads=reads)
        workspaces.unwatch("a", ["one", "two"])
        assert workspaces.restore("a", "one") == breach
        workspaces.unwatch("a", ["two"])
        assert workspaces.restore("a", "one") is None
