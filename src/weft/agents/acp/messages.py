"""JSON-RPC messages, one object per line, with a bound on the length of a line.

The output of a server is untrusted. Some servers write warnings to the same stream, so lines that are not
messages are skipped. A line that exceeds the bound is reported at once, and only its beginning is kept in
memory.
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
    """A line that is not a message."""

    text: str


class TooLong(NamedTuple):
    """A line that exceeds the bound. Its contents are lost."""

    is_update: bool
    """Whether it was a notification of progress, such as the output of a tool, which can be skipped."""


# --- to the server ---


def request(number: int, method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def notification(method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def response(number: object, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def method_not_found(number: object, method: str) -> Message:
    error = {"code": NOT_FOUND, "message": f"Method not found: {method[:_HEAD]}"}
    return {"jsonrpc": "2.0", "id": number, "error": error}


def encode(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


# --- from the server ---


class LineDecoder:
    """Splits a stream of bytes into lines and decodes them."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._is_too_long = False

    def feed(self, data: bytes) -> list[Message | Noise | TooLong]:
        messages: list[Message | Noise | TooLong] = []
        *complete_pieces, rest = data.split(b"\n")
        for piece in complete_pieces:
            messages += self._add(piece)
            if self._line.strip() and not self._is_too_long:
                messages.append(_decode(bytes(self._line)))
            self._line.clear()
            self._is_too_long = False
        return messages + self._add(rest)

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


def _decode(line: bytes) -> Message | Noise:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return Noise(line[:_HEAD].decode(errors="replace"))
