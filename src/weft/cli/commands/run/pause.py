"""`weft pause`: lets running steps end and starts nothing new."""

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples
from weft.cli.plan_options import json_option
from weft.cli.run_options import ids_argument


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft pause", "weft pause store", "weft pause --freeze"),
    short_help="Pause a run, or parts of it.",
)
@ids_argument
@click.option("--freeze", is_flag=True, help="Freeze running steps at once instead of letting them finish.")
@json_option
def pause(*, names: tuple[str, ...], freeze: bool, as_json: bool) -> int:
    """Pause the last run, or only the subplans ID with everything in them.

    Running steps end normally, nothing new starts, and the coordinator stays and reports that it is paused. With
    --freeze, its processes are halted at once, and their time limits with them. Other subplans continue.

    A pause survives the coordinator; `weft resume` ends it. Exit code: 0, even if it was paused already or no
    coordinator runs it; 1 if the coordinator does not react.
    """
    from weft.cli.text.control import send_control
    from weft.engine.messages.facts import ControlState

    send_control(ControlState.FREEZE if freeze else ControlState.PAUSE, names, as_json=as_json)
    return 0
