import json
import signal
import subprocess

import pytest

from agents.calls import NOW, call, ended
from weft.agents.adapters import adapter_of
from weft.agents.command import invoke, judge, progress
from weft.engine.messages.facts import StepOutcome
from weft.errors import InputError
from weft.plan.prices import Usage
from weft.ports.agent import Progress, Verdict

AWKWARD = ("two words", "$HOME", "`id`", "a;b", "", "'\"")


def judged(**given) -> Verdict:
    return judge(call(), ended(**given))


def output_of(argv: tuple[str, ...]) -> list[str]:
    process = subprocess.run(argv, capture_output=True, text=True, check=True)
    return process.stdout.splitlines()


# --- how it is called ---


def test_the_prompt_is_its_standard_input() -> None:
    assert invoke(call(prompt="Täst\n")).stdin == "Täst\n"


def test_an_argv_gets_the_arguments_at_its_end() -> None:
    invocation = invoke(call(agent={"command": ("coder", "-p"), "args": ("x y",)}))
    assert invocation.argv == ("coder", "-p", "x y")


@pytest.mark.parametrize("text", ["printf '%s\\n'", "printf '%s\\n'  \n", "cat /dev/null; printf '%s\\n'"])
def test_text_gets_the_arguments_at_its_end_as_they_are(text: str) -> None:
    invocation = invoke(call(agent={"command": text, "args": AWKWARD}))
    assert output_of(invocation.argv) == list(AWKWARD)


def test_text_may_say_where_its_arguments_go() -> None:
    invocation = invoke(call(agent={"command": "printf '%s\\n' \"$@\" end", "args": ("a b",)}))
    assert output_of(invocation.argv) == ["a b", "end"]


def test_text_without_arguments_is_left_as_it_is() -> None:
    assert invoke(call(agent={"command": "echo x &"})).argv == ("/bin/sh", "-c", "echo x &", "sh")


def test_model_conversation_and_permissions_are_passed_in_the_environment() -> None:
    invocation = invoke(call(model="large", session="s1", fork=True, read_only=True))
    assert invocation.env == {
        "WEFT_MODEL": "large",
        "WEFT_SESSION": "s1",
        "WEFT_FORK": "1",
        "WEFT_READ_ONLY": "1",
    }


def test_what_is_not_so_is_not_reported() -> None:
    assert invoke(call()).env == {}


def test_the_model_of_the_agent_counts_where_the_step_has_none() -> None:
    agent = {"command": "coder", "model": "small"}
    assert invoke(call(agent=agent)).env == {"WEFT_MODEL": "small"}
    assert invoke(call(agent=agent, model="large")).env == {"WEFT_MODEL": "large"}


def test_an_agent_without_a_command_is_refused() -> None:
    with pytest.raises(InputError, match="'coder' has no `command`"):
        invoke(call(agent={"script": "x"}))


# --- what became of it ---


def test_its_output_is_the_result_without_the_last_line_s_end() -> None:
    assert judged(stdout="one\ntwo\n\n") == Verdict(how=StepOutcome.DONE, result="one\ntwo\n")


def test_the_result_file_outranks_the_output() -> None:
    report = {"result": {"ok": True}, "cost_usd": 0.25, "tokens": 12, "session": "s2"}
    assert judged(stdout="chatter", result_file=json.dumps(report)) == Verdict(
        how=StepOutcome.DONE, result='{"ok": true}', cost=250_000, tokens=12, session="s2"
    )


def test_an_exit_code_is_a_failure_with_the_last_words() -> None:
    verdict = judged(exit_code=3, stderr="first\n\x1b[31mno model\x1b[0m\n\n", stdout="so far\n")
    assert (verdict.how, verdict.message) == (StepOutcome.FAILED, "exit code 3: no model")
    assert verdict.result == "so far"


def test_long_last_words_are_shortened() -> None:
    assert len(judged(exit_code=1, stderr="x" * 10_000).message) < 400


def test_an_exit_code_alone_is_reported_alone() -> None:
    assert judged(exit_code=3).message == "exit code 3"


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGSEGV, "killed by SIGSEGV"), (50, "killed by signal 50")]
)
def test_a_signal_is_a_failure(number: int, said: str) -> None:
    verdict = judged(exit_code=None, signal=number)
    assert (verdict.how, verdict.message) == (StepOutcome.FAILED, said)


def test_what_was_ended_has_no_exit_code_and_still_reports_its_cost() -> None:
    verdict = judged(exit_code=None, result_file='{"cost_usd": 1}')
    assert (verdict.how, verdict.message, verdict.cost) == (StepOutcome.FAILED, "no exit code", 1_000_000)


@pytest.mark.parametrize(("code", "said"), [(126, "cannot be executed"), (127, "was not found")])
@pytest.mark.parametrize("command", ["coder", ("/opt/bin/coder", "-p")])
def test_a_program_that_cannot_be_run_is_no_failure_of_the_work(code: int, said: str, command) -> None:
    verdict = judge(call(agent={"command": command}), ended(exit_code=code))
    assert verdict.how is StepOutcome.INFRA
    assert verdict.message == f"`coder` or a program it calls {said} (exit code {code})"


@pytest.mark.parametrize("code", [0, 1])
def test_an_error_in_the_result_file_is_a_failure_whatever_the_exit_code(code: int) -> None:
    verdict = judged(exit_code=code, stderr="noise", result_file='{"error": "no idea"}')
    assert (verdict.how, verdict.message) == (StepOutcome.FAILED, "no idea")


@pytest.mark.parametrize("code", [0, 1, 127])
def test_a_limit_in_the_result_file_counts_whatever_the_exit_code(code: int) -> None:
    verdict = judged(exit_code=code, result_file='{"limited_for": 60}')
    assert (verdict.how, verdict.until) == (StepOutcome.LIMITED, NOW + 60)
    assert verdict.message == "it met a usage limit"


def test_a_limit_with_an_error_is_reported_in_its_words() -> None:
    verdict = judged(result_file='{"limited_for": 60, "error": "until noon"}')
    assert (verdict.how, verdict.message) == (StepOutcome.LIMITED, "until noon")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_limit_in_a_failed_agent_s_output_waits_for_a_quarter_of_an_hour(stream: str) -> None:
    verdict = judged(exit_code=1, **{stream: "Error: HTTP 429 Too Many Requests\n"})
    assert (verdict.how, verdict.until) == (StepOutcome.LIMITED, NOW + 900)
    assert verdict.message == "it met a usage limit: Error: HTTP 429 Too Many Requests"


def test_a_limit_reported_as_an_error_in_the_result_file_counts_with_exit_code_0() -> None:
    assert judged(result_file='{"error": "usage limit reached"}').how is StepOutcome.LIMITED


def test_output_about_limits_is_no_limit_if_the_agent_succeeded() -> None:
    assert judged(stdout="HTTP 429 Too Many Requests").how is StepOutcome.DONE


def test_output_about_limits_is_no_limit_if_the_error_is_another_one() -> None:
    report = '{"error": "I gave up"}'
    assert judged(stdout="HTTP 429 Too Many Requests", result_file=report).how is StepOutcome.FAILED


def test_a_result_file_that_is_not_understood_changes_nothing_and_is_reported() -> None:
    assert judged(stdout="fine\n", result_file="{") == Verdict(
        how=StepOutcome.DONE, result="fine", message="in its result file, the contents are not JSON"
    )


def test_what_is_wrong_in_the_result_file_is_reported_behind_the_failure() -> None:
    verdict = judged(exit_code=3, result_file='{"tokens": -1, "cost_usd": 2}')
    assert verdict.message == (
        "exit code 3; in its result file, `tokens` must be a whole number from 0 to 1,000,000,000,000, "
        "or an object of such numbers by input, output, cached_input, not -1"
    )
    assert verdict.cost == 2_000_000


# --- what it spends while it runs ---


def test_what_is_in_its_report_so_far_is_what_it_has_spent() -> None:
    report = json.dumps({"cost_usd": 0.5, "tokens": {"input": 3, "output": 4}})
    assert progress(call(), report) == Progress(cost=500_000, tokens=7, usage=Usage(input=3, output=4))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cost_usd": -1}', '{"result": "done"}'])
def test_a_report_without_a_cost_says_nothing_of_it(text: str) -> None:
    assert progress(call(), text) is None


def test_both_adapters_tell_in_the_result_file() -> None:
    adapters = map(adapter_of, ("command", "scripted"))
    assert [adapter.progress and adapter.progress_in for adapter in adapters] == ["result_file"] * 2
