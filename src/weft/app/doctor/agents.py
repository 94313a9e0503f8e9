"""Checks that the agents of the plan and the configuration are installed and answer."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypedDict

from msgspec import Struct

from weft.agents.adapters import adapter_of
from weft.app.agents.programs import place_of, program_of, version_output
from weft.app.doctor.configuration import files
from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, problem, warning
from weft.app.project.files import InputSource, read_text
from weft.app.project.plan_agents import agents_of
from weft.app.project.plans import installed_agents
from weft.errors import InputError
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.loader.load import read_config
from weft.plan.model import Agent
from weft.plan.text.document import LIMITS
from weft.threads import map_in_threads


class _UsedAgent(Struct, frozen=True):
    agent: Agent
    is_used: bool
    """Whether a step of the plan needs it."""
    folder: Path
    """The directory that its files are relative to."""


# --- the agents ---


def _used_agents(context: DoctorContext) -> Iterator[_UsedAgent]:
    """Yields the agents of the plan; if no plan can be read, those of the configuration."""
    try:
        plan = context.plan
    except InputError:
        plan = None
    if plan is None:
        agents = {name: agent for group in _configured_agents(context) for name, agent in group.items()}
        yield from (_UsedAgent(agent, is_used=False, folder=context.directory) for agent in agents.values())
        return
    folder = context.directory if context.plan_file is None else context.plan_file.directory
    used = {agent.name: agent for agent in agents_of(plan)}
    for name, agent in {**plan.agents, **used}.items():
        yield _UsedAgent(agent, is_used=name in used, folder=folder)


def _configured_agents(context: DoctorContext) -> Iterator[Mapping[str, Agent]]:
    for file in files(context):
        with suppress(InputError):  # another check reports it
            text = read_text(InputSource(name=str(file.path)), most=LIMITS.size)
            yield read_config(text, file.shown, file.where).agents


# --- their programs ---


def agents(context: DoctorContext) -> Iterator[Finding]:
    used_agents = [*_used_agents(context)]
    # In parallel: some agents take seconds to print their version.
    yield from map_in_threads(partial(_examine_agent, context), used_agents, most=max(1, len(used_agents)))


def _examine_agent(context: DoctorContext, used_agent: _UsedAgent) -> Finding:
    agent = used_agent.agent
    # An agent that is only defined stops no run.
    report = problem if used_agent.is_used else warning
    program = program_of(agent)
    missing = _missing(context, used_agent, program)
    if missing:
        return report(f"agent {agent.name!r}: {missing[0]}", **missing[1], subject=agent.name)
    try:
        adapter_of(agent.use)
    except InputError as error:
        return report(f"agent {agent.name!r}: {error}", command="weft check", subject=agent.name)
    if program is None or AGENT_PROGRAMS[agent.use].program is None:
        return fine(f"agent {agent.name!r} ({agent.use})")
    version = version_output(program, context.environ, patience=context.bounds.patience)
    if version is None:
        return report(
            f"agent {agent.name!r}: `{program} --version` gives no answer within {context.bounds.patience:g} s",
            command=f"{program} --version",
            subject=agent.name,
        )
    return fine(f"agent {agent.name!r} ({agent.use}): {version}")


class _Remedy(TypedDict, total=False):
    command: str
    advice: str


def _missing(
    context: DoctorContext, used_agent: _UsedAgent, program: str | None
) -> tuple[str, _Remedy] | None:
    """Returns what is missing, and the command or advice; None if nothing is."""
    agent = used_agent.agent
    if agent.use == "scripted" and agent.script is not None:
        script = used_agent.folder / agent.script
        return (
            None
            if script.is_file()
            else (f"there is no script {script}", {"advice": f"write {script}, or name another in the plan"})
        )
    if program is None or "/" in program:  # a path is relative to the worktree, which does not exist yet
        return None
    if place_of(program, context.environ) is not None:
        return None
    installed = ", ".join(installed_agents(context.environ)) or "none"
    install = AGENT_PROGRAMS[agent.use].install
    return (
        f"its program {program!r} is not on the PATH; installed agents that Weft knows: {installed}",
        {"command": install}
        if install
        else {"advice": f"install {program}, or name another agent in the plan"},
    )


# --- installed agents ---


def check_programs(context: DoctorContext) -> Iterator[Finding]:
    names = installed_agents(context.environ)
    yield fine(f"on the PATH: {', '.join(names)}" if names else "no agent that Weft knows is on the PATH")


CHECKS = (
    Check(
        id="agents",
        covers="the programs of the agents that the plan (or the configuration) names are on the PATH and "
        "report their version; a warning for agents that no step of the plan uses",
        why="steps of that agent cannot start",
        examine=agents,
    ),
    Check(
        id="agents-installed",
        covers="which of the agents that Weft knows are installed; never a problem",
        why="a plan can name them without a command",
        examine=check_programs,
    ),
)
