"""The server of a scripted model. It listens on 127.0.0.1 or another given address, and answers by the script.

    http://127.0.0.1:PORT/s/NAME/v1        the base address for an agent that gets the rules called NAME
    http://127.0.0.1:PORT/s/NAME~TAG/v1    the same, counted separately for TAG, which is also recorded
    http://127.0.0.1:PORT/v1               the first rule

`[[scenario:NAME]]` in a prompt overrides the address. `GET /_log` returns the requests in brief, `GET /_bodies`
their bodies, and `POST /_reset` clears both.

Closing the server cuts every connection and waits until every thread has ended.
"""

import json
import re
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast

from weft.testing.models.playback import RecordedRequest, ScriptState
from weft.testing.models.reply import Answers
from weft.testing.models.scenarios import SCENARIOS
from weft.testing.models.script import ScriptRule
from weft.testing.models.values import table
from weft.testing.models.wires import counts_tokens, wire_of

_MODELS = ("scripted", "gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro")
_ROUTE = re.compile(r"/s/([^/~]+)(?:~([^/]*))?(/.*)")


class ModelServer:
    """A running scripted model. Use it as a context manager."""

    def __init__(self, rules: Sequence[ScriptRule] = (), *, host: str = "127.0.0.1", port: int = 0) -> None:
        """`rules` take precedence over the built-in rules in `scenarios`. Port 0 is a free one."""
        self._state = ScriptState((*rules, *SCENARIOS))
        self._server = _Server((host, port), _Handler)
        self._server.stage = self._state
        # A short poll interval, so that `shutdown` returns quickly.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def scenario(self, name: str, tag: str = "") -> str:
        """Returns the address for agents that append `/v1/…` to it."""
        return f"{self.url}/s/{name}{tag and '~'}{tag}"

    def requests(self) -> tuple[RecordedRequest, ...]:
        """Returns all requests, in the order in which their answers started."""
        return self._state.requests()

    def close(self) -> None:
        # `server_close` waits for all threads. So first no connection is accepted any more, then the requests
        # that wait for others are released, and then the reads of open connections end.
        self._server.shutdown()
        self._state.release()
        self._server.cut_all()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    # `server_close` waits only for threads that are no daemons; a thread that outlives the server would disturb
    # the next test.
    daemon_threads = False
    # Many agents connect at once; the kernel drops connections beyond this length, and the default is 5.
    request_queue_size = 256
    stage: ScriptState

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the signature of the base class
        with self._lock:
            self._open.add(request)
        if self.closing.is_set():  # it arrived while `cut_all` was running
            _cut(request)
        super().process_request_thread(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def cut_all(self) -> None:
        self.closing.set()
        with self._lock:
            for connection in self._open:
                _cut(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Ignores clients that disconnect, which tests do on purpose; any other error is a bug and is shown."""
        import sys  # noqa: PLC0415 - needed only here

        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    # Agents keep connections open for many requests, which HTTP/1.0 would not do.
    protocol_version = "HTTP/1.1"
    server_version = "ScriptedModel"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401
        """Logs nothing: the records contain more."""

    def do_GET(self) -> None:
        path = self._path()
        stage = cast("_Server", self.server).stage
        if path == "/_log":
            self.send_json(200, [request.summary() for request in stage.requests()])
        elif path == "/_bodies":
            self.send_json(200, [request.body for request in stage.requests()])
        elif self.headers.get("upgrade"):  # Codex tries a websocket first
            self.send_json(426, {"error": {"message": "there is no websocket here"}})
        elif path.endswith("/models"):
            models = [{"id": name, "object": "model", "type": "model", "name": name} for name in _MODELS]
            self.send_json(200, {"object": "list", "data": models, "has_more": False, "models": []})
        else:
            self._send_not_found()

    def do_POST(self) -> None:
        raw = self._body()
        path = self._path()
        server = cast("_Server", self.server)
        wire = wire_of(path)
        if path == "/_reset":
            server.stage.forget()
            self.send_json(200, {})
        # Agents count tokens by requests of their own, which must not use up a step of the script.
        elif counts_tokens(path):
            self.send_json(200, {"input_tokens": 1000, "totalTokens": 1000})
        elif wire is None:
            self._send_not_found()
        else:
            route = _ROUTE.fullmatch(path)
            name, tag = (route[1], route[2] or "") if route else ("", "")
            Answers(self, server.stage, server.closing, wire).answer(path, name, tag, _parse_json(raw))

    def _path(self) -> str:
        return self.path.partition("?")[0]

    def _send_not_found(self) -> None:
        self.send_json(404, {"error": {"message": f"nothing is at {self.path}"}})

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        else:
            data = b"".join(iter(self._chunk, b""))
        # Some agents compress long requests.
        if self.headers.get("content-encoding") == "gzip":
            import gzip  # noqa: PLC0415 - few agents compress requests

            data = gzip.decompress(data)
        return data

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline().partition(b";")[0].strip() or b"0", 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def send_json(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        self.send_text(status, json.dumps(value), headers)

    def send_text(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _parse_json(raw: bytes) -> dict[str, Any]:
    """Parses a JSON object; anything else counts as an empty one."""
    try:
        return table(json.loads(raw))
    except ValueError:
        return {}
