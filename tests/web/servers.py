"""A real `weft ui` in a process of its own, and requests to it."""

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from weft.interpreter import isolated_python

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}


class Reply(Struct):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)["data"]

    @property
    def error(self) -> Any:
        return json.loads(self.body)["error"]


class Server(Struct):
    process: subprocess.Popen[str]
    port: int
    token: str

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def request(
        self, method: str, path: str, *, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """A request with exactly these headers."""
        return self._request(method, path, None if body is None else json.dumps(body), headers or {})

    def send(self, path: str, form: str, headers: Mapping[str, str]) -> Reply:
        """A form that was filled in."""
        return self._request(
            "POST", path, form, {"Content-Type": "application/x-www-form-urlencoded"} | dict(headers)
        )

    def _request(self, method: str, path: str, text: str | None, headers: Mapping[str, str]) -> Reply:
        connection = self.connect()
        connection.request(method, path, text, dict(headers))
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        reply = Reply(response.status, names, response.read())
        connection.close()
        return reply

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def get(self, path: str) -> Reply:
        return self.request("GET", f"/api/v1/{path}", headers=self.bearer)

    def post(self, path: str, body: object) -> Reply:
        headers = self.bearer | {"Content-Type": "application/json"}
        return self.request("POST", f"/api/v1/{path}", body=body, headers=headers)


@contextmanager
def running_ui(directory: Path, *options: str, env: Mapping[str, str] | None = None) -> Iterator[Server]:
    command = [
        *isolated_python("weft"),
        "-C",
        str(directory),
        "ui",
        "--no-open",
        "--json",
        "--port",
        "0",
        *options,
    ]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=ENVIRONMENT | dict(env or {}),
    )  # fmt: skip
    assert process.stdout is not None
    try:
        url = urlsplit(json.loads(process.stdout.readline())["data"]["url"])
        yield Server(process, url.port or 0, parse_qs(url.query)["token"][0])
    finally:
        process.send_signal(signal.SIGINT)  # as Ctrl-C does
        process.wait(30)
        process.stdout.close()
