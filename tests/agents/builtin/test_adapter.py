import pytest

from agents.calls import NOW, call, ended
from weft.agents.builtin.adapter import ADAPTER
from weft.agents.command import progress
from weft.engine.messages.facts import StepOutcome
from weft.errors import InputError
from weft.interpreter import isolated_python
from weft.ports.agent import Progress, ProgressSource

AGENT = {"use": "builtin", "model": "m", "args": ("--max-turns", "5")}


def test_it_is_a_program_that_gets_the_prompt_on_its_input() -> None:
    invocation = ADAPTER.invoke(call(agent=AGENT, session="a/b", read_only=True))
    assert invocation.argv == (*isolated_python("weft.agents.builtin"), "--max-turns", "5")
    assert invocation.stdin == "Do it"
    assert invocation.env == {"WEFT_MODEL": "m", "WEFT_SESSION": "a/b", "WEFT_READ_ONLY": "1"}


def test_the_model_of_the_step_goes_before_that_of_the_agent() -> None:
    assert ADAPTER.invoke(call(agent=AGENT, model="other")).env["WEFT_MODEL"] == "other"


def test_without_a_model_it_says_what_to_write() -> None:
    with pytest.raises(
        InputError, match=r"agent 'coder' has no `model`; `use: builtin` needs one, as in `model: N"
    ):
        ADAPTER.invoke(call(agent={"use": "builtin"}))


def test_options_that_are_wrong_are_reported_before_anything_starts() -> None:
    with pytest.raises(InputError, match="does not know '--fast'"):
        ADAPTER.invoke(call(agent={**AGENT, "args": ("--fast",)}))


def test_what_it_says_at_its_end_is_the_result() -> None:
    report = '{"session": "a/b", "tokens": {"input": 3, "output": 2}}'
    verdict = ADAPTER.judge(call(agent=AGENT), ended(stdout="Done.\n", result_file=report))
    assert (verdict.how, verdict.result, verdict.session, verdict.tokens) == (
        StepOutcome.DONE,
        "Done.",
        "a/b",
        5,
    )


def test_a_model_that_cannot_be_asked_is_no_failure_of_the_work() -> None:
    verdict = ADAPTER.judge(call(agent=AGENT), ended(exit_code=75, result_file='{"error": "no key"}'))
    assert (verdict.how, verdict.message) == (StepOutcome.INFRA, "no key")


def test_a_limit_is_one_until_it_ends() -> None:
    report = '{"error": "met a limit", "limited_for": 60}'
    verdict = ADAPTER.judge(call(agent=AGENT), ended(exit_code=75, result_file=report))
    assert (verdict.how, verdict.message, verdict.until) == (StepOutcome.LIMITED, "met a limit", NOW + 60)


def test_work_that_is_about_limits_is_not_taken_for_one() -> None:
    log = 'shell {"command": "curl"}\nHTTP 429\nerror: stopped after 5 turns'
    verdict = ADAPTER.judge(
        call(agent=AGENT), ended(exit_code=1, stderr=log, result_file='{"error": "stopped"}')
    )
    assert (verdict.how, verdict.message) == (StepOutcome.FAILED, "stopped")


def test_one_that_died_without_a_word_has_failed() -> None:
    verdict = ADAPTER.judge(call(agent=AGENT), ended(exit_code=None, signal=9))
    assert (verdict.how, verdict.message) == (StepOutcome.FAILED, "killed by SIGKILL")
    crashed = ADAPTER.judge(call(agent=AGENT), ended(exit_code=1, stderr="Traceback\nValueError: x\n"))
    assert crashed.message == "exit code 1: ValueError: x"


def test_it_reports_what_it_spends_while_it_works() -> None:
    assert (ADAPTER.progress, ADAPTER.progress_in) == (progress, ProgressSource.RESULT_FILE)
    assert progress(call(agent=AGENT), '{"tokens": 5}') == Progress(tokens=5)
