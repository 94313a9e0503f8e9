"""`weft retry`: runs failed subplans again."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, show_json, show_lines
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import fresh_budget_option, ids_argument, running_here


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft retry store/model", "weft retry"),
    short_help="Retry subplans that have failed.",
)
@ids_argument
@fresh_budget_option
@json_option
def retry(*, names: tuple[str, ...], fresh_budget: bool, as_json: bool) -> int:
    """Retry the failed subplans ID of the last run, with what they need, in the background.

    Without ID, retry everything that failed by itself or was blocked by that. Completed work is kept. If the run
    is still active, stop it first, or wait for its end. Exit code: as of `weft start`.
    """
    from weft.app.control.control import refuse_to_retry
    from weft.app.record.journal import open_book
    from weft.app.run.background import start as start_coordinator
    from weft.errors import WeftError

    # A coordinator that is about to end would make the retry fail as busy.
    running_here(directory())
    with open_book(directory()) as recorded_run:
        ids = refuse_to_retry(recorded_run, names)
        file = Path(recorded_run.run.directory, Path(recorded_run.run.file).name)
    # After `--`, a plan whose name starts with a dash is not an option.
    arguments = [*(["--fresh-budget"] if fresh_budget else []), "--", str(file), *ids]
    message, code = start_coordinator(arguments, directory=directory(), environ=os.environ)
    if "busy" in message:
        raise WeftError(message["busy"])
    if not message:
        return code
    if as_json:
        show_json({"run": message["run"], "pid": message["pid"], "subplans": list(ids)})
    else:
        show_lines([f"run {message['run']} retries {_subject(ids)} (process {message['pid']})"])
        note("to see its progress: weft status")
    return 0


def _subject(ids: Sequence[str]) -> str:
    return ", ".join(ids) if ids else "what failed"
