"""`weft logs`: what the steps of a subplan wrote."""

from functools import partial

import click

from weft.cli.completions import subplans_and_steps
from weft.cli.output import examples
from weft.cli.plan_options import directory
from weft.cli.run_options import follow_option, run_option, say_that_nobody_runs_it


@click.command(
    epilog=examples("weft logs store/model", "weft logs store/model:check -f", "weft logs /"),
    short_help="Print what the steps of a subplan wrote.",
)
@click.argument("name", metavar="ID[:STEP]", shell_complete=subplans_and_steps)
@follow_option
@run_option
@click.option("--json", "as_json", is_flag=True, help="Print lines of JSON for programs.")
def logs(*, name: str, follow: bool, run_id: str | None, as_json: bool) -> int:
    """Print the output of the steps of the subplan ID, in the order in which they began.

    ID is the path of a subplan (store/model), STEP one of its steps. Of a group, all that is in it is printed,
    and of / the whole plan. A merge is there, too, if what came together was verified (STEP is @merge or @land).
    What went to standard output is printed there, all else on standard error, with a line before and after each
    step.

    Exit code: 0; 2 if there is no such subplan, step or run, or none of its processes has been started.
    """
    from weft.app.journals import open_book
    from weft.app.run_logs import pieces
    from weft.cli.logs_text import ForPeople, ForPrograms

    shown = ForPrograms() if as_json else ForPeople()
    with open_book(directory(), run_id) as book:
        alone = partial(say_that_nobody_runs_it, book.run_command())
        for piece in pieces(book, name, follow=follow, alone=alone):
            shown.show(piece)
    return 0
