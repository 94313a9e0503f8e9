"""`weft attach`: the live view of a run that runs in the background, or in another terminal."""

import sys

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples
from weft.cli.plan_options import directory
from weft.cli.run_options import run_argument


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft attach", "weft attach 20261116-163916-bd4e"),
    short_help="Watch a run that is running in the background.",
)
@run_argument
def attach(*, run_id: str | None) -> int:
    """Show RUN, or the last run, as `weft run` does, until it ends. The run itself is not touched.

    q or Ctrl-C leaves, and the run continues. Keys answer questions, land, pause, show a log and open `weft top`;
    ? explains them. Without a terminal, it prints a line for each new event.

    If the coordinator of the run has died, it says so: `weft start` resumes the run.

    Exit code: as of `weft run`, once the run has ended; 130 if you left before that; 2 if there is no such run.
    """
    from weft.app.inspect.follower import RunFollower
    from weft.app.record.journal import open_book
    from weft.cli.live.attachment import follow, watch
    from weft.cli.live.live_view import LiveView, key_descriptor
    from weft.cli.terminal_style import style_of

    style = style_of(sys.stderr)
    with open_book(directory(), run_id) as recorded_run:
        follower = RunFollower(recorded_run)
        if style is None:
            return follow(follower)
        live = LiveView(sys.stderr, style, directory=directory(), is_own=False, keys=key_descriptor())
        return watch(follower, live)
