"""`weft replay`: derives a run again from its journal and compares the events."""

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_json, show_lines
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import run_option


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples("weft replay", "weft replay --run 20261116-101530-3f2a --json"),
    short_help="Derive a run again from its journal, and compare.",
)
@run_option
@json_option
def replay(*, run_id: str | None, as_json: bool) -> int:
    """Feed the recorded facts of a run into a new engine, and compare the events.

    The engine must derive every event in the journal again. No step runs. If the journal and the engine differ,
    the first difference is printed.

    Exit code: 0 if all events are equal; 1 if not; 2 if there is no such run.
    """
    from weft.app.inspect.replay import replay as derive
    from weft.app.record.journal import open_book
    from weft.cli.text.replay import replay_lines

    with open_book(directory(), run_id) as recorded_run:
        result = derive(recorded_run)
    if as_json:
        from msgspec import to_builtins

        show_json(to_builtins(result))
    else:
        show_lines(replay_lines(result))
    return 0 if result.difference is None else 1
