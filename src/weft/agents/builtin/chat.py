"""Chat completions, as OpenAI defined them: what most providers and the servers of local models speak."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from weft.agents.builtin.talk import Answer, Call, Results, Said, Talk, Used, User
from weft.agents.builtin.values import amount, count, table, tables, text

NAME = "chat"
KEY, BASE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
OFFICIAL = "https://api.openai.com/v1"


class Brief(NamedTuple):
    """What goes with each request besides the conversation."""

    model: str
    system: str
    tools: Sequence[Mapping[str, Any]]
    """Each with `name`, `description` and `parameters`, a schema."""
    max_tokens: int | None = None


def url(base: str) -> str:
    return f"{base.rstrip('/')}/chat/completions"


def headers(key: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def request(talk: Talk, brief: Brief) -> dict[str, Any]:
    messages = [{"role": "system", "content": brief.system}]
    for message in talk:
        messages += _messages(message)
    body: dict[str, Any] = {"model": brief.model, "messages": messages}
    body["tools"] = [{"type": "function", "function": dict(tool)} for tool in brief.tools]
    if brief.max_tokens is not None:
        body["max_completion_tokens"] = brief.max_tokens
    return body


def _messages(message: User | Said | Results) -> list[dict[str, Any]]:
    match message:
        case User(said):
            return [{"role": "user", "content": said}]
        case Results(results):
            return [{"role": "tool", "tool_call_id": name, "content": out} for name, out in results]
        case Said(said, calls, api, raw):
            made = list(raw) if api == NAME and raw else [_call(call) for call in calls]
            called = {"tool_calls": made} if made else {}
            return [{"role": "assistant", "content": said or None, **called}]


def _call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def answer(body: Mapping[str, Any]) -> Answer:
    """Raises `ValueError` if it is none."""
    choices = tables(body.get("choices"))
    if not choices:
        raise ValueError("there are no `choices` in it")
    message, why = table(choices[0].get("message")), choices[0].get("finish_reason")
    made = tables(message.get("tool_calls"))
    calls = tuple(_read(call, number) for number, call in enumerate(made))
    is_sound = all(one.get("id") and not call.wrong for one, call in zip(made, calls, strict=True))
    used = table(body.get("usage"))
    return Answer(
        said=Said(_content(message.get("content")), calls, NAME, tuple(made) if is_sound else ()),
        used=_used(used),
        cost=amount(used.get("cost")),
        is_cut=why == "length",
        refused=text(message.get("refusal")) or ("its filter says no" if why == "content_filter" else ""),
    )


def _content(value: object) -> str:
    """Some send text in parts, with what they thought between them."""
    return text(value) or "\n".join(text(part["text"]) for part in tables(value) if "text" in part)


def _read(call: Mapping[str, Any], number: int) -> Call:
    function = table(call.get("function"))
    name, given = text(function.get("name")), function.get("arguments") or "{}"
    made = Call(text(call.get("id")) or f"call_{number}", name, {})
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError) as error:
        return made._replace(wrong=f"the arguments are not JSON: {error}")
    if not isinstance(arguments, dict):
        return made._replace(wrong="the arguments are no JSON object")
    return made._replace(arguments=table(arguments))  # pyright: ignore[reportUnknownArgumentType]


def _used(used: Mapping[str, Any]) -> Used:
    """Of what went in, a part may have come from a cache; it is counted there."""
    cached = count(table(used.get("prompt_tokens_details")).get("cached_tokens"))
    fresh = max(count(used.get("prompt_tokens")) - cached, 0)
    return Used(input=fresh, output=count(used.get("completion_tokens")), cached_input=cached)
