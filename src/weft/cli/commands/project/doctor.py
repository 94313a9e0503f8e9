"""`weft doctor`: checks a project, says how to fix each problem, and fixes the safe ones on request."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import ProgressLine, examples, show_json, show_lines
from weft.cli.plan_options import directory, json_option

EXIT_PROBLEM = 1
EXIT_UNKNOWN = 4


class _CheckProgress(ProgressLine):
    """A progress line that shows the check being made."""

    def show(self, check: str) -> None:
        if self._clock() >= self._next:
            self._draw(f"checking: {check}")


@contextmanager
def _show_progress() -> Generator[Callable[[str], None]]:
    """Yields a function that shows the current check on a terminal; elsewhere it does nothing."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield lambda _check: None
        return
    checking = _CheckProgress(stream)
    try:
        yield checking.show
    finally:
        checking.clear()


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    changes_with=("fix",),
    epilog=examples("weft doctor", "weft doctor --fix", "weft doctor --json"),
    short_help="Find what is wrong with a project, and fix what is safe to fix.",
)
@click.option("--fix", is_flag=True, help="Fix what can be fixed without losing work.")
@click.option("-v", "--verbose", is_flag=True, help="Also list the checks that passed.")
@json_option
def doctor(*, fix: bool, verbose: bool, as_json: bool) -> int:
    """Check the project: its runs and processes, worktrees and branches, disk, git, agents and configuration.

    For each problem it shows what was found, why it matters, and what to type. With --fix it fixes what is safe,
    checks again, and reports what is fixed. It never removes work that has not landed or is not committed, nor a
    branch.

    Exit code: 0, even with warnings; 1 if there are problems; 4 if a check could not be made; 2 if --fix is used
    inside a step.
    """
    from weft.app.doctor.examination import doctor as examine
    from weft.app.doctor.findings import FindingState
    from weft.cli.text.doctor import report_data, report_lines

    with _show_progress() as watch:
        report = examine(directory(), fix=fix, watch=watch)
    if as_json:
        show_json(report_data(report))
    else:
        show_lines(report_lines(report, verbose=verbose, fix=fix))
    if report.of(FindingState.PROBLEM):
        return EXIT_PROBLEM
    # A check that could not be made is not a healthy project, but no reason to say that something is broken
    # either.
    return EXIT_UNKNOWN if report.of(FindingState.UNKNOWN) else 0
