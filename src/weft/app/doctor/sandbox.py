"""Whether there can be sandboxes."""

from collections.abc import Iterator

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, problem
from weft.app.isolation.sandboxes import SandboxRequest, requested_sandboxes
from weft.errors import InputError
from weft.runtime.sandbox.probe import probe


def sandbox(ground: DoctorContext) -> Iterator[Finding]:
    need = _need(ground)
    if need is None:
        return
    found = probe(ground.environ, network=need.network)
    if found.trouble:
        yield problem(f"the plan wants sandboxes, but {found.trouble}", advice=found.command, subject="bwrap")
    else:
        yield fine(f"{found.version} makes sandboxes")


def _need(ground: DoctorContext) -> SandboxRequest | None:
    try:
        plan = ground.plan
    except InputError:  # another check tells
        return None
    return None if plan is None else requested_sandboxes(plan)


CHECKS = (
    Check(
        id="sandbox",
        looks_at="bubblewrap is installed and may make sandboxes, if the plan wants them",
        why="a plan with `sandbox: bwrap` is not run without it",
        examine=sandbox,
    ),
)
