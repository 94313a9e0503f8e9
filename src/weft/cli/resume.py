"""`weft resume`: what was paused, or stopped by itself, goes on."""

import click

from weft.cli.output import examples
from weft.cli.plan_options import json_option
from weft.cli.run_options import ids_argument


@click.command(
    epilog=examples("weft resume", "weft resume store/model"),
    short_help="Let a run, or parts of it, go on.",
)
@ids_argument
@json_option
def resume(*, names: tuple[str, ...], as_json: bool) -> int:
    """Let the last run go on, or only the subplans ID and all that is in them.

    Without ID all that was paused, frozen or stopped goes on. If nobody runs the plan now, the next coordinator
    hears of it: type `weft start` then. Exit code: 0; 1 if the coordinator does not react.
    """
    from weft.cli.control_text import steered
    from weft.engine.run.facts import Wanted

    steered(Wanted.GO, names, as_json=as_json)
    return 0
