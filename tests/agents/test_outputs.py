"""What all adapters of programs have in common: what is done, what failed, and what is worth another try."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.calls import NOW, ended
from agents.recorded import EXIT_CODES, LEAVE_A_FILE, USES, call_of, judged, output, verdict
from weft.agents.adapters import adapter_of
from weft.agents.shared.usage_limits import UNKNOWN
from weft.engine.messages.facts import StepOutcome
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.ports.agent import Verdict

STREAMS = tuple(use for use in USES if use not in LEAVE_A_FILE)
LINES = tuple(use for use in STREAMS if use != "aider")
EXPECTED = {
    "claude": (12_300, 2_100, "5f0c1d9e-0001-4000-8000-00000000c1ad"),
    "codex": (None, 2_100, "0193c0de-0002-7000-8000-00000000c0de#1500/100/500"),
    "gemini": (None, 2_150, "6e3171a0-0003-4000-8000-00006e313141"),
    "opencode": (7_000, 2_110, "ses_0004opencode"),
    "goose": (None, 2_100, "weft-26ea3cd91759df36e152#2000/100/0"),
    "vibe": (7_500, 2_100, "0008-vibe"),
    "pi": (7_000, 2_110, "0193c0de-0007-7000-8000-0000000000b1"),
    "aider": (7_000, 2_300, None),
    "mini-swe-agent": (7_100, 2_100, None),
}
KEYS = {
    "claude": "ANTHROPIC_API_KEY",
    "codex": "CODEX_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "opencode": "ANTHROPIC_API_KEY",
    "goose": "OPENAI_API_KEY",
    "vibe": "MISTRAL_API_KEY",
    "pi": "ANTHROPIC_API_KEY",
    "aider": "OPENAI_API_KEY",
    "mini-swe-agent": "OPENAI_API_KEY",
}


def of_error(use: str, name: str) -> Verdict:
    return verdict(use, name, exit_code=EXIT_CODES[use])


@pytest.mark.parametrize("use", USES)
def test_a_good_end_is_done_with_what_it_cost(use: str) -> None:
    agent_verdict = verdict(use, "good")
    assert (agent_verdict.how, agent_verdict.message, agent_verdict.until) == (StepOutcome.DONE, "", None)
    assert (agent_verdict.cost, agent_verdict.tokens, agent_verdict.session) == EXPECTED[use]


@pytest.mark.parametrize("use", USES)
def test_the_result_is_the_last_message(use: str) -> None:
    assert verdict(use, "good").result == "All is done."


@pytest.mark.parametrize("use", USES)
def test_the_kinds_of_tokens_come_to_their_sum(use: str) -> None:
    agent_verdict = verdict(use, "good")
    assert agent_verdict.usage is not None
    assert agent_verdict.usage.total == agent_verdict.tokens


@pytest.mark.parametrize("use", USES)
def test_without_a_key_it_failed_and_it_is_said_which_variable_to_set(use: str) -> None:
    agent_verdict = of_error(use, "refused")
    assert agent_verdict.how is StepOutcome.FAILED
    assert KEYS[use] in agent_verdict.message


@pytest.mark.parametrize("use", USES)
def test_a_missing_model_is_a_failure_that_names_it_and_its_origin(use: str) -> None:
    text = output(use, "no_model")
    ends = {"stdout": "", "result_file": text} if use in LEAVE_A_FILE else {"stdout": text}
    by_agent = call_of(use, agent={"model": "gone-1"}, model="gone-1")
    by_step = call_of(use, agent={"model": "other"}, model="gone-1")
    verdicts = [
        adapter_of(use).judge(call, ended(exit_code=EXIT_CODES[use], **ends)) for call in (by_agent, by_step)
    ]
    assert [agent_verdict.how for agent_verdict in verdicts] == [StepOutcome.FAILED] * 2
    assert "the model 'gone-1' is that of the agent 'coder'; name a model" in verdicts[0].message
    assert "the model 'gone-1' is that of the step or its subplan; name a model" in verdicts[1].message


@pytest.mark.parametrize("use", USES)
def test_a_usage_limit_without_a_reported_end_has_the_default_length(use: str) -> None:
    agent_verdict = of_error(use, "limited")
    assert (agent_verdict.how, agent_verdict.until) == (StepOutcome.LIMITED, NOW + UNKNOWN)
    assert agent_verdict.message.startswith("it met a usage limit: ")


@pytest.mark.parametrize("use", USES)
def test_the_end_of_a_usage_limit_is_taken_from_the_output(use: str) -> None:
    agent_verdict = of_error(use, "limited_until")
    assert (agent_verdict.how, agent_verdict.until) == (StepOutcome.LIMITED, NOW + 30)


@pytest.mark.parametrize("use", USES)
def test_a_server_that_is_broken_is_no_failure_of_the_work(use: str) -> None:
    agent_verdict = of_error(use, "broken")
    assert agent_verdict.how is StepOutcome.INFRA
    assert agent_verdict.message.startswith("the model could not be reached: ")


@pytest.mark.parametrize("use", sorted({*USES} - {"opencode"}))  # which tries again for ever
def test_an_answer_that_is_cut_off_is_no_failure_of_the_work(use: str) -> None:
    assert of_error(use, "dropped").how is StepOutcome.INFRA


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("claude", "too_many"),
        ("gemini", "circles"),
        ("goose", "too_many"),
        ("vibe", "stopped"),
        ("mini-swe-agent", "too_many"),
    ],
)
def test_one_that_was_never_done_and_gave_up_is_not_done_whatever_the_exit_code(use: str, name: str) -> None:
    assert [verdict(use, name, exit_code=code).how for code in (0, 1)] == [
        StepOutcome.FAILED,
        StepOutcome.FAILED,
    ]


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("goose", "Error: error returned from database: (code: 1) table schema_version already exists\n"),
        (
            "opencode",
            "Error: Unexpected error\n\nFailed query: \n  CREATE TABLE `a` (\n);\n\n\nparams:\n",
        ),
    ],
)
def test_several_that_make_their_files_at_once_are_started_again(use: str, said: str) -> None:
    agent_verdict = judged(use, "", exit_code=1, stderr=said)
    assert agent_verdict.how is StepOutcome.INFRA
    assert agent_verdict.message.startswith("its own files were in use: ")


@pytest.mark.parametrize("name", ["refused", "limited", "limited_until", "broken"])
@pytest.mark.parametrize("use", USES)
def test_an_error_counts_whatever_the_exit_code(use: str, name: str) -> None:
    assert verdict(use, name, exit_code=0) == verdict(use, name, exit_code=1)


@pytest.mark.parametrize("use", sorted(set(USES) - {"pi"}))
def test_an_exit_code_counts_whatever_was_said(use: str) -> None:
    agent_verdict = verdict(use, "good", exit_code=3, stderr="oh no\n")
    assert agent_verdict.how is StepOutcome.FAILED
    assert "reported success, but ended with exit code 3: oh no" in agent_verdict.message
    assert agent_verdict.tokens == EXPECTED[use][1]


@pytest.mark.parametrize("use", USES)
def test_one_that_says_nothing_is_not_done(use: str) -> None:
    agent_verdict = adapter_of(use).judge(call_of(use), ended(exit_code=0))
    assert agent_verdict.how is StepOutcome.FAILED
    assert agent_verdict.message.endswith(": its work may be half done")
    assert " ended (exit code 0) without " in agent_verdict.message
    assert (agent_verdict.cost, agent_verdict.tokens, agent_verdict.usage, agent_verdict.session) == (
        None,
        None,
        None,
        None,
    )


@pytest.mark.parametrize("use", USES)
def test_one_that_was_killed_is_not_done(use: str) -> None:
    text = output(use, "good")
    agent_verdict = judged(use, text[: len(text) // 2], exit_code=None, signal=9)
    assert agent_verdict.how is StepOutcome.FAILED
    assert "killed by SIGKILL" in agent_verdict.message


@pytest.mark.parametrize("use", USES)
def test_the_last_words_of_one_that_was_cut_off_are_reported(use: str) -> None:
    agent_verdict = judged(use, "", stdout="", exit_code=1, stderr="Starting\nNo such option: --frob\n")
    assert agent_verdict.how is StepOutcome.FAILED
    assert agent_verdict.message.startswith("Starting No such option: --frob (")


@pytest.mark.parametrize("use", USES)
def test_last_words_may_tell_of_a_limit_or_a_missing_key(use: str) -> None:
    assert judged(use, "", stdout="", exit_code=1, stderr="HTTP 429\n").how is StepOutcome.LIMITED
    assert KEYS[use] in judged(use, "", stdout="", exit_code=1, stderr="No API key found\n").message
    assert judged(use, "", stdout="", exit_code=1, stderr="connect ECONNREFUSED\n").how is StepOutcome.INFRA


@pytest.mark.parametrize("use", USES)
def test_a_program_that_is_not_there_is_reported_with_how_to_install_it(use: str) -> None:
    agent_verdict = judged(use, "", stdout="", exit_code=127, stderr="sh: 1: it: not found\n")
    assert agent_verdict.how is StepOutcome.INFRA
    assert agent_verdict.message.endswith(f"not found; to install it, type: {AGENT_PROGRAMS[use].install}")


@pytest.mark.parametrize("use", LINES)
def test_whatever_stands_around_the_events_changes_nothing(use: str) -> None:
    lines = output(use, "good").splitlines()
    garbage = [
        "warning: {not json}",
        '{"type": "',
        "\x1b[31mred\x1b[0m",
        "[1, 2]",
        '{"type":7}',
        "{}",
        "\ufffd\x00",
    ]
    mixed = "\n".join(
        f"{event}\n\x1b[0mnoise {line}\r" for event, line in zip(garbage * 9, lines, strict=False)
    )
    assert judged(use, mixed) == verdict(use, "good")


@pytest.mark.parametrize("use", STREAMS)
def test_a_line_without_an_end_is_passed_over(use: str) -> None:
    huge = '{"type":"result","text":"' + "x" * 5_000_000
    assert judged(use, f"{huge}\n{output(use, 'good')}").how is StepOutcome.DONE
    assert judged(use, f"{output(use, 'good')}\n{huge}").how is StepOutcome.DONE
    assert judged(use, huge).how is StepOutcome.FAILED


@pytest.mark.parametrize("use", USES)
def test_objects_in_objects_without_end_are_passed_over(use: str) -> None:
    assert judged(use, '{"type":' * 100_000).how is StepOutcome.FAILED
    assert judged(use, '{"a":' + "[" * 100_000).how is StepOutcome.FAILED


@pytest.mark.parametrize("use", sorted(set(USES) - {"aider"}))
def test_no_beginning_of_a_good_output_is_done(use: str) -> None:
    text = output(use, "good").rstrip()
    ends = [judged(use, text[:size]).how for size in range(len(text))]
    assert set(ends) == {StepOutcome.FAILED}


@pytest.mark.parametrize("use", USES)
@given(text=st.text())
def test_no_output_is_too_strange_to_be_judged(use: str, text: str) -> None:
    assert judged(use, text, stderr=text).how is not StepOutcome.DONE
    assert judged(use, text, stderr=text, exit_code=1).how is not StepOutcome.DONE


@pytest.mark.parametrize("use", USES)
@given(data=st.data())
def test_an_output_that_is_damaged_is_judged_nevertheless(use: str, data: st.DataObject) -> None:
    text = output(use, data.draw(st.sampled_from(["good", "refused", "limited_until", "broken"])))
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    replacement = data.draw(st.text(string.printable + '{}[]":,\\', max_size=20))
    agent_verdict = judged(use, text[:start] + replacement + text[end:])
    assert agent_verdict.how in StepOutcome
    assert agent_verdict.cost is None or agent_verdict.cost >= 0


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize("use", LINES)
@given(data=st.data())
def test_an_event_may_hold_anything(use: str, data: st.DataObject) -> None:
    lines = [json.loads(line) for line in output(use, "good").splitlines() if line]
    event = data.draw(st.sampled_from(lines))
    path = event
    for _ in range(data.draw(st.integers(0, 3))):
        inner = [value for value in path.values() if isinstance(value, dict) and value]
        path = data.draw(st.sampled_from(inner)) if inner else path
    path[data.draw(st.sampled_from(sorted(path)))] = data.draw(VALUES)
    text = "\n".join(map(json.dumps, lines))
    assert judged(use, text).how in StepOutcome
    adapter = adapter_of(use)
    progress = adapter.progress(call_of(use), text) if adapter.progress is not None else None
    assert progress is None or (progress.tokens or 0) >= 0


GARBAGE = (
    "{" * 100_000,
    "\ufffd\x00\x1b]0;" * 10_000,
    '{"type":' * 20_000,
    '{"type": 1e999, "x": [' + "9" * 5_000,
)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("text", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_never_taken_for_work_that_is_done(use: str, text: str) -> None:
    end = ended(stdout=text, result_file=text, stderr=text)
    agent_verdict = adapter_of(use).judge(call_of(use), end)
    assert (agent_verdict.how, agent_verdict.cost, agent_verdict.tokens, agent_verdict.session) == (
        StepOutcome.FAILED,
        None,
        None,
        None,
    )
