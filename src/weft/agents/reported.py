"""What became of an agent whose process is ours: it says so itself, by what `reporting` leaves."""

from msgspec.structs import replace

from weft.agents import command
from weft.agents.reporting import COULD_NOT
from weft.agents.words import last_line
from weft.engine.run.facts import How
from weft.ports.agent import AgentCall, AgentEnded, Verdict


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    # It reports limits itself. What else it wrote is of the work, which may be about limits.
    said = replace(ended, stdout=ended.stdout if ended.exit_code == 0 else "", stderr=last_line(ended.stderr))
    verdict = command.judge(call, said)
    if ended.exit_code == COULD_NOT and verdict.how is How.FAILED:
        return replace(verdict, how=How.INFRA)
    return verdict
