"""The programs of agents: which one an agent needs, whether it is installed, and its version.

Only programs that Weft knows are started with `--version`, because a command of a plan may do anything. This
needs neither the network nor a login.
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
    """Returns the program the agent needs; None if it is a part of Weft, or unknown from the shell command."""
    if agent.command is not None:
        return first_word(agent.command)
    return AGENT_PROGRAMS[agent.use].program


def place_of(program: str, environ: Mapping[str, str]) -> str | None:
    """Returns the path of the program; None if it is not on the PATH."""
    return find_program(program, environ)


# --- missing programs ---


class MissingProgram(Struct, frozen=True):
    """A program that steps of a plan need and that is not installed."""

    program: str
    agents: tuple[str, ...]
    install: str
    """The command that installs it."""

    def __str__(self) -> str:
        names = ", ".join(self.agents)
        needed = f"the agent {names} needs" if len(self.agents) == 1 else f"the agents {names} need"
        return f"{needed} {self.program}, which is not on the PATH; to install it, type: {self.install}"


def missing_programs(
    plan: Plan, environ: Mapping[str, str], *, done: Iterable[str] = ()
) -> list[MissingProgram]:
    """Returns the missing programs of the agents that the plan's steps use, as far as Weft knows them.

    A step with its own PATH is not checked: its program may be there.
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


def version_output(program: str, environ: Mapping[str, str], *, patience: float) -> str | None:
    """Returns the first line of `program --version`; None if it takes too long. Kills its whole process group."""
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
        },  # most are scripts; their interpreter is found on the same PATH
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Reaps the process and closes the pipe; without it a killed program would stay as a zombie.
        process.communicate()
    lines = output.decode(errors="replace").split("\n")
    return next(
        (line.strip()[:_LONGEST_ANSWER] for line in lines if line.strip()), f"exit code {process.returncode}"
    )


def version_of(program: str, environ: Mapping[str, str], *, patience: float) -> str | None:
    """Returns the version number alone; None if there is none, or not in time."""
    output = version_output(program, environ, patience=patience)
    match = None if output is None else _VERSION.search(output)
    return None if match is None else match[0]
