"""A survey of other machines: each host of a plan is reached, and says what it has."""

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from weft.app.agents.programs import program_of
from weft.app.preflight.findings import PreflightError, PreflightFinding, refusal, warning
from weft.app.project.hosts import carrier_of
from weft.app.project.plan_agents import agent_steps
from weft.plan.hosts import HostSpec
from weft.plan.model import Plan
from weft.plan.placement import slice_hosts, used_hosts
from weft.ports.machines import Carrier, FarError, MachineLostError, MachineStatus, UnreachableError
from weft.terms import MachineState

PATIENCE = 30.0
"""Seconds for each machine."""
_LEAST_ROOM = 100 << 20
_LARGEST_OFFSET = 60.0
"""Seconds that a clock may differ without a word."""
_WEFT = sys.executable
"""What runs the agents that are a part of Weft."""

Programs = Mapping[str, Mapping[str, Sequence[str]]]
"""For each host, the programs that steps there need, each with the agents that need it."""


def programs_of(plan: Plan) -> Programs:
    """Returns the programs of agents that each host of the plan may have to run."""
    programs: dict[str, dict[str, list[str]]] = {}
    for row, step, agent in agent_steps(plan):
        if "PATH" in {*agent.env, *step.env}:  # its program may be there
            continue
        names = slice_hosts(plan, row) if step.host is None else step.host.candidates(plan.hosts)
        for name in names:
            users = programs.setdefault(name, {}).setdefault(program_of(agent) or _WEFT, [])
            if agent.name not in users:
                users.append(agent.name)
    return programs


def survey(
    hosts: Sequence[HostSpec], programs: Programs, environ: Mapping[str, str], *, patience: float = PATIENCE
) -> list[MachineStatus]:
    """Reaches all machines of these hosts at the same time; returns what is known of each."""
    carriers = [(spec, carrier_of(spec, environ)) for spec in hosts if not spec.is_local]
    return asyncio.run(_survey_all(carriers, programs, patience)) if carriers else []


async def _survey_all(
    carriers: Sequence[tuple[HostSpec, Carrier]], programs: Programs, patience: float
) -> list[MachineStatus]:
    surveys = [
        _survey_host(spec, carrier, tuple(programs.get(spec.name, ())), patience)
        for spec, carrier in carriers
    ]
    return [status for statuses in await asyncio.gather(*surveys) for status in statuses]


async def _survey_host(
    spec: HostSpec, carrier: Carrier, programs: Sequence[str], patience: float
) -> list[MachineStatus]:
    try:
        async with asyncio.timeout(patience):
            names = await carrier.machines()
        if not names:
            return [_unreachable(spec, "it has no machines now")]
        return [*await asyncio.gather(*(_survey(spec, carrier, name, programs, patience) for name in names))]
    except TimeoutError:
        return [_unreachable(spec, f"there was no answer within {patience:g} s")]
    except (UnreachableError, FarError) as error:
        return [_unreachable(spec, str(error))]
    finally:
        await carrier.close()


def _unreachable(spec: HostSpec, message: str) -> MachineStatus:
    state = MachineState.UNREACHABLE
    return MachineStatus(host=spec.name, machine="", state=state, since=time.time(), message=message)


async def _survey(
    spec: HostSpec, carrier: Carrier, machine: str, programs: Sequence[str], patience: float
) -> MachineStatus:
    from weft.hosts.far.context import NO_RUN  # noqa: PLC0415 - most plans have no other machines
    from weft.hosts.far_program import far_program  # noqa: PLC0415
    from weft.hosts.machines.session import MachineSession, SessionEvents  # noqa: PLC0415

    is_known = asyncio.Event()
    session = MachineSession(
        carrier,
        far_program(),
        host=spec.name,
        machine=machine,
        run=NO_RUN,
        events=SessionEvents(
            on_connected=lambda _: None, on_frame=_ignore, on_status=lambda _: is_known.set()
        ),
        lost_after=2 * patience,
        programs=programs,
    )
    session.start()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await is_known.wait()
        status = session.status()
        if status.state is MachineState.CONNECTING:
            return replace(_unreachable(spec, f"there was no answer within {patience:g} s"), machine=machine)
        if status.state is MachineState.REACHABLE:
            sent_at = time.monotonic()
            await session.call("remains", {"runs": []})
            facts = {**status.facts, "round_trip": time.monotonic() - sent_at}
            status = replace(status, facts={**facts, "clock_offset": facts["clock"] - status.since})
    except (UnreachableError, MachineLostError) as error:
        return replace(_unreachable(spec, str(error)), machine=machine)
    else:
        return status
    finally:
        await session.close()


def _ignore(_session: object, _header: object, _payload: bytes) -> None:
    """No supervisor is asked for, so there are no such frames."""


# --- before a run ---


def require_machines(plan: Plan, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns warnings about the machines that a plan uses; raises `PreflightError` if steps there would fail."""
    hosts = [spec for spec in used_hosts(plan) if not spec.is_local]
    if not hosts:
        return ()
    programs = programs_of(plan)
    findings = [*machine_findings(survey(hosts, programs, environ), programs)]
    refusals = [finding.message for finding in findings if finding.refuses]
    if refusals:
        raise PreflightError(refusals)
    return tuple(finding.message for finding in findings)


def machine_findings(statuses: Sequence[MachineStatus], programs: Programs) -> Iterator[PreflightFinding]:
    for status in statuses:
        name = name_of(status)
        if status.state is not MachineState.REACHABLE:
            yield refusal("host", f"{name} cannot be reached: {status.message}")
            continue
        if status.facts["git"] is None:
            yield refusal("host", f"there is no git on {name}; install it there")
        if status.facts["free"] < _LEAST_ROOM:
            room = status.facts["free"] >> 20
            place = status.facts["directory"]
            yield refusal(
                "host", f"the disk of {name} is full: {room} MB are free for {place}; free some space"
            )
        for program, users in programs.get(status.host, {}).items():
            if status.facts["programs"].get(program) is None:
                yield refusal("host", _missing(program, users, name))
        if abs(status.facts["clock_offset"]) > _LARGEST_OFFSET:
            offset = status.facts["clock_offset"]
            yield warning(
                "host", f"the clock of {name} is {abs(offset):.0f} s {'fast' if offset > 0 else 'slow'}"
            )


def _missing(program: str, users: Sequence[str], name: str) -> str:
    if program == _WEFT:
        return (
            f"{', '.join(users)}: this agent is a part of Weft, which is not on {name}; write `host: local` at "
            "its steps, or use another agent"
        )
    return f"{', '.join(users)}: {program} is not on the PATH of {name}; install it there, or write another `host`"


def name_of(status: MachineStatus) -> str:
    """Returns the name of a machine with that of its host."""
    return f"{status.host} ({status.machine})" if status.machine not in {"", status.host} else status.host
