"""`weft merge`: retries held merges, and lands results that wait for agreement."""

import click

from weft.cli.completions import held_ids
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, show_json, show_lines
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import run_option

EXIT_FAILED, EXIT_WAITING, EXIT_INTERRUPTED = 1, 4, 130


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft merge", "weft merge store", "weft merge store --now", "weft merge --list"),
    short_help="Merge and land what a run holds.",
)
@click.argument("names", metavar="[ID…]", nargs=-1, shell_complete=held_ids)
@click.option("--now", is_flag=True, help="Land the completed parts of the groups ID, without the others.")
@click.option("--list", "lists", is_flag=True, help="Only list what is held, and why.")
@run_option
@json_option
def merge(*, names: tuple[str, ...], now: bool, lists: bool, run_id: str | None, as_json: bool) -> int:
    """Try again to merge and land the subplans ID, or everything that is held.

    Held work waits for a person: it needs your consent, it is in conflict, or a file is in the way. The message
    says what to do. For a group, ID means everything that is held in it. If a coordinator runs, it does this;
    otherwise this command does, and starts nothing else of the run: type `weft run` for that. Paused work that
    cannot be merged yet stays held until `weft resume`.

    With --now, the completed parts of a group land, even if other parts failed, wait or still run. The same
    verifies run before. The rest lands when the group is complete.

    Exit code: 0 if none of it is held any more; 4 if something is; 1 if something failed; 2 if there is no
    such subplan, or it is not held; 130 if it was stopped.
    """
    from weft.app.control import holds
    from weft.app.record.journal import open_book
    from weft.app.run.merge import merge as try_again
    from weft.app.views.wording.words import few
    from weft.cli.text.merge import MergeObserver, data, held_lines, paused_lines

    with open_book(directory(), run_id) as recorded_run:
        run, command = recorded_run.run.run, recorded_run.run_command()
        observer = MergeObserver(None if as_json else lambda line: show_lines([line]))
        wants_parts = now and not lists
        selected, parts = (
            holds.chosen_now(recorded_run, names) if wants_parts else (holds.chosen(recorded_run, names), ())
        )
        # `--list` takes the same path up to here, so that it names exactly what the command would retry.
        still_held = selected if lists else try_again(recorded_run, selected, observer, now=parts)
        paused = holds.paused_subplans(recorded_run, selected)
        others = (
            [held_work for held_work in holds.held(recorded_run) if held_work not in still_held]
            if observer.merged
            else []
        )
    if as_json:
        show_json(data(run, observer.merged, still_held, paused))
    else:
        show_lines(held_lines(still_held))
        show_lines(paused_lines(paused))
        if parts and not (selected or observer.merged or observer.refused):
            note(f"nothing of {' or '.join(names)} is completed and has not landed")
        elif not selected and not parts:
            note(f"nothing of {' or '.join(names)} is held" if names else f"run {run} holds nothing")
        elif others:
            note(f"still held: {few(holds.subplans(others))}")
        elif observer.merged and not still_held and not observer.is_over:
            note(f"to resume the run, type: {command}")
    if observer.interrupted:
        return EXIT_INTERRUPTED
    # A failure outranks waiting: a script that retries on 4 must not retry something that failed.
    return EXIT_FAILED if observer.failed else EXIT_WAITING if still_held or paused or observer.refused else 0
