"""Checks whether tests in worktrees import the code of the checkout."""

from collections.abc import Iterator

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, warning
from weft.app.preflight.imports import import_findings, is_handled
from weft.errors import InputError


def imports(context: DoctorContext) -> Iterator[Finding]:
    try:
        plan = context.plan
    except InputError:  # another check reports it
        return
    if plan is None:
        return
    folder = context.directory if context.plan_file is None else context.plan_file.directory
    for finding in import_findings(plan, folder, context.environ):
        if is_handled(finding):
            yield fine(finding.message)
        else:
            yield warning(finding.message, subject=finding.message)


CHECKS = (
    Check(
        id="imports",
        covers="packages of the project that are installed as links to the checkout (`pip install -e`, "
        "workspaces of npm, `npm link`), if commands of the plan may load them",
        why="tests in a worktree would load the code of the checkout, and a broken slice would pass",
        examine=imports,
    ),
)
