"""Subplans that work in the plan's own directory, among others that have one of their own."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from contracts.workspaces_contract import OwnWorkspacesContract
from weft.engine.messages.facts import RefMove
from weft.errors import WeftError
from weft.ports.workspaces import (
    ClosedConflict,
    ConflictError,
    MergeRequest,
    MergeResult,
    OpenConflict,
    StepWork,
    WorkspaceRequest,
    Workspaces,
)
from weft.workspaces.directories import DirectoryWorkspaces
from weft.workspaces.in_place import InPlaceWorkspaces
from weft.workspaces.per_subplan import MixedWorkspaces
from workspaces.trees import do, gather, keep, prepare, tree


@pytest.fixture
def plan_dir(tmp_path: Path) -> Path:
    made = tmp_path / "plan"
    made.mkdir()
    return made


@pytest.fixture
def workspaces(tmp_path: Path, plan_dir: Path) -> MixedWorkspaces:
    own = DirectoryWorkspaces(tmp_path / "work", plan_dir)
    return MixedWorkspaces(own, InPlaceWorkspaces(plan_dir), {"shared"})


class TestChosenWorkspaces(OwnWorkspacesContract):
    @pytest.fixture
    def workspaces(self, tmp_path: Path, plan_dir: Path) -> Workspaces:
        own = DirectoryWorkspaces(tmp_path / "work", plan_dir)
        return MixedWorkspaces(own, InPlaceWorkspaces(plan_dir), {"shared"})


def test_each_subplan_has_the_workspace_that_the_plan_says(
    workspaces: MixedWorkspaces, tmp_path: Path
) -> None:
    assert prepare(workspaces, "shared") == workspaces.scratch("shared") == tmp_path / "plan"
    assert prepare(workspaces, "a") == workspaces.scratch("a") == tmp_path / "work" / "a"
    assert workspaces.place("") == tmp_path / "work" / "_plan"


def test_what_is_brought_together_is_what_was_done_in_own_directories(workspaces: MixedWorkspaces) -> None:
    place = prepare(workspaces, "a")
    (place / "set-up").touch()
    workspaces.accept("a")
    workspaces.accept("shared")
    (place / "made").touch()
    keep(workspaces, "a")
    keep(workspaces, "shared")
    assert [file.name for file in gather(workspaces, "", ["a"]).iterdir()] == ["made"]


def test_conflicts_are_those_between_own_directories(workspaces: MixedWorkspaces) -> None:
    do(workspaces, "a", {"same": "a"})
    do(workspaces, "b", {"same": "b"})
    workspaces.merge(MergeRequest(path="shared", subject="done", slices=("a", "b")))
    with pytest.raises(ConflictError):
        workspaces.merge(MergeRequest(path="b", subject="done", slices=("a", "b")))


def test_a_plan_that_works_in_its_directory_has_the_results_of_others_where_those_are(
    tmp_path: Path, plan_dir: Path
) -> None:
    own = DirectoryWorkspaces(tmp_path / "work", plan_dir)
    workspaces = MixedWorkspaces(own, InPlaceWorkspaces(plan_dir), {"", "shared"})
    do(workspaces, "a", {"made": "1"})
    assert gather(workspaces, "", ["a"]) == workspaces.place("") == plan_dir
    assert tree(own.place("")) == {"made": "1"}


# Each question is for one of the two


class Speaker(InPlaceWorkspaces):
    """Answers with its name; where there is no answer, it fails with it."""

    def __init__(self, name: str) -> None:
        super().__init__(Path("/", name))
        self._name = name

    def _answer(self) -> MergeResult:
        return MergeResult(moves=(RefMove(ref=self._name, before="", after=""),))

    def has_history(self, path: str) -> bool:
        return self._name == "own"

    def prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        return self._answer().moves

    def accept(self, path: str) -> None:
        raise WeftError(self._name)

    def prove(self, path: str) -> None:
        raise WeftError(self._name)

    def record(self, work: StepWork) -> Sequence[RefMove]:
        return self._answer().moves

    def open_conflict(self, request: MergeRequest, work: StepWork) -> OpenConflict:
        return OpenConflict(files=(self._name, work.step))

    def close_conflict(self, work: StepWork, *, failed: str = "") -> ClosedConflict:
        return ClosedConflict(message=f"{self._name} {failed}")

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        return self._answer().moves

    def merge(self, request: MergeRequest) -> MergeResult:
        return self._answer()

    def publish(self, path: str) -> MergeResult:
        return MergeResult(moves=(RefMove(ref=self._name, before="", after=path),))

    def discard(self, path: str) -> None:
        raise WeftError(self._name)

    def release(self, path: str) -> bool:
        raise WeftError(self._name)

    def archive(self, path: str) -> None:
        raise WeftError(self._name)

    def take_commits(self, path: str) -> None:
        raise WeftError(self._name)


def _work(path: str) -> StepWork:
    return StepWork(path=path, step="x", attempt=1, subject="done")


QUESTIONS: dict[str, Callable[[Workspaces, str], object]] = {
    "place": lambda asked, path: asked.place(path),
    "scratch": lambda asked, path: asked.scratch(path),
    "has_history": lambda asked, path: asked.has_history(path),
    "prepare": lambda asked, path: asked.prepare(WorkspaceRequest(path=path)),
    "accept": lambda asked, path: asked.accept(path),
    "prove": lambda asked, path: asked.prove(path),
    "record": lambda asked, path: asked.record(_work(path)),
    "open": lambda asked, path: asked.open_conflict(MergeRequest(path=path, subject="done"), _work(path)),
    "close": lambda asked, path: asked.close_conflict(_work(path), failed="no"),
    "gather": lambda asked, path: asked.gather(MergeRequest(path=path, subject="together")),
    "merge": lambda asked, path: asked.merge(MergeRequest(path=path, subject="done")),
    "publish": lambda asked, path: asked.publish(path),
    "discard": lambda asked, path: asked.discard(path),
    "release": lambda asked, path: asked.release(path),
    "take_commits": lambda asked, path: asked.take_commits(path),
    "archive": lambda asked, path: asked.archive(path),
}


def answer(question: Callable[[Workspaces, str], object], asked: Workspaces, path: str) -> object:
    try:
        return question(asked, path)
    except WeftError as error:
        return str(error)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_each_call_goes_to_the_kind_of_workspace_that_the_subplan_has(
    question: Callable[[Workspaces, str], object],
) -> None:
    own, shared = Speaker("own"), Speaker("shared")
    chosen = MixedWorkspaces(own, shared, {"group/a"})
    assert answer(question, chosen, "group/a") == answer(question, shared, "group/a")
    assert answer(question, chosen, "group") == answer(question, own, "group")
    assert answer(question, chosen, "") == answer(question, own, "")
    assert answer(question, own, "group") != answer(question, shared, "group")
