"""The connection of a far program to the supervisor of its run, whose lines it passes on unchanged."""

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any

from weft.errors import WeftError
from weft.hosts.reach import reach
from weft.system_errors import describe
from weft.threads import start_thread

from .context import FarContext, program_file
from .environment import inherited
from .output import FrameOutput

_READ = 1 << 16


def supervisor_program(context: FarContext, limits: Sequence[str]) -> tuple[str, ...]:
    """Returns the command of a supervisor on this machine; `limits` are head, tail and linger."""
    python = (sys.executable, "-I", "-S", "-X", "utf8", str(program_file()), "supervisor")
    return (*python, str(context.supervisor_directory), *limits)


class SupervisorRelay:
    """One connection to the supervisor."""

    def __init__(self, number: int, context: FarContext, output: FrameOutput) -> None:
        self._number = number
        self._context = context
        self._output = output
        self._lines = SimpleQueue[bytes | None]()
        """To the supervisor; None closes the connection. A supervisor that hangs must not hold up other frames."""

    def open(self, request: Mapping[str, Any]) -> None:
        """Connects in the background."""
        start_thread(Thread(target=self._work, args=(request,), daemon=True))

    def send(self, lines: bytes) -> None:
        self._lines.put(lines)

    def share(self, names: Sequence[str]) -> None:
        """Gives the supervisor the variables of this machine with these names, which later jobs refer to."""
        self.send(json.dumps({"share": inherited(os.environ, names)}).encode() + b"\n")

    def close(self) -> None:
        self._lines.put(None)

    def _work(self, request: Mapping[str, Any]) -> None:
        try:
            program = supervisor_program(self._context, request["limits"])
            connection = reach(self._context.supervisor_directory, program)
        except (WeftError, OSError) as error:
            self._end(describe(error) if isinstance(error, OSError) else str(error))
            return
        connection.settimeout(None)
        self._output.send({"opened": self._number})
        try:
            start_thread(Thread(target=self._write, args=(connection,), daemon=True))
            self._read(connection)
        except OSError as error:
            self._end(describe(error))
        finally:
            self.close()
            connection.close()

    def _read(self, connection: socket.socket) -> None:
        while data := connection.recv(_READ):
            self._output.send({"lines": self._number}, data)
        self._end("")

    def _end(self, message: str) -> None:
        self._output.send({"gone": self._number, "message": message})

    def _write(self, connection: socket.socket) -> None:
        with suppress(OSError):  # then the supervisor has gone, which the reader reports
            while (lines := self._lines.get()) is not None:
                connection.sendall(lines)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
