"""What is peculiar to one program each."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from agents.calls import ended
from agents.recorded import call_of, judged, output, verdict
from weft.agents import aider, claude, codex, mini_swe_agent, opencode, pi, vibe
from weft.engine.messages.facts import StepOutcome
from weft.plan.prices import Usage
from weft.ports.agent import Progress


def gap(text: str) -> str:
    """As it is if its middle was left out."""
    first, *rest = text.splitlines(keepends=True)
    return f"{first}\n[… 1,234,567 bytes left out …]\n{''.join(rest[1:])}"


# --- claude ---


def test_claude_counts_the_tokens_of_all_its_models() -> None:
    assert verdict("claude", "good").usage == Usage(input=1_700, output=100, cached_input=300)


def test_claude_without_models_counts_what_it_reports_of_itself() -> None:
    text = output("claude", "good").replace("modelUsage", "other")
    assert judged("claude", text).usage == Usage(input=1_600, output=80, cached_input=300)


def test_claude_reports_while_it_works_what_its_messages_took_each_once() -> None:
    text = "".join(output("claude", "good").splitlines(keepends=True)[:-1])
    usage = Usage(input=1_900, output=2)
    assert claude.progress(call_of("claude"), text) == Progress(tokens=1_902, usage=usage)
    assert claude.progress(call_of("claude"), "") is None


def test_a_conversation_that_claude_does_not_have_is_reported_with_what_to_do() -> None:
    agent_verdict = verdict("claude", "no_session", exit_code=1)
    assert agent_verdict.how is StepOutcome.FAILED
    assert "No conversation found" in agent_verdict.message
    assert "take `resume` out of the step" in agent_verdict.message
    assert agent_verdict.session is None


def test_claude_without_a_login_says_what_to_do() -> None:
    agent_verdict = verdict("claude", "no_login", exit_code=1)
    assert (agent_verdict.how, "set ANTHROPIC_API_KEY" in agent_verdict.message) == (StepOutcome.FAILED, True)


def test_claude_as_root_says_what_to_do() -> None:
    error_text = (
        "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n"
    )
    agent_verdict = judged("claude", "", exit_code=1, stderr=error_text)
    assert (agent_verdict.how, "IS_SANDBOX" in agent_verdict.message) == (StepOutcome.FAILED, True)


def test_an_end_of_claude_that_is_neither_well_nor_explained_is_a_failure() -> None:
    agent_verdict = judged("claude", '{"type":"result","subtype":"error_max_turns","is_error":true}')
    assert (agent_verdict.how, agent_verdict.message) == (StepOutcome.FAILED, "it ended with error_max_turns")
    assert judged("claude", '{"type":"result"}').message == "it ended with an error"
    assert verdict("claude", "too_many").message == "Reached maximum number of turns (3)"


# --- codex ---


def test_codex_counts_cached_tokens_once() -> None:
    assert verdict("codex", "good").usage == Usage(input=1_500, output=100, cached_input=500)


def test_codex_reports_totals_of_the_conversation_and_the_rest_is_of_the_call() -> None:
    agent_verdict = verdict("codex", "good", session="S#1000/60/500")
    assert agent_verdict.usage == Usage(input=500, output=40, cached_input=0)
    assert agent_verdict.session == "0193c0de-0002-7000-8000-00000000c0de#1500/100/500"
    assert verdict("codex", "good", session="S").tokens is None


def test_what_a_turn_that_failed_has_used_is_counted_with_the_next() -> None:
    assert verdict("codex", "broken", exit_code=1).session == "0193c0de-0002-7000-8000-00000000c0de#0/0/0"
    later = verdict("codex", "broken", exit_code=1, session="S#1/2/3").session
    assert later == "0193c0de-0002-7000-8000-00000000c0de#1/2/3"


def test_a_stream_that_breaks_off_is_no_failure_of_the_work() -> None:
    assert verdict("codex", "dropped", exit_code=1).how is StepOutcome.INFRA
    assert verdict("gemini", "dropped", exit_code=1).how is StepOutcome.INFRA
    assert verdict("pi", "dropped").how is StepOutcome.INFRA


def test_codex_without_its_variable_says_what_to_do() -> None:
    agent_verdict = verdict("codex", "no_key", exit_code=1)
    assert (agent_verdict.how, "set CODEX_API_KEY" in agent_verdict.message) == (StepOutcome.FAILED, True)


def test_an_error_of_codex_before_any_turn_is_the_reason() -> None:
    assert judged("codex", '{"type":"error","message":"bad config"}', exit_code=1).message == "bad config"
    assert judged("codex", '{"type":"turn.failed"}', exit_code=1).message == "it did not say why"


def test_codex_has_no_usage_that_is_reported_before_the_end() -> None:
    assert not hasattr(codex, "progress")


# --- gemini ---


def test_gemini_counts_what_it_thought_as_output() -> None:
    assert verdict("gemini", "good").usage == Usage(input=1_500, output=150, cached_input=500)


def test_gemini_without_an_explanation_failed() -> None:
    assert judged("gemini", '{"type":"result","status":"error"}').message == "it did not say why"
    assert judged("gemini", '{"type":"result","status":"success"}').tokens is None


def test_gemini_keeps_no_conversation_without_an_answer() -> None:
    assert verdict("gemini", "refused", exit_code=1).session is None
    begun = output("gemini", "good").splitlines(keepends=True)[0]
    assert judged("gemini", begun, exit_code=None, signal=9).session is not None


def test_gemini_that_gave_up_on_a_limit_waits_for_its_end() -> None:
    assert verdict("gemini", "over_quota", exit_code=173).how is StepOutcome.LIMITED


def test_gemini_that_went_in_circles_says_so_and_reports_what_it_took() -> None:
    agent_verdict = verdict("gemini", "circles")
    assert (agent_verdict.message, agent_verdict.tokens) == ("Loop detected, stopping execution", 2_100)


def test_an_error_that_gemini_has_overcome_does_not_count() -> None:
    trouble = '{"type":"error","severity":"warning","message":"odd"}\n'
    first, *rest = output("gemini", "good").splitlines(keepends=True)
    assert judged("gemini", f"{first}{trouble}{''.join(rest)}").how is StepOutcome.DONE


def test_gemini_without_a_login_says_what_to_do() -> None:
    error_text = "Please set an Auth method in your settings.json or specify GEMINI_API_KEY\n"
    agent_verdict = judged("gemini", "", exit_code=41, stderr=error_text)
    assert (agent_verdict.how, "set GEMINI_API_KEY" in agent_verdict.message) == (StepOutcome.FAILED, True)


# --- opencode ---


def test_opencode_adds_up_its_steps_also_while_it_works() -> None:
    usage = Usage(input=1_710, output=100, cached_input=300)
    progress = opencode.progress(call_of("opencode"), output("opencode", "good"))
    assert progress == Progress(cost=7_000, tokens=2_110, usage=usage)
    assert opencode.progress(call_of("opencode"), "") is None


def test_opencode_with_a_model_without_a_price_has_an_unknown_cost() -> None:
    text = output("opencode", "good").replace('"cost":0.00', '"cost":0.0,"x":')
    assert (judged("opencode", text).cost, judged("opencode", text).tokens) == (None, 2_110)


@pytest.mark.parametrize("use", ["opencode", "pi", "aider"])
def test_what_cannot_be_added_up_any_more_is_unknown(use: str) -> None:
    agent_verdict = judged(use, gap(output(use, "good")))
    assert (agent_verdict.how, agent_verdict.cost, agent_verdict.tokens, agent_verdict.usage) == (
        StepOutcome.DONE,
        None,
        None,
        None,
    )


def test_a_last_step_of_opencode_that_was_too_long_is_a_failure() -> None:
    agent_verdict = verdict("opencode", "too_long")
    assert (agent_verdict.how, agent_verdict.message) == (
        StepOutcome.FAILED,
        "its last step ended with the reason `length`",
    )


def test_an_error_of_opencode_without_a_status_is_a_failure() -> None:
    assert verdict("opencode", "unknown").message == "Unexpected error. Look into the logs."
    assert judged("opencode", '{"type":"error"}').message == "it did not say why"


def test_opencode_without_a_key_says_little_so_what_it_may_be_is_added() -> None:
    error_text = "Unexpected server error. Check server logs for details."
    agent_verdict = judged(
        "opencode", json.dumps({"type": "error", "error": {"data": {"message": error_text}}}), exit_code=1
    )
    assert (agent_verdict.how, "set the key of the model's provider" in agent_verdict.message) == (
        StepOutcome.FAILED,
        True,
    )


# --- goose ---


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("late", StepOutcome.INFRA, "the model could not be reached: Server error"),
        ("network", StepOutcome.INFRA, "the model could not be reached: Network error"),
        ("too_many", StepOutcome.FAILED, "I've reached the maximum number of actions"),
        ("no_tokens", StepOutcome.FAILED, "it reported no tokens at its end"),
    ],
)
def test_what_goose_says_in_its_own_name_is_an_error(name: str, how: StepOutcome, said: str) -> None:
    agent_verdict = verdict("goose", name)
    assert (agent_verdict.how, agent_verdict.result) == (how, "")
    assert agent_verdict.message.startswith(said)


def test_tokens_of_goose_count_also_after_an_error() -> None:
    assert verdict("goose", "late").tokens == 1_050


def test_goose_reports_totals_of_the_conversation_and_the_rest_is_of_the_call() -> None:
    agent_verdict = verdict("goose", "good", session="S#1500/40/0")
    assert (agent_verdict.tokens, agent_verdict.session) == (560, "S#2000/100/0")


def test_an_error_event_of_goose_is_an_error() -> None:
    text = '{"type":"error","error":"HTTP 503"}\n' + output("goose", "good")
    assert judged("goose", text).how is StepOutcome.INFRA
    assert judged("goose", '{"type":"error"}').message == "it did not say why"


def test_goose_without_a_provider_says_what_to_do() -> None:
    error_text = "error: No provider configured. Run 'goose configure' first.\n"
    agent_verdict = judged("goose", "", exit_code=1, stderr=error_text)
    assert (agent_verdict.how, "set GOOSE_PROVIDER" in agent_verdict.message) == (StepOutcome.FAILED, True)


# --- pi ---


def test_pi_adds_up_its_messages_also_while_it_works() -> None:
    usage = Usage(input=1_710, output=100, cached_input=300)
    assert pi.progress(call_of("pi"), output("pi", "good")) == Progress(cost=7_000, tokens=2_110, usage=usage)
    assert pi.progress(call_of("pi"), output("pi", "broken")) is None


def test_an_error_that_pi_has_overcome_does_not_count() -> None:
    assert (verdict("pi", "recovered").how, verdict("pi", "recovered").tokens) == (StepOutcome.DONE, 1_060)


def test_the_exit_code_of_pi_is_taken_from_behind_the_pipe() -> None:
    text = output("pi", "good").replace('"code":0', '"code":3')
    assert (judged("pi", text).how, "exit code 3" in judged("pi", text).message) == (StepOutcome.FAILED, True)
    assert verdict("pi", "missing", stderr="sh: pi: not found\n").how is StepOutcome.INFRA
    agent_verdict = verdict("pi", "no_key", stderr="No API key found for the selected model.\n")
    assert (agent_verdict.how, "set the key" in agent_verdict.message) == (StepOutcome.FAILED, True)


def test_a_message_of_pi_that_was_too_long_is_a_failure() -> None:
    text = output("pi", "good").replace('"stop"', '"length"')
    assert judged("pi", text).message == "its last message ended with the reason `length`"


def program(folder: Path, name: str, text: str) -> dict[str, str]:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    file.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_what_pi_says_twice_is_filtered_and_the_rest_comes_through(tmp_path: Path) -> None:
    events = [
        {"type": "session", "id": "S"},
        {"type": "message_update", "message": {"role": "assistant"}},
        {"type": "message_end", "message": {"role": "toolResult", "content": "long"}},
        {"type": "message_end", "message": {"role": "assistant", "stopReason": "stop", "content": []}},
        {"type": "turn_end", "message": {}},
        {"type": "agent_end", "messages": [{"role": "assistant", "content": "x" * 100_000}]},
    ]
    text = "\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    (tmp_path / "events").write_text(text, encoding="utf-8")
    env = program(tmp_path, "pi", f"cat >{tmp_path}/prompt; cat {tmp_path}/events; exit 7")
    invocation = pi.invoke(call_of("pi", prompt="Do it"))
    process = subprocess.run(
        invocation.argv, input="Do it", env=env, capture_output=True, text=True, check=True
    )
    kept_events = [json.loads(line) for line in process.stdout.splitlines() if line]
    assert kept_events == [events[0], events[3], {"type": "agent_end"}, {"type": "weft_exit", "code": 7}]
    assert (tmp_path / "prompt").read_text() == "Do it"


def test_what_pi_says_is_heard_while_it_works(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    env = program(tmp_path, "pi", f'echo \'{{"type":"session"}}\'; read _ <{tmp_path}/gate')
    argv = pi.invoke(call_of("pi")).argv
    with subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as work:
        assert work.stdout is not None
        assert work.stdout.readline() == '{"type":"session"}\n'
        (tmp_path / "gate").write_text("\n")
        assert work.stdout.readlines()[-1] == '{"type":"weft_exit","code":0}\n'


# --- vibe ---


def test_vibe_counts_cached_tokens_once() -> None:
    assert verdict("vibe", "good").usage == Usage(input=1_500, output=100, cached_input=500)
    apart = output("vibe", "good").replace("2100", "2600")
    assert judged("vibe", apart).usage == Usage(input=2_000, output=100, cached_input=500)
    assert judged("vibe", '{"outcome": "finished"}').usage is None


def test_vibe_that_stopped_at_a_limit_of_its_own_is_not_done() -> None:
    agent_verdict = verdict("vibe", "stopped", exit_code=3)
    assert (agent_verdict.how, agent_verdict.message) == (StepOutcome.FAILED, "it ended with turn_limit")
    assert (agent_verdict.cost, agent_verdict.tokens) == (11_250, 3_150)


def test_what_vibe_leaves_gets_to_where_a_report_is_looked_for(tmp_path: Path) -> None:
    result = tmp_path / "x.result.json"
    env = program(tmp_path, "vibe", 'cat; mkdir -p "$6" || exit; echo "$@" >"$6/export.json"; exit 3')
    call = call_of("vibe", result_file=str(result))
    process = subprocess.run(
        vibe.invoke(call).argv,
        input="Do it",
        env={**env, "WEFT_RESULT": str(result)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stdout) == (3, "Do it")
    assert result.read_text().endswith("-p\n")


def test_a_vibe_that_is_missing_leaves_nothing(tmp_path: Path) -> None:
    result = tmp_path / "x.result.json"
    process = subprocess.run(
        vibe.invoke(call_of("vibe", result_file=str(result))).argv,
        input="Do it",
        env={"PATH": str(tmp_path), "WEFT_RESULT": str(result)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, result.exists()) == (127, False)


# --- mini-swe-agent ---


def test_of_a_long_story_of_mini_swe_agent_the_end_is_enough() -> None:
    text = output("mini-swe-agent", "good")
    agent_verdict = judged("mini-swe-agent", text[len(text) // 2 :])
    assert (agent_verdict.how, agent_verdict.result, agent_verdict.cost, agent_verdict.tokens) == (
        StepOutcome.DONE,
        "All is done.",
        None,
        None,
    )


def test_mini_swe_agent_counts_cached_tokens_once() -> None:
    assert verdict("mini-swe-agent", "good").usage == Usage(input=1_600, output=100, cached_input=400)


def test_a_model_whose_price_mini_swe_agent_does_not_know_has_an_unknown_cost() -> None:
    assert (verdict("mini-swe-agent", "unpriced").cost, verdict("mini-swe-agent", "unpriced").tokens) == (
        None,
        2_100,
    )


def test_mini_swe_agent_that_stopped_at_a_limit_of_its_own_is_not_done() -> None:
    agent_verdict = verdict("mini-swe-agent", "too_many")
    assert (agent_verdict.how, agent_verdict.message) == (StepOutcome.FAILED, "LimitsExceeded")


@pytest.mark.parametrize("messages", ["[]", '[{"role": "assistant"}]', "7"])
def test_a_story_that_reports_no_tokens_leaves_them_unknown(messages: str) -> None:
    end = ended(result_file=f'{{"info": {{}}, "messages": {messages}}}', exit_code=1)
    assert mini_swe_agent.judge(call_of("mini-swe-agent"), end).tokens is None


# --- aider ---


def test_aider_adds_up_its_answers_and_takes_the_cost_of_all() -> None:
    assert verdict("aider", "good").usage == Usage(input=1_900, output=100, cached_input=300)
    assert verdict("aider", "good").cost == 7_000


def test_an_answer_of_aider_begins_behind_what_it_says_of_itself() -> None:
    assert verdict("aider", "unpriced").result == "All is done."
    assert judged("aider", "Yes.\n\nTokens: 1 sent, 2 received.\n").result == "Yes."
    assert verdict("aider", "refused").result == ""


def test_aider_with_a_model_without_a_price_has_an_unknown_cost() -> None:
    agent_verdict = verdict("aider", "unpriced")
    assert (agent_verdict.how, agent_verdict.cost, agent_verdict.tokens) == (StepOutcome.DONE, None, 12_050)


@pytest.mark.parametrize(("name", "how"), [("late", StepOutcome.INFRA), ("gave_up", StepOutcome.FAILED)])
def test_an_error_of_aider_after_an_answer_counts(name: str, how: StepOutcome) -> None:
    assert verdict("aider", name).how is how


def test_an_error_that_aider_has_overcome_does_not_count() -> None:
    text = output("aider", "broken") + output("aider", "good")
    assert aider.judge(call_of("aider"), ended(stdout=text)).how is StepOutcome.DONE


def test_a_cost_of_aider_that_is_no_number_is_unknown() -> None:
    text = "Tokens: 1 sent, 2 received. Cost: $1 message, $1.2.3 session."
    assert judged("aider", text).cost is None
