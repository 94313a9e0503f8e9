"""Outputs of programs that were stopped while they worked, and of one with a command that left a child behind.

`hang` is a model that never answers, and `loop` one that never finishes, each until the timeout; `ended` received
SIGTERM while a command ran. The facts known by then count: the conversation, so that it can be resumed, and the
spending. Aider has no commands. Gemini CLI detects loops by itself and gives up: see `circles`.
"""

from typing import Any

import pytest

from agents.calls import ended
from agents.recorded import USES, call_of, left, output, verdict
from weft.agents.adapters import adapter_of
from weft.engine.messages.facts import StepOutcome
from weft.plan.prices import Usage
from weft.ports.agent import Verdict

BY_SIGTERM: dict[str, Any] = {"exit_code": None, "signal": 15}
ENDS = dict.fromkeys(USES, (BY_SIGTERM, "killed by SIGTERM")) | {
    "claude": ({"exit_code": 143}, "exit code 143"),
    "gemini": ({"exit_code": 0}, "exit code 0"),
    "vibe": ({"exit_code": 3}, "terminated"),
}
"""The way each program ends after SIGTERM, and the message about it."""
NOISE = {
    "gemini": "YOLO mode is enabled. All tool calls will be automatically approved.\n",
    "vibe": "Reading API keys from the system keyring\nStopped: terminated\n",
    "pi": "node:events:502\n      throw er; // Unhandled 'error' event\n\nError: write EPIPE\n",
    "aider": "Warning: Input is not a terminal (fd=0).\n",
    "mini-swe-agent": "Warning: Input is not a terminal (fd=0).\n",
}
"""What they may say to standard error then."""

CLAUDE = "5f0c1d9e-0001-4000-8000-00000000c1ad"
CODEX = "0193c0de-0002-7000-8000-00000000c0de#0/0/0"
GEMINI = "6e3171a0-0003-4000-8000-00006e313141"
OPENCODE = "ses_0004opencode"
GOOSE = "weft-26ea3cd91759df36e152#0/0/0"
VIBE = "0008-vibe"
PI = "0193c0de-0007-7000-8000-0000000000b1"
KNOWN = {
    ("claude", "hang"): (None, None, CLAUDE),
    ("claude", "loop"): (None, 2_002, CLAUDE),
    ("claude", "ended"): (None, 1_001, CLAUDE),
    ("codex", "hang"): (None, None, CODEX),
    ("codex", "loop"): (None, None, CODEX),
    ("codex", "ended"): (None, None, CODEX),
    ("gemini", "hang"): (None, None, GEMINI),
    ("gemini", "ended"): (None, None, GEMINI),
    ("opencode", "hang"): (None, None, None),
    ("opencode", "loop"): (7_500, 2_100, OPENCODE),
    ("opencode", "ended"): (None, None, OPENCODE),
    ("goose", "hang"): (None, None, None),
    ("goose", "loop"): (None, None, GOOSE),
    ("goose", "ended"): (None, None, GOOSE),
    ("vibe", "hang"): (None, None, VIBE),
    ("vibe", "loop"): (None, None, VIBE),
    ("vibe", "ended"): (None, None, VIBE),
    ("pi", "hang"): (None, None, None),
    ("pi", "loop"): (7_500, 2_100, PI),
    ("pi", "ended"): (3_750, 1_050, PI),
    ("aider", "hang"): (None, None, None),
    ("mini-swe-agent", "hang"): (None, None, None),
    ("mini-swe-agent", "loop"): (None, 2_100, None),
    ("mini-swe-agent", "ended"): (None, None, None),
}
"""Cost, tokens and conversation."""
LEFT_A_CHILD = {
    "claude": (7_500, CLAUDE),
    "codex": (None, "0193c0de-0002-7000-8000-00000000c0de#2000/100/0"),
    "gemini": (None, GEMINI),
    "opencode": (7_500, OPENCODE),
    "goose": (None, "weft-26ea3cd91759df36e152#2000/100/0"),
    "vibe": (7_500, VIBE),
    "pi": (7_500, PI),
    "mini-swe-agent": (None, None),
}
"""Cost and conversation."""


def cut_off(use: str, name: str, **how: Any) -> Verdict:
    streams = {"stderr": NOISE.get(use, ""), **left(use, name), **how}
    return adapter_of(use).judge(call_of(use), ended(**streams))


@pytest.mark.parametrize(("use", "name"), KNOWN)
def test_one_that_was_ended_has_failed_and_what_is_known_by_then_counts(use: str, name: str) -> None:
    how, words = ENDS[use]
    agent_verdict = cut_off(use, name, **how)
    assert (agent_verdict.how, words in agent_verdict.message, agent_verdict.until) == (
        StepOutcome.FAILED,
        True,
        None,
    )
    assert (agent_verdict.cost, agent_verdict.tokens, agent_verdict.session) == KNOWN[use, name]
    assert (agent_verdict.usage or Usage()).total == (agent_verdict.tokens or 0)


@pytest.mark.parametrize("end", [{"exit_code": 0}, {"exit_code": None, "signal": 9}], ids=["0", "SIGKILL"])
@pytest.mark.parametrize(("use", "name"), KNOWN)
def test_one_that_was_ended_is_not_done_whatever_its_end(use: str, name: str, end: dict[str, Any]) -> None:
    assert cut_off(use, name, **end).how is StepOutcome.FAILED


@pytest.mark.parametrize(("use", "name"), [case for case in KNOWN if adapter_of(case[0]).progress])
def test_what_was_spent_by_then_is_what_was_reported_at_work(use: str, name: str) -> None:
    adapter = adapter_of(use)
    assert adapter.progress is not None
    progress = adapter.progress(call_of(use), output(use, name))
    assert (progress and progress.cost, progress and progress.tokens) == KNOWN[use, name][:2]


@pytest.mark.parametrize("use", LEFT_A_CHILD)
def test_a_child_that_a_command_left_behind_is_no_failure_of_the_work(use: str) -> None:
    agent_verdict = verdict(use, "child")
    assert (agent_verdict.how, agent_verdict.message, agent_verdict.tokens) == (StepOutcome.DONE, "", 2_100)
    assert (agent_verdict.cost, agent_verdict.session) == LEFT_A_CHILD[use]


def test_claude_whose_output_is_not_whole_has_reported_no_tokens() -> None:
    text = f"{output('claude', 'loop')}\n[… 1,234,567 bytes left out …]\n"
    agent_verdict = adapter_of("claude").judge(call_of("claude"), ended(exit_code=143, stdout=text))
    assert (agent_verdict.tokens, agent_verdict.session) == (None, CLAUDE)


def test_pi_that_ended_by_itself_after_a_call_is_not_done() -> None:
    text = f'{output("pi", "ended")}{{"type":"agent_end"}}\n\n{{"type":"weft_exit","code":0}}\n'
    agent_verdict = adapter_of("pi").judge(call_of("pi"), ended(stdout=text))
    assert (agent_verdict.how, agent_verdict.message) == (
        StepOutcome.FAILED,
        "its last message ended with the reason `toolUse`",
    )
