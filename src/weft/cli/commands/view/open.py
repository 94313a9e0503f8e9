"""`weft open`: prints the path of a slice's worktree."""

import click

from weft.cli.completions import subplan_ids
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_json, write_text
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import run_option


@click.command(
    "open",
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft open store/model", 'cd "$(weft open store/model)"'),
    short_help="Print the path of a slice's worktree; recreate it if it was removed.",
)
@click.argument("name", metavar="ID", shell_complete=subplan_ids)
@run_option
@json_option
def open(*, name: str, run_id: str | None, as_json: bool) -> int:  # noqa: A001 - the name of the command
    """Print the path of the worktree of the slice ID, which has the branch of the slice checked out.

    A worktree that was removed when its slice was merged (`keep_worktrees`) is created again from the branch, and
    then stays until `weft clean`.

    Exit code: 0; 2 if there is no such slice or run, if it has not started, or if its branch is gone.
    """
    from weft.app.inspect.worktree import open_worktree
    from weft.app.record.journal import open_book

    with open_book(directory(), run_id) as recorded_run:
        worktree = open_worktree(recorded_run, name)
    if as_json:
        show_json(worktree.to_json())
    else:
        write_text(f"{worktree.worktree}\n")
    return 0
