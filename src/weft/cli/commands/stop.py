"""`weft stop`: what runs ends gracefully, and can go on later."""

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import ids_argument


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft stop", "weft stop store", "weft stop --now"),
    short_help="End what runs, in a way that it can go on later.",
)
@ids_argument
@click.option("--now", is_flag=True, help="Without the time that steps have to end by themselves.")
@click.option("--wait/--no-wait", "waits", default=True, help="Whether to stay until all has ended.")
@json_option
def stop(*, names: tuple[str, ...], now: bool, waits: bool, as_json: bool) -> int:
    """Stop the last run, or only the subplans ID and all that is in them.

    The steps that run are ended: they are asked, given the time that the plan grants them, and killed. Nothing of
    them survives, and what they did is kept. `weft start` or `weft run` goes on where it stopped; a subplan that
    was stopped by itself also goes on with `weft resume ID`.

    Where the coordinator has died and its steps go on without it, they are ended, too. Exit code: 0, also if
    nothing runs; 1 if the coordinator does not react.
    """
    from weft.app.control.control import await_end
    from weft.app.record.journal import open_book
    from weft.app.run.orphan_cleanup import stop_orphaned_jobs
    from weft.cli.output import note
    from weft.cli.text.control import steered
    from weft.engine.messages.facts import ControlState

    done = steered(ControlState.STOP, names, now=now, as_json=as_json)
    with open_book(directory()) as book:
        if not done.alive and not names:
            ended = stop_orphaned_jobs(book)
            if ended and not as_json:
                note(f"ended what its coordinator had left: {ended} step{'s' if ended > 1 else ''}")
        elif done.alive and waits and not names:
            await_end(book)
            if not as_json:
                note(f"run {done.run} is {book.state()}; to resume it, type: {done.start_command}")
    return 0
