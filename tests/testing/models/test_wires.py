"""Each protocol by itself: what is read of a request, and what an answer looks like."""

from typing import Any

import pytest

from testing.models.asking import FIRST, PATHS, SHELL
from weft.testing.models import chat, gemini, messages, responses
from weft.testing.models.conversation import Call, OfferedTool, Reply, pieces_of, text_of
from weft.testing.models.script import ReportedUsage
from weft.testing.models.wires import Wire, model_of, wants_stream, wire_of

WIRES: dict[str, Wire] = {"chat": chat, "responses": responses, "messages": messages, "gemini": gemini}
CALLED = (Call("call_7_0", "bash", {"command": "ls"}), Call("call_7_1", "bash", {"command": "pwd"}))


def reply(text: str = "", calls: tuple[Call, ...] = (), **body: Any) -> Reply:
    return Reply(id="7", model="m", text=text, calls=calls, usage=ReportedUsage(10, 5, 3), body=body)


@pytest.mark.parametrize("name", WIRES)
def test_a_request_is_found_by_its_path(name: str) -> None:
    assert wire_of(PATHS[name]) == (name, WIRES[name])
    assert wire_of("/v1/other") is None


@pytest.mark.parametrize("name", WIRES)
def test_tools_and_what_the_user_says_are_read(name: str) -> None:
    request = WIRES[name].read(FIRST[name])
    assert (request.turns, request.tools, request.said) == ((), (OfferedTool("bash", SHELL),), ("Do it",))
    assert request.step == 0


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize(
    "body", [{}, {"messages": 1, "input": 1, "contents": 1, "tools": 1}, {"messages": [1]}]
)
def test_garbage_is_read_as_nothing(name: str, body: Any) -> None:
    assert WIRES[name].read(body).tools == ()


def test_turns_of_chat_are_distinguished() -> None:
    call = {"id": "call_1_0", "function": {"name": "bash"}}
    history = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "said"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "tool_calls": [call, {**call, "id": "call_1_1"}]},
        {"role": "tool", "tool_call_id": "call_1_0", "content": "out"},
    ]
    request = chat.read({"messages": history})
    assert (request.turns, request.step, request.said) == (("says", "calls"), 1, ("a", "b"))


def test_one_reply_of_chat_may_come_back_in_parts() -> None:
    """With results and reminders between them, as goose does."""
    history = [
        {"role": "assistant", "content": "I will"},
        {"role": "user", "content": "<info-msg>\nlate\n</info-msg>"},
        {"role": "assistant", "tool_calls": [{"id": "call_1_0"}]},
        {"role": "tool", "content": "out"},
        {"role": "assistant", "tool_calls": [{"id": "call_1_1"}]},
        {"role": "tool", "content": "out"},
    ]
    assert chat.read({"messages": history}).turns == ("calls",)
    two_texts = [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert chat.read({"messages": two_texts}).turns == ("says",)


def test_turns_of_responses_are_distinguished() -> None:
    history = [
        {"role": "user", "content": "a"},
        {"type": "message", "role": "assistant", "content": []},
        {"role": "user", "content": "b"},
        {"type": "message", "role": "assistant", "content": []},
        {"type": "function_call", "call_id": "call_1_0"},
        {"type": "function_call", "call_id": "call_1_1"},
        {"type": "function_call_output", "call_id": "call_1_0"},
        {"type": "local_shell_call", "call_id": "call_2_0"},
    ]
    request = responses.read({"input": history})
    assert (request.turns, request.said) == (("says", "calls", "calls"), ("a", "b"))
    assert responses.read({"input": "just text"}).said == ("just text",)


def test_responses_have_tools_of_other_kinds() -> None:
    offered = [{"type": "custom", "name": "patch"}, {"type": "local_shell"}, {"type": "web_search"}]
    first, second = responses.read({"tools": offered}).tools
    assert first == OfferedTool("patch", {}, is_custom=True)
    assert second.name == "local_shell"
    calls = (Call("c_0", "patch", "*** x"), Call("c_1", "local_shell", {"command": ["ls"]}))
    items = responses.whole(reply(calls=calls, tools=offered))["output"]
    assert [(item["type"], item.get("input")) for item in items] == [
        ("custom_tool_call", "*** x"),
        ("local_shell_call", None),
    ]
    assert items[1]["action"]["command"] == ["ls"]
    streamed = [kind for kind, _ in responses.stream(reply(calls=calls, tools=offered))]
    assert streamed.count("response.output_item.done") == 2


def test_turns_of_messages_and_gemini_are_distinguished() -> None:
    used = [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": [{"type": "tool_use"}]}]
    assert messages.read({"messages": used}).turns == ("says", "calls")
    parts = [{"role": "model", "parts": [{"text": "a"}]}, {"role": "model", "parts": [{"functionCall": {}}]}]
    assert gemini.read({"contents": parts}).turns == ("says", "calls")


def test_an_answer_of_chat() -> None:
    whole = chat.whole(reply("so", CALLED))
    message = whole["choices"][0]["message"]
    assert (message["content"], whole["choices"][0]["finish_reason"]) == ("so", "tool_calls")
    assert message["tool_calls"][0]["function"] == {"name": "bash", "arguments": '{"command": "ls"}'}
    assert whole["usage"]["prompt_tokens"] == 10
    assert chat.whole(reply("so"))["choices"][0]["finish_reason"] == "stop"


def test_a_stream_of_chat_adds_up_to_the_answer() -> None:
    events = [
        data for _, data in chat.stream(reply("a" * 30, CALLED, stream_options={"include_usage": True}))
    ]
    deltas: list[Any] = [event["choices"][0]["delta"] for event in events[:-2]]  # type: ignore[index]
    assert "".join(delta.get("content") or "" for delta in deltas) == "a" * 30
    pieces = [call for delta in deltas for call in delta.get("tool_calls", ()) if call["index"] == 1]
    assert "".join(piece["function"]["arguments"] for piece in pieces) == '{"command": "pwd"}'
    assert events[-2]["usage"]["total_tokens"] == 15  # type: ignore[index]
    assert events[-1] == "[DONE]"
    assert len(list(chat.stream(reply()))) == 3


def test_an_answer_of_messages_and_its_stream() -> None:
    whole = messages.whole(reply("so", CALLED))
    assert [block["type"] for block in whole["content"]] == ["text", "tool_use", "tool_use"]
    assert (whole["stop_reason"], whole["usage"]["cache_read_input_tokens"]) == ("tool_use", 3)
    events: list[Any] = list(messages.stream(reply("so", (Call("c_0", "bash", "{wrong"),))))
    assert [kind for kind, _ in events] == [
        "message_start",
        *["content_block_start", "content_block_delta", "content_block_stop"] * 2,
        "message_delta",
        "message_stop",
    ]
    assert events[5][1]["delta"] == {"type": "input_json_delta", "partial_json": "{wrong"}
    assert messages.whole(reply())["content"] == [{"type": "text", "text": ""}]


def test_an_answer_of_responses_and_its_stream() -> None:
    whole = responses.whole(reply("so", CALLED))
    assert [item["type"] for item in whole["output"]] == ["message", "function_call", "function_call"]
    events: list[Any] = list(responses.stream(reply("so", CALLED)))
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
    assert events[-1][1]["response"] == whole
    assert [data["delta"] for kind, data in events if kind == "response.output_text.delta"] == ["so"]


def test_an_answer_of_gemini_and_its_stream() -> None:
    whole = gemini.whole(reply("so", CALLED[:1]))
    parts = whole["candidates"][0]["content"]["parts"]
    assert parts == [
        {"text": "so"},
        {"functionCall": {"id": "call_7_0", "name": "bash", "args": {"command": "ls"}}},
    ]
    assert list(gemini.stream(reply("so", CALLED[:1]))) == [(None, whole)]
    assert gemini.whole(reply())["candidates"][0]["content"]["parts"] == [{"text": ""}]


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("chat", 429, "rate_limit_error"),
        ("responses", 500, "server_error"),
        ("messages", 529, "overloaded_error"),
    ],
)
def test_errors_are_of_the_kind_that_the_protocol_has(name: str, status: int, kind: str) -> None:
    error = WIRES[name].failure(status, "no")["error"]
    assert (error["type"], error["message"]) == (kind, "no")


def test_errors_of_gemini_have_a_state() -> None:
    assert gemini.failure(429, "no")["error"]["status"] == "RESOURCE_EXHAUSTED"
    assert gemini.failure(500, "no")["error"] == {"code": 500, "message": "no", "status": "INTERNAL"}


def test_model_and_stream_may_be_in_the_path() -> None:
    path = "/v1beta/models/gem:streamGenerateContent"
    assert (model_of(path, {}), wants_stream(path, {})) == ("gem", True)
    assert (model_of(PATHS["chat"], {"model": "m"}), wants_stream(PATHS["chat"], {"stream": True})) == (
        "m",
        True,
    )
    assert (model_of(PATHS["chat"], {}), wants_stream(PATHS["chat"], {})) == ("scripted", False)


def test_text_is_found_in_parts_and_cut_into_pieces() -> None:
    assert text_of([{"text": "a"}, {"image": 1}, 3, {"text": "b"}]) == "a\nb"
    assert pieces_of("abcde", 2) == ["ab", "cd", "e"]
