"""An agent that plays a file, for demos and tests: a real process, so that all but the thinking is real."""

import os
import sys

from weft.agents.command import PROGRESS_IN, environment, judge, progress
from weft.errors import InputError
from weft.ports.agent import AgentCall, Invocation

__all__ = ["PROGRESS_IN", "invoke", "judge", "progress"]

# -P: else a file of the worktree that is called as a module of Python would be taken for it.
_PLAYER = (sys.executable, "-P", "-m", "weft.agents.player")


def invoke(call: AgentCall) -> Invocation:
    agent = call.agent
    if agent.script is None:
        raise InputError(f"the agent {agent.name!r} has no `script`; `use: scripted` needs one")
    script = os.path.join(call.plan_dir, agent.script)  # noqa: PTH118 - the text is all that is wanted
    return Invocation(argv=(*_PLAYER, script, *agent.args), stdin=call.prompt, env=environment(call))
