"""The server for real: what it answers, breaks off, holds back and remembers."""

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPResponse, IncompleteRead, RemoteDisconnected
from time import sleep
from typing import Any
from urllib.parse import urlsplit

import pytest

from testing.models.asking import CHAT, FIRST, MESSAGES, PATHS, get, send
from weft.testing.models.conversation import Request
from weft.testing.models.playback import ScriptState
from weft.testing.models.script import rules_of
from weft.testing.models.server import ModelServer

OWN = rules_of(
    [
        {"name": "own", "prompt_contains": "red", "steps": [{"text": "I see red."}]},
        {"name": "own", "times": 1, "steps": [{"text": "Once."}]},
        {"name": "never", "prompt_contains": "nobody says that", "steps": [{"text": "x"}]},
        {"name": "two", "steps": [{"together": 2, "text": "Both."}]},
        {"name": "later", "steps": [{"after": "the word", "text": "Now."}]},
        {"name": "named", "steps": [{"text": "x", "headers": {"x-more": "so"}, "delay": 0.001}]},
    ]
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    before = threading.active_count()
    with ModelServer(OWN) as server:
        yield server
    assert threading.active_count() == before


def said(prompt: str, **more: Any) -> dict[str, Any]:
    return {**FIRST["chat"], "messages": [{"role": "user", "content": prompt}], **more}


def answer_of(server: ModelServer, name: str, prompt: str = "x", tag: str = "") -> str:
    message = send(server.scenario(name, tag) + CHAT, said(prompt)).json["choices"][0]["message"]
    return str(message["content"])


@pytest.mark.parametrize("api", PATHS)
def test_every_protocol_plays_the_same_script(server: ModelServer, api: str) -> None:
    assert send(server.scenario("edit") + PATHS[api], FIRST[api], authorization="Bearer k").status == 200
    (request,) = server.requests()
    assert (request.api, request.scenario, request.step, request.answered) == (api, "edit", 0, 200)
    assert (request.tools, request.calls, request.has_key, request.stream) == (
        ("bash",),
        ("bash",),
        True,
        False,
    )


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_streams_are_events_one_after_another(server: ModelServer, api: str) -> None:
    answer = send(server.scenario("text") + PATHS[api], {**FIRST[api], "stream": True})
    assert answer.headers["content-type"] == "text/event-stream"
    assert "Just text." in "".join(json.dumps(data) for _, data in answer.events())
    assert server.requests()[0].stream


def test_a_slow_stream_is_whole(server: ModelServer) -> None:
    answer = send(server.scenario("slow") + CHAT, {"stream": True})
    assert answer.events()[-1] == (None, "[DONE]")


def test_the_next_step_follows_from_the_request_alone(server: ModelServer) -> None:
    called = {"role": "assistant", "tool_calls": [{"id": "call_1_0", "function": {"name": "bash"}}]}
    results = {"role": "tool", "tool_call_id": "call_1_0", "content": ""}
    body = {**FIRST["chat"], "messages": [*FIRST["chat"]["messages"], called, results]}
    for _ in range(2):
        text = send(server.scenario("edit") + CHAT, body).json["choices"][0]["message"]["content"]
        assert text == "Done: appended one line to hello.txt."


def test_rules_are_chosen_by_prompt_and_by_how_often_they_were_played(server: ModelServer) -> None:
    assert answer_of(server, "own", "all is red") == "I see red."
    assert answer_of(server, "own") == "Once."
    assert answer_of(server, "own", tag="other") == "Once."
    refused = send(server.scenario("own") + CHAT, said("x"))
    assert (refused.status, refused.json["error"]["message"]) == (404, "no rule 'own' fits this request")
    assert send(server.scenario("never") + CHAT, said("x")).status == 404
    assert [request.tag for request in server.requests()] == ["", "", "other"]


def test_a_mark_in_the_prompt_goes_before_the_address(server: ModelServer) -> None:
    assert answer_of(server, "own", "[[scenario:edit]] then [[scenario:text]]") == "Just text."


def test_without_a_name_the_first_rule_is_played(server: ModelServer) -> None:
    assert send(server.url + CHAT, said("red")).json["choices"][0]["message"]["content"] == "I see red."


def test_a_body_that_is_no_json_is_an_empty_request(server: ModelServer) -> None:
    assert send(server.scenario("text") + CHAT, b"{").status == 200
    assert send(server.scenario("text") + CHAT, b"[]").status == 200


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 529])
def test_errors_have_their_status(server: ModelServer, status: int) -> None:
    answer = send(server.scenario(f"err{status}") + MESSAGES, FIRST["messages"])
    assert answer.status == status
    assert answer.json["error"]["message"] == f"scripted error {status}"
    assert answer.headers.get("retry-after") == {429: "1"}.get(status)
    assert server.requests()[0].answered == status


def test_headers_are_sent_as_the_script_says(server: ModelServer) -> None:
    assert send(server.scenario("named") + CHAT, said("x")).headers["x-more"] == "so"


def test_an_answer_that_is_cut_is_short(server: ModelServer) -> None:
    with pytest.raises(IncompleteRead):
        send(server.scenario("drop") + CHAT, said("x"))
    cut = send(server.scenario("drop") + CHAT, said("x", stream=True)).text
    assert cut.startswith('data: {"id": "chatcmpl-')
    assert "\n" not in cut
    assert [request.answered for request in server.requests()] == ["dropped", "dropped"]


def test_garbage_is_sent_as_it_is(server: ModelServer) -> None:
    assert send(server.scenario("garbage") + CHAT, said("x")).text == '{"id": "x", "obj'


def test_requests_can_be_made_to_wait_for_each_other(server: ModelServer) -> None:
    answers: list[str] = []
    both = [threading.Thread(target=lambda: answers.append(answer_of(server, "two"))) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert answers == ["Both.", "Both."]


def test_an_answer_may_wait_for_a_message_in_another_request(server: ModelServer) -> None:
    before = threading.active_count()
    with request(server, "later") as line:
        while threading.active_count() == before:
            sleep(0.001)
        assert answer_of(server, "own", "the other word") == "Once."
        assert answer_of(server, "text", "here is the word") == "Just text."
        answer = HTTPResponse(line)
        answer.begin()
        assert b"Now." in answer.read()
    assert [asked.scenario for asked in server.requests()] == ["own", "text", "later"]


def test_what_was_said_counts_no_more_when_it_is_forgotten() -> None:
    stage = ScriptState(OWN)
    request = Request(turns=(), tools=(), said=("the word",))
    stage.part("text", "", request)
    assert stage.wait_for_message("the word")
    stage.forget()
    waiting = threading.Thread(target=stage.wait_for_message, args=["the word"])
    waiting.start()
    assert waiting.is_alive()
    stage.part("text", "", request)
    waiting.join()


def request(server: ModelServer, name: str) -> socket.socket:
    """One that is sent, and not answered yet."""
    parts = urlsplit(server.url)
    line = socket.create_connection((parts.hostname, parts.port))
    line.sendall(f"POST /s/{name}{CHAT} HTTP/1.1\r\ncontent-length: 2\r\n\r\n{{}}".encode())
    return line


def test_a_hanging_request_is_released_when_the_server_closes() -> None:
    with ModelServer() as server:
        line = request(server, "hang")
        while not server.requests():
            sleep(0.001)
    assert server.requests()[0].answered == "hung"
    with line:
        assert line.recv(1) == b""


@pytest.mark.parametrize("name", ["two", "later"])
def test_a_request_that_waits_for_others_is_released_when_the_server_closes(name: str) -> None:
    before = threading.active_count()
    with ModelServer(OWN) as server:
        line = request(server, name)
        while threading.active_count() < before + 2:
            sleep(0.001)
    line.close()
    assert threading.active_count() == before
    assert server.requests() == ()


def test_a_late_request_does_not_wait_when_the_server_closes() -> None:
    stage = ScriptState(OWN)
    stage.release()
    part = stage.part("two", "", Request(turns=(), tools=(), said=()))
    assert part is not None
    assert part.barrier is not None
    assert part.barrier.broken
    assert not stage.wait_for_message("the word")


def test_a_client_of_a_hanging_request_may_disconnect(server: ModelServer) -> None:
    line = request(server, "hang")
    while not server.requests():
        sleep(0.001)
    line.close()
    assert answer_of(server, "text") == "Just text."


def test_what_was_asked_can_be_read_and_forgotten(server: ModelServer) -> None:
    answer_of(server, "own", "once")
    (logged,) = get(f"{server.url}/_log").json
    assert (logged["scenario"], logged["model"], "body" in logged) == ("own", "scripted", False)
    (body,) = get(f"{server.url}/_bodies").json
    assert body["messages"][0]["content"] == "once"
    assert send(f"{server.url}/_reset").status == 200
    assert server.requests() == ()
    assert answer_of(server, "own", "once") == "Once."


def test_bodies_may_come_in_chunks_or_packed(server: ModelServer) -> None:
    raw = json.dumps(said("all is red")).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (raw[:9], raw[9:])) + b"0\r\n\r\n"
    own = server.scenario("own") + CHAT
    in_chunks = send(own, chunks, **{"transfer-encoding": "chunked"})
    packed = send(own, gzip.compress(raw), **{"content-encoding": "gzip"})
    assert [response.json["choices"][0]["message"]["content"] for response in (in_chunks, packed)] == [
        "I see red."
    ] * 2


def test_agents_find_what_they_look_for_besides(server: ModelServer) -> None:
    assert get(f"{server.url}/v1/models").json["data"][0]["id"] == "scripted"
    assert get(f"{server.url}/v1/responses", upgrade="websocket").status == 426
    assert get(f"{server.url}/else").status == 404
    assert send(f"{server.url}/else").status == 404
    assert send(f"{server.url}/v1/messages/count_tokens").json["input_tokens"] == 1000


def test_a_fault_of_the_server_itself_is_shown(
    server: ModelServer, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RemoteDisconnected):
        send(server.url + CHAT, b"not packed", **{"content-encoding": "gzip"})
    assert "BadGzipFile" in capfd.readouterr().err
