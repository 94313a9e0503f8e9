"""Requests to a scripted model, as agents send them."""

import json
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

SHELL = {"properties": {"command": {"type": "string"}}, "required": ["command"]}
CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
MESSAGES = "/v1/messages"
GEMINI = "/v1beta/models/gem:generateContent"
PATHS = {"chat": CHAT, "responses": RESPONSES, "messages": MESSAGES, "gemini": GEMINI}

FIRST: dict[str, dict[str, Any]] = {
    "chat": {
        "messages": [{"role": "system", "content": "Be"}, {"role": "user", "content": "Do it"}],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": SHELL}}],
    },
    "responses": {
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Do it"}]}],
        "tools": [{"type": "function", "name": "bash", "parameters": SHELL}],
    },
    "messages": {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Do it"}]}],
        "tools": [{"name": "bash", "input_schema": SHELL}],
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "Do it"}]}],
        "tools": [{"functionDeclarations": [{"name": "bash", "parametersJsonSchema": SHELL}]}],
    },
}
"""What is asked first, by protocol."""


class Answer:
    def __init__(self, response: HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    def events(self) -> list[tuple[str | None, Any]]:
        """Of a stream."""
        parsed = []
        for block in self.text.strip().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines())
            data = lines["data"]
            parsed.append((lines.get("event"), data if data == "[DONE]" else json.loads(data)))
        return parsed


def send(url: str, body: Any = None, *, method: str = "POST", **headers: str) -> Answer:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request(method, f"{parts.path}?{parts.query}", raw, headers)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def get(url: str, **headers: str) -> Answer:
    return send(url, b"", method="GET", **headers)
