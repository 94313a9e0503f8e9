"""`weft top`: a run on the whole terminal, with its tree, logs, reasons and changes."""

import sys

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples
from weft.cli.plan_options import directory
from weft.cli.run_options import run_argument


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft top", "weft top 20261116-163916-bd4e"),
    short_help="Watch and steer a run on the whole terminal.",
)
@run_argument
def top(*, run_id: str | None) -> int:
    """Show RUN, or the last run, on the whole terminal: what needs you, the tree, logs, reasons and changes.

    It attaches to any run: in the foreground of another terminal, in the background, or finished. Without RUN it
    waits for a run if there is none, and shows the next one when that starts. q leaves, and the run continues; ?
    lists the keys.

    Each key that changes something runs the command of the same name; y and the key copy that command.

    Exit code: 0; 2 if there is no such run, or no terminal.
    """
    from weft.cli.terminal_style import style_of
    from weft.errors import InputError

    style = style_of(sys.stdout)
    if style is None or not sys.stdin.isatty():
        raise InputError("weft top needs a terminal; without one, type: weft status")
    try:
        from weft.tui.app import run_app
        from weft.tui.source import RunSource
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(("textual", "rich")):
            raise
        raise InputError(
            "weft top needs the package Textual; to install it, type: pip install 'weft[tui]'"
        ) from None
    source = RunSource(directory(), run_id)
    source.require()
    run_app(source, style)
    return 0
