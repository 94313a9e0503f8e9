"""`weft stop`: ends running steps gracefully; the run can be resumed later."""

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import ids_argument


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft stop", "weft stop store", "weft stop --now"),
    short_help="Stop a run, or parts of it; it can be resumed later.",
)
@ids_argument
@click.option("--now", is_flag=True, help="Kill running steps instead of ending them gracefully.")
@click.option("--wait/--no-wait", "waits", default=True, help="Whether to wait until all steps have ended.")
@json_option
def stop(*, names: tuple[str, ...], now: bool, waits: bool, as_json: bool) -> int:
    """Stop the last run, or only the subplans ID with everything in them.

    Running steps are ended: SIGTERM, the `grace` of the plan, SIGKILL. None of their processes survives, and their
    work is kept. `weft start` or `weft run` resumes where it stopped; a subplan that
    was stopped by itself is also resumed by `weft resume ID`.

    If the coordinator has died and its steps still run, they are ended, too. Exit code: 0, even if nothing
    runs; 1 if the coordinator does not react.
    """
    from weft.app.control.control import await_end
    from weft.app.record.journal import open_book
    from weft.app.run.orphan_cleanup import stop_orphaned_jobs
    from weft.cli.output import note
    from weft.cli.text.control import send_control
    from weft.engine.messages.facts import ControlState

    result = send_control(ControlState.STOP, names, now=now, as_json=as_json)
    with open_book(directory()) as recorded_run:
        if not result.alive and not names:
            stopped_jobs = stop_orphaned_jobs(recorded_run)
            if stopped_jobs and not as_json:
                note(
                    f"ended what the dead coordinator had left running: {stopped_jobs} "
                    f"step{'s' if stopped_jobs > 1 else ''}"
                )
        # After the stop of single subplans the run continues, so there is no end to wait for.
        elif result.alive and waits and not names:
            await_end(recorded_run)
            if not as_json:
                note(
                    f"run {result.run} is {recorded_run.state()}; to resume it, type: {result.start_command}"
                )
    return 0
