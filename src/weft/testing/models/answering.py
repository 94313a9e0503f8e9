"""How a step is played to whoever asked: answered, at once or in pieces; refused; cut off; left hanging."""

import json
import socket
from collections.abc import Mapping
from threading import BrokenBarrierError, Event
from typing import Any, Protocol

from weft.testing.models.conversation import Reply, Request
from weft.testing.models.playing import DROPPED, HUNG, Asked, Part, Stage
from weft.testing.models.script import Step
from weft.testing.models.wires import Wire, model_of, wants_stream

_LONGEST_HANG = 900
_KEYS = ("authorization", "x-api-key", "x-goog-api-key")
_CUT_AT = 20
_OK, _NO_RULE = 200, 404


class Line(Protocol):
    """The connection to whoever asked."""

    connection: Any
    headers: Any
    wfile: Any
    close_connection: bool

    def send_json(self, status: int, value: object, headers: dict[str, str] | None = None) -> None: ...

    def send_text(self, status: int, text: str, headers: dict[str, str] | None = None) -> None: ...

    def send_response(self, code: int) -> None: ...

    def send_header(self, name: str, value: str, /) -> None: ...

    def end_headers(self) -> None: ...


class Answers:
    """To one request."""

    def __init__(self, line: Line, stage: Stage, closing: Event, wire: tuple[str, Wire]) -> None:
        self._line = line
        self._stage = stage
        self._closing = closing
        self._api, self._wire = wire

    def answer(self, path: str, name: str, tag: str, body: Mapping[str, Any]) -> None:
        request = self._wire.read(body)
        part = self._stage.part(name, tag, request)
        if part is None:
            self._line.send_json(
                _NO_RULE, self._wire.failure(_NO_RULE, f"no rule {name!r} fits this request")
            )
            return
        reply = self._stage.reply(part.step, request, model_of(path, body), body)
        stream = wants_stream(path, body)
        if not self._waited(part):
            self._line.close_connection = True
            return
        self._stage.note(self._record(part, tag, request, reply, stream=stream))
        self._play(part.step, reply, stream=stream)

    def _waited(self, part: Part) -> bool:
        if part.step.after and not self._stage.hears(part.step.after):
            return False
        self._closing.wait(part.step.delay)
        try:
            if part.barrier is not None:
                part.barrier.wait()
        except BrokenBarrierError:
            return False
        return True

    def _record(self, part: Part, tag: str, request: Request, reply: Reply, *, stream: bool) -> Asked:
        step = part.step
        answers = step.http is None and not step.drop and not step.hang
        return Asked(
            api=self._api,
            scenario=part.rule.name,
            tag=tag,
            step=part.number,
            stream=stream,
            model=reply.model,
            tools=tuple(tool.name for tool in request.tools),
            turns=request.turns,
            has_key=any(self._line.headers.get(name) for name in _KEYS),
            agent=self._line.headers.get("user-agent") or "",
            answered=step.http or (DROPPED if step.drop else HUNG if step.hang else _OK),
            text=reply.text if answers else "",
            calls=tuple(call.name for call in reply.calls) if answers else (),
            body=reply.body,
        )

    def _play(self, step: Step, reply: Reply, *, stream: bool) -> None:
        if step.http is not None:
            failure = self._wire.failure(step.http, step.message or f"scripted error {step.http}")
            self._line.send_json(step.http, failure, dict(step.headers))
        elif step.hang:
            self._hang()
        elif step.raw is not None:
            self._line.send_text(_OK, step.raw, dict(step.headers))
        elif stream:
            self._stream(step, reply)
        elif step.drop:
            self._begin("application/json", {"content-length": "100000"})
            self._line.wfile.write(json.dumps(self._wire.whole(reply)).encode()[:_CUT_AT])
            self._cut()
        else:
            self._line.send_json(_OK, self._wire.whole(reply), dict(step.headers))

    def _stream(self, step: Step, reply: Reply) -> None:
        self._begin("text/event-stream", dict(step.headers))
        for event, data in self._wire.stream(reply):
            text = data if isinstance(data, str) else json.dumps(data)
            whole = (f"event: {event}\n" if event else "") + f"data: {text}\n\n"
            if step.drop:
                self._line.wfile.write(whole.encode()[: len(whole) // 2])
                self._cut()
                return
            self._line.wfile.write(whole.encode())
            self._closing.wait(step.slow)

    def _begin(self, kind: str, headers: dict[str, str]) -> None:
        """The end of the connection is the end of the answer."""
        self._line.send_response(_OK)
        for name, value in {"content-type": kind, "connection": "close", **headers}.items():
            self._line.send_header(name, value)
        self._line.end_headers()
        self._line.close_connection = True

    def _cut(self) -> None:
        self._line.connection.shutdown(socket.SHUT_RDWR)

    def _hang(self) -> None:
        """Until whoever asked goes away, or the server does."""
        self._line.close_connection = True
        self._line.connection.settimeout(_LONGEST_HANG)
        self._line.connection.recv(1)
