"""`weft hosts`: lists the machines of a plan; with --probe, reaches them."""

import os

import click

from weft.cli.completions import plan_files
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_json, show_lines
from weft.cli.plan_options import at_work_on_a_plan, json_option, plan_source

TIMEOUT = 30.0


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    changes_with=("probe",),
    epilog=examples("weft hosts", "weft hosts --probe", "weft hosts night.yaml --probe --json"),
    short_help="List the machines that steps run on, and reach them.",
)
@click.argument("plan", metavar="[PLAN]", required=False, type=click.Path(), shell_complete=plan_files)
@click.option("--probe", is_flag=True, help="Connect to each machine, and show what it has.")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(0.1, 3600), default=TIMEOUT, show_default=True,
    help="The time limit for each machine.",
)  # fmt: skip
@json_option
def hosts(*, plan: str | None, probe: bool, timeout: float, as_json: bool) -> int:
    """List the hosts of PLAN and of the configuration; default: weft.yaml or weft.yml.

    With --probe Weft connects to each machine as a run would, and copies its far program there. For each it
    shows the versions of Python and git, the free room, the time of an answer, and which of the agents that
    the plan may call there are installed.

    Exit code: 0; with --probe 1 if a machine cannot be reached or lacks something; 2 for a plan that cannot
    be read.
    """
    from weft.app.project import plans
    from weft.cli.text.hosts import host_lines, hosts_data, machine_lines

    with at_work_on_a_plan(as_json=as_json):
        source = plan_source(plan)
        loaded = plans.load(source, environ=os.environ)
    specs = list(loaded.hosts.values())
    if not probe:
        if as_json:
            show_json(hosts_data(specs, None))
        else:
            show_lines(host_lines(specs))
        return 0
    from weft.app.machines.survey import machine_findings, programs_of, survey
    from weft.app.project import approval
    from weft.app.project.places import project_of

    # A host can be any command, so those of a project need the same approval as for a run.
    project = project_of(plans.folder_of(source)).project
    approval.require(plans.project_layer(loaded), project, os.environ, user=plans.user_layer(loaded))
    approval.require_hosts(loaded, source.path, project, os.environ)
    programs = programs_of(loaded)
    statuses = survey(specs, programs, os.environ, patience=timeout)
    findings = [*machine_findings(statuses, programs)]
    if as_json:
        show_json({**hosts_data(specs, statuses), "findings": [finding.to_json() for finding in findings]})
    else:
        show_lines([*host_lines(specs), *machine_lines(statuses)])
        reached = [finding for finding in findings if "cannot be reached: " not in finding.message]
        show_lines(finding.message for finding in reached)
    return int(any(finding.refuses for finding in findings))
