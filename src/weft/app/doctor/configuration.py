"""Checks that the plan and the configuration can be read."""

import os
import shlex
from collections.abc import Iterator

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, problem
from weft.app.project.files import InputSource, read_text
from weft.app.project.places import PLAN_NAMES
from weft.app.project.plans import ConfigFile, config_files
from weft.errors import InputError
from weft.plan.loader.load import read_config
from weft.plan.text.document import LIMITS
from weft.plan.text.problems import PlanError, Severity


def files(context: DoctorContext) -> Iterator[ConfigFile]:
    """Yields the configuration files that apply here and exist."""
    source = context.plan_file or InputSource(name=PLAN_NAMES[0], directory=context.places.project)
    for file in config_files(source, source.directory, context.environ):
        if os.path.lexists(file.path):
            yield file


def plan(context: DoctorContext) -> Iterator[Finding]:
    if context.plan_file is None:
        yield fine(f"there is no {PLAN_NAMES[0]} here")
        return
    shown = context.plan_file.shown
    try:
        plan_read = context.plan
    except PlanError as error:
        findings = _error_findings(error, f"weft check {shlex.quote(shown)}")
        own = [finding for finding in findings if _is_about(finding, shown)]
        # Loading a plan reads the configuration too. Errors there belong to the other check.
        yield from own or [fine(f"{shown} cannot be read before the configuration can")]
    except InputError as error:
        yield problem(str(error), command=f"weft check {shlex.quote(shown)}", subject=shown)
    else:
        assert plan_read is not None
        yield fine(f"{shown}: the plan {plan_read.id}")


def _is_about(finding: Finding, file: str) -> bool:
    return finding.subject.startswith(f"{file}:")


def configuration(context: DoctorContext) -> Iterator[Finding]:
    for file in files(context):
        try:
            text = read_text(InputSource(name=str(file.path), label=file.shown), most=LIMITS.size)
            read_config(text, file.shown, file.where)
        except PlanError as error:
            yield from _error_findings(error, "weft schema --reference")
        except InputError as error:
            yield problem(str(error), command=f"ls -l {shlex.quote(str(file.path))}", subject=file.shown)
        else:
            yield fine(file.shown)


def _error_findings(error: PlanError, command: str) -> Iterator[Finding]:
    """Yields a one-line problem for each error, without the excerpt of the file."""
    for error_problem in error.problems:
        if error_problem.severity is Severity.ERROR:
            yield problem(
                f"{error_problem.at}: {error_problem.message}",
                command=command,
                subject=f"{error_problem.at}: {error_problem.message}",
            )


CHECKS = (
    Check(
        id="plan",
        covers="`weft.yaml`, where you are or at the root of the project, can be read",
        why="it could not be run",
        examine=plan,
    ),
    Check(
        id="configuration",
        covers="the configuration of the project (`.weft/config.yaml`) and your own can be read",
        why="no plan can be run while one of them is wrong",
        examine=configuration,
    ),
)
