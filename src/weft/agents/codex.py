"""Codex CLI: `codex exec --json`, a stream of JSON events that ends in `turn.completed` or `turn.failed`.

Events and items called `error` also occur in successful runs: for requests that Codex retried, or for a model it
does not know. Codex reports its usage as the total of the conversation; see `token_totals`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from weft.agents.shared.call_results import summarize
from weft.agents.shared.event_activities import describe_events, report, say, think
from weft.agents.shared.failures import ReportedFailure
from weft.agents.shared.streams import (
    as_text,
    list_objects,
    parse_events,
    read_count,
    read_session,
    value_at,
)
from weft.agents.shared.token_totals import append_usage_mark, split_usage_mark, usage_since
from weft.agents.shared.tool_activities import describe_tool, shell_command
from weft.agents.verdicts import AgentOutput, build_environment, build_verdict, model_option
from weft.plan.agent_program import Access, AgentProgram, Login
from weft.plan.prices import Usage
from weft.ports.activity import Activity, Verb
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


# --- activities ---

_CHANGES = {"add": Verb.WRITES, "delete": Verb.DELETES}


def _describe(event: Mapping[str, Any]) -> Iterator[Activity]:
    match event.get("type"):
        case "item.started" | "item.updated":
            yield from _describe_item(event.get("item"), is_open=True)
        case "item.completed":
            yield from _describe_item(event.get("item"), is_open=False)
        case "turn.failed":
            yield from report(value_at(event, "error", "message"))
        case "error":
            yield from report(event.get("message"))
        case _:
            pass


def _describe_item(item: object, *, is_open: bool) -> Iterator[Activity]:
    call = as_text(value_at(item, "id"))
    match value_at(item, "type"):
        case "command_execution":
            yield _describe_command(item, call, is_open=is_open)
        case "web_search":
            yield Activity(
                verb=Verb.SEARCHES, object=as_text(value_at(item, "query")), call=call, is_open=is_open
            )
        case "mcp_tool_call":
            name = f"mcp__{as_text(value_at(item, 'server'))}__{as_text(value_at(item, 'tool'))}"
            yield describe_tool(name, value_at(item, "arguments"), call=call, is_open=is_open)
        case _ if not is_open:
            yield from _describe_ended(item, call)
        case _:
            pass


def _describe_command(item: object, call: str, *, is_open: bool) -> Activity:
    command = shell_command(value_at(item, "command"))
    outcome, is_bad = "", False
    if not is_open:
        exit_code = value_at(item, "exit_code")
        outcome, is_bad = summarize(
            as_text(value_at(item, "aggregated_output")),
            exit_code=exit_code if isinstance(exit_code, int) else None,
            is_bad=value_at(item, "status") == "failed",
        )
    return Activity(
        verb=Verb.RUNS, object=command, call=call, is_open=is_open, outcome=outcome, is_bad=is_bad
    )


def _describe_ended(item: object, call: str) -> Iterator[Activity]:
    match value_at(item, "type"):
        case "agent_message":
            yield from say(value_at(item, "text"))
        case "reasoning":
            yield from think(value_at(item, "text"))
        case "file_change":
            for number, change in enumerate(list_objects(value_at(item, "changes"))):
                verb = _CHANGES.get(as_text(change.get("kind")), Verb.EDITS)
                is_bad = value_at(item, "status") == "failed"
                yield Activity(
                    verb=verb,
                    object=as_text(change.get("path")),
                    call=f"{call}.{number}",
                    is_bad=is_bad,
                    outcome="failed" if is_bad else "",
                )
        case "todo_list":
            steps = list_objects(value_at(item, "items"))
            done = sum(step.get("completed") is True for step in steps)
            yield Activity(verb=Verb.PLANS, object=f"{done} of {len(steps)} steps done")
        case "error":
            yield from report(value_at(item, "message"))
        case _:
            pass


ADAPTER = AgentAdapter(program=AGENT, invoke=invoke, judge=judge, describe=describe_events(_describe))
