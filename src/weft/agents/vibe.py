"""Mistral Vibe: `vibe -p` writes the answer to standard output and the outcome to `export.json` in a directory.

A shell script copies that file to the result file. It does so after SIGTERM, too, because Vibe writes the file
even then.
"""

from weft.agents.shared.failures import ReportedFailure
from weft.agents.shared.streams import as_text, parse_document, read_cost, read_count, read_session, value_at
from weft.agents.verdicts import AgentOutput, build_environment, build_verdict
from weft.plan.agent_program import Access, AgentProgram, Login
from weft.plan.prices import Usage
from weft.ports.agent import AgentAdapter, AgentCall, AgentEnded, Invocation, Verdict

AGENT = AgentProgram(
    name="vibe",
    doc="Mistral Vibe",
    title="Vibe",
    program="vibe",
    install="pip install mistral-vibe",
    home={"VIBE_HOME": ".vibe"},
    end="an `export.json` with the outcome `finished`",
    sign_in="set MISTRAL_API_KEY (or what `api_key_env_var` in Vibe's config.toml names), or type: vibe --setup",
    access=Access(
        variables=("MISTRAL_API_KEY",),
        logins=(Login(".env", ".vibe", "VIBE_HOME"),),
        reports=("cost", "tokens"),
    ),
)
_SCRIPT = """\
trap : TERM INT
export=$1/export.json
shift
"$@"
code=$?
[ ! -f "$export" ] || cat "$export" >"$WEFT_RESULT"
exit "$code"
"""


def invoke(call: AgentCall) -> Invocation:
    folder = f"{call.result_file.removesuffix('.json')}.vibe"
    argv = ("vibe", "--output", "text", "--auto-approve", "--trust", "--output-dir", folder)
    conversation = () if call.session is None else ("--resume", call.session)
    model = call.model or call.agent.model
    return Invocation(
        argv=("/bin/sh", "-c", _SCRIPT, "sh", folder, *argv, *conversation, *call.agent.args, "-p"),
        stdin=call.prompt,
        env=build_environment(call, {"VIBE_ACTIVE_MODEL": model} if model else {}),
    )


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    export = parse_document(ended.result_file)
    outcome = as_text(export.get("outcome"))
    is_well = outcome == "finished" and not export.get("error")
    failure = None
    if export and not is_well:
        detail = as_text(value_at(export, "error", "message"))
        failure = ReportedFailure(
            text=": ".join(filter(None, (f"it ended with {outcome or 'no outcome'}", detail)))
        )
    output = AgentOutput(
        is_over=is_well,
        failure=failure,
        result=ended.stdout.strip(),
        cost=read_cost(export.get("cost_usd")),
        usage=_usage(export.get("usage")),
        session=read_session(export.get("session_id")),
    )
    return build_verdict(AGENT, ended, output, call)


def _usage(usage: object) -> Usage | None:
    total, input_tokens = (
        read_count(value_at(usage, "total_tokens")),
        read_count(value_at(usage, "input_tokens")),
    )
    output_tokens, cached = (
        read_count(value_at(usage, "output_tokens")),
        read_count(value_at(usage, "cached_input_tokens")),
    )
    if total is None or input_tokens is None or output_tokens is None:
        return None
    # Some providers count cached tokens as input. They do if input and output alone add up to the total.
    cached = min(cached or 0, input_tokens) if input_tokens + output_tokens == total else cached or 0
    fresh = input_tokens - cached if input_tokens + output_tokens == total else input_tokens
    return Usage(input=fresh, output=output_tokens, cached_input=cached)


ADAPTER = AgentAdapter(program=AGENT, invoke=invoke, judge=judge)
