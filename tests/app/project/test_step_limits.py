"""Which projects a step can change, and what it sees of its run."""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from app.books import Written, written
from stored_events import make_event
from weft.app.project.places import Places
from weft.app.project.step_limits import VisibleRun, find_sight, refuse_inside_step
from weft.app.record.subplan_journal import SubplanJournal
from weft.errors import InputError, WeftError
from weft.hosts.ancestry import EnclosingStep
from weft.store.sqlite import open_reader

HOUR = 3600.0


def step_of(project: Path, *, since: float = 0.0, **more: str | None) -> EnclosingStep:
    """A step of a run of the project, which began so many seconds ago."""
    return EnclosingStep(
        host=project / ".weft" / "runs" / "r1" / "host",
        run="r1",
        started_at=time.time() - since,
        **more,  # type: ignore[arg-type]
    )


def is_refused(folder: Path, *steps: EnclosingStep) -> bool:
    try:
        refuse_inside_step(folder, "weft run", {}, find_steps=lambda: steps)
    except InputError:
        return True
    return False


def git(folder: Path, *arguments: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The project of the step: a repository with a worktree elsewhere, and a project in that."""
    own = tmp_path / "own"
    own.mkdir()
    git(own, "init", "-q")
    git(own, "commit", "-q", "--allow-empty", "-m", "first")
    git(own, "worktree", "add", "-q", str(tmp_path / "elsewhere" / "tree"))
    return own


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A project that has been used."""
    other = tmp_path / "other"
    (other / ".weft").mkdir(parents=True)
    (other / ".weft" / "weft.db").touch()
    return other


def test_outside_of_steps_nothing_is_refused(own: Path) -> None:
    assert not is_refused(own)


@pytest.mark.parametrize("folder", ["own", "own/src", "elsewhere/tree", "elsewhere/tree/vendor"])
def test_the_project_of_the_step_is_closed_with_all_its_worktrees(own: Path, folder: str) -> None:
    place = own.parent / folder
    (place / ".weft").mkdir(parents=True)
    assert is_refused(place, step_of(own, since=HOUR))


def test_a_repository_in_a_worktree_of_the_project_is_closed(own: Path) -> None:
    inner = own.parent / "elsewhere" / "tree" / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    assert is_refused(inner, step_of(own, since=HOUR))


def test_a_project_is_open_to_the_step_that_made_it(own: Path, other: Path) -> None:
    assert not is_refused(other, step_of(own, since=HOUR))


def test_a_project_that_is_older_than_the_step_is_closed(own: Path, other: Path) -> None:
    assert is_refused(other, step_of(own, since=-HOUR))


def test_a_directory_in_which_nothing_was_run_is_open(own: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    assert not is_refused(tmp_path / "new", step_of(own, since=-HOUR))


def test_a_project_must_be_open_to_every_step_around(own: Path, other: Path) -> None:
    outer, inner = step_of(own, since=HOUR), step_of(other, since=HOUR)
    assert is_refused(other, inner, outer)
    assert is_refused(own, inner, outer)


@pytest.mark.parametrize("host", [None, Path("/somewhere/else")])
def test_where_the_project_of_a_step_is_unknown_all_are_closed(other: Path, host: Path | None) -> None:
    assert is_refused(other, EnclosingStep(host=host))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_project_that_cannot_be_read_is_closed(own: Path, other: Path) -> None:
    (other / ".weft").chmod(0)
    try:
        assert is_refused(other, step_of(own, since=HOUR))
    finally:
        (other / ".weft").chmod(0o700)


def test_a_project_whose_folder_is_a_file_is_open(own: Path, tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".weft").touch()
    assert not is_refused(tmp_path / "odd", step_of(own, since=HOUR))


# --- views ---


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Written]:
    with written(tmp_path) as files:
        files.tell(
            make_event(kind="subplan_state", subplan="docs", outcome="running"),
            make_event(kind="subplan_state", subplan="store/model", outcome="running"),
            make_event(kind="step_started", subplan="docs", step="write", data={"firing": 3}),
            make_event(kind="step_started", subplan="store/model", step="work", data={"firing": 7}),
            make_event(kind="paused", outcome="pause"),
        )
        yield files


def sight(told: Written, *steps: EnclosingStep, run: str | None = None, **environ: str) -> VisibleRun:
    with closing(open_reader(told.root / ".weft" / "weft.db")) as journal:
        return find_sight(Places(told.root), journal, run, environ, find_steps=lambda: steps)


def test_outside_of_steps_all_is_seen(told: Written) -> None:
    assert sight(told, run="r1") == VisibleRun("r1", "")


def test_a_step_sees_its_own_subplan(told: Written) -> None:
    assert sight(told, step_of(told.root, subplan="docs")) == VisibleRun("r1", "docs")


@pytest.mark.parametrize("job", ["r1.7.1", "r1.7.2.5"])
def test_the_job_of_a_step_says_its_subplan(told: Written, job: str) -> None:
    assert sight(told, step_of(told.root, job=job)) == VisibleRun("r1", "store/model")


@pytest.mark.parametrize("job", ["", "r1.8.1", "q.7.1"])
def test_a_step_that_cannot_be_identified_sees_nothing(told: Written, job: str) -> None:
    with pytest.raises(InputError, match="it is unknown which one that is"):
        sight(told, step_of(told.root, job=job))


def test_a_step_of_another_project_sees_all(told: Written, own: Path) -> None:
    steps: Sequence[EnclosingStep] = [step_of(own, subplan="docs"), EnclosingStep()]
    assert sight(told, *steps) == VisibleRun(None, "")


def test_a_step_sees_no_other_run(told: Written) -> None:
    with pytest.raises(InputError, match="only its own run can be seen: r1, and not r2"):
        sight(told, step_of(told.root, subplan="docs"), run="r2")


def test_the_environment_names_the_step_where_its_ancestors_are_hidden(told: Written) -> None:
    assert sight(told, WEFT_RUN="r1", WEFT_SUBPLAN="store") == VisibleRun("r1", "store")
    assert sight(told, WEFT_RUN="r9", WEFT_SUBPLAN="store") == VisibleRun(None, "")


def test_a_journal_inside_a_step_has_the_events_of_its_subplan(told: Written) -> None:
    with closing(open_reader(told.root / ".weft" / "weft.db")) as journal:
        seen = SubplanJournal(journal, "store")
        assert [item.event.subplan for item in seen.events("r1")] == ["store/model", "store/model"]
        assert [entry.kind for entry in seen.notable_events("r1")] == ["paused"]
        assert {glimpse.subplan for glimpse in seen.step_events("r1", ["store/model", "docs"])} == {
            "store/model"
        }
        assert seen.states("r1") == {"store/model": "running"}
        assert seen.holder() == journal.holder()
        assert [*seen.facts("r1")] == [*journal.facts("r1")]
        assert seen.runs() == journal.runs()
        with pytest.raises(WeftError, match="a step cannot send requests to its run"):
            seen.ask("r1", "control", subplan="", step="", data={}, at=0.0)


def test_a_step_sees_the_requests_for_its_subplan(told: Written) -> None:
    with closing(open_reader(told.root / ".weft" / "weft.db")) as journal:
        for path in ("docs", "store"):
            journal.ask("r1", "control", subplan=path, step="", data={"wanted": "pause"}, at=0.0)
        assert [request.subplan for request in SubplanJournal(journal, "store").requests("r1")] == ["store"]
