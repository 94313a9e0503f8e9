"""Codex CLI: `codex exec --json`, a stream of JSON events that ends in `turn.completed` or `turn.failed`.

Events and items called `error` also occur in successful runs: for requests that Codex retried, or for a model it
does not know. Codex reports its usage as the total of the conversation; see `token_totals`.
"""

from collections.abc import Mapping
from typing import Any

from weft.agents.shared.failures import ReportedFailure
from weft.agents.shared.streams import as_text, parse_events, read_count, read_session, value_at
from weft.agents.shared.token_totals import append_usage_mark, split_usage_mark, usage_since
from weft.agents.verdicts import AgentOutput, build_environment, build_verdict, model_option
from weft.plan.agent_program import Access, AgentProgram, Login
from weft.plan.prices import Usage
from weft.ports.agent import AgentAdapter, AgentCall, AgentEnded, Invocation, Verdict

AGENT = AgentProgram(
    name="codex",
    doc="Codex CLI",
    title="Codex",
    program="codex",
    install="npm install -g @openai/codex",
    home={"CODEX_HOME": ".codex"},
    forks=True,
    reads_only=True,
    end="`turn.completed`",
    sign_in="set CODEX_API_KEY (OPENAI_API_KEY is not read) or what `env_key` in its config.toml names, "
    "or log in once: codex login",
    access=Access(
        variables=("CODEX_API_KEY",),
        logins=(Login("auth.json", ".codex", "CODEX_HOME"),),
        reports=("tokens",),
    ),
)
_SANDBOX_OPTIONS = ("-s", "--sandbox", "--dangerously-bypass-approvals-and-sandbox", "--approve-for-me")


def invoke(call: AgentCall) -> Invocation:
    argv = ("codex", "exec", "--json", "--skip-git-repo-check", *_sandbox(call), *model_option(call, "-m"))
    return Invocation(
        # `resume` and `fork` are subcommands and follow all options; `-` reads the prompt from standard input.
        argv=(*argv, *call.agent.args, *_conversation(call), "-"),
        stdin=call.prompt,
        env=build_environment(call, {}),
    )


def _sandbox(call: AgentCall) -> tuple[str, ...]:
    if call.read_only:
        return ("-s", "read-only")
    # Codex rejects the option if it occurs twice, so one in `args` replaces the default.
    if any(arg.partition("=")[0] in _SANDBOX_OPTIONS for arg in call.agent.args):
        return ()
    return ("-s", "workspace-write")


def _conversation(call: AgentCall) -> tuple[str, ...]:
    if call.session is None:
        return ()
    return ("fork" if call.fork else "resume", split_usage_mark(call.session)[0])


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    thread_id, result = None, ""
    turn_event: Mapping[str, Any] = {}
    error_text: str | None = None
    for event in parse_events(ended.stdout):
        match event.get("type"):
            case "thread.started":
                thread_id = read_session(event.get("thread_id"))
            case "item.completed" if value_at(event, "item", "type") == "agent_message":
                result = as_text(value_at(event, "item", "text"))
            case "turn.started" | "turn.completed" | "turn.failed":
                turn_event = event
            case "error":
                error_text = as_text(event.get("message"))
            case _:
                pass
    total = _parse_total(turn_event.get("usage"))
    return build_verdict(
        AGENT,
        ended,
        AgentOutput(
            is_over=turn_event.get("type") == "turn.completed",
            # With exit code 0 an `error` event was about something that Codex has overcome.
            failure=_find_failure(turn_event, error_text if ended.exit_code else None),
            result=result,
            usage=usage_since(call.session, total),
            session=None if thread_id is None else append_usage_mark(thread_id, total, before=call.session),
        ),
        call,
    )


def _find_failure(turn_event: Mapping[str, Any], error_text: str | None) -> ReportedFailure | None:
    if turn_event.get("type") == "turn.failed":
        return ReportedFailure(
            text=as_text(value_at(turn_event, "error", "message")) or error_text or "it did not say why"
        )
    # A process that exited without ending its turn may have died of this error.
    return (
        ReportedFailure(text=error_text)
        if error_text and turn_event.get("type") != "turn.completed"
        else None
    )


def _parse_total(usage: object) -> Usage | None:
    input_tokens, output_tokens = (
        read_count(value_at(usage, "input_tokens")),
        read_count(value_at(usage, "output_tokens")),
    )
    if input_tokens is None or output_tokens is None:
        return None
    cached = min(read_count(value_at(usage, "cached_input_tokens")) or 0, input_tokens)
    return Usage(input=input_tokens - cached, output=output_tokens, cached_input=cached)


ADAPTER = AgentAdapter(program=AGENT, invoke=invoke, judge=judge)
