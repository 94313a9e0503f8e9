"""The loop of a far program: takes frames from its standard input until the coordinator has gone."""

import os
import select
import signal
import sys
import time
from pathlib import Path

from weft.hosts.supervisor.spawn import close_memory
from weft.safe_files import open_folder

from . import MARKER, PROTOCOL, SILENCE
from .calls import FarCalls
from .context import FarContext, program_file
from .frames import FrameDecoder, FrameError, Header
from .operations import OPERATIONS
from .output import FrameOutput
from .relay import SupervisorRelay

_READ = 1 << 18


def main(arguments: list[str]) -> None:
    (run,) = arguments
    # The terminal of the coordinator must not end it; the end of its input does.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.umask(0o077)
    close_memory()  # the environments of jobs pass through it
    os.chdir("/")
    incoming, outgoing = _take_streams()
    program = program_file()
    _greet(outgoing, program)
    FarServer(FarContext(program.parents[1], run), FrameOutput(outgoing)).serve(incoming)


def _take_streams() -> tuple[int, int]:
    """Returns descriptors of the input and output that no other process inherits, and nothing prints to."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return incoming, outgoing


def _greet(outgoing: int, program: Path) -> None:
    greeting = f'\n{MARKER}{{"serve":{PROTOCOL},"digest":"{program.stem}"}}\n'
    os.write(outgoing, greeting.encode())


class FarServer:
    """One coordinator's connection to this machine."""

    def __init__(self, context: FarContext, output: FrameOutput) -> None:
        self._context = context
        self._output = output
        self._calls = FarCalls(context, output, OPERATIONS)
        self._relay: SupervisorRelay | None = None
        self._relay_number = 0

    def serve(self, incoming: int) -> None:
        decoder = FrameDecoder()
        while select.select([incoming], [], [], SILENCE)[0] and (data := os.read(incoming, _READ)):
            try:
                for header, payload in decoder.feed(data):
                    self._take(header, payload)
            except FrameError as error:
                sys.exit(f"what arrives is no frame: {error}")
        # Operations that still run end with this process. They are made to be cut off anywhere, as a machine can
        # be switched off.

    def _take(self, header: Header, payload: bytes) -> None:
        match header:
            case {"ping": number}:
                self._output.send({"pong": number, "at": time.time()})
            case {"call": _}:
                self._calls.begin(header)
            case {"piece": number}:
                self._calls.add(number, payload)
            case {"got": number, "bytes": count}:
                self._calls.confirm(number, count)
            case {"folders": folders}:
                for folder in folders:
                    self._make(str(folder))
            case _:
                self._take_for_supervisor(header, payload)

    def _take_for_supervisor(self, header: Header, payload: bytes) -> None:
        match header:
            case {"open": number}:
                self._open_supervisor(number, header)
            case {"lines": number} if self._relay is not None and number == self._relay_number:
                self._relay.send(payload)
            case {"share": number, "names": names} if (
                self._relay is not None and number == self._relay_number
            ):
                self._relay.share(names)
            case _:  # for a supervisor that has gone
                pass

    def _open_supervisor(self, number: int, header: Header) -> None:
        if self._relay is not None:
            self._relay.close()
        self._relay_number = number
        self._relay = SupervisorRelay(number, self._context, self._output)
        self._relay.open(header)

    def _make(self, folder: str) -> None:
        if not Path(folder).is_relative_to(self._context.run_directory) or ".." in Path(folder).parts:
            return
        try:
            open_folder(folder, make=True).close()
        except OSError as error:  # the job that needs it fails, with a message of its own
            sys.stderr.write(f"{error}\n")
