"""Aider: prose, and exit code 0 also after errors. After each answer it tells the tokens: that is its end event.

An error is a line of LiteLLM's, the library it calls models with, and nothing good after it. Only rounded numbers
are told: `1.2k` tokens.
"""

import re

from weft.agents.failures import Failure, Program
from weft.agents.streams import cost, has_gap
from weft.agents.verdicts import Story, model_of, settings, verdict
from weft.agents.words import plain
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Verdict

PROGRAM = Program(
    use="aider",
    name="Aider",
    end="a line that tells its tokens",
    sign_in="set the key of the model's provider, such as OPENAI_API_KEY or ANTHROPIC_API_KEY",
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
_BEFORE = re.compile(
    r"^(?:Repo-map:.*|Added .* to the chat\.|Applied edit to .*|https://aider\.chat/.*)$", re.MULTILINE
)
"""What comes before an answer, and is none."""
_MOST_OF_AN_ERROR = 2_000


def invoke(call: AgentCall) -> Invocation:
    base = call.result_file.removesuffix(".json")
    # Its map of the repository would leave a cache in the worktree, and its histories would be there, too.
    files = ("--chat-history-file", f"{base}.aider.md", "--input-history-file", f"{base}.aider.txt")
    argv = ("aider", *model_of(call), "--message-file", "/dev/stdin", *_FLAGS, "--map-tokens", "0", *files)
    return Invocation(
        argv=(*argv, *call.agent.args),
        stdin=call.prompt,
        env=settings(call, {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}),
    )


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    text = plain(ended.stdout)
    answers = [*_TOKENS.finditer(text)]
    after = answers[-1].end() if answers else 0
    wrong = [*_ERROR.finditer(text, after)]
    spent = [] if has_gap(text) else answers
    story = Story(
        is_over=bool(answers),
        failure=Failure(text=text[wrong[-1].start() :][:_MOST_OF_AN_ERROR].strip()) if wrong else None,
        result=_answer(text, answers),
        cost=cost(float(spent[-1][4])) if spent and _is_number(spent[-1][4]) else None,
        usage=_usage(spent),
    )
    return verdict(PROGRAM, ended, story, call)


def _answer(text: str, answers: list[re.Match[str]]) -> str:
    """The last one: what stands between the tokens of the one before, or what else came before it, and its own."""
    if not answers:
        return ""
    end = answers[-1].start()
    start = max((one.end() for one in (*answers[:-1], *_BEFORE.finditer(text, 0, end))), default=0)
    return text[start:end].strip()


def _is_number(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"\d+(?:\.\d+)?", text) is not None


def _usage(answers: list[re.Match[str]]) -> Usage | None:
    if not answers:
        return None
    sent, cached, received = (sum(_tokens(one[part]) for one in answers) for part in (1, 2, 3))
    return Usage(input=max(sent - cached, 0), output=received, cached_input=min(cached, sent))


def _tokens(text: str | None) -> int:
    if text is None:
        return 0
    return round(float(text.removesuffix("k")) * (1000 if text.endswith("k") else 1))
