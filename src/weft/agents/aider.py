"""Aider: plain text, and exit code 0 even after errors. It prints a token count after each answer: the end event.

An error is a line of LiteLLM, the library with which Aider calls models, that no further answer follows. Token
counts are rounded: `1.2k`.
"""

import re

from weft.agents.shared.failures import ReportedFailure
from weft.agents.shared.streams import has_gap, read_cost
from weft.agents.shared.text import strip_control_codes
from weft.agents.verdicts import AgentOutput, build_environment, build_verdict, model_option
from weft.plan.agent_program import ANY_KEY, Access, AgentProgram, Login
from weft.plan.prices import Usage
from weft.ports.activity import Activity, LineDescription, Verb
from weft.ports.agent import AgentAdapter, AgentCall, AgentEnded, Invocation, Verdict

AGENT = AgentProgram(
    name="aider",
    doc="Aider",
    title="Aider",
    program="aider",
    install="pip install aider-chat",
    resumes=False,
    end="a line with its token count",
    sign_in="set the key of the model's provider, such as OPENAI_API_KEY or ANTHROPIC_API_KEY",
    access=Access(
        variables=(ANY_KEY,),
        logins=(Login(".aider.conf.yml", ""),),
        reports=("cost", "tokens"),
    ),
)
_FLAGS = (
    *("--yes-always", "--no-stream", "--no-pretty", "--no-show-model-warnings"),
    *("--no-auto-commits", "--no-dirty-commits", "--no-gitignore", "--no-check-update", "--no-analytics"),
)
_NUMBER = r"\d{1,12}(?:\.\d{1,6})?k?"
_TOKENS = re.compile(
    rf"^Tokens:\s({_NUMBER})\ssent,(?:\s{_NUMBER}\scache\swrite,)?(?:\s({_NUMBER})\scache\shit,)?\s({_NUMBER})"
    r"\sreceived\.(?:\s+Cost:\s\$[\d.,]{1,20}\smessage,\s+\$([\d.]{1,20})\ssession\.)?",
    re.MULTILINE,
)
_ERROR = re.compile(r"^(?:litellm\.\w{1,60}:|Only \d{1,3} reflections allowed)", re.MULTILINE)
_PREAMBLE = re.compile(
    r"^(?:Repo-map:.*|Added .* to the chat\.|Applied edit to .*|https://aider\.chat/.*)$", re.MULTILINE
)
"""Lines that may precede an answer and are not part of it."""
_MOST_OF_AN_ERROR = 2_000


def invoke(call: AgentCall) -> Invocation:
    base = call.result_file.removesuffix(".json")
    # The repository map would leave a cache in the worktree, so it is off. The histories go next to the result
    # file.
    files = ("--chat-history-file", f"{base}.aider.md", "--input-history-file", f"{base}.aider.txt")
    argv = (
        "aider",
        *model_option(call),
        "--message-file",
        "/dev/stdin",
        *_FLAGS,
        "--map-tokens",
        "0",
        *files,
    )
    return Invocation(
        argv=(*argv, *call.agent.args),
        stdin=call.prompt,
        env=build_environment(call, {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}),
    )


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    output_text = strip_control_codes(ended.stdout)
    answers = [*_TOKENS.finditer(output_text)]
    answers_end = answers[-1].end() if answers else 0
    # Only after the last answer: Aider retries by itself, and an error that an answer followed has been overcome.
    errors = [*_ERROR.finditer(output_text, answers_end)]
    # Costs are printed as a sum for the session, but token counts per answer; with a gap some of them are missing.
    complete_answers = [] if has_gap(output_text) else answers
    output = AgentOutput(
        is_over=bool(answers),
        failure=ReportedFailure(text=output_text[errors[-1].start() :][:_MOST_OF_AN_ERROR].strip())
        if errors
        else None,
        result=_last_answer(output_text, answers),
        cost=read_cost(float(complete_answers[-1][4]))
        if complete_answers and _is_number(complete_answers[-1][4])
        else None,
        usage=_sum_tokens(complete_answers),
    )
    return build_verdict(AGENT, ended, output, call)


def _last_answer(text: str, answers: list[re.Match[str]]) -> str:
    """Returns the last answer: the text between the previous token count or preamble line and its own count."""
    if not answers:
        return ""
    end = answers[-1].start()
    start = max((match.end() for match in (*answers[:-1], *_PREAMBLE.finditer(text, 0, end))), default=0)
    return text[start:end].strip()


def _is_number(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"\d+(?:\.\d+)?", text) is not None


def _sum_tokens(answers: list[re.Match[str]]) -> Usage | None:
    if not answers:
        return None
    sent, cached, received = (sum(_parse_tokens(answer[part]) for answer in answers) for part in (1, 2, 3))
    return Usage(input=max(sent - cached, 0), output=received, cached_input=min(cached, sent))


def _parse_tokens(text: str | None) -> int:
    if text is None:
        return 0
    return round(float(text.removesuffix("k")) * (1000 if text.endswith("k") else 1))


_EDITED = re.compile(r"^Applied edit to (\S.{0,500})$")


def _describe(line: str) -> LineDescription | None:
    """Describes the lines about edits. Aider writes prose, so all other lines stay as they are."""
    match = _EDITED.match(line)
    return None if match is None else (Activity(verb=Verb.EDITS, object=match[1]),)


ADAPTER = AgentAdapter(program=AGENT, invoke=invoke, judge=judge, describe=_describe)
