"""The adapter for Weft's own small agent."""

from weft.agents.builtin import chat, messages
from weft.agents.builtin.settings import parse_options
from weft.agents.command import environment, progress
from weft.agents.own_agents import judge
from weft.agents.shared.activity_lines import describe_activity_line
from weft.errors import InputError
from weft.interpreter import isolated_python
from weft.plan.agent_program import Access, AgentProgram
from weft.ports.agent import AgentAdapter, AgentCall, Invocation

_VARIABLES = (chat.KEY, chat.BASE, messages.KEY, messages.BASE)
AGENT = AgentProgram(
    name="builtin",
    doc="a small agent of Weft's own, for users with a key to a model but no agent",
    forks=True,
    reads_only=True,
    needs_model=True,
    sign_in=f"set one of {', '.join(_VARIABLES)}",
    access=Access(variables=_VARIABLES, reports=("tokens",)),
)


def invoke(call: AgentCall) -> Invocation:
    agent = call.agent
    if not (call.model or agent.model):
        raise InputError(
            f"the agent {agent.name!r} has no `model`; `use: builtin` needs one, as in `model: NAME`"
        )
    parse_options(agent.args)
    argv = (*isolated_python("weft.agents.builtin"), *agent.args)
    return Invocation(argv=argv, stdin=call.prompt, env=environment(call))


ADAPTER = AgentAdapter(
    program=AGENT,
    invoke=invoke,
    judge=judge,
    progress=progress,
    describe_errors=describe_activity_line,
)
