"""`weft report`: writes a run into one HTML file that opens from disk."""

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_json, show_lines
from weft.cli.plan_options import directory, json_option
from weft.cli.report_files import force_option, write_report
from weft.cli.run_options import run_argument


@click.command(
    cls=WeftCommand,
    # A report shows the whole run, and a step sees only its own subplan.
    effect=CommandEffect.CHANGES,
    epilog=examples("weft report", "weft report 20261116-163916-bd4e --out night.html"),
    short_help="Write a run into one HTML file, to keep or to send.",
)
@run_argument
@click.option(
    "--out", metavar="FILE", type=click.Path(dir_okay=False),
    help="The file; default: weft-report-RUN.html in the current directory.",
)  # fmt: skip
@force_option
@json_option
def report(*, run_id: str | None, out: str | None, force: bool, as_json: bool) -> int:
    """Write RUN, or the last run, into one HTML file that opens from disk and needs no network.

    It shows what landed, and what did not and why; the tree, the timeline and costs; the forecast beside what
    happened; the ends of failed logs, and how much each slice has changed. A run that is under way is shown as it
    is now.

    A file of the same name is replaced if it is a report.

    Exit code: 0; 2 if there is no such run, or the file cannot be written.
    """
    from weft.app.report.run_report import run_report
    from weft.web.report_page import report_html

    file = run_report(directory(), run_id)
    assert file.run is not None
    name = file.run.run.run
    path = directory() / (out or f"weft-report-{name}.html")
    write_report(path, report_html(file, f"{file.run.run.plan} · {name} · weft"), force=force)
    if as_json:
        show_json({"path": str(path.absolute()), "run": name})
    else:
        show_lines([str(path)])
    return 0
