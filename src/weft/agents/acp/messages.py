"""JSON-RPC on a line: one object each, and none of them longer than an honest one is.

What a server writes is a stranger's text. Some write warnings to the same place, so what is no message is passed
over. A line that is too long is told as soon as it is, and no more than its beginning is kept.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

LONGEST_LINE = 4_000_000
"""Bytes."""
NOT_FOUND = -32601
_HEAD = 1_000
_UPDATE = re.compile(rb'"method"\s*:\s*"session/update"')

Message = Mapping[str, Any]


class Noise(NamedTuple):
    """A line that is no message."""

    text: str


class TooLong(NamedTuple):
    """A line that nobody will read."""

    is_update: bool
    """It only told how the work goes on: what a tool has read, say. Nobody waits for it."""


# --- to the server ---


def request(number: int, method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def notification(method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def answer(number: object, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def not_found(number: object, method: str) -> Message:
    error = {"code": NOT_FOUND, "message": f"Method not found: {method[:_HEAD]}"}
    return {"jsonrpc": "2.0", "id": number, "error": error}


def packed(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


# --- from the server ---


class Lines:
    """Bytes in, as they come; out comes what the lines are."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._is_too_long = False

    def feed(self, data: bytes) -> list[Message | Noise | TooLong]:
        found: list[Message | Noise | TooLong] = []
        *ends, rest = data.split(b"\n")
        for piece in ends:
            found += self._add(piece)
            if self._line.strip() and not self._is_too_long:
                found.append(_read(bytes(self._line)))
            self._line.clear()
            self._is_too_long = False
        return found + self._add(rest)

    def _add(self, piece: bytes) -> list[TooLong]:
        if self._is_too_long:
            return []
        self._line += piece
        if len(self._line) <= LONGEST_LINE:
            return []
        self._is_too_long = True
        head = bytes(self._line[:_HEAD])
        self._line.clear()
        return [TooLong(is_update=_UPDATE.search(head) is not None)]


def _read(line: bytes) -> Message | Noise:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return Noise(line[:_HEAD].decode(errors="replace"))
