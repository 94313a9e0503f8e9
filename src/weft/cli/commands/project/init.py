"""`weft init`: writes a first plan and configuration."""

import os

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_json, show_lines
from weft.cli.plan_options import directory, json_option


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft init", "weft -C ../other init --json"),
    short_help="Write a first plan and configuration.",
)
@json_option
def init(*, as_json: bool) -> int:
    """Write a small plan for the project in this directory.

    It asks nothing: it finds installed agents, commands that test the project and the state of git by itself. It
    writes weft.yaml, .weft/config.yaml, .weft/schema.json, with which editors complete and check plans, and
    .weft/.gitignore. Existing files are kept; missing ones are added.

    Exit code: 0; 2 if a file is in the way or the directory cannot be written to: then nothing has changed.
    """
    from weft.app.init.init import initialize
    from weft.cli.text.init import init_data, init_lines

    result = initialize(directory(), os.environ)
    if as_json:
        show_json(init_data(result))
    else:
        show_lines(init_lines(result))
    return 0
