"""Perform a step of a script for one request: answer at once or as a stream, refuse, cut off, or hang."""

import json
import socket
from collections.abc import Mapping
from threading import BrokenBarrierError, Event
from typing import Any, Protocol

from weft.testing.models.conversation import Reply, Request
from weft.testing.models.playback import DROPPED, HUNG, ChosenStep, RecordedRequest, ScriptState
from weft.testing.models.script import ScriptStep
from weft.testing.models.wires import Wire, model_of, wants_stream

_LONGEST_HANG = 900
_KEYS = ("authorization", "x-api-key", "x-goog-api-key")
_CUT_AT = 20
_OK, _NO_RULE = 200, 404


class HttpConnection(Protocol):
    """The HTTP connection to the client."""

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
    """Answers one request."""

    def __init__(
        self, connection: HttpConnection, stage: ScriptState, closing: Event, wire: tuple[str, Wire]
    ) -> None:
        self._connection = connection
        self._stage = stage
        self._closing = closing
        self._api, self._wire = wire

    def answer(self, path: str, name: str, tag: str, body: Mapping[str, Any]) -> None:
        request = self._wire.read(body)
        part = self._stage.part(name, tag, request)
        if part is None:
            self._connection.send_json(
                _NO_RULE, self._wire.failure(_NO_RULE, f"no rule {name!r} fits this request")
            )
            return
        # The reply is made before the wait, so that the ids of replies follow the order of the requests.
        reply = self._stage.reply(part.step, request, model_of(path, body), body)
        stream = wants_stream(path, body)
        if not self._wait_for_turn(part):
            self._connection.close_connection = True
            return
        # Recorded before the answer is sent: a test that has seen the answer finds the request in the log.
        self._stage.note(self._record(part, tag, request, reply, stream=stream))
        self._play(part.step, reply, stream=stream)

    def _wait_for_turn(self, part: ChosenStep) -> bool:
        if part.step.after and not self._stage.wait_for_message(part.step.after):
            return False
        # A wait for the event and not a sleep, so that `close` does not have to wait for it.
        self._closing.wait(part.step.delay)
        try:
            # All requests of the step arrive here before any of them is answered.
            if part.barrier is not None:
                part.barrier.wait()
        except BrokenBarrierError:
            return False
        return True

    def _record(
        self, part: ChosenStep, tag: str, request: Request, reply: Reply, *, stream: bool
    ) -> RecordedRequest:
        step = part.step
        is_answered = step.http is None and not step.drop and not step.hang
        return RecordedRequest(
            api=self._api,
            scenario=part.rule.name,
            tag=tag,
            step=part.number,
            stream=stream,
            model=reply.model,
            tools=tuple(tool.name for tool in request.tools),
            turns=request.turns,
            has_key=any(self._connection.headers.get(name) for name in _KEYS),
            agent=self._connection.headers.get("user-agent") or "",
            answered=step.http or (DROPPED if step.drop else HUNG if step.hang else _OK),
            text=reply.text if is_answered else "",
            calls=tuple(call.name for call in reply.calls) if is_answered else (),
            body=reply.body,
        )

    def _play(self, step: ScriptStep, reply: Reply, *, stream: bool) -> None:
        if step.http is not None:
            failure = self._wire.failure(step.http, step.message or f"scripted error {step.http}")
            self._connection.send_json(step.http, failure, dict(step.headers))
        elif step.hang:
            self._hang()
        elif step.raw is not None:
            self._connection.send_text(_OK, step.raw, dict(step.headers))
        elif stream:
            self._stream(step, reply)
        elif step.drop:
            # A length that is never reached: the client must notice that the body is cut off.
            self._send_head("application/json", {"content-length": "100000"})
            self._connection.wfile.write(json.dumps(self._wire.whole(reply)).encode()[:_CUT_AT])
            self._cut()
        else:
            self._connection.send_json(_OK, self._wire.whole(reply), dict(step.headers))

    def _stream(self, step: ScriptStep, reply: Reply) -> None:
        self._send_head("text/event-stream", dict(step.headers))
        for event, data in self._wire.stream(reply):
            text = data if isinstance(data, str) else json.dumps(data)
            whole = (f"event: {event}\n" if event else "") + f"data: {text}\n\n"
            if step.drop:
                self._connection.wfile.write(whole.encode()[: len(whole) // 2])
                self._cut()
                return
            self._connection.wfile.write(whole.encode())
            self._closing.wait(step.slow)

    def _send_head(self, kind: str, headers: dict[str, str]) -> None:
        """Sends the head of a response that ends with the connection."""
        self._connection.send_response(_OK)
        for name, value in {"content-type": kind, "connection": "close", **headers}.items():
            self._connection.send_header(name, value)
        self._connection.end_headers()
        self._connection.close_connection = True

    def _cut(self) -> None:
        # `close` alone would leave the connection open, because the file objects of the handler still refer to
        # it.
        self._connection.connection.shutdown(socket.SHUT_RDWR)

    def _hang(self) -> None:
        """Waits until the client or the server closes the connection."""
        self._connection.close_connection = True
        self._connection.connection.settimeout(_LONGEST_HANG)
        # A read and not a sleep: it returns as soon as the client gives up, and the thread can end.
        self._connection.connection.recv(1)
