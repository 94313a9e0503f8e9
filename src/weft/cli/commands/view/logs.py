"""`weft logs`: prints the output of the steps of a subplan."""

from functools import partial

import click

from weft.cli.completions import subplans_and_steps
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note
from weft.cli.plan_options import directory
from weft.cli.run_options import follow_option, note_inactive_run, run_option


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples("weft logs", "weft logs store/model", "weft logs store/model:check -f", "weft logs /"),
    short_help="Print the output of the steps of a subplan.",
)
@click.argument("name", metavar="[ID[:STEP]]", required=False, shell_complete=subplans_and_steps)
@follow_option
@run_option
@click.option("--raw", is_flag=True, help="Print the output as it was written, each stream to its own.")
@click.option("--json", "as_json", is_flag=True, help="Print lines of JSON for programs.")
def logs(*, name: str | None, follow: bool, run_id: str | None, raw: bool, as_json: bool) -> int:
    """Print the output of the steps of the subplan ID, in the order in which they started.

    ID is the path of a subplan (store/model), STEP one of its steps. A group means everything
    in it, and / the whole plan. The verify of a merge or a landing is included (STEP is @merge or @land). Without
    ID, it prints the failed and the running steps, and with -f also those that start later.

    All output goes to standard output, with a line before and after each step. The activities of an agent are
    shown in short lines, such as `runs pytest -q → 2 failed`; --raw prints the stream that it wrote.

    Exit code: 0; 2 if there is no such subplan, step or run, or none of its processes has been started.
    """
    from weft.app.inspect.logs import pieces
    from weft.app.record.journal import open_book
    from weft.cli.logs.pages import ForPrograms, LogPage, Raw

    printer = ForPrograms() if as_json else Raw() if raw else LogPage()
    is_empty = True
    with open_book(directory(), run_id) as recorded_run:
        alone = partial(note_inactive_run, recorded_run.run_command())
        for piece in pieces(recorded_run, name, follow=follow, alone=alone):
            is_empty = False
            printer.show(piece)
        # Only a call without ID can print nothing; a named step without output is an error of `pieces`.
        if is_empty:
            run_words = "" if run_id is None else f" --run {run_id}"
            note(
                f"no step failed or runs in run {recorded_run.run.run}; to see all output, type: weft logs "
                f"/{run_words}"
            )
    return 0
