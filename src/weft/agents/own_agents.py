"""Judge the agents that are Weft's own programs. They report through `result_writer`."""

from msgspec.structs import replace

from weft.agents import command
from weft.agents.shared.result_writer import COULD_NOT
from weft.agents.shared.text import last_line
from weft.engine.messages.facts import StepOutcome
from weft.ports.agent import AgentCall, AgentEnded, Verdict


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    # These programs report limits in the result file. Their other output is about the work, which may mention
    # limits, so it is hidden from the search for limit messages.
    own_output = replace(
        ended, stdout=ended.stdout if ended.exit_code == 0 else "", stderr=last_line(ended.stderr)
    )
    verdict = command.judge(call, own_output)
    # The work was never tried, so the attempt must not count.
    if ended.exit_code == COULD_NOT and verdict.how is StepOutcome.FAILED:
        return replace(verdict, how=StepOutcome.INFRA)
    return verdict
