"""Options and helpers of the commands about runs: the plan or run, its subplans, and how to follow it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from weft.cli.completions import plan_words, subplan_ids
from weft.cli.output import note
from weft.errors import InputError

Result = TypeVar("Result")


def directory_of(context: click.Context) -> Path:
    """Returns the project directory while a command line is being completed."""
    return Path(context.find_root().params.get("directory") or ".")


def complete_run(context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
    from weft.app.record import names

    return names.runs(directory_of(context), incomplete)


run_option = click.option(
    "--run", "run_id", metavar="RUN", shell_complete=complete_run,
    help="The run; default: the last one.",
)  # fmt: skip
run_argument = click.argument("run_id", metavar="[RUN]", required=False, shell_complete=complete_run)
follow_option = click.option(
    "-f", "--follow", is_flag=True, help="Continue with new output until the run is over."
)


words_argument = click.argument("words", metavar="[PLAN] [ID…]", nargs=-1, shell_complete=plan_words)
ids_argument = click.argument("names", metavar="[ID…]", nargs=-1, shell_complete=subplan_ids)
fresh_budget_option = click.option(
    "--fresh-budget", is_flag=True, help="Count budgets from zero, without the spending of earlier runs."
)
_ENDINGS = (".yaml", ".yml", ".json")


def plan_and_ids(words: Sequence[str], directory: Path) -> tuple[str | None, tuple[str, ...]]:
    """Returns the plan, if the first word names one, and the ids of subplans, which are all other words."""
    if words and _is_plan(words[0], directory):
        return words[0], tuple(words[1:])
    return None, tuple(words)


def _is_plan(word: str, directory: Path) -> bool:
    from weft.app.project.files import STDIN
    from weft.app.project.places import PLAN_NAMES

    if word == STDIN or word.endswith(_ENDINGS):
        return True
    file = directory / word
    # A directory of the same name is likely: subplans are often named after folders.
    if os.path.lexists(file) and not file.is_dir():
        return True
    # Without a plan in this directory, the word cannot be a subplan of it.
    return not any(os.path.lexists(directory / name) for name in PLAN_NAMES)


def note_inactive_run(run_command: str) -> None:
    note(f"the run is not active; to resume it, type: {run_command}")


def running_here(directory: Path) -> tuple[str, int] | None:
    """Returns the active run and its process. Waits for a coordinator that is about to end."""
    from weft.app.run.coordinator_wait import find_active_run

    active = find_active_run(
        directory,
        lambda holder: note(
            f"weft: the run is over, and process {holder.pid} is about to end; waiting for it"
        ),
    )
    return None if active is None else (active[0].run, active[1].pid)


def when_free(do: Callable[[], Result], directory: Path) -> Result:
    """Calls `do`; if a coordinator that is about to end holds the project, calls it again afterwards.

    `do` must start a run: with a busy project it has not changed anything when it fails.
    """
    from weft.store.errors import BusyError

    try:
        return do()
    except BusyError:
        # An active run stays in the way; the error names it.
        if running_here(directory) is not None:
            raise
    return do()


def when_approved(do: Callable[[], Result], *, asks: bool) -> Result:
    """Calls `do`; while only approvals of the user are missing and `asks` is set, asks for one and calls it again.

    `do` must start a run: without approval it has not changed anything when it fails.
    """
    while True:
        try:
            return do()
        except InputError as error:
            from weft.cli.approval_prompt import is_approved_now

            if not asks or not is_approved_now(error):
                raise
