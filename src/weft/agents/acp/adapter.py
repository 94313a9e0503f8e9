"""The adapter for servers of the Agent Client Protocol: it starts Weft's own client with the server's command."""

from msgspec.structs import replace

from weft.agents import command
from weft.agents.command import progress
from weft.agents.own_agents import judge
from weft.agents.shared.activity_lines import describe_activity_line
from weft.errors import InputError
from weft.interpreter import isolated_python
from weft.plan.agent_program import AgentProgram
from weft.ports.agent import AgentAdapter, AgentCall, Invocation

AGENT = AgentProgram(
    name="acp",
    doc="any server of the Agent Client Protocol, named by `command`",
    requires="command",
)


def invoke(call: AgentCall) -> Invocation:
    agent = call.agent
    if agent.command is None:
        raise InputError(
            f"the agent {agent.name!r} has no `command`; `use: acp` needs one, as in `command: [goose, acp]`"
        )
    invocation = command.invoke(call)
    return replace(invocation, argv=(*isolated_python("weft.agents.acp"), *invocation.argv))


ADAPTER = AgentAdapter(
    program=AGENT,
    invoke=invoke,
    judge=judge,
    progress=progress,
    describe_errors=describe_activity_line,
)
