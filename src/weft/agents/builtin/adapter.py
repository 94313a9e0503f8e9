"""The adapter for Weft's own small agent."""

from weft.agents.builtin.settings import parse_options
from weft.agents.command import PROGRESS_IN, environment, progress
from weft.agents.own_agents import judge
from weft.errors import InputError
from weft.interpreter import isolated_python
from weft.ports.agent import AgentCall, Invocation

__all__ = ["PROGRESS_IN", "invoke", "judge", "progress"]


def invoke(call: AgentCall) -> Invocation:
    agent = call.agent
    if not (call.model or agent.model):
        raise InputError(
            f"the agent {agent.name!r} has no `model`; `use: builtin` needs one, as in `model: NAME`"
        )
    parse_options(agent.args)
    argv = (*isolated_python("weft.agents.builtin"), *agent.args)
    return Invocation(argv=argv, stdin=call.prompt, env=environment(call))
