"""Codex CLI: `codex exec --json`, a stream of JSON that ends in `turn.completed` or `turn.failed`.

Events and items called `error` come in good runs, too: of tries that it did again, of a model unknown to it.
What it has used, it tells as the total of the conversation, see `totals`.
"""

from collections.abc import Mapping
from typing import Any

from weft.agents.failures import Failure, Program
from weft.agents.streams import count, events, inside, session, words
from weft.agents.totals import marked, unmarked, used_since
from weft.agents.verdicts import Story, model_of, settings, verdict
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Verdict

PROGRAM = Program(
    use="codex",
    name="Codex",
    end="`turn.completed`",
    sign_in="set CODEX_API_KEY (OPENAI_API_KEY is not read) or what `env_key` in its config.toml names, "
    "or log in once: codex login",
)
_BY_USER = ("-s", "--sandbox", "--dangerously-bypass-approvals-and-sandbox", "--approve-for-me")


def invoke(call: AgentCall) -> Invocation:
    argv = ("codex", "exec", "--json", "--skip-git-repo-check", *_sandbox(call), *model_of(call, "-m"))
    return Invocation(
        argv=(*argv, *call.agent.args, *_conversation(call), "-"), stdin=call.prompt, env=settings(call, {})
    )


def _sandbox(call: AgentCall) -> tuple[str, ...]:
    if call.read_only:
        return ("-s", "read-only")
    # Given twice it is an error, so that of `args` is the one.
    if any(arg.partition("=")[0] in _BY_USER for arg in call.agent.args):
        return ()
    return ("-s", "workspace-write")


def _conversation(call: AgentCall) -> tuple[str, ...]:
    if call.session is None:
        return ()
    return ("fork" if call.fork else "resume", unmarked(call.session)[0])


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    name, result = None, ""
    last: Mapping[str, Any] = {}
    trouble: str | None = None
    for event in events(ended.stdout):
        match event.get("type"):
            case "thread.started":
                name = session(event.get("thread_id"))
            case "item.completed" if inside(event, "item", "type") == "agent_message":
                result = words(inside(event, "item", "text"))
            case "turn.started" | "turn.completed" | "turn.failed":
                last = event
            case "error":
                trouble = words(event.get("message"))
            case _:
                pass
    total = _total(last.get("usage"))
    return verdict(
        PROGRAM,
        ended,
        Story(
            is_over=last.get("type") == "turn.completed",
            failure=_failure(last, trouble if ended.exit_code else None),
            result=result,
            usage=used_since(call.session, total),
            session=None if name is None else marked(name, total, before=call.session),
        ),
        call,
    )


def _failure(last: Mapping[str, Any], trouble: str | None) -> Failure | None:
    if last.get("type") == "turn.failed":
        return Failure(text=words(inside(last, "error", "message")) or trouble or "it did not say why")
    # Of a process that ended without a turn's end, it may be the reason.
    return Failure(text=trouble) if trouble and last.get("type") != "turn.completed" else None


def _total(told: object) -> Usage | None:
    given, made = count(inside(told, "input_tokens")), count(inside(told, "output_tokens"))
    if given is None or made is None:
        return None
    cached = min(count(inside(told, "cached_input_tokens")) or 0, given)
    return Usage(input=given - cached, output=made, cached_input=cached)
