"""`weft merge`: tries again what a run holds, and lands what only waited to be agreed to."""

import click

from weft.cli.output import examples, note, show_json, show_lines
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import directory_of, run_option

EXIT_FAILED, EXIT_WAITING = 1, 4


def _complete_held(context: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    from weft.app import run_names

    return run_names.held(directory_of(context), context.params.get("run_id"), incomplete)


@click.command(
    epilog=examples("weft merge", "weft merge store", "weft merge --list"),
    short_help="Merge and land what a run holds.",
)
@click.argument("names", metavar="[ID…]", nargs=-1, shell_complete=_complete_held)
@click.option("--list", "lists", is_flag=True, help="Only say what is held, and why.")
@run_option
@json_option
def merge(*, names: tuple[str, ...], lists: bool, run_id: str | None, as_json: bool) -> int:
    """Try again to merge the subplans ID, or all that is held: what waits to land, lands.

    What is held waits for a person: it is to be agreed to, it is in conflict, or a file is in the way. The message
    says what to do about that. Nothing else of the run begins; type `weft run` for that.

    Exit code: 0 if nothing of that is held any more; 4 if something is; 1 if something failed; 2 if there is no
    such subplan.
    """
    from weft.app import run_holds
    from weft.app.journals import open_book
    from weft.cli.merge_text import Teller, follow, held_data, held_lines

    with open_book(directory(), run_id) as book:
        wanted, teller = run_holds.chosen(book, names), Teller()
        if wanted and not lists and book.is_run_by_somebody():
            last = max((one.seq for one in book.events()), default=0)
            run_holds.ask(book, wanted)
            follow(book, last, wanted, teller)
        elif wanted and not lists:
            from weft.app.run_merging import merge as merge_now

            merge_now(book, wanted, teller)
        run, command = book.run.run, book.run_command()
    with open_book(directory(), run) as book:
        paths = {one.subplan for one in wanted}
        left = [one for one in run_holds.held(book) if one.subplan in paths]
    if as_json:
        show_json({"run": run, "merged": teller.merged, "held": held_data(left)})
    else:
        show_lines([*teller.lines, *held_lines(left)])
        if not wanted:
            note(f"run {run} holds nothing")
        elif teller.merged and not teller.is_over:
            note(f"to have the run go on, type: {command}")
    return EXIT_FAILED if teller.failed else EXIT_WAITING if left else 0
