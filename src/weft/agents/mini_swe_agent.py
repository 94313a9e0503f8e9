"""mini-SWE-agent: `mini`, which leaves all it did in a file, with how it ended in the first object and the last.

Of a long file only the end is there to be read. So the last `exit_status` counts, and what needs the whole file,
the cost and the tokens, is not known then.
"""

import re
from collections.abc import Mapping
from typing import Any

from weft.agents.failures import Failure, Program
from weft.agents.streams import cost, count, document, inside, objects, words
from weft.agents.totals import together
from weft.agents.verdicts import Story, model_of, settings, verdict
from weft.errors import InputError
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Verdict

PROGRAM = Program(
    use="mini-swe-agent",
    name="mini-SWE-agent",
    end="the exit status `Submitted` in its trajectory",
    sign_in="set the key of the model's provider, such as OPENAI_API_KEY or ANTHROPIC_API_KEY",
)
LONGEST_PROMPT = 2**17 - 100
"""Bytes that fit into one argument of a program on Linux."""
_SETTINGS = {
    "MSWEA_CONFIGURED": "true",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
_STATUS = re.compile(r'"exit_status": ("(?:[^"\\]|\\.){0,200}")')
_SUBMISSION = re.compile(r'"submission": ("(?:[^"\\]|\\.)*")')
_LAST_KEY = '"trajectory_format": "'
_NEAR_THE_END = 200
_EXCEPTION = re.compile(r'"exception_str": ("(?:[^"\\]|\\.)*")')


def invoke(call: AgentCall) -> Invocation:
    size = len(call.prompt.encode(errors="replace"))
    if size > LONGEST_PROMPT:
        raise InputError(
            f"the prompt has {size:,} bytes, and mini-SWE-agent takes it as an argument, which holds "
            f"{LONGEST_PROMPT:,}: put a part of it into a file, or use another agent"
        )
    argv = ("mini", "-y", "--exit-immediately", "-l", "0", *model_of(call, "-m"), "-o", call.result_file)
    return Invocation(argv=(*argv, *call.agent.args, f"--task={call.prompt}"), env=settings(call, _SETTINGS))


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    told = ended.result_file or ""
    whole = document(told)
    # It is written anew after each step, so it may have been cut off.
    is_whole = _LAST_KEY in told[-_NEAR_THE_END:] and told.endswith("}")
    status = _last(_STATUS, told)
    failure = None
    if status not in {"", "Submitted"}:
        failure = Failure(text=": ".join(filter(None, (status, _last(_EXCEPTION, told)))))
    story = Story(
        is_over=is_whole and status == "Submitted",
        failure=failure,
        result=_last(_SUBMISSION, told).strip() if failure is None else "",
        # Of a model whose price it does not know it says 0.
        cost=cost(inside(whole, "info", "model_stats", "instance_cost")) or None,
        usage=_usage(whole),
    )
    return verdict(PROGRAM, ended, story, call)


def _last(pattern: re.Pattern[str], text: str) -> str:
    """The last text that the pattern finds."""
    found = pattern.findall(text)
    return words(inside(document(f'{{"text": {found[-1]}}}'), "text")) if found else ""


def _usage(whole: Mapping[str, Any]) -> Usage | None:
    replies = [
        inside(one, "extra", "response", "usage")
        for one in objects(whole.get("messages"))
        if one.get("role") == "assistant"
    ]
    return together(map(_of_reply, replies))


def _of_reply(told: object) -> Usage | None:
    given, made = count(inside(told, "prompt_tokens")), count(inside(told, "completion_tokens"))
    if given is None or made is None:
        return None
    cached = min(count(inside(told, "prompt_tokens_details", "cached_tokens")) or 0, given)
    return Usage(input=given - cached, output=made, cached_input=cached)
