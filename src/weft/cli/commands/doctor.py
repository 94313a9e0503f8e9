"""`weft doctor`: finds what is wrong with a project, says what mends it, and does so where that is safe."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import Progress, examples, show_json, show_lines
from weft.cli.plan_options import directory, json_option

EXIT_PROBLEM = 1
EXIT_UNKNOWN = 4


class _Checking(Progress):
    """Says which check is being made."""

    def says(self, check: str) -> None:
        if self._clock() >= self._next:
            self._draw(f"checking: {check}")


@contextmanager
def _watching() -> Generator[Callable[[str], None]]:
    """A line on a terminal while it takes long; elsewhere nobody watches."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield lambda _check: None
        return
    checking = _Checking(stream)
    try:
        yield checking.says
    finally:
        checking.clear()


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    changes_with=("fix",),
    epilog=examples("weft doctor", "weft doctor --fix", "weft doctor --json"),
    short_help="Find what is wrong with a project, and mend what is safe to mend.",
)
@click.option("--fix", is_flag=True, help="Mend what can be mended without losing anything.")
@click.option("-v", "--verbose", is_flag=True, help="Also tell what is fine.")
@json_option
def doctor(*, fix: bool, verbose: bool, as_json: bool) -> int:
    """Check the project: its runs and processes, worktrees and branches, disk, git, agents and configuration.

    For each thing that is wrong it says what was found, why it matters, and what to type. With --fix it mends what
    is safe, looks again, and tells what is mended. It never removes work that has not landed or is not committed,
    nor a branch.

    Exit code: 0, also if there are only warnings; 1 if there are problems; 4 if something could not be found out;
    2 if --fix is used within a step.
    """
    from weft.app.doctor.examination import doctor as examine
    from weft.app.doctor.findings import FindingState
    from weft.cli.text.doctor import report_data, report_lines

    with _watching() as watch:
        report = examine(directory(), fix=fix, watch=watch)
    if as_json:
        show_json(report_data(report))
    else:
        show_lines(report_lines(report, verbose=verbose, fix=fix))
    if report.of(FindingState.PROBLEM):
        return EXIT_PROBLEM
    return EXIT_UNKNOWN if report.of(FindingState.UNKNOWN) else 0
