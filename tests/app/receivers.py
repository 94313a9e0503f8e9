"""Those who are told of runs: a server for webhooks, and programs that note what they were given."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

from weft.app.notify.notices import Notice

NOTICE = Notice(
    event="conflict", plan="notes", run="r1", subplan="cli", title="notes: cli is in conflict", text="-x <b>",
    next="weft merge cli", at=1_000.0,
)  # fmt: skip


class Server(ThreadingHTTPServer):
    """Answers with the codes it was given, and with 204 after them; one that hangs answers when it is let go."""

    daemon_threads = False

    def __init__(self, *codes: int, hangs: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.codes = list(codes)
        self.got: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.reached = Event()
        self.let_go = Event()
        if not hangs:
            self.let_go.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/key?x=1"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.paths.append(self.path)
        self.server.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.reached.set()
        self.server.let_go.wait()
        self.send_response(self.server.codes.pop(0) if self.server.codes else 204)
        self.send_header("Location", self.server.url)
        self.end_headers()

    def log_message(self, *said: Any) -> None:
        pass


@contextmanager
def serving(*codes: int, hangs: bool = False) -> Iterator[Server]:
    with Server(*codes, hangs=hangs) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.let_go.set()
            server.shutdown()
            thread.join()


def nobody() -> str:
    """Where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/"


def program(folder: Path, name: str) -> Path:
    """Notes its arguments, one a line, in a file of its name."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/{name}.said\n')
    file.chmod(0o755)
    return file
