"""Claude Code: `claude -p`, with a stream of JSON that ends in a `result`.

The `result` of a call that failed says `subtype: success`, too; `is_error` is what counts.
"""

from collections.abc import Mapping
from typing import Any, cast

from weft.agents.failures import Failure, Program
from weft.agents.streams import cost, count, events, has_gap, inside, session, values, words
from weft.agents.totals import together
from weft.agents.verdicts import Story, model_of, settings, verdict
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Progress, Verdict

PROGRAM = Program(
    use="claude",
    name="Claude Code",
    end="a `result`",
    sign_in="set ANTHROPIC_API_KEY, or log in once: claude, then /login",
)
_RETRIES = {"CLAUDE_CODE_MAX_RETRIES": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
_AS_ROOT = "cannot be used with root"


def invoke(call: AgentCall) -> Invocation:
    # The last mode counts: `args` may choose a stricter one, but none that is laxer than reading.
    mode = ("--permission-mode", "bypassPermissions")
    reading = ("--permission-mode", "plan") if call.read_only else ()
    argv = ("claude", "-p", "--output-format", "stream-json", "--verbose", *mode, *model_of(call))
    return Invocation(
        argv=(*argv, *_conversation(call), *call.agent.args, *reading),
        stdin=call.prompt,
        env=settings(call, _RETRIES),
    )


def _conversation(call: AgentCall) -> tuple[str, ...]:
    if call.session is None:
        return ()
    return ("--resume", call.session, *(("--fork-session",) if call.fork else ()))


# --- what became of it ---


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    last: Mapping[str, Any] = {}
    name: str | None = None
    for event in events(ended.stdout):
        name = session(event.get("session_id")) or name
        if event.get("type") == "result":
            last = event
    return verdict(PROGRAM, ended, _story(last, name) if last else _cut_off(call, ended, name), call)


def _story(last: Mapping[str, Any], name: str | None) -> Story:
    said = words(last.get("result"))
    is_well = last.get("is_error") is False and last.get("subtype") == "success"
    failure = None
    if not is_well:
        text = (
            said or _listed(last.get("errors")) or f"it ended with {words(last.get('subtype')) or 'an error'}"
        )
        failure = Failure(text=text, status=count(last.get("api_error_status")))
    return Story(
        is_over=is_well,
        failure=failure,
        result=said if is_well else "",
        cost=cost(last.get("total_cost_usd")),
        # Of all models that it called; `usage` leaves out those of its helpers.
        usage=together(map(_of_model, values(last.get("modelUsage")))) or _usage(last.get("usage")),
        session=name,
    )


def _cut_off(call: AgentCall, ended: AgentEnded, name: str | None) -> Story:
    if _AS_ROOT not in ended.stderr:
        spent = None if has_gap(ended.stdout) else progress(call, ended.stdout)
        return Story(usage=None if spent is None else spent.usage, session=name)
    said = (
        "Claude Code does not work without asking as root; if this machine is a sandbox, "
        'say so with `env: {IS_SANDBOX: "1"}` of the agent'
    )
    return Story(failure=Failure(text=said), session=name)


def _listed(errors: object) -> str:
    return "; ".join(map(words, cast("list[object]", errors))) if isinstance(errors, list) else words(errors)


# --- what it spends ---


def _usage(told: object) -> Usage | None:
    return _of_kinds(
        count(inside(told, "input_tokens")),
        count(inside(told, "cache_creation_input_tokens")),
        count(inside(told, "output_tokens")),
        count(inside(told, "cache_read_input_tokens")),
    )


def _of_model(told: object) -> Usage | None:
    return _of_kinds(
        count(inside(told, "inputTokens")),
        count(inside(told, "cacheCreationInputTokens")),
        count(inside(told, "outputTokens")),
        count(inside(told, "cacheReadInputTokens")),
    )


def _of_kinds(fresh: int | None, stored: int | None, made: int | None, cached: int | None) -> Usage | None:
    if fresh is None or made is None:
        return None
    return Usage(input=fresh + (stored or 0), output=made, cached_input=cached or 0)


PROGRESS_IN = "stdout"


def progress(_call: AgentCall, text: str) -> Progress | None:
    """At least so much: what a message has made is not told before the end."""
    messages = {
        words(inside(event, "message", "id")): _usage(inside(event, "message", "usage"))
        for event in events(text)
        if event.get("type") == "assistant"
    }
    usage = together(messages.values())
    return Progress(tokens=usage.total, usage=usage) if usage is not None and usage.total else None
