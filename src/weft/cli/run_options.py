"""What the commands about runs share: which run is meant, how to follow it, what can be completed of its names."""

from pathlib import Path

import click

from weft.cli.output import note


def directory_of(context: click.Context) -> Path:
    """While a command line is being completed."""
    return Path(context.find_root().params.get("directory") or ".")


def _complete_run(context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
    from weft.app import run_names

    return run_names.runs(directory_of(context), incomplete)


run_option = click.option(
    "--run", "run_id", metavar="RUN", shell_complete=_complete_run,
    help="Which run; the last one if it is left out.",
)  # fmt: skip
follow_option = click.option(
    "-f", "--follow", is_flag=True, help="Go on with what comes next, until the run is over."
)


def say_that_nobody_runs_it(run_command: str) -> None:
    note(f"nobody runs this now; to have it go on, type: {run_command}")
