"""Checks whether sandboxes work."""

from collections.abc import Iterator

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, problem
from weft.app.isolation.sandboxes import SandboxRequest, requested_sandboxes
from weft.errors import InputError
from weft.runtime.sandbox.probe import probe


def sandbox(context: DoctorContext) -> Iterator[Finding]:
    need = _need(context)
    if need is None:
        return
    capability = probe(context.environ, network=need.network)
    if capability.trouble:
        yield problem(
            f"the plan uses sandboxes, but {capability.trouble}", advice=capability.command, subject="bwrap"
        )
    else:
        yield fine(f"{capability.version} makes sandboxes")


def _need(context: DoctorContext) -> SandboxRequest | None:
    try:
        plan = context.plan
    except InputError:  # another check reports it
        return None
    return None if plan is None else requested_sandboxes(plan)


CHECKS = (
    Check(
        id="sandbox",
        covers="bubblewrap is installed and can create sandboxes, if the plan uses them",
        why="a plan with `sandbox: bwrap` is not run without it",
        examine=sandbox,
    ),
)
