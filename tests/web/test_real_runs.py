"""`weft ui` beside a real run: requests that change something, and changes and logs that a step has made."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pytest

from e2e.repositories import Repository
from web.servers import Reply, Server, running_ui
from weft.interpreter import isolated_python

HOSTILE = "<img src=x onerror=alert(1)> \x1b[31mred\x1b[0m \u202egnp.exe"
ODD_NAME = "<b>\u202eodd\x1b.txt"
PLAN = """
max_parallel: 5
failure_mode: continue_on_error
merge: {mode: manual}
subplans:
  - {id: odd, steps: [{id: code, run: "cat OUTSIDE/hostile; cp -R OUTSIDE/files/. ."}]}
  - {id: asks, steps: [{id: gate, action: ask, question: "<i>Publish?</i>"}]}
  - {id: breaks, steps: [{id: code, run: "test -f OUTSIDE/fixed"}]}
  - {id: lasts, steps: [{id: code, run: "read line < OUTSIDE/gate"}]}
"""
STATES = {"": "pending", "odd": "completed", "asks": "asking", "breaks": "failed", "lasts": "running"}


class Watched:
    """A run in the background, and the server that shows it."""

    def __init__(self, repository: Repository, server: Server) -> None:
        self.repository = repository
        self.server = server
        self.run = server.get("runs").data["runs"][-1]["run"]

    def weft(self, *words: str) -> Any:
        """Returns what a command prints as JSON."""
        return weft(self.repository, *words)

    def ask(self, question: str) -> Reply:
        """Asks about the first run, which may not be the last one any more."""
        return self.server.get(f"runs/{self.run}/{question}")

    def snapshot(self) -> Any:
        return self.server.get("runs/last/snapshot").data

    def states(self) -> dict[str, str]:
        subplans = self.snapshot()["subplans"]
        return dict(zip(subplans["path"], subplans["state"], strict=True))

    def wait(self, condition: Callable[[], bool]) -> None:
        """Waits until a condition holds, which is looked at after each message of the stream."""
        connection = self.server.connect()
        connection.request("GET", "/api/v1/runs/last/stream", headers=self.server.bearer)
        response = connection.getresponse()
        try:
            while not condition():
                while not (line := response.readline()).startswith(b"event: "):
                    assert line, "the stream has ended"
        finally:
            connection.close()

    def post(self, verb: str, body: Mapping[str, object]) -> Any:
        return self.server.post(f"runs/last/{verb}", body).data


def weft(repository: Repository, *words: str) -> Any:
    done = subprocess.run(
        [*isolated_python("weft"), "-C", str(repository.root), *words, "--json"],
        env=repository.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return json.loads(done.stdout)["data"]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    repository = Repository(tmp_path_factory.mktemp("real") / "project").plan(PLAN)
    outside = repository.outside
    os.mkfifo(outside / "gate")
    (outside / "hostile").write_text(f"{HOSTILE}\n")
    (outside / "files").mkdir()
    (outside / "files" / ODD_NAME).write_text(f"{HOSTILE}\n")
    (outside / "files" / "binary").write_bytes(bytes(range(256)) * 10)
    (outside / "files" / "large").write_text("line\n" * 3_001)
    weft(repository, "start")
    try:
        with running_ui(repository.root, env=repository.environ) as server:
            watched = Watched(repository, server)
            watched.wait(lambda: watched.states() == STATES)
            yield watched
    finally:
        weft(repository, "stop", "--now")
        repository.end()


# Changes and logs


def diff(watched: Watched, file: str, *, more: str = "") -> Any:
    reply = watched.ask(f"diff?path=odd&file={quote(file)}{more}")
    assert reply.headers["content-type"] == "application/json"
    return reply.data


def code_part(watched: Watched) -> str:
    parts = watched.ask("log?path=odd").data["parts"]
    return next(str(part["part"]) for part in parts if part["step"] == "code")


def test_a_name_and_a_text_that_look_like_markup_or_act_on_terminals_come_back_as_they_are(
    watched: Watched,
) -> None:
    change = diff(watched, ODD_NAME)
    assert ODD_NAME in [file["path"] for file in change["files"]]
    assert change["file"]["text"].endswith(f"+{HOSTILE}\n")
    page = watched.ask(f"log?path=odd&part={code_part(watched)}").data
    assert [line["text"] for line in page["lines"]] == [HOSTILE]


def test_a_raw_log_is_plain_text_that_no_browser_takes_for_a_page(watched: Watched) -> None:
    reply = watched.ask(f"log/raw?path=odd&part={code_part(watched)}")
    assert reply.body.decode() == f"{HOSTILE}\n"
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in reply.headers["content-security-policy"]


def test_a_binary_file_has_no_text(watched: Watched) -> None:
    change = diff(watched, "binary")
    assert change["file"] == {"path": "binary", "text": "", "is_binary": True, "is_too_large": False}
    (row,) = [file for file in change["files"] if file["path"] == "binary"]
    assert (row["added"], row["removed"]) == (None, None)


def test_a_very_large_change_is_shown_only_on_request(watched: Watched) -> None:
    change = diff(watched, "large")
    assert (change["is_large"], change["file"]["is_too_large"], change["file"]["text"]) == (True, True, "")
    assert diff(watched, "large", more="&force=1")["file"]["text"].count("\n+line") == 3_001


@pytest.mark.parametrize("file", ["../README", "/etc/passwd", ".git/config", "README"])
def test_a_file_that_has_not_changed_is_never_shown(watched: Watched, file: str) -> None:
    assert watched.ask(f"diff?path=odd&file={quote(file)}").status == 400


# Requests that change something


def test_requests_steer_a_run_as_the_commands_do(watched: Watched) -> None:
    """One story, as the last of them end the run."""
    pauses(watched)
    answers(watched)
    lands(watched)
    stops_and_retries(watched)


def pauses(watched: Watched) -> None:
    for verb in ("pause", "resume"):
        result = watched.post(verb, {})
        assert (result["command"], result["exit_code"], result["data"]["changed"]) == (
            f"weft {verb}",
            0,
            True,
        )
        # The command does the same, and finds it done.
        assert watched.weft(verb) == result["data"] | {"changed": False}


def answers(watched: Watched) -> None:
    body = {"name": "asks:gate", "reply": "no", "text": HOSTILE}
    result = watched.post("answer", body)
    assert (result["exit_code"], result["data"]["answer"]) == (0, "no")
    watched.wait(lambda: watched.states()["asks"] == "failed")
    refused: Reply = watched.server.post("runs/last/answer", body)
    assert (refused.status, refused.headers["content-type"]) == (409, "application/json")


def lands(watched: Watched) -> None:
    result = watched.post("merge", {"names": ["odd"]})
    (landed,) = result["data"]["merged"]
    assert landed["commit"] == watched.repository.tip("main")
    assert watched.weft("merge", "--list")["held"] == []


def stops_and_retries(watched: Watched) -> None:
    stopped = watched.post("stop", {})
    assert (stopped["command"], stopped["exit_code"]) == ("weft stop --no-wait", 0)
    watched.wait(lambda: not watched.snapshot()["strip"]["is_active"])
    (watched.repository.outside / "fixed").touch()
    retried = watched.post("retry", {"names": ["breaks"]})
    assert retried["data"]["subplans"] == ["breaks"]
    assert watched.server.get("runs").data["runs"][0]["run"] == retried["data"]["run"]
    first = stopped["data"]["run"]
    refused = watched.server.post(f"runs/{first}/pause", {})
    assert (
        refused.error["message"] == f"run {first} is not the last one, and `weft pause` is about the last one"
    )
