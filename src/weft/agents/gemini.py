"""Gemini CLI: a stream of JSON that begins with `init` and ends in a `result`.

An `error` may be of something that it has overcome. If nothing comes between one and a `result` that says
`success`, it has given up: it noticed that it went in circles, or had no turns left.
"""

from collections.abc import Mapping
from typing import Any

from weft.agents.failures import Failure, Program
from weft.agents.streams import count, events, inside, session, words
from weft.agents.verdicts import Story, model_of, settings, verdict
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Verdict

PROGRAM = Program(
    use="gemini",
    name="Gemini CLI",
    end="a `result`",
    sign_in="set GEMINI_API_KEY, or log in once: gemini, then /auth",
)

_OVER_QUOTA, _TOO_MANY = "request a quota increase", 429
"""What it says instead of the status when it has given up on a limit."""


def invoke(call: AgentCall) -> Invocation:
    mode = "plan" if call.read_only else "yolo"
    argv = ("gemini", "--output-format", "stream-json", "--approval-mode", mode, "--skip-trust")
    conversation = () if call.session is None else ("--resume", call.session)
    return Invocation(
        argv=(*argv, *model_of(call, "-m"), *conversation, *call.agent.args),
        stdin=call.prompt,
        env=settings(call, {}),
    )


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    name, pieces, trouble = None, list[str](), ""
    last: Mapping[str, Any] = {}
    for event in events(ended.stdout):
        match event.get("type"):
            case "init":
                name = session(event.get("session_id"))
            case "message" if event.get("role") == "assistant":
                pieces.append(words(event.get("content")))
                trouble = ""
            case "tool_use":
                trouble = ""
                pieces.clear()  # what it says after its last deed is the answer
            case "error":
                trouble = words(event.get("message"))
            case "result":
                last = event
            case _:
                pass
    failure = _failure(last, trouble)
    usage = _usage(last.get("stats"))
    if failure is not None and usage is not None and not usage.total:
        name = None  # it keeps no conversation in which nobody has answered
    is_over = bool(last) and failure is None
    story = Story(is_over=is_over, failure=failure, result="".join(pieces), usage=usage, session=name)
    return verdict(PROGRAM, ended, story, call)


def _failure(last: Mapping[str, Any], trouble: str) -> Failure | None:
    if not last or (last.get("status") == "success" and not trouble):
        return None
    said = words(inside(last, "error", "message")) or trouble or "it did not say why"
    return Failure(text=said, status=_TOO_MANY if _OVER_QUOTA in said else None)


def _usage(stats: object) -> Usage | None:
    total, given = count(inside(stats, "total_tokens")), count(inside(stats, "input_tokens"))
    if total is None or given is None or given > total:
        return None
    cached = min(count(inside(stats, "cached")) or 0, given)
    # What it has thought is in the total alone, and costs as much as what it has said.
    return Usage(input=given - cached, output=total - given, cached_input=cached)
