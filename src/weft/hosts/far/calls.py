"""Calls of operations: each runs in a thread, and its payloads come and go in pieces, through files."""

import os
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Condition, Semaphore, Thread
from typing import Any

from weft.safe_files import locate, open_file, remove_file
from weft.system_errors import describe
from weft.threads import start_thread

from . import WINDOW
from .context import FarContext
from .errors import FarProblemError
from .frames import PIECE, Header
from .output import FrameOutput

Operation = Callable[[FarContext, dict[str, Any], Path | None], tuple[dict[str, Any], Path | None]]
"""Takes the arguments and the file of a payload; returns the answer and the file of its payload."""
_AT_ONCE = 32


class FarCall:
    """One call: its payload arrives, it runs, its reply is sent."""

    def __init__(self, request: Header, calls: "FarCalls") -> None:
        self._calls = calls
        self._id = int(request["id"])
        self._name = str(request["call"])
        self._arguments: dict[str, Any] = request["arguments"]
        self._missing = int(request.get("size", 0))
        self._arrived = 0
        self._payload: Path | None = None
        self._descriptor = -1
        self._sent = 0
        self._confirmed = 0
        self._is_confirmed = Condition()

    # --- its payload ---

    def begin(self) -> None:
        if self._missing:
            self._payload = self._calls.context.new_file()
            tree, file = locate(self._payload)
            self._descriptor = tree.create(file, make=True)
        else:
            self._run()

    def add(self, piece: bytes) -> None:
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self._arrived += len(piece)
        self._missing -= len(piece)
        self._calls.output.send({"got": self._id, "bytes": self._arrived})
        if self._missing <= 0:
            os.close(self._descriptor)
            self._run()

    def confirm(self, count: int) -> None:
        with self._is_confirmed:
            self._confirmed = count
            self._is_confirmed.notify()

    # --- its work ---

    def _run(self) -> None:
        start_thread(Thread(target=self._work, daemon=True))

    def _work(self) -> None:
        with self._calls.room:
            try:
                data, payload = self._perform()
                self._reply(data, payload)
            except FarProblemError as error:
                self.fail(error.kind, str(error))
            except OSError as error:
                self.fail("machine", describe(error))
            except Exception as error:  # noqa: BLE001 - the coordinator is to learn of a bug, and the thread ends
                traceback.print_exc(file=sys.stderr)
                self.fail("bug", f"{type(error).__name__}: {error}")
            finally:
                self._calls.end(self._id)

    def _perform(self) -> tuple[dict[str, Any], Path | None]:
        operation = self._calls.operations.get(self._name)
        if operation is None:
            raise FarProblemError(f"the far program knows no operation {self._name!r}", kind="protocol")
        try:
            return operation(self._calls.context, self._arguments, self._payload)
        finally:
            self._remove(self._payload)

    def _remove(self, file: Path | None) -> None:
        if file is not None:
            with suppress(OSError):
                remove_file(file)

    def _reply(self, data: dict[str, Any], payload: Path | None) -> None:
        if payload is None:
            self._calls.output.send({"reply": self._id, "data": data})
            return
        descriptor = open_file(payload)
        self._remove(payload)
        try:
            size = os.fstat(descriptor).st_size
            self._calls.output.send({"reply": self._id, "data": data, "size": size})
            self._send(descriptor, size)
        finally:
            os.close(descriptor)

    def _send(self, descriptor: int, size: int) -> None:
        while self._sent < size and (piece := os.read(descriptor, min(PIECE, size - self._sent))):
            with self._is_confirmed:
                self._is_confirmed.wait_for(lambda: self._sent - self._confirmed < WINDOW)
            self._calls.output.send({"piece": self._id}, piece)
            self._sent += len(piece)

    def fail(self, kind: str, message: str) -> None:
        self._calls.output.send({"reply": self._id, "error": {"kind": kind, "message": message}})


class FarCalls:
    """The calls that have not ended."""

    def __init__(self, context: FarContext, output: FrameOutput, operations: Mapping[str, Operation]) -> None:
        self.context = context
        self.output = output
        self.operations = operations
        self.room = Semaphore(_AT_ONCE)
        self._calls: dict[int, FarCall] = {}

    def begin(self, request: Header) -> None:
        call = FarCall(request, self)
        self._calls[int(request["id"])] = call
        self._try(call, call.begin)

    def add(self, number: int, piece: bytes) -> None:
        call = self._calls.get(number)
        if call is not None:  # otherwise it has failed
            self._try(call, lambda: call.add(piece))

    def confirm(self, number: int, count: int) -> None:
        call = self._calls.get(number)
        if call is not None:
            call.confirm(count)

    def end(self, number: int) -> None:
        self._calls.pop(number, None)

    def _try(self, call: FarCall, action: Callable[[], None]) -> None:
        try:
            action()
        except OSError as error:  # no room for its payload, or for a thread
            call.fail("machine", describe(error))
            self._calls = {number: each for number, each in self._calls.items() if each is not call}
