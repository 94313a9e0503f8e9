"""How Weft calls its own small agent, and what became of it."""

import sys

from weft.agents.builtin.settings import options_of
from weft.agents.command import PROGRESS_IN, environment, progress
from weft.agents.reported import judge
from weft.errors import InputError
from weft.ports.agent import AgentCall, Invocation

__all__ = ["PROGRESS_IN", "invoke", "judge", "progress"]

# -P: else a file of the worktree that is called as a module of Python would be taken for it.
_PROGRAM = (sys.executable, "-P", "-m", "weft.agents.builtin")


def invoke(call: AgentCall) -> Invocation:
    agent = call.agent
    if not (call.model or agent.model):
        raise InputError(
            f"the agent {agent.name!r} has no `model`; `use: builtin` needs one, as in `model: NAME`"
        )
    options_of(agent.args)
    return Invocation(argv=(*_PROGRAM, *agent.args), stdin=call.prompt, env=environment(call))
