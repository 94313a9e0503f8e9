"""Messages, as Anthropic defined them."""

from collections.abc import Mapping
from typing import Any

from weft.agents.builtin.chat import Brief
from weft.agents.builtin.talk import Answer, Call, Results, Said, Talk, Used, User
from weft.agents.builtin.values import count, table, tables, text

NAME = "messages"
KEY, BASE = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
OFFICIAL = "https://api.anthropic.com"
VERSION = "2023-06-01"
MAX_TOKENS = 8192
"""The protocol wants a number; this one all models of today allow."""
_CACHED = {"cache_control": {"type": "ephemeral"}}
"""What comes before it need not be read, nor paid, in full again."""


def url(base: str) -> str:
    """With or without the version, which some write and some do not."""
    return f"{base.rstrip('/').removesuffix('/v1')}/v1/messages"


def headers(key: str | None) -> dict[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def request(talk: Talk, brief: Brief) -> dict[str, Any]:
    messages = [_message(message) for message in talk]
    last = messages[-1]["content"][-1]
    messages[-1]["content"][-1] = {**last, **_CACHED}
    return {
        "model": brief.model,
        "max_tokens": brief.max_tokens or MAX_TOKENS,
        "system": [{"type": "text", "text": brief.system, **_CACHED}],
        "messages": messages,
        "tools": [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
            for tool in brief.tools
        ],
    }


def _message(message: User | Said | Results) -> dict[str, Any]:
    match message:
        case User(said):
            return {"role": "user", "content": [{"type": "text", "text": said}]}
        case Results(results):
            return {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": name, "content": out} for name, out in results
                ],
            }
        case Said(said, calls, api, raw):
            made = list(raw) if api == NAME and raw else _blocks(said, calls)
            return {"role": "assistant", "content": made}


def _blocks(said: str, calls: tuple[Call, ...]) -> list[dict[str, Any]]:
    """Text that is empty is refused by the protocol, and so is a message without any block."""
    texts = [{"type": "text", "text": said or "…"}] if said.strip() or not calls else []
    return texts + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in calls
    ]


def answer(body: Mapping[str, Any]) -> Answer:
    """Raises `ValueError` if it is none."""
    if "content" not in body:
        raise ValueError("there is no `content` in it")
    blocks, why = tables(body["content"]), body.get("stop_reason")
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    calls = tuple(_read(block, number) for number, block in enumerate(uses))
    said = "\n".join(text(block.get("text")) for block in blocks if block.get("type") == "text")
    is_sound = bool(calls) and all(
        use.get("id") and not call.wrong for use, call in zip(uses, calls, strict=True)
    )
    return Answer(
        said=Said(said, calls, NAME, tuple(blocks) if is_sound else ()),
        used=_used(table(body.get("usage"))),
        is_cut=why == "max_tokens",
        refused="it says no" if why == "refusal" else "",
    )


def _read(block: Mapping[str, Any], number: int) -> Call:
    made = Call(text(block.get("id")) or f"call_{number}", text(block.get("name")), {})
    if not isinstance(block.get("input"), dict):
        return made._replace(wrong="the arguments are no JSON object")
    return made._replace(arguments=table(block["input"]))


def _used(used: Mapping[str, Any]) -> Used:
    """What was written to a cache went in, as well."""
    fresh = count(used.get("input_tokens")) + count(used.get("cache_creation_input_tokens"))
    return Used(
        input=fresh,
        output=count(used.get("output_tokens")),
        cached_input=count(used.get("cache_read_input_tokens")),
    )
