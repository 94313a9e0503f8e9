"""The client as a real process, with a scripted server behind it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import time
from typing import Any

import pytest

from agents.acp.benches import Bench, wait_until_gone
from weft.agents.shared.result_file import read_report
from weft.interpreter import isolated_python

PROGRAM = isolated_python("weft.agents.acp")
ENVIRON = {"PATH": os.environ["PATH"]} | {
    name: value for name, value in os.environ.items() if name.startswith("COVERAGE")
}


class Shop(Bench):
    def start(self, argv: list[str], **environ: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*PROGRAM, *argv],
            cwd=self.work,
            env={**ENVIRON, "WEFT_RESULT": str(self.result_file), **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write("Do it")
        process.stdin.close()
        process.stdin = None
        return process

    def end(self, process: "subprocess.Popen[str]") -> tuple[int, str, str]:
        with process:
            stdout, complained = process.communicate(timeout=100)
        return process.returncode, stdout, complained

    def run(self, argv: list[str], **environ: str) -> tuple[int, str, str]:
        return self.end(self.start(argv, **environ))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def usage(**more: object) -> dict[str, Any]:
    return {"update": {"sessionUpdate": "usage_update", "used": 5, "size": 9, **more}}


def test_its_answer_is_on_standard_output_and_the_rest_in_the_report(shop: Shop) -> None:
    spent = usage(cost={"amount": 0.75, "currency": "USD"})
    tokens = {"totalTokens": 11, "inputTokens": 10, "outputTokens": 1}
    ended = {"result": {"stopReason": "end_turn", "usage": tokens}}
    argv = shop.argv({"session/prompt": [{"say": "Done."}, spent, ended]})
    assert shop.run(argv, WEFT_SESSION="s1#cost=500000") == (0, "Done.\n", "")
    assert shop.report() == {
        "session": "s1#cost=750000",
        "cost_usd": 0.25,
        "tokens": {"input": 10, "output": 1, "cached_input": 0},
    }
    assert [message["method"] for message in shop.heard()] == ["initialize", "session/load", "session/prompt"]
    assert shop.heard()[1]["params"]["cwd"] == str(shop.work)
    assert shop.heard()[2]["params"]["prompt"] == [{"type": "text", "text": "Do it"}]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        ({"code": 500, "message": "oh"}, 75, "the model could not be reached: oh"),
        (
            {"code": -32000, "message": "Authentication required"},
            1,
            "Authentication required; sign in to Fake outside of Weft, or set its key",
        ),
    ],
)
def test_an_error_is_reported_with_what_it_means(
    shop: Shop, error: dict[str, Any], code: int, said: str
) -> None:
    ended = shop.run(shop.argv({"session/prompt": [{"error": error}]}))
    assert ended == (code, "", f"error: {said}\n")
    assert shop.report() == {"error": said, "session": "s1"}


def test_a_usage_limit_is_reported_with_its_end(shop: Shop) -> None:
    error = {"code": -32603, "message": "rate limit exceeded, try again in 2h"}
    before = time()
    code, *_ = shop.run(shop.argv({"session/prompt": [{"error": error}]}))
    assert code == 75
    assert shop.report()["error"] == "it met a usage limit: rate limit exceeded, try again in 2h"
    assert before + 7200 <= shop.report()["limited_until"] <= time() + 7200


def test_a_refusal_is_a_failure_and_without_a_prompt_nothing_is_spent(shop: Shop) -> None:
    argv = shop.argv({"initialize": [{"result": {"protocolVersion": 2}}]})
    code, stdout, complained = shop.run(argv)
    assert (code, stdout) == (1, "")
    assert "speaks version 2 of the Agent Client Protocol, and Weft speaks 1" in complained
    report = read_report(shop.result_file.read_text(), at=0.0)
    assert (report.cost, report.tokens, report.problems) == (0, 0, ())


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-agent", "`no-such-agent` was not found; install it, or fix `command` of the agent"),
        (
            "./folder",
            "`folder` could not be started: Permission denied; fix `command` of the agent",
        ),
    ],
)
def test_a_server_that_cannot_be_started_is_named(shop: Shop, command: str, said: str) -> None:
    (shop.work / "folder").mkdir()
    assert shop.run([command, "acp"]) == (75, "", f"error: {said}\n")
    assert shop.report()["error"] == said


def test_a_text_for_a_shell_is_the_name_of_the_server_and_no_report_is_needed(shop: Shop) -> None:
    ended = shop.run(["/bin/sh", "-c", "exit 3", "sh"], WEFT_RESULT="")
    message = "`exit 3` ended (exit code 3) before it answered `initialize`: its work may be half done"
    assert ended == (1, "", f"error: {message}\n")


def test_when_it_is_stopped_it_says_what_it_waited_for_and_nothing_stays(shop: Shop) -> None:
    """A server that never answers anything."""
    os.mkfifo(shop.work / "ready")
    process = shop.start(shop.argv({"initialize": [{"call": "ready"}]}))
    server = int((shop.work / "ready").read_text())
    process.send_signal(signal.SIGTERM)
    message = f"stopped before `{Path(sys.executable).name}` answered `initialize`"
    assert shop.end(process) == (143, "", f"error: {message}\n")
    assert shop.report()["error"] == message
    wait_until_gone(server)
