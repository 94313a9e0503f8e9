"""`weft diff`: prints what a subplan has changed since it started."""

import sys
from typing import TextIO

import click

from weft.cli.completions import subplan_ids
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_json, write_bytes
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import run_option
from weft.cli.terminal import forces_colours, takes_colours


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples("weft diff store/model", "weft diff store --stat", "weft diff --name-only"),
    short_help="Print what a subplan has changed.",
)
@click.argument("name", metavar="[ID]", required=False, shell_complete=subplan_ids)
@click.option("--stat", "how", flag_value="--stat", help="Print how much has changed in each file.")
@click.option("--name-only", "how", flag_value="--name-only", help="Print the names of the files only.")
@click.option("--last-attempt", is_flag=True, help="Compare with the end of the attempt before the last one.")
@run_option
@json_option
def diff(*, name: str | None, how: str | None, last_attempt: bool, run_id: str | None, as_json: bool) -> int:
    """Print what the subplan ID has changed, from the start of its branch to its tip.

    For a slice with a worktree, this includes uncommitted changes. For a group, it is the work merged so far;
    without ID or with /, the work of the whole plan. On a terminal, git uses your own colours and pager.

    Exit code: 0; 2 if there is no such subplan or run, if it has not started, has no branch, or has had only one
    attempt and --last-attempt is given.
    """
    from weft.app.inspect.diffs import find_diff, open_view
    from weft.app.record.journal import open_book

    with open_book(directory(), run_id) as recorded_run:
        subplan_diff = find_diff(recorded_run, name)
    if last_attempt:
        subplan_diff = subplan_diff.since_last_attempt()
    options = [] if how is None else [how]
    # The journal is closed by now: a pager may stay open for hours.
    with open_view(subplan_diff) as view:
        if as_json:
            files = [change.to_json() for change in view.changes()]
            show_json({**subplan_diff.to_json(), "files": files, "uncommitted": view.uncommitted()})
        elif sys.stdout is not None and sys.stdout.isatty():
            view.on_terminal(*_colours(sys.stdout), *options)
        else:
            write_bytes(view.plain(*_colours(sys.stdout), *options))
    return 0


def _colours(stream: TextIO | None) -> list[str]:
    """Returns git's colour options. On a terminal git decides, unless the environment does."""
    if forces_colours():
        return ["--color=always"]
    return [] if takes_colours(stream) else ["--no-color"]
