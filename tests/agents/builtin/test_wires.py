"""What is sent to providers, and what is understood of their answers."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.builtin.talks import BRIEF, TALK
from weft.agents.builtin import chat, messages
from weft.agents.builtin.conversation import ModelAnswer, ModelMessage, TokenCounts, ToolCall, UserMessage
from weft.agents.builtin.settings import APIS, Api

NO_ANSWERS: list[Any] = [{}, {"choices": []}, {"error": "x"}]
APIS_BY_NAME = pytest.mark.parametrize("api", APIS.values(), ids=list(APIS))


# --- chat ---


def test_a_conversation_as_chat() -> None:
    body = chat.encode_request(TALK, BRIEF)
    assert body["model"] == "m"
    assert body["tools"] == [{"type": "function", "function": BRIEF.tools[0]}]
    assert "max_completion_tokens" not in body
    system, user, assistant, first, second, final_answer, more = body["messages"]
    assert (system, user) == ({"role": "system", "content": "Be"}, {"role": "user", "content": "Do it"})
    assert [call["function"]["arguments"] for call in assistant["tool_calls"]] == ['{"command": "ls"}', "{}"]
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
    assert second["content"] == "error: no JSON"
    assert (final_answer, more["content"]) == ({"role": "assistant", "content": "Done."}, "More")


def test_the_length_of_answers_of_chat_is_only_bounded_if_it_is_said() -> None:
    assert chat.encode_request(TALK, BRIEF._replace(max_tokens=9))["max_completion_tokens"] == 9


def chat_answer(message: dict[str, Any], finish: str = "stop", **usage: Any) -> ModelAnswer:
    return chat.decode_answer({"choices": [{"message": message, "finish_reason": finish}], "usage": usage})


def chat_call(arguments: object, **more: object) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": arguments}, **more}


def test_an_answer_of_chat_is_understood() -> None:
    raw = chat_call('{"command": "ls"}', extra_content={"signature": "s"})
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    answer = chat_answer({"content": "So", "tool_calls": [raw]}, "tool_calls", **usage, cost=0.25)
    message = ModelMessage("So", (ToolCall("c1", "shell", {"command": "ls"}),), "chat", (raw,))
    assert answer == ModelAnswer(message, TokenCounts(input=6, output=3, cached_input=4), 0.25)
    # What only the provider understands goes back to it, and to no other.
    assert chat.encode_request((message,), BRIEF)["messages"][1]["tool_calls"] == [raw]
    assert messages.encode_request((message,), BRIEF)["messages"][0]["content"][1]["input"] == {
        "command": "ls"
    }


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ('{"command": "ec', "not JSON"),
        ("[1]", "no JSON object"),
        (5, "no JSON object"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_arguments_of_chat_that_are_none_are_reported_and_not_sent_back(
    arguments: object, wrong: str
) -> None:
    message = chat_answer({"content": None, "tool_calls": [chat_call(arguments)]}).said
    assert wrong in message.calls[0].wrong
    assert (message.calls[0].arguments, message.raw) == ({}, ())


def test_a_call_of_chat_without_arguments_or_id_is_one_all_the_same() -> None:
    message = chat_answer({"tool_calls": [{"function": {"name": "list_files", "arguments": ""}}]}).said
    assert (message.calls, message.raw) == ((ToolCall("call_0", "list_files", {}),), ())


def test_text_of_chat_may_come_in_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "So"},
        {"type": "text", "text": "be it"},
    ]
    assert chat_answer({"content": parts}).said.text == "So\nbe it"


def test_answers_of_chat_that_are_cut_or_refused_are_reported() -> None:
    assert chat_answer({"content": "So"}, "length").is_cut
    assert chat_answer({"content": None, "refusal": "No."}).refused == "No."
    assert chat_answer({"content": None}, "content_filter").refused == "its filter says no"
    assert chat_answer({"content": "So"}).refused == ""


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": "x", "cost": True, "prompt_tokens_details": 1}])
def test_what_chat_does_not_tell_of_its_use_is_not_known(usage: dict[str, Any]) -> None:
    answer = chat_answer({"content": "So"}, **usage)
    assert (answer.used, answer.cost) == (TokenCounts(), None)


# --- messages ---


def test_a_conversation_as_messages() -> None:
    body = messages.encode_request(TALK, BRIEF)
    assert (body["model"], body["max_tokens"]) == ("m", 8192)
    assert body["system"][0]["text"] == "Be"
    assert body["tools"] == [{"name": "t", "description": "d", "input_schema": {"type": "object"}}]
    user, assistant, results, final_answer, more = body["messages"]
    assert [message["role"] for message in (user, assistant, results)] == ["user", "assistant", "user"]
    assert assistant["content"][1] == {
        "type": "tool_use",
        "id": "c1",
        "name": "shell",
        "input": {"command": "ls"},
    }
    assert results["content"][0] == {"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}
    assert final_answer["content"] == [{"type": "text", "text": "Done."}]
    # The whole of it is kept by the provider until the next request, which begins with the same.
    assert more["content"] == [{"type": "text", "text": "More", "cache_control": {"type": "ephemeral"}}]


def test_messages_are_never_empty() -> None:
    body = messages.encode_request((UserMessage("x"), ModelMessage("")), BRIEF._replace(max_tokens=9))
    assert body["messages"][1]["content"][0]["text"] == "…"
    assert body["max_tokens"] == 9


def message_answer(*blocks: Any, stop: str = "end_turn", **usage: Any) -> ModelAnswer:
    return messages.decode_answer({"content": list(blocks), "stop_reason": stop, "usage": usage})


def test_an_answer_of_messages_is_understood() -> None:
    thinking = {"type": "thinking", "thinking": "Hm", "signature": "s"}
    use = {"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": "ls"}}
    usage = {
        "input_tokens": 5,
        "output_tokens": 3,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 4,
    }
    answer = message_answer(thinking, {"type": "text", "text": "So"}, use, stop="tool_use", **usage)
    raw = (thinking, {"type": "text", "text": "So"}, use)
    message = ModelMessage("So", (ToolCall("c1", "shell", {"command": "ls"}),), "messages", raw)
    assert answer == ModelAnswer(message, TokenCounts(input=7, output=3, cached_input=4))
    assert messages.encode_request((message, UserMessage("x")), BRIEF)["messages"][0]["content"] == list(raw)


def test_arguments_of_messages_that_are_none_are_reported_and_not_sent_back() -> None:
    message = message_answer({"type": "tool_use", "name": "shell", "input": "{wrong"}).said
    assert message.calls == (ToolCall("call_0", "shell", {}, "the arguments are no JSON object"),)
    assert message.raw == ()


def test_answers_of_messages_that_are_cut_or_refused_are_reported() -> None:
    text = {"type": "text", "text": "So"}
    assert message_answer(text, stop="max_tokens").is_cut
    assert message_answer(text, stop="refusal").refused == "it says no"


# --- both ---


@APIS_BY_NAME
@pytest.mark.parametrize("body", NO_ANSWERS)
def test_what_is_no_answer_is_reported(api: Api, body: Any) -> None:
    with pytest.raises(ValueError, match=r"there (is|are) no `"):
        api.decode_answer(body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "tool_calls",
                    "function",
                    "arguments",
                    "content",
                    "type",
                    "tool_use",
                    "input",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@APIS_BY_NAME
@given(inner=json_values)
def test_any_answer_is_understood_or_reported_and_can_be_sent_back(api: Api, inner: Any) -> None:
    body = {"choices": [{"message": inner}], "content": inner, "usage": inner}
    answer = api.decode_answer(body)
    assert json.dumps(api.encode_request((answer.said, UserMessage("x")), BRIEF))


@APIS_BY_NAME
def test_no_key_is_sent_where_there_is_none(api: Api) -> None:
    assert not {"authorization", "x-api-key"} & set(api.headers(None))
    assert "k" in "".join(api.headers("k").values())


def test_addresses_are_made_as_people_write_them() -> None:
    assert chat.request_url("http://h/v1/") == "http://h/v1/chat/completions"
    assert messages.request_url("http://h") == messages.request_url("http://h/v1/") == "http://h/v1/messages"
