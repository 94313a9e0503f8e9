"""Gemini CLI: a stream of JSON that begins with `init` and ends in a `result`."""

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


def invoke(call: AgentCall) -> Invocation:
    mode = "plan" if call.read_only else "yolo"
    argv = ("gemini", "--output-format", "stream-json", "--approval-mode", mode, "--skip-trust")
    conversation = () if call.session is None else ("--resume", call.session)
    return Invocation(
        argv=(*argv, *model_of(call, "-m"), *conversation, *call.agent.args),
        stdin=call.prompt,
        env=settings(call, {}),
    )


def judge(_call: AgentCall, ended: AgentEnded) -> Verdict:
    name, pieces = None, list[str]()
    last: Mapping[str, Any] = {}
    for event in events(ended.stdout):
        match event.get("type"):
            case "init":
                name = session(event.get("session_id"))
            case "message" if event.get("role") == "assistant":
                pieces.append(words(event.get("content")))
            case "tool_use":
                pieces.clear()  # what it says after its last deed is the answer
            case "result":
                last = event
            case _:
                pass
    is_well = last.get("status") == "success"
    failure = None
    if last and not is_well:
        failure = Failure(text=words(inside(last, "error", "message")) or "it did not say why")
    usage = _usage(last.get("stats"))
    story = Story(is_over=is_well, failure=failure, result="".join(pieces), usage=usage, session=name)
    return verdict(PROGRAM, ended, story)


def _usage(stats: object) -> Usage | None:
    total, given = count(inside(stats, "total_tokens")), count(inside(stats, "input_tokens"))
    if total is None or given is None or given > total:
        return None
    cached = min(count(inside(stats, "cached")) or 0, given)
    # What it has thought is in the total alone, and costs as much as what it has said.
    return Usage(input=given - cached, output=total - given, cached_input=cached)
