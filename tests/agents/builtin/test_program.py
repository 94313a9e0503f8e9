"""The agent as a real process, with a scripted model at the other end of the line."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from agents.acp.benches import wait_until_gone
from weft.agents.builtin.conversation import OMITTED
from weft.agents.builtin.settings import APIS
from weft.agents.shared.result_file import Report, read_report
from weft.interpreter import isolated_python
from weft.testing.models.playback import RecordedRequest
from weft.testing.models.script import rules_of
from weft.testing.models.server import ModelServer

PROGRAM = (*isolated_python("weft.agents.builtin"), "--retry-wait", "0.001")
ENVIRON = {"PATH": os.environ["PATH"]} | {
    name: value for name, value in os.environ.items() if name.startswith("COVERAGE")
}
EACH_API = pytest.mark.parametrize("api", list(APIS))


class Ended:
    def __init__(self, bench: "Bench", process: "subprocess.Popen[str]", said: tuple[str, str]) -> None:
        self.code = process.returncode
        self.stdout, self.stderr = said
        self.report: Report = read_report(bench.result_file.read_text(), at=0.0)


class Bench:
    """A worktree, a place for results, and a model."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.server = server
        self.work = folder / "work"
        self.work.mkdir()
        self.logs = folder / "logs"
        self.result_file = self.logs / "a" / "code.1.result.json"
        self.result_file.parent.mkdir(parents=True)

    def environ(self, scenario: str, api: str, more: dict[str, str]) -> dict[str, str]:
        url = self.server.scenario(scenario)
        keys = {
            "chat": {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1"},
            "messages": {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url},
        }
        return {**ENVIRON, "WEFT_MODEL": "m", "WEFT_RESULT": str(self.result_file), **keys[api], **more}

    def start(
        self, scenario: str, *args: str, api: str = "chat", cwd: str = "", **more: str
    ) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*PROGRAM, *args],
            cwd=cwd or self.work,
            env=self.environ(scenario, api, more),
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

    def end(self, process: "subprocess.Popen[str]") -> Ended:
        with process:
            streams = process.communicate(timeout=100)
        return Ended(self, process, streams)

    def run(self, scenario: str, *args: str, api: str = "chat", **more: str) -> Ended:
        return self.end(self.start(scenario, *args, api=api, **more))

    def asked(self) -> tuple[RecordedRequest, ...]:
        return self.server.requests()


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": {"name": name, "arguments": arguments}}


OK = {"text": "Done."}
RULES = rules_of(
    {
        "tools": [
            {"actions": [tool("write_file", path="a.txt", content="one\n"), {"shell": "cat a.txt"}]},
            {**tool("edit_file", path="a.txt", old="one", new="two"), "usage": {"input": 100, "cached": 40}},
            {"actions": [tool("done", text="Wrote a.txt"), {"shell": "touch never"}]},
        ],
        "escapes": [
            {
                "actions": [
                    tool("read_file", path="../secret"),
                    tool("write_file", path=".git/config", content="x"),
                    tool("write_file", path="link", content="x"),
                ]
            },
            OK,
        ],
        "held": [
            {
                "shell": "echo $$ > pids; sleep 1000 & echo $! >> pids; "
                "setsid sh -c 'echo $$ >> pids; echo > ready; exec sleep 1000' & wait"
            },
            OK,
        ],
        "ten": [{"together": 10, "shell": "pwd > here"}, {"together": 10, "text": "Done."}],
        "long_limit": [{"http": 429, "retry_after": 3600}],
        "reset": [{"http": 429, "headers": {"anthropic-ratelimit-tokens-reset": "2100-01-01T00:00:00Z"}}],
        "overloaded": [{"http": 529, "retry_after": 0}],
        "late": [{"write": {"path": "a.txt", "content": "one\n"}}, {"http": 500}],
        "nothing": [{"text": ""}],
        "reader": [tool("read_file", path="long")] * 12 + [OK],
        "refusal": [{"raw": '{"choices": [{"message": {"refusal": "I will not."}}]}'}],
        "no_model": [{"http": 404, "message": "The model `m` does not exist"}],
        "too_long": [{"http": 400, "message": "maximum context length"}],
    }
) + rules_of(
    [
        {"name": "soon", "times": 1, "steps": [{"http": 429, "retry_after": 0}]},
        {"name": "soon", "times": 1, "steps": [{"drop": True}]},
        {"name": "soon", "times": 1, "steps": [{"raw": "<html>"}]},
        {"name": "soon", "steps": [OK]},
    ]
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ModelServer(RULES) as server:
        yield Bench(tmp_path, server)


def results(asked: RecordedRequest) -> list[str]:
    """Returns the tool results in the last request."""
    return [message["content"] for message in asked.body["messages"] if message["role"] == "tool"]


# --- it works ---


@EACH_API
def test_it_calls_tools_until_the_work_is_done(bench: Bench, api: str) -> None:
    ended = bench.run("tools", api=api)
    assert (ended.code, ended.stdout) == (0, "Wrote a.txt\n")
    assert (bench.work / "a.txt").read_text() == "two\n"
    assert [file.name for file in bench.work.iterdir()] == ["a.txt"]
    assert [(request.api, request.step, request.model, request.has_key) for request in bench.asked()] == [
        (api, step, "m", True) for step in range(3)
    ]
    assert (ended.report.error, ended.report.cost, ended.report.session) == (None, None, "a/code.1")
    assert ended.report.tokens == {"chat": 2250, "messages": 2290}[api]
    assert ended.report.usage is not None
    assert (ended.report.usage.output, ended.report.usage.cached_input) == (150, 40)


def test_the_model_receives_the_output(bench: Bench) -> None:
    bench.run("tools")
    last = bench.asked()[-1]
    assert results(last) == ["wrote a.txt: 4 bytes", "one\n\n[exit code 0]", "replaced it once in a.txt"]


def test_the_log_reports_what_it_does(bench: Bench) -> None:
    log = bench.run("tools").stderr
    assert '{"type":"activity","verb":"runs","object":"cat a.txt","is_open":true,"call":' in log
    assert '"outcome":"ok"}\n' in log


def test_what_the_model_says_without_a_call_is_the_result(bench: Bench) -> None:
    assert bench.run("text").stdout == "Just text.\n"


@EACH_API
def test_arguments_that_are_no_json_are_reported_to_the_model_which_continues(bench: Bench, api: str) -> None:
    ended = bench.run("badjson", api=api)
    assert (ended.code, ended.stdout) == (0, "Done after arguments that are none.\n")
    assert "error: the arguments are no" in json.dumps(bench.asked()[-1].body)


def test_paths_that_lead_out_are_refused_and_it_continues(bench: Bench) -> None:
    (bench.work.parent / "secret").write_text("secret")
    (bench.work / "link").symlink_to("../secret")
    assert bench.run("escapes").code == 0
    outside = "leads out of the working directory; only what is in it can be used"
    assert results(bench.asked()[-1]) == [
        f"error: '../secret' {outside}",
        "error: '.git/config' is git's own; nothing may be written there",
        f"error: 'link' {outside}",
    ]
    assert (bench.work.parent / "secret").read_text() == "secret"


def test_a_read_only_step_is_offered_only_tools_that_read(bench: Bench) -> None:
    bench.run("edit", WEFT_READ_ONLY="1")
    assert bench.asked()[0].tools == ("read_file", "list_files", "search", "done")
    assert list(bench.work.iterdir()) == []


def test_files_of_the_worktree_are_no_modules_of_the_agent(bench: Bench) -> None:
    (bench.work / "json.py").write_text("raise SystemExit(9)\n")
    assert bench.run("text").code == 0


# --- conversations ---


def test_a_long_conversation_is_sent_without_its_oldest_results(bench: Bench) -> None:
    (bench.work / "long").write_text("x" * 100_000)
    assert bench.run("reader").code == 0
    sent = results(bench.asked()[-1])
    assert [result == OMITTED for result in sent] == [True] * 3 + [False] * 9
    assert OMITTED not in (bench.logs / "a" / "code.1.session.json").read_text()


@EACH_API
def test_a_conversation_continues_in_a_copy(bench: Bench, api: str) -> None:
    """Also with another provider."""
    bench.run("tools")
    conversation = (bench.logs / "a" / "code.1.session.json").read_text()
    further = str(bench.logs / "a" / "code.2.result.json")
    assert bench.run("text", api=api, WEFT_SESSION="a/code.1", WEFT_RESULT=further).code == 0
    spoken = [message["role"] for message in bench.asked()[-1].body["messages"]]
    assert spoken.count("assistant") == 3
    assert (bench.logs / "a" / "code.1.session.json").read_text() == conversation
    assert "Just text." in (bench.logs / "a" / "code.2.session.json").read_text()


def test_what_was_never_answered_is_not_asked_twice(bench: Bench) -> None:
    assert bench.run("err500", "--retries", "0").report.session == "a/code.1"
    bench.run("text", WEFT_SESSION="a/code.1")
    assert [message["role"] for message in bench.asked()[-1].body["messages"]] == ["system", "user"]


def test_a_conversation_that_is_gone_is_reported(bench: Bench) -> None:
    ended = bench.run("text", WEFT_SESSION="a/other")
    assert ended.code == 1
    assert ended.report.error is not None
    assert "the conversation 'a/other' cannot be resumed" in ended.report.error
    assert ended.report.session is None


# --- what goes wrong ---


@EACH_API
def test_what_is_over_in_a_moment_is_tried_again(bench: Bench, api: str) -> None:
    assert bench.run("soon", api=api).code == 0
    assert [request.answered for request in bench.asked()] == [429, "dropped", 200, 200]


@EACH_API
@pytest.mark.parametrize(
    ("scenario", "requests", "code", "problem"),
    [
        ("err401", 1, 1, "does not accept the key in {KEY} (HTTP 401: scripted error 401)"),
        ("no_model", 1, 1, "the model 'm' does not exist at http://"),
        ("err500", 4, 75, "is out of order (HTTP 500: scripted error 500)"),
        ("late", 5, 75, "is out of order (HTTP 500"),
        ("drop", 4, 75, "does not answer: the answer was cut off; its address comes from {BASE}"),
        ("garbage", 4, 75, "answers something else than a model does (HTTP 200): Unterminated string"),
    ],
)
def test_a_model_that_cannot_be_asked_is_reported_and_whether_that_may_be_over_soon(
    bench: Bench, api: str, scenario: str, requests: int, code: int, problem: str
) -> None:
    ended = bench.run(scenario, api=api)
    message = problem.format(KEY=APIS[api].KEY, BASE=APIS[api].BASE)
    assert ended.code == code
    assert message in (ended.report.error or "")
    assert message in ended.stderr.splitlines()[-1]
    assert (ended.report.until, ended.stdout) == (None, "")
    assert len(bench.asked()) == requests


def test_what_was_spent_before_it_failed_is_reported(bench: Bench) -> None:
    assert bench.run("late").report.tokens == 1050


@pytest.mark.parametrize(
    ("scenario", "requests", "seconds"), [("long_limit", 1, 3600), ("overloaded", 4, 1), ("err529", 4, 900)]
)
def test_a_usage_limit_is_reported_with_its_end(
    bench: Bench, scenario: str, requests: int, seconds: float
) -> None:
    ended = bench.run(scenario)
    assert (ended.code, ended.report.until, ended.report.tokens) == (75, seconds, 0)
    assert len(bench.asked()) == requests


def test_a_limit_that_ends_at_a_time_is_reported(bench: Bench) -> None:
    ended = bench.run("reset", api="messages")
    assert ended.report.until == 7 * 24 * 3600
    assert len(bench.asked()) == 1


@pytest.mark.parametrize(
    ("scenario", "problem"),
    [
        ("loop", "stopped after 3 turns, before the model had finished; `--max-turns` allows more"),
        ("nothing", "the model said nothing and called nothing"),
        ("refusal", "the model refused: I will not."),
    ],
)
def test_work_that_comes_to_nothing_has_failed(bench: Bench, scenario: str, problem: str) -> None:
    ended = bench.run(scenario, "--max-turns", "3")
    assert (ended.code, ended.report.error) == (1, problem)


def test_a_request_that_is_not_taken_has_failed(bench: Bench) -> None:
    ended = bench.run("too_long")
    assert ended.code == 1
    assert "does not take the request (HTTP 400: maximum context length)" in (ended.report.error or "")


@pytest.mark.parametrize(
    ("args", "more", "problem"),
    [
        (
            (),
            {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""},
            "neither OPENAI_API_KEY nor ANTHROPIC_API_KEY is set",
        ),
        ((), {"WEFT_MODEL": ""}, "no model is named"),
        ((), {"OPENAI_BASE_URL": "localhost"}, "invalid address 'localhost/chat/completions'"),
        (("--fast",), {}, "does not know '--fast'"),
    ],
)
def test_what_is_missing_is_named(
    bench: Bench, args: Sequence[str], more: dict[str, str], problem: str
) -> None:
    ended = bench.run("text", *args, **more)
    assert ended.code == 1
    assert problem in (ended.report.error or "")


def test_an_address_without_a_server_is_named(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    ended = bench.run("text", OPENAI_BASE_URL=url)
    message = (
        f"{url}/chat/completions does not answer: Connection refused; its address comes from OPENAI_BASE_URL"
    )
    assert (ended.code, ended.report.error) == (75, message)


# --- it is stopped ---


def test_when_it_is_stopped_in_a_command_nothing_of_that_stays(bench: Bench) -> None:
    os.mkfifo(bench.work / "ready")
    process = bench.start("held")
    (bench.work / "ready").read_text()
    process.send_signal(signal.SIGTERM)
    ended = bench.end(process)
    pids = (bench.work / "pids").read_text().split()
    assert len(pids) == 3
    for pid in pids:  # killed, and gone a moment later
        wait_until_gone(int(pid))
    assert (ended.code, ended.report.tokens) == (143, 1050)


def test_it_can_be_stopped_while_the_model_hangs(bench: Bench) -> None:
    process = bench.start("latehang")
    while len(bench.asked()) < 2:
        sleep(0.01)
    process.send_signal(signal.SIGTERM)
    ended = bench.end(process)
    assert (ended.code, ended.report.session) == (143, "a/code.1")


def test_a_model_that_hangs_is_given_up(bench: Bench) -> None:
    ended = bench.run("hang", "--request-timeout", "1", "--retries", "0")
    assert (ended.code, "nothing came for 1 seconds" in ended.stderr) == (75, True)


# --- many at once ---


def test_ten_work_at_once_with_one_server(bench: Bench) -> None:
    """None is answered before all of them have asked."""
    folders = [bench.work / str(number) for number in range(10)]
    for folder in folders:
        folder.mkdir()
    started = [
        bench.start("ten", cwd=str(folder), WEFT_RESULT=f"{folder}/x.result.json") for folder in folders
    ]
    codes = []
    for process in started:
        with process:
            assert process.communicate(timeout=100)[0] == "Done.\n"
        codes.append(process.returncode)
    assert codes == [0] * 10
    assert [(folder / "here").read_text().strip() for folder in folders] == [
        str(folder) for folder in folders
    ]
