"""`weft show`: prints a plan with every setting resolved."""

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_json, write_text
from weft.cli.plan_options import at_work_on_a_plan, flag_options, json_option, plan_argument, plan_source


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples("weft show", "weft show plan.yaml --max-parallel 8 > resolved.yaml"),
    short_help="Print a plan with everything resolved.",
)
@plan_argument
@flag_options
@json_option
def show(*, plan: str | None, as_json: bool, **flags: str | None) -> int:
    """Print PLAN with everything resolved.

    Built-in pipelines are written in full, dependencies as paths, and each setting in force has a comment
    with its origin: a line of a file, a flag, or `default`. The text is a plan, too: without any
    configuration and flags it does the same.

    PLAN is weft.yaml or weft.yml by default, and standard input if it is -. The options that name a setting
    override the plan.
    """
    with at_work_on_a_plan(as_json=as_json):
        from weft.app.project import plans
        from weft.plan.display.show import show_plan

        text = show_plan(plans.load(plan_source(plan), flags=flags))
    if as_json:
        show_json({"text": text})
    else:
        write_text(text)
    return 0
