"""Where the slices and steps of a plan may run."""

from collections.abc import Iterator, Mapping

from weft.plan.hosts import HostSpec
from weft.plan.model import Plan, Step


def slice_hosts(plan: Plan, row: int) -> tuple[str, ...]:
    """Returns the hosts on which a slice may be placed, in the order in which they are preferred."""
    return plan.scopes[row].settings.host.candidates(plan.hosts)


def step_host(step: Step, slice_host: str, hosts: Mapping[str, HostSpec]) -> str:
    """Returns where the process of a step runs, if its slice is placed on a host."""
    if step.host is None:
        return slice_host
    allowed = step.host.candidates(hosts)
    return slice_host if slice_host in allowed else allowed[0]


def used_hosts(plan: Plan) -> list[HostSpec]:
    """Returns the hosts on which something of a plan may run; this machine only if its slots are limited."""
    if not plan.hosts:
        return []
    names: set[str] = set()
    for scope in {id(scope): scope for scope in plan.scopes}.values():
        names.update(scope.settings.host.candidates(plan.hosts))
    for step in all_steps(plan):
        if step.host is not None:
            names.update(step.host.candidates(plan.hosts))
    return [host for name, host in plan.hosts.items() if name in names and has_slots(host)]


def all_steps(plan: Plan) -> Iterator[Step]:
    """Yields the steps of all pipelines of a plan, also of those that no slice uses."""
    own = [subplan.steps for subplan in plan.subplans if subplan.steps is not None]
    for pipeline in (*plan.pipelines.values(), *own):
        yield from pipeline.steps


def has_slots(host: HostSpec) -> bool:
    """Returns whether the steps on a host are limited."""
    return not host.is_local or host.slots is not None
