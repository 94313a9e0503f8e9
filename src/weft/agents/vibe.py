"""Mistral Vibe: `vibe -p`, which leaves how it ended in `export.json` of a directory; its answer is its output.

That file is copied to where a report is looked for, also if the process was asked to end: Vibe writes it even
then.
"""

from weft.agents.failures import Failure, Program
from weft.agents.streams import cost, count, document, inside, session, words
from weft.agents.verdicts import Story, settings, verdict
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Verdict

PROGRAM = Program(
    use="vibe",
    name="Vibe",
    end="an `export.json` with the outcome `finished`",
    sign_in="set MISTRAL_API_KEY (or what `api_key_env_var` in Vibe's config.toml names), or type: vibe --setup",
)
_SCRIPT = """\
trap : TERM INT
told=$1/export.json
shift
"$@"
code=$?
[ ! -f "$told" ] || cat "$told" >"$WEFT_RESULT"
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
        env=settings(call, {"VIBE_ACTIVE_MODEL": model} if model else {}),
    )


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    export = document(ended.result_file)
    outcome = words(export.get("outcome"))
    is_well = outcome == "finished" and not export.get("error")
    failure = None
    if export and not is_well:
        told = words(inside(export, "error", "message"))
        failure = Failure(text=": ".join(filter(None, (f"it ended with {outcome or 'no outcome'}", told))))
    story = Story(
        is_over=is_well,
        failure=failure,
        result=ended.stdout.strip(),
        cost=cost(export.get("cost_usd")),
        usage=_usage(export.get("usage")),
        session=session(export.get("session_id")),
    )
    return verdict(PROGRAM, ended, story, call)


def _usage(told: object) -> Usage | None:
    total, given = count(inside(told, "total_tokens")), count(inside(told, "input_tokens"))
    made, cached = count(inside(told, "output_tokens")), count(inside(told, "cached_input_tokens"))
    if total is None or given is None or made is None:
        return None
    # Whether input has the cached tokens in it, the total says.
    cached = min(cached or 0, given) if given + made == total else cached or 0
    fresh = given - cached if given + made == total else given
    return Usage(input=fresh, output=made, cached_input=cached)
