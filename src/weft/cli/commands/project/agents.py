"""`weft agents`: lists the agents, their requirements and abilities; with --probe, tests whether they answer."""

import os

import click

from weft.cli.completions import agent_names, plan_files
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, show_json, show_lines
from weft.cli.plan_options import at_work_on_a_plan, directory, json_option

TIMEOUT = 60.0


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    changes_with=("probe",),
    epilog=examples(
        "weft agents", "weft agents claude --probe", "weft agents builtin --probe --model gpt-5 --timeout 30"
    ),
    short_help="List the agents, and test whether they answer.",
)
@click.argument("names", metavar="[NAME…]", nargs=-1, shell_complete=agent_names)
@click.option("--probe", is_flag=True, help="Call each agent once, for one word; this may cost a little.")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(0.1, 3600), default=TIMEOUT, show_default=True,
    help="The time limit for each answer.",
)  # fmt: skip
@click.option("--model", metavar="MODEL", help="Probe with this model.")
@click.option(
    "--plan", "plan", metavar="PLAN", type=click.Path(), shell_complete=plan_files,
    help="Also show the agents of this plan; default: weft.yaml or weft.yml.",
)  # fmt: skip
@json_option
def agents(
    *, names: tuple[str, ...], probe: bool, timeout: float, model: str | None, plan: str | None, as_json: bool
) -> int:
    """List the agents NAME, or all: those of the plan, and those that Weft knows.

    For each: whether its program is installed, where, and its version; whether there seems to be a key or
    a login (values are never shown); whether it can resume a conversation, fork it, and only read; and what it
    reports about its spending. For each missing program or login it shows what to type.

    With --probe each installed agent gets a real prompt, in an empty directory; the output shows whether
    it answered, the time and the cost. Agents of the plan that are commands, scripts or servers are
    called only if you name them, and so is `builtin` if the plan names no model for it.

    Exit code: 0; with --probe 1 if one did not answer; 2 for an unknown name or a plan that cannot be read.
    """
    from weft.app.agents.overview import PATIENCE, find_agents, overview
    from weft.cli.text.agents import overview_data, overview_lines

    # A plan that was not named and cannot be read is no error: the built-in agents can still be shown.
    with at_work_on_a_plan(as_json=as_json):
        plan_agents = find_agents(plan, directory(), os.environ)
    if plan_agents.unread:
        file = plan_agents.unread
        note(f"{file} cannot be read, and its agents are not shown; type: weft check {file}")
    # A probe starts each program anyway, so no program is started before only to print its version.
    statuses = overview(plan_agents, names, os.environ, patience=None if probe else PATIENCE)
    if probe:
        from weft.cli.live.probe_progress import ask

        return ask(plan_agents, statuses, named=bool(names), model=model, timeout=timeout, as_json=as_json)
    if as_json:
        show_json(overview_data(plan_agents, statuses))
    else:
        show_lines(overview_lines(plan_agents, statuses))
    return 0
