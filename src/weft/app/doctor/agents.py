"""The agents that the plan and the configuration name: their programs are there, and answer."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypedDict

from msgspec import Struct

from weft.agents.adapters import adapter_of
from weft.app.agents.programs import place_of, program_of, said_of_version
from weft.app.doctor.configuration import files
from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, problem, warning
from weft.app.project.files import InputSource, read_text
from weft.app.project.plan_agents import agents_of
from weft.app.project.plans import installed_agents
from weft.errors import InputError
from weft.plan.language.adapters import ADAPTERS
from weft.plan.loader.load import read_config
from weft.plan.model import Agent
from weft.plan.text.document import LIMITS
from weft.threads import map_in_threads


class _Named(Struct, frozen=True):
    agent: Agent
    is_used: bool
    """Whether a step of the plan needs it."""
    folder: Path
    """What its files are relative to."""


# --- which ---


def _named(ground: DoctorContext) -> Iterator[_Named]:
    """Those of the plan; if there is none that can be read, those of the configuration."""
    try:
        plan = ground.plan
    except InputError:
        plan = None
    if plan is None:
        agents = {name: agent for one in _configured(ground) for name, agent in one.items()}
        yield from (_Named(agent, is_used=False, folder=ground.directory) for agent in agents.values())
        return
    folder = ground.directory if ground.plan_file is None else ground.plan_file.directory
    used = {agent.name: agent for agent in agents_of(plan)}
    for name, agent in {**plan.agents, **used}.items():
        yield _Named(agent, is_used=name in used, folder=folder)


def _configured(ground: DoctorContext) -> Iterator[Mapping[str, Agent]]:
    for one in files(ground):
        with suppress(InputError):  # another check tells
            text = read_text(InputSource(name=str(one.path)), most=LIMITS.size)
            yield read_config(text, one.shown, one.where).agents


# --- whether they can work ---


def agents(ground: DoctorContext) -> Iterator[Finding]:
    named = [*_named(ground)]
    yield from map_in_threads(partial(_judged, ground), named, most=max(1, len(named)))


def _judged(ground: DoctorContext, named: _Named) -> Finding:
    agent = named.agent
    tell = problem if named.is_used else warning
    program = program_of(agent)
    missing = _missing(ground, named, program)
    if missing:
        return tell(f"agent {agent.name!r}: {missing[0]}", **missing[1], subject=agent.name)
    try:
        adapter_of(agent.use)
    except InputError as error:
        return tell(f"agent {agent.name!r}: {error}", command="weft check", subject=agent.name)
    if program is None or ADAPTERS[agent.use].program is None:
        return fine(f"agent {agent.name!r} ({agent.use})")
    said = said_of_version(program, ground.environ, patience=ground.bounds.patience)
    if said is None:
        return tell(
            f"agent {agent.name!r}: `{program} --version` gives no answer within {ground.bounds.patience:g} s",
            command=f"{program} --version",
            subject=agent.name,
        )
    return fine(f"agent {agent.name!r} ({agent.use}): {said}")


class _Remedy(TypedDict, total=False):
    command: str
    advice: str


def _missing(ground: DoctorContext, named: _Named, program: str | None) -> tuple[str, _Remedy] | None:
    """What is not there, and what to type or to do."""
    agent = named.agent
    if agent.use == "scripted" and agent.script is not None:
        script = named.folder / agent.script
        return (
            None
            if script.is_file()
            else (f"there is no script {script}", {"advice": f"write {script}, or name another in the plan"})
        )
    if program is None or "/" in program:  # where a path leads is up to the worktree
        return None
    if place_of(program, ground.environ) is not None:
        return None
    installed = ", ".join(installed_agents(ground.environ)) or "none"
    install = ADAPTERS[agent.use].install
    return (
        f"its program {program!r} is not on the PATH; installed of those that Weft knows: {installed}",
        {"command": install}
        if install
        else {"advice": f"install {program}, or name another agent in the plan"},
    )


# --- what is there at all ---


def installed(ground: DoctorContext) -> Iterator[Finding]:
    there = installed_agents(ground.environ)
    yield fine(f"on the PATH: {', '.join(there)}" if there else "none that Weft knows is on the PATH")


CHECKS = (
    Check(
        id="agents",
        looks_at="the programs of agents that the plan, or else the configuration, names are on the PATH, and "
        "those that Weft knows tell their version; a warning for those that no step of the plan needs",
        why="steps of that agent cannot start",
        examine=agents,
    ),
    Check(
        id="agents-installed",
        looks_at="which of the agents that Weft knows are installed; never wrong",
        why="a plan can name them without a command",
        examine=installed,
    ),
)
