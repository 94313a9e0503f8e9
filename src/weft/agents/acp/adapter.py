"""How Weft calls a server of the Agent Client Protocol, and what became of it."""

import sys

from msgspec.structs import replace

from weft.agents import command
from weft.agents.command import PROGRESS_IN, progress
from weft.agents.reported import judge
from weft.errors import InputError
from weft.ports.agent import AgentCall, Invocation

__all__ = ["PROGRESS_IN", "invoke", "judge", "progress"]

# -P: else a file of the worktree that is called as a module of Python would be taken for it.
_PROGRAM = (sys.executable, "-P", "-m", "weft.agents.acp")


def invoke(call: AgentCall) -> Invocation:
    agent = call.agent
    if agent.command is None:
        raise InputError(
            f"the agent {agent.name!r} has no `command`; `use: acp` needs one, as in `command: [goose, acp]`"
        )
    called = command.invoke(call)
    return replace(called, argv=(*_PROGRAM, *called.argv))
