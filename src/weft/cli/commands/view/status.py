"""`weft status`: shows the state of the last run, from any terminal."""

import sys
import time
from typing import TYPE_CHECKING

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_json, write_text
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import run_option

if TYPE_CHECKING:
    from weft.app.record.journal import RecordedRun


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples("weft status", "weft status --watch", "weft status --json"),
    short_help="Show the state of a run.",
)
@click.option(
    "--all", "everything", is_flag=True, help="List all subplans, including waiting and completed ones."
)
@click.option("-w", "--watch", is_flag=True, help="Refresh after each change, until the run is over.")
@run_option
@json_option
def status(*, everything: bool, watch: bool, run_id: str | None, as_json: bool) -> int:
    """Show the last run: its state, running and failed subplans, what waits for you, and what to type.

    It only reads, and does not disturb the run. Exit code: 0; 2 if there is no run here.
    """
    from weft.app.inspect.checked_out_branches import worktrees_of
    from weft.app.inspect.overview import overview
    from weft.app.record.journal import open_book
    from weft.app.views.wording.style import Style
    from weft.cli.status.json_data import data
    from weft.cli.status.lines import lines
    from weft.cli.terminal import takes_colours, text_width, wrap_lines
    from weft.cli.terminal_style import style_of

    terminal = style_of(sys.stdout)
    style = terminal or Style(colours=takes_colours(sys.stdout))
    with open_book(directory(), run_id) as recorded_run:
        for is_news in recorded_run.poll(follow=watch):
            if not is_news:
                continue
            # Programs get all subplans, since they can filter themselves; people get what needs attention.
            run_overview = overview(recorded_run, everything=everything or as_json)
            worktrees = worktrees_of(recorded_run.places.project)
            if as_json:
                show_json(data(run_overview, worktrees))
            else:
                if watch and terminal is not None:
                    click.clear()
                width = text_width(sys.stdout)
                text_lines = lines(
                    run_overview,
                    time.time(),
                    style,
                    everything=everything,
                    worktrees=worktrees,
                    width=width,
                )
                write_text("".join(f"{line}\n" for line in wrap_lines(text_lines, width)))
                # A forecast takes longer than the status itself, so a script does not wait for it.
                if terminal is not None and not watch and recorded_run.has_coordinator():
                    _show_outlook(recorded_run)
    return 0


def _show_outlook(recorded_run: "RecordedRun") -> None:
    from datetime import datetime

    from weft.app.forecast.outlook import outlook_of
    from weft.cli.forecast.forecast_text import outlook_line

    outlook = outlook_of(recorded_run)
    if outlook is not None:
        write_text(f"{outlook_line(outlook, datetime.now().astimezone())}\n")
