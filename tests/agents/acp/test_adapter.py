import pytest

from agents.calls import NOW, call, ended
from weft.agents.acp.adapter import ADAPTER
from weft.agents.command import progress
from weft.engine.messages.facts import StepOutcome
from weft.errors import InputError
from weft.interpreter import isolated_python
from weft.ports.agent import Progress, ProgressSource

PROGRAM = isolated_python("weft.agents.acp")
AGENT = {"use": "acp", "command": ("goose", "acp"), "args": ("--with-builtin", "developer")}


def test_the_client_gets_the_command_of_the_server_and_the_prompt() -> None:
    invocation = ADAPTER.invoke(call(agent={**AGENT, "model": "m"}, session="s", fork=True, read_only=True))
    assert invocation.argv == (*PROGRAM, "goose", "acp", "--with-builtin", "developer")
    assert invocation.stdin == "Do it"
    assert invocation.env == {
        "WEFT_MODEL": "m",
        "WEFT_SESSION": "s",
        "WEFT_FORK": "1",
        "WEFT_READ_ONLY": "1",
    }


def test_a_command_that_is_text_is_for_a_shell() -> None:
    invocation = ADAPTER.invoke(call(agent={"use": "acp", "command": "goose acp", "args": ("a b",)}))
    assert invocation.argv == (*PROGRAM, "/bin/sh", "-c", 'goose acp "$@"', "sh", "a b")


def test_without_a_command_it_says_what_to_write() -> None:
    with pytest.raises(
        InputError, match=r"agent 'coder' has no `command`; `use: acp` needs one, as in `comm"
    ):
        ADAPTER.invoke(call(agent={"use": "acp"}))


def test_what_the_client_reports_is_the_verdict() -> None:
    report = '{"session": "s#cost=5", "tokens": {"input": 3, "output": 2}, "cost_usd": 0.5}'
    verdict = ADAPTER.judge(call(agent=AGENT), ended(stdout="Done.\n", result_file=report))
    assert (verdict.how, verdict.result, verdict.session) == (StepOutcome.DONE, "Done.", "s#cost=5")
    assert (verdict.cost, verdict.tokens) == (500_000, 5)


def test_a_server_that_is_not_there_is_no_failure_of_the_work() -> None:
    verdict = ADAPTER.judge(call(agent=AGENT), ended(exit_code=75, result_file='{"error": "was not found"}'))
    assert (verdict.how, verdict.message) == (StepOutcome.INFRA, "was not found")


def test_a_limit_is_one_until_it_ends() -> None:
    report = f'{{"error": "it met a usage limit", "limited_until": {NOW + 60}}}'
    verdict = ADAPTER.judge(call(agent=AGENT), ended(exit_code=75, result_file=report))
    assert (verdict.how, verdict.until) == (StepOutcome.LIMITED, NOW + 60)


def test_it_reports_what_it_spends_while_it_works() -> None:
    assert (ADAPTER.progress, ADAPTER.progress_in) == (progress, ProgressSource.RESULT_FILE)
    assert progress(call(agent=AGENT), '{"cost_usd": 0.5}') == Progress(cost=500_000)
