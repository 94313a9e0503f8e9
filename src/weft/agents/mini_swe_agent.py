"""mini-SWE-agent: `mini` writes its trajectory to a file, with the exit status in the first object and the last.

Weft reads only the end of a long file. The last `exit_status` therefore decides; the cost and the tokens, which
need the whole file, are then unknown.
"""

import re
from collections.abc import Mapping
from typing import Any

from weft.agents.shared.failures import ReportedFailure
from weft.agents.shared.streams import as_text, list_objects, parse_document, read_cost, read_count, value_at
from weft.agents.shared.token_totals import sum_usage
from weft.agents.verdicts import AgentOutput, build_environment, build_verdict, model_option
from weft.errors import InputError
from weft.plan.agent_program import ANY_KEY, Access, AgentProgram, Login
from weft.plan.prices import Usage
from weft.ports.agent import AgentAdapter, AgentCall, AgentEnded, Invocation, Verdict

AGENT = AgentProgram(
    name="mini-swe-agent",
    doc="mini-SWE-agent",
    title="mini-SWE-agent",
    program="mini",
    install="pip install mini-swe-agent mcp",
    home={"MSWEA_GLOBAL_CONFIG_DIR": ".config/mini-swe-agent"},
    resumes=False,
    end="the exit status `Submitted` in its trajectory",
    sign_in="set the key of the model's provider, such as OPENAI_API_KEY or ANTHROPIC_API_KEY",
    access=Access(
        variables=(ANY_KEY,),
        logins=(Login("mini-swe-agent/.env", ".config", "XDG_CONFIG_HOME"),),
        reports=("cost", "tokens"),
    ),
)
LONGEST_PROMPT = 2**17 - 100
"""The most bytes that fit into one program argument on Linux."""
_SETTINGS = {
    "MSWEA_CONFIGURED": "true",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
_STATUS = re.compile(r'"exit_status": ("(?:[^"\\]|\\.){0,200}")')
_SUBMISSION = re.compile(r'"submission": ("(?:[^"\\]|\\.)*")')
_CLOSING_KEY = '"trajectory_format": "'
_CLOSING_KEY_DISTANCE = 200
_EXCEPTION = re.compile(r'"exception_str": ("(?:[^"\\]|\\.)*")')


def invoke(call: AgentCall) -> Invocation:
    size = len(call.prompt.encode(errors="replace"))
    if size > LONGEST_PROMPT:
        raise InputError(
            f"the prompt has {size:,} bytes, and mini-SWE-agent takes it as an argument, which holds "
            f"{LONGEST_PROMPT:,}: put a part of it into a file, or use another agent"
        )
    argv = ("mini", "-y", "--exit-immediately", "-l", "0", *model_option(call, "-m"), "-o", call.result_file)
    return Invocation(
        # Written with `=`, since a prompt may start with a dash.
        argv=(*argv, *call.agent.args, f"--task={call.prompt}"),
        env=build_environment(call, _SETTINGS),
    )


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    trajectory_text = ended.result_file or ""
    trajectory = parse_document(trajectory_text)
    # mini rewrites the file after each step, so a killed process leaves an incomplete one.
    is_whole = _CLOSING_KEY in trajectory_text[-_CLOSING_KEY_DISTANCE:] and trajectory_text.endswith("}")
    status = _last_match(_STATUS, trajectory_text)
    failure = None
    if status not in {"", "Submitted"}:
        failure = ReportedFailure(
            text=": ".join(filter(None, (status, _last_match(_EXCEPTION, trajectory_text))))
        )
    output = AgentOutput(
        is_over=is_whole and status == "Submitted",
        failure=failure,
        result=_last_match(_SUBMISSION, trajectory_text).strip() if failure is None else "",
        # mini reports 0 for a model without a known price.
        cost=read_cost(value_at(trajectory, "info", "model_stats", "instance_cost")) or None,
        usage=_usage(trajectory),
    )
    return build_verdict(AGENT, ended, output, call)


def _last_match(pattern: re.Pattern[str], text: str) -> str:
    """Returns the JSON string in the last match of the pattern, decoded."""
    matches = pattern.findall(text)
    return as_text(value_at(parse_document(f'{{"text": {matches[-1]}}}'), "text")) if matches else ""


def _usage(trajectory: Mapping[str, Any]) -> Usage | None:
    replies = [
        value_at(message, "extra", "response", "usage")
        for message in list_objects(trajectory.get("messages"))
        if message.get("role") == "assistant"
    ]
    return sum_usage(map(_usage_of_reply, replies))


def _usage_of_reply(usage: object) -> Usage | None:
    input_tokens, output_tokens = (
        read_count(value_at(usage, "prompt_tokens")),
        read_count(value_at(usage, "completion_tokens")),
    )
    if input_tokens is None or output_tokens is None:
        return None
    cached = min(read_count(value_at(usage, "prompt_tokens_details", "cached_tokens")) or 0, input_tokens)
    return Usage(input=input_tokens - cached, output=output_tokens, cached_input=cached)


ADAPTER = AgentAdapter(program=AGENT, invoke=invoke, judge=judge)
