"""`weft report`: where the file goes, and what it never replaces."""

import json
import stat
from pathlib import Path

import pytest

from cli.running import Project
from weft.cli.report_files import write_report
from weft.errors import InputError
from weft.web.report_page import MARK
from weft.web.server.pages import is_built

REPORT = f"<!doctype html>{MARK}"
PLAN = 'subplans: [{id: a, steps: [{id: work, run: "echo broken; false"}]}]'
needs_page = pytest.mark.skipif(not is_built(), reason="the page is not built here: no node")


@needs_page
def test_the_last_run_is_written_beside_its_plan(project: Project) -> None:
    assert project.plan(PLAN).weft("run").exit_code == 1
    done = project.weft("report")
    assert done.exit_code == 0, done.output
    (file,) = project.root.glob("weft-report-*.html")
    assert done.stdout == f"{file}\n"
    assert "broken" in file.read_text()
    # Again: it is our own.
    again = project.weft("report", file.stem.removeprefix("weft-report-"), "--json")
    assert json.loads(again.stdout)["data"]["path"] == str(file)
    other = project.weft("report", "--out", "night.html", "--json")
    assert json.loads(other.stdout)["data"]["path"] == str(project.root / "night.html")


def test_an_unknown_run_is_refused(project: Project) -> None:
    project.plan(PLAN).weft("run")
    refused = project.weft("report", "20000101-000000-aaaa")
    assert refused.exit_code == 2
    assert "20000101-000000-aaaa" in refused.stderr
    assert not list(project.root.glob("*.html"))


def test_without_a_run_there_is_nothing_to_report(project: Project) -> None:
    assert project.plan(PLAN).weft("report").exit_code == 2


def test_a_file_of_another_kind_is_replaced_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "mine.html"
    file.write_text("<!doctype html>my own")
    with pytest.raises(InputError, match="add --force"):
        write_report(file, REPORT, force=False)
    assert file.read_text() == "<!doctype html>my own"
    write_report(file, REPORT, force=True)
    write_report(file, f"{REPORT} new", force=False)
    assert file.read_text() == f"{REPORT} new"
    assert list(tmp_path.iterdir()) == [file]


def test_the_file_can_be_read_by_others_as_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_report(tmp_path / "report.html", REPORT, force=False)
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("other", "report.html")}
    assert len(modes) == 1


def test_a_link_to_a_report_stays_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link.html"
    link.symlink_to(tmp_path / "real.html")
    write_report(link, REPORT, force=False)
    assert link.is_symlink()
    assert (tmp_path / "real.html").read_text() == REPORT


@pytest.mark.parametrize("name", ["missing/report.html", "file/report.html"])
def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_report(tmp_path / name, REPORT, force=False)


def test_a_directory_is_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="add --force"):
        write_report(tmp_path, REPORT, force=False)
    with pytest.raises(InputError, match="cannot be written"):
        write_report(tmp_path, REPORT, force=True)
    assert list(tmp_path.parent.glob(f".{tmp_path.name}.*")) == []


# Of a forecast


@needs_page
def test_a_forecast_is_written_as_well_as_printed(project: Project) -> None:
    done = project.plan(PLAN).weft("simulate", "--runs", "5", "--html", "forecast.html", "--json")
    assert done.exit_code == 0, done.output
    text = (project.root / "forecast.html").read_text()
    data = text.partition('id="weft-report">')[2].partition("</script>")[0]
    plan = json.loads(data)["plan"]
    assert plan["forecast"]["replications"] == 5
    assert plan["forecast"]["seconds"][1] == json.loads(done.stdout)["data"]["makespan_s"]["p50"]
    assert plan["sections"][0]["title"] == "Finish"


def test_a_backtest_has_no_page(project: Project) -> None:
    refused = project.plan(PLAN).weft("simulate", "--backtest", "--html", "forecast.html")
    assert refused.exit_code == 2
    assert "--html" in refused.stderr
