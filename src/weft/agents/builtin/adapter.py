"""How Weft calls its own small agent, and what became of it."""

import sys

from msgspec.structs import replace

from weft.agents import command
from weft.agents.builtin.settings import COULD_NOT, options_of
from weft.agents.command import PROGRESS_IN, environment, progress
from weft.agents.words import last_line
from weft.engine.run.facts import How
from weft.errors import InputError
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Verdict

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


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    # It reports limits itself. What else it wrote is of the work, which may be about limits.
    said = replace(ended, stdout=ended.stdout if ended.exit_code == 0 else "", stderr=last_line(ended.stderr))
    verdict = command.judge(call, said)
    if ended.exit_code == COULD_NOT and verdict.how is How.FAILED:
        return replace(verdict, how=How.INFRA)
    return verdict
