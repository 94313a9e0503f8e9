"""Options and helpers of the commands about plans: the plan, the flags that override it, and its errors."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from weft.app.project.files import STDIN, InputSource
from weft.cli.completions import flag_values, plan_files
from weft.cli.output import show_json
from weft.garbage import without_gc

EXIT_INVALID = 2
Flags = Mapping[str, str | None]
Command = TypeVar("Command", bound=Callable[..., Any])

plan_argument = click.argument(
    "plan", required=False, type=click.Path(allow_dash=True), shell_complete=plan_files
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
out_option = click.option(
    "--out", metavar="FILE", type=click.Path(allow_dash=True),
    help="Write to this file, as a whole or not at all, and not to standard output.",
)  # fmt: skip

_FLAGS = {
    "max_parallel": ("N", "The most slices that run at once, 1 to 32."),
    "failure_mode": ("MODE", "What a failure does to siblings: fail_fast or continue_on_error."),
    "policy": ("POLICY", "One action at a time, or as many as fit: serial or parallel."),
    "retries": ("N", "How often a failed check sends the work back to the agent, 0 to 10."),
    "budget": ("AMOUNT", "A ceiling on what agents cost: dollars, or usd=20,tokens=5M."),
    "merge": ("MODE", "How results land: auto, confirm (asks at the end of the run) or manual (weft merge)."),
}
"""Settings with a command-line option. Their values are parsed as in a plan."""


def flag_options(command: Command) -> Command:
    """Adds the options that override the plan."""
    for name, (metavar, help_text) in reversed(_FLAGS.items()):
        command = flag_option(name, metavar, help_text)(command)
    return command


def flag_option(name: str, metavar: str, help_text: str) -> Callable[[Command], Command]:
    """Returns an option that overrides a setting of the plan."""
    option = f"--{name.replace('_', '-')}"
    return click.option(option, name, metavar=metavar, help=help_text, shell_complete=flag_values)


isolation_option = flag_option("isolation", "KIND", "Where slices work: worktree, clone, dir or none.")


def directory() -> Path:
    """Returns the directory that file names are relative to: `-C` of the root command."""
    return Path(click.get_current_context().find_root().params["directory"])


def plan_source(name: str | None) -> InputSource:
    from weft.app.project import plans

    # So that the error about a missing plan suggests the command that the user typed.
    command = click.get_current_context().info_name or "check"
    return plans.find_plan(name, directory(), command=command)


@contextmanager
def at_work_on_a_plan(*, as_json: bool) -> Generator[None]:
    """The context for loading and analysing a plan, without garbage collection.

    Commands also import their modules in this context, because the garbage collector slows down imports.
    """
    with without_gc(), plan_errors_as_data(as_json=as_json):
        yield


@contextmanager
def plan_errors_as_data(*, as_json: bool) -> Generator[None]:
    """With `--json`, prints the errors of a plan as JSON instead of raising them."""
    from weft.plan.text.problems import PlanError

    try:
        yield
    except PlanError as error:
        if not as_json:
            raise
        unsaid = {"unsaid": error.unsaid} if error.unsaid else {}
        problems = [problem.to_json() for problem in error.problems]
        show_json({"valid": False, "problems": problems, **unsaid})
        raise click.exceptions.Exit(EXIT_INVALID) from None


def written_to(out: str | None) -> str | None:
    """Returns the name of the file to write; None for standard output."""
    return None if out == STDIN else out
