"""`weft resume`: resumes paused or stopped subplans."""

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples
from weft.cli.plan_options import json_option
from weft.cli.run_options import ids_argument


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft resume", "weft resume store/model", "weft resume --limits"),
    short_help="Resume a run, or parts of it.",
)
@ids_argument
@click.option(
    "--limits",
    is_flag=True,
    help="End the usage limits of all agents now instead of waiting for them.",
)
@json_option
def resume(*, names: tuple[str, ...], limits: bool, as_json: bool) -> int:
    """Resume the last run, or only the subplans ID with everything in them.

    Without ID, everything that was paused, frozen or stopped is resumed. If no coordinator runs the plan now,
    the next coordinator resumes it: type `weft start` then.

    With --limits, agents that met a usage limit are called again at once, and nothing else changes. An agent
    that meets its limit again waits again. Exit code: 0; 1 if the coordinator does not react.
    """
    if limits and names:
        raise click.UsageError(
            "usage limits belong to agents, not to subplans: type `weft resume --limits` without ID"
        )
    if limits:
        from weft.cli.text.limits import end_usage_limits

        end_usage_limits(as_json=as_json)
        return 0
    # GO is also the request for a run without a coordinator: it is recorded, and the next coordinator follows
    # it.
    from weft.cli.text.control import send_control
    from weft.engine.messages.facts import ControlState

    send_control(ControlState.GO, names, as_json=as_json)
    return 0
