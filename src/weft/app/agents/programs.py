"""The programs that agents are: which one an agent needs, whether it is there, and its version.

Only programs that Weft knows are asked for their version; what a plan names as a command may do anything. No
network is needed for that, and nobody's login is tried.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from msgspec import Struct

from weft.app.project.plan_agents import agent_steps
from weft.app.project.shell_words import first_word
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.model import Agent, Plan
from weft.search_path import find_program, search_path

_LONGEST_ANSWER = 80
_VERSION = re.compile(r"\d+(?:\.\d+)+\w*")


def program_of(agent: Agent) -> str | None:
    """The program it needs; None if that is a part of Weft, or cannot be told from a shell's text."""
    if agent.command is not None:
        return first_word(agent.command)
    return AGENT_PROGRAMS[agent.use].program


def place_of(program: str, environ: Mapping[str, str]) -> str | None:
    """Where it is; None if it is nowhere on the PATH."""
    return find_program(program, environ)


# --- what is missing ---


class MissingProgram(Struct, frozen=True):
    """A program that steps of a plan need."""

    program: str
    agents: tuple[str, ...]
    install: str
    """What to type to get it."""

    def __str__(self) -> str:
        who = ", ".join(self.agents)
        needed = f"the agent {who} needs" if len(self.agents) == 1 else f"the agents {who} need"
        return f"{needed} {self.program}, which is not on the PATH; to install it, type: {self.install}"


def missing_programs(
    plan: Plan, environ: Mapping[str, str], *, done: Iterable[str] = ()
) -> list[MissingProgram]:
    """Of the agents that its steps need, as far as Weft knows their programs.

    Nothing is said of a step that is given a PATH of its own: there it may be.
    """
    names: dict[str, dict[str, None]] = {}
    paths, over = plan.outline.paths, frozenset(done)
    for row, step, agent in agent_steps(plan):
        if paths[row] in over:
            continue
        if AGENT_PROGRAMS[agent.use].install is not None and "PATH" not in {*agent.env, *step.env}:
            names.setdefault(agent.use, {})[agent.name] = None
    return [*_missing(names, environ)]


def _missing(names: Mapping[str, Iterable[str]], environ: Mapping[str, str]) -> Iterator[MissingProgram]:
    for use, agents in names.items():
        adapter = AGENT_PROGRAMS[use]
        assert adapter.program is not None
        assert adapter.install is not None
        if place_of(adapter.program, environ) is None:
            yield MissingProgram(adapter.program, tuple(agents), adapter.install)


# --- versions ---


def said_of_version(program: str, environ: Mapping[str, str], *, patience: float) -> str | None:
    """The first words of `program --version`; None if it does not answer in time. Nothing of it is left alive."""
    place = place_of(program, environ)
    if place is None:
        return None
    process = subprocess.Popen(  # noqa: S603 - a program that the plan names, and Weft knows
        [place, "--version"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={
            **environ,
            "PATH": search_path(environ),
        },  # most are scripts, whose interpreter is looked for, too
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    lines = said.decode(errors="replace").split("\n")
    return next(
        (line.strip()[:_LONGEST_ANSWER] for line in lines if line.strip()), f"exit code {process.returncode}"
    )


def version_of(program: str, environ: Mapping[str, str], *, patience: float) -> str | None:
    """The number alone; None if it tells none in time."""
    said = said_of_version(program, environ, patience=patience)
    found = None if said is None else _VERSION.search(said)
    return None if found is None else found[0]
