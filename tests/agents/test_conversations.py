"""The conversations that can be resumed, by the outputs of agents' programs."""

import pytest

from agents.recorded import judged, output, verdict
from weft.engine.messages.facts import StepOutcome

TELL_EARLY = {
    "claude": "5f0c1d9e-0001-4000-8000-00000000c1ad",
    "codex": "0193c0de-0002-7000-8000-00000000c0de#0/0/0",
    "gemini": "6e3171a0-0003-4000-8000-00006e313141",
    "opencode": "ses_0004opencode",
    "goose": "weft-26ea3cd91759df36e152#0/0/0",
}


@pytest.mark.parametrize("use", TELL_EARLY)
def test_one_that_was_killed_after_its_first_line_has_reported_its_conversation(use: str) -> None:
    first = output(use, "good").splitlines(keepends=True)[0]
    agent_verdict = judged(use, first, exit_code=None, signal=9)
    assert (agent_verdict.how, agent_verdict.session) == (StepOutcome.FAILED, TELL_EARLY[use])


@pytest.mark.parametrize("use", sorted({*TELL_EARLY, "pi"} - {"gemini"}))
@pytest.mark.parametrize("name", ["limited", "broken"])
def test_what_a_limit_or_a_broken_line_cut_short_can_be_resumed(use: str, name: str) -> None:
    assert verdict(use, name, exit_code=1).session is not None
