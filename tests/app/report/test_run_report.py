"""The contents of a report: what has changed and landed, what failed and why, and the forecast."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.repositories import Repository
from weft.app.forecast.forecast_files import StartForecast, write_outlook, write_start_forecast
from weft.app.project.places import Places
from weft.app.read_model.change_set import change_set
from weft.app.read_model.report_shapes import DiffStat, RunReport
from weft.app.record.journal import open_book
from weft.app.record.run_plan import plan_of
from weft.app.report.recorded_changes import count_recorded_changes
from weft.app.report.run_report import run_report
from weft.app.views.finish_forecast import FinishForecast

PLAN = """
merge: {mode: auto}
failure_mode: continue_on_error
subplans:
  - id: store
    subplans:
      - {id: model, steps: [{id: work, run: "echo m > model; rm README; printf '\\\\0' > raw"}]}
      - {id: disk, depends_on: [model], steps: [{id: work, run: "echo d > disk"}]}
  - {id: bad, steps: [{id: one, run: "echo 1 > one"}, {id: two, run: "echo 2 > two; echo broken; false"}]}
  - {id: late, depends_on: [bad], steps: [{id: work, run: "true"}]}
  - {id: idle, steps: [{id: work, run: "true"}]}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """Has been run; `bad` has failed."""
    repository = Repository(tmp_path_factory.mktemp("ran") / "project")
    repository.plan(PLAN)
    assert repository.run().state == "failed"
    yield repository
    repository.end()


def report_of(repository: Repository) -> RunReport:
    report = run_report(repository.root, None, environ=repository.environ).run
    assert report is not None
    return report


def stats_of(report: RunReport) -> dict[str, DiffStat]:
    return {stat.path: stat for stat in report.diffs}


@pytest.mark.parametrize("path", ["store/model", "store/disk", "bad"])
def test_changes_are_counted_as_in_weft_diff(ran: Repository, path: str) -> None:
    stat = stats_of(report_of(ran))[path]
    with open_book(ran.root) as recorded_run:
        changes = change_set(recorded_run, path)
    assert (stat.files, stat.added, stat.removed) == (len(changes.files), changes.added, changes.removed)


def test_a_slice_without_changes_is_not_listed(ran: Repository) -> None:
    assert list(stats_of(report_of(ran))) == ["store/model", "store/disk", "bad"]


def test_a_slice_of_a_group_has_landed_with_the_commit_of_the_group(ran: Repository) -> None:
    stats = stats_of(report_of(ran))
    assert stats["store/model"].commit == stats["store/disk"].commit
    assert ran.git("log", "-1", "--format=%s", stats["store/model"].commit) == "Merge store"
    assert stats["bad"].commit == ""


def test_a_failed_slice_has_the_end_of_its_log_and_a_blocked_one_none(ran: Repository) -> None:
    report = report_of(ran)
    assert list(report.details) == ["bad"]
    assert report.details["bad"].attempts[-1].tail == ["broken"]
    assert [need.path for need in report.snapshot.needs] == ["bad"]


def test_the_number_of_slices_is_limited(ran: Repository) -> None:
    with open_book(ran.root) as recorded_run:
        sizes = count_recorded_changes(recorded_run, plan_of(recorded_run), 2, environ=ran.environ)
    assert list(sizes) == ["store/model", "store/disk"]


def test_both_forecasts_are_beside_what_happened(ran: Repository) -> None:
    places = Places(ran.root)
    run = report_of(ran).run.run
    assert report_of(ran).run.forecast is None
    write_start_forecast(places, run, StartForecast(at=1.0, seed=1, seconds=[10.0, 20.0], costs=[0.0, 100.0]))
    write_outlook(places, run, FinishForecast(at=1.0, finish=(2.0, 3.0), cost=(4, 5)))
    report = report_of(ran)
    assert report.run.forecast is not None
    assert (report.run.forecast.seconds, report.run.forecast.cost) == ((15.0, 19.0), (50, 90))
    assert report.run.seconds is not None
    assert report.snapshot.strip.forecast is None, "the run is over"


def test_without_git_the_rest_is_still_reported(ran: Repository, tmp_path: Path) -> None:
    report = run_report(ran.root, None, environ={"PATH": str(tmp_path)}).run
    assert report is not None
    assert report.diffs == []
    assert list(report.details) == ["bad"]


def test_branches_that_are_gone_are_replaced_by_the_commits_of_the_journal(ran: Repository) -> None:
    before = stats_of(report_of(ran))
    refs = ran.git("for-each-ref", "--format=%(objectname) %(refname)", "refs/weft/start", "refs/heads/weft")
    for line in refs.splitlines():
        ran.git("update-ref", "--no-deref", "-d", line.split()[1])
    try:
        assert stats_of(report_of(ran)) == before
    finally:
        for line in refs.splitlines():
            ran.git("update-ref", line.split()[1], line.split()[0])
