"""The available agents: those that Weft knows, and those of the plan; whether each is installed and has a key.

The only programs that run are the agents' own, with `--version`, in parallel and with a time limit. `probes`
tests whether an agent really answers.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from weft.agents.access import find_credentials
from weft.app.agents.programs import place_of, program_of, version_of
from weft.app.project.places import absolute, with_tilde
from weft.app.project.plans import empty_plan, find_plan, folder_of, load, usual_name
from weft.errors import InputError
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.model import Agent, Plan
from weft.plan.text.problems import PlanError, suggestion
from weft.threads import map_in_threads

PATIENCE = 5.0
"""Seconds for a program to print its version."""


class PlanAgents(Struct, frozen=True, kw_only=True):
    """A plan, and all agents that steps of it could name."""

    plan: Plan
    folder: Path
    """The directory that its files are relative to."""
    shown: str = ""
    """The plan's file; empty if there is none, or it cannot be read."""
    unread: str = ""
    """The file of a plan that exists but has errors; empty otherwise."""

    def agents(self, names: Sequence[str] = ()) -> list[Agent]:
        """Returns the named agents; without names, those of the plan, then the adapters that these do not use.

        Raises `InputError` for an unknown name.
        """
        own = self.plan.agents
        by_name = {**{name: Agent(name=name, use=name) for name in AGENT_PROGRAMS}, **own}
        used = {agent.use for agent in own.values()}
        for name in names:
            if name not in by_name:
                raise InputError(f"there is no agent {name!r}{suggestion(name, [*by_name], most=20)}")
        rest = (name for name in AGENT_PROGRAMS if name not in used)
        return [by_name[name] for name in dict.fromkeys(names or (*own, *rest))]


def find_agents(name: str | None, directory: Path, environ: Mapping[str, str]) -> PlanAgents:
    """Returns the agents of the named plan, else of the plan with a default name, else of the configuration."""
    folder = absolute(directory)
    if name is None and usual_name(folder) is None:
        return PlanAgents(plan=empty_plan(folder, environ), folder=folder)
    source = find_plan(name, directory, command="agents --plan")
    try:
        return PlanAgents(plan=load(source, environ=environ), folder=folder_of(source), shown=source.shown)
    except PlanError:
        # Without a named plan, a broken one must not hide the installed agents: `weft agents` is what a new user
        # types first.
        if name is not None:
            raise
        return PlanAgents(plan=empty_plan(folder, environ), folder=folder, unread=source.shown)


# --- their status ---


class AgentStatus(Struct, frozen=True, kw_only=True):
    agent: Agent
    is_of_plan: bool
    program: str | None
    """The program it needs; None if that is a part of Weft, or unknown."""
    place: str | None
    """The path of the program; None if it is missing, or is not searched for."""
    version: str | None = None
    signs: tuple[str, ...] | None = None
    """Variables and files that indicate a key or a login; None if Weft does not know what the agent needs."""
    sign_in: str = ""
    """How to give it a key."""

    @property
    def use(self) -> str:
        return self.agent.use

    @property
    def is_installed(self) -> bool:
        """Whether the program is installed. A path is relative to the worktree, so it counts as installed."""
        return self.program is None or self.place is not None or "/" in self.program

    @property
    def install(self) -> str:
        return (
            AGENT_PROGRAMS[self.use].install or f"install {self.program}, or name another command in the plan"
        )

    @property
    def requires(self) -> str:
        """The key that such an agent needs in a plan; empty if none."""
        return AGENT_PROGRAMS[self.use].requires

    @property
    def needs_more(self) -> bool:
        """Whether the adapter cannot be used by its name alone."""
        return not self.is_of_plan and bool(self.requires)


def overview(
    found: PlanAgents, names: Sequence[str], environ: Mapping[str, str], *, patience: float | None = PATIENCE
) -> list[AgentStatus]:
    """Returns the status of all agents, or of the named ones. Raises `InputError` for an unknown name.

    With `patience=None`, no program is started to print its version.
    """
    agents = found.agents(names)
    versions = {} if patience is None else _versions(agents, environ, patience)
    see = partial(_status_of, found, environ, versions)
    return [see(agent) for agent in agents]


def _versions(agents: Sequence[Agent], environ: Mapping[str, str], patience: float) -> dict[str, str | None]:
    """Returns the versions of the installed programs that Weft knows."""
    # An agent with a command of its own may run anything, so it is never started only to print a version.
    used = {AGENT_PROGRAMS[agent.use].program for agent in agents if agent.command is None}
    programs = [name for name in used if name is not None and place_of(name, environ) is not None]
    if not programs:
        return {}
    versions = map_in_threads(
        partial(version_of, environ=environ, patience=patience), programs, most=len(programs)
    )
    return dict(zip(programs, versions, strict=True))


def _status_of(
    found: PlanAgents, environ: Mapping[str, str], versions: Mapping[str, str | None], agent: Agent
) -> AgentStatus:
    program = program_of(agent)
    around = {**environ, **agent.env}
    declared = AGENT_PROGRAMS[agent.use]
    return AgentStatus(
        agent=agent,
        is_of_plan=agent.name in found.plan.agents,
        program=program,
        # A path with a slash is relative to the worktree of a step, which does not exist yet.
        place=None if program is None or "/" in program else place_of(program, around),
        version=None if program is None else versions.get(program),
        signs=None
        if declared.access is None
        else tuple(_shorten_sign(sign, environ) for sign in find_credentials(declared.access, around)),
        sign_in=declared.sign_in,
    )


def _shorten_sign(sign: str, environ: Mapping[str, str]) -> str:
    return with_tilde(Path(sign), environ) if os.path.isabs(sign) else sign  # noqa: PTH117 - mostly a variable


def abilities(seen: AgentStatus) -> Iterator[str]:
    """Yields the abilities of the agent, one word each."""
    adapter = AGENT_PROGRAMS[seen.use]
    if adapter.resumes:
        yield "resume"
    if adapter.forks:
        yield "fork"
    if adapter.reads_only:
        yield "read-only"


def reported_spending(seen: AgentStatus) -> tuple[str, ...]:
    """Returns the units in which the agent reports its spending; empty if Weft does not know them."""
    access = AGENT_PROGRAMS[seen.use].access
    return () if access is None else access.reports
