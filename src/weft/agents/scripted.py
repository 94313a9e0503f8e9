"""An agent that performs a script, for demos and tests. It is a real process; only the model is missing."""

import os

from weft.agents.command import environment, judge, progress
from weft.errors import InputError
from weft.interpreter import isolated_python
from weft.plan.agent_program import AgentProgram
from weft.ports.agent import AgentAdapter, AgentCall, Invocation

AGENT = AgentProgram(
    name="scripted",
    doc="plays the file named by `script`; for demos and tests",
    requires="script",
    forks=True,
)


def invoke(call: AgentCall) -> Invocation:
    agent = call.agent
    if agent.script is None:
        raise InputError(f"the agent {agent.name!r} has no `script`; `use: scripted` needs one")
    script = os.path.join(call.plan_dir, agent.script)  # noqa: PTH118 - only text is needed
    argv = (*isolated_python("weft.agents.player"), script, *agent.args)
    return Invocation(argv=argv, stdin=call.prompt, env=environment(call))


ADAPTER = AgentAdapter(program=AGENT, invoke=invoke, judge=judge, progress=progress)
