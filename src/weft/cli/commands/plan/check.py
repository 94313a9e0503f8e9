"""`weft check`: validates a plan, reports what it will do, and explains the settings in force."""

import click

from weft.app.project.files import InputSource
from weft.cli.completions import plan_places
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_json, show_lines
from weft.cli.plan_options import (
    Flags,
    at_work_on_a_plan,
    flag_options,
    json_option,
    plan_argument,
    plan_source,
)

_REFUSED, _NOT_KNOWN = 2, 4
_EXIT = {"proved": 0, "refuted": 2, "unknown": _NOT_KNOWN}


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples("weft check", "weft check plan.yaml --explain store/model:code"),
    short_help="Check a plan, prove that it can finish, and show what it will do.",
)
@plan_argument
@flag_options
@click.option(
    "--explain", "place", metavar="PATH", shell_complete=plan_places,
    help="Print the settings in force at a subplan (store/model), one of its steps (store/model:code) or the "
         "whole plan (/), and where each comes from.",
)  # fmt: skip
@click.option(
    "--plan-only",
    is_flag=True,
    help="Check only the plan, not this machine and repository.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print every list in full, and the proof.")
@json_option
def check(
    *,
    plan: str | None,
    place: str | None,
    plan_only: bool,
    verbose: bool,
    as_json: bool,
    **flags: str | None,
) -> int:
    """Check PLAN before it costs anything.

    All errors are reported at once, each with file, line and column. A plan without errors is proven to
    be able to finish, whatever fails on the way. The report shows what can start now, what is already complete,
    which files overlap, the best and the worst time, and the worst-case cost.

    It also checks what the plan needs of this machine and this repository: programs, agents, the branch it starts
    from, sandboxes, signatures. `weft run` refuses for the same reasons.

    PLAN is weft.yaml or weft.yml by default, and standard input if it is -. The options that name a setting
    override the plan.

    Exit code: 0 if the plan is valid, even with warnings; 2 if it is invalid, cannot always finish or cannot run
    here; 4 if that is unknown, or the results of earlier runs cannot be read.
    """
    with at_work_on_a_plan(as_json=as_json):
        source = plan_source(plan)
        if place is not None:
            _explain(source, place, flags, as_json=as_json)
            return 0
        return _check(source, flags, plan or "", plan_only=plan_only, verbose=verbose, as_json=as_json)


def _check(
    source: InputSource, flags: Flags, plan: str, *, plan_only: bool, verbose: bool, as_json: bool
) -> int:
    from weft.app.check.check import check
    from weft.cli.text.check import check_lines

    checked = check(source, flags=flags, plan_only=plan_only)
    if as_json:
        show_json({"valid": True, **checked.to_json()})
    else:
        show_lines(
            check_lines(
                checked.report,
                checked.eligibility,
                checked.findings,
                checked.earlier,
                verbose=verbose,
                plan=plan,
            )
        )
    # A plan that is proven to finish is of no use if this machine cannot run it, so the refusal comes first.
    code = _REFUSED if checked.is_refused else _EXIT[checked.report.finish.answer]
    return code or (0 if checked.eligibility.is_known else _NOT_KNOWN)


def _explain(source: InputSource, place: str, flags: Flags, *, as_json: bool) -> None:
    from weft.app.project import plans
    from weft.cli.text.explain import explanation_lines
    from weft.plan.display.explain import explain

    explanation = explain(plans.load(source, flags=flags), place)
    if as_json:
        show_json(explanation.to_json())
    else:
        show_lines(explanation_lines(explanation))
