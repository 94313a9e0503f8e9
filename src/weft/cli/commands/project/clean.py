"""`weft clean`: removes worktrees, branches and refs of plans when their work is proven to have landed."""

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, show_json, show_lines
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import directory_of, running_here

EXIT_WAITING = 4


def _complete_plan(context: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    from weft.app.record import names

    return names.plans(directory_of(context), incomplete)


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft clean --dry-run", "weft clean", "weft clean notes"),
    short_help="Remove worktrees and branches whose work has landed.",
)
@click.argument("plans", metavar="[PLAN-ID…]", nargs=-1, shell_complete=_complete_plan)
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@json_option
def clean(*, plans: tuple[str, ...], dry_run: bool, as_json: bool) -> int:
    """Remove the worktrees, branches and private refs of the plans PLAN-ID, or of all plans here.

    Weft removes only what is proven to be on the target. It keeps a worktree with uncommitted changes and a branch
    with commits that have not landed, and shows the reason. Results of plans that work in directories
    (isolation: dir) are not touched. Homes of steps are removed when their run has ended.

    Exit code: 0; 4 if something is kept that has not landed; 2 if a plan is running, or there is no such plan.
    """
    from weft.app.clean.clean import clean as clean_up
    from weft.cli.text.clean import clean_data, clean_lines

    # Waits for a run that is about to end; the clean-up itself refuses an active run, by name.
    running_here(directory())
    results = clean_up(directory(), plans, dry_run=dry_run)
    if as_json:
        show_json({"dry_run": dry_run, "plans": [clean_data(result) for result in results]})
    else:
        show_lines(line for result in results for line in clean_lines(result, dry_run=dry_run))
        if not any(result.removed for result in results):
            note("there is nothing to remove")
    return EXIT_WAITING if any(result.waits for result in results) else 0
