"""A box: another machine in the eyes of the coordinator, which is a directory of this one.

It has a home and an environment of its own, and it is reached by a command.
"""

import hashlib
import io
import os
import signal
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from hosts.places import is_alive, pids, proc
from weft.hosts.carriers.bootstrap import FarPlace
from weft.hosts.carriers.command import CommandCarrier
from weft.hosts.far.frames import Header
from weft.hosts.far_program import far_program
from weft.hosts.machines.session import MachineSession, SessionEvents
from weft.ports.machines import Carrier, FarProgram
from weft.terms import MachineState

far_program()  # made before a test runs an event loop, which it must not block
PROGRAMS = f"{Path(sys.executable).parent}:/usr/bin:/bin"


class Box:
    def __init__(self, root: Path, **variables: str) -> None:
        self.home = root / "box"
        self.home.mkdir()
        self._variables = {"HOME": str(self.home), "PATH": PROGRAMS, **variables}
        self.place = FarPlace(host="box", python=sys.executable)
        self.gate = root / "gate"
        """The box can be reached while this file exists."""
        self.gate.touch()
        self._entrance = root / "enter"
        self._entrance.write_text(
            f'#!/bin/sh\ntest -e {self.gate} || {{ echo "no route" >&2; exit 1; }}\n"$@"\n'
        )
        self._entrance.chmod(0o755)

    @property
    def directory(self) -> Path:
        return self.home / ".cache" / "weft"

    @property
    def command(self) -> tuple[str, ...]:
        return ("env", "-i", *(f"{name}={value}" for name, value in self._variables.items()))

    @property
    def entrance(self) -> tuple[str, ...]:
        """What runs a command in the box."""
        return (str(self._entrance), *self.command)

    def carrier(self, *prefix: str, place: FarPlace | None = None) -> CommandCarrier:
        """`prefix` stands before the command that enters the box."""
        return CommandCarrier((*prefix, str(self._entrance), *self.command), place or self.place, os.environ)

    # --- what is seen there ---

    def far_programs(self, run: str = "") -> list[int]:
        """The pids of the far programs that serve."""
        wanted = [b"serve", run.encode()] if run else [b"serve"]
        return [
            pid
            for pid in pids()
            if is_alive(pid)
            and f"{self.directory}/far/".encode() in proc(pid, "cmdline")
            and proc(pid, "cmdline").split(b"\0")[6 : 6 + len(wanted)] == wanted
        ]

    def carriers(self) -> list[int]:
        """The pids of the processes here that are connected to it."""
        return [
            pid for pid in pids() if is_alive(pid) and os.fsencode(self._entrance) in proc(pid, "cmdline")
        ]

    def supervisors(self) -> list[int]:
        return [
            pid
            for pid in pids()
            if is_alive(pid)
            and proc(pid, "comm") == b"weft-supervisor\n"[:16]
            and os.fsencode(self.directory) in proc(pid, "cmdline")
        ]

    def clean(self) -> None:
        """Ends all that has this box as its home."""
        for pid in pids():
            if f"HOME={self.home}".encode() in proc(pid, "environ").split(b"\0") or (
                os.fsencode(self.directory) in proc(pid, "cmdline") and is_alive(pid)
            ):
                os.kill(pid, signal.SIGKILL)


class Watcher:
    """What a session has reported."""

    def __init__(self) -> None:
        self.states: list[MachineState] = []
        self.frames: list[tuple[Header, bytes]] = []
        self.connections = 0
        self._news = anyio.Event()

    def events(self) -> SessionEvents:
        return SessionEvents(on_connected=self._connected, on_frame=self._frame, on_status=self._state)

    def _connected(self, _: MachineSession) -> None:
        self.connections += 1
        self._wake()

    def _frame(self, _: MachineSession, header: Header, payload: bytes) -> None:
        self.frames.append((header, payload))
        self._wake()

    def _state(self, session: MachineSession) -> None:
        self.states.append(session.state)
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def state(self, state: MachineState) -> None:
        """Waits until the last state is this one."""
        with anyio.fail_after(60):
            while not self.states or self.states[-1] is not state:
                await self._news.wait()

    async def connected(self, times: int) -> None:
        with anyio.fail_after(60):
            while self.connections < times:
                await self._news.wait()


def session_of(
    carrier: Carrier,
    watcher: Watcher,
    *,
    run: str = "run-1",
    lost_after: float = 600.0,
    program: FarProgram | None = None,
    programs: Sequence[str] = (),
    machine: str = "box",
) -> MachineSession:
    return MachineSession(
        carrier,
        program or far_program(),
        host="box",
        machine=machine,
        run=run,
        events=watcher.events(),
        lost_after=lost_after,
        programs=programs,
    )


def program_with(operations: str, **modules: str) -> FarProgram:
    """A far program with operations of a test: Python that adds to OPERATIONS."""
    buffer = io.BytesIO(far_program().content)
    with zipfile.ZipFile(buffer) as archive:
        files: Mapping[str, bytes] = {name: archive.read(name) for name in archive.namelist()}
    name = "weft/hosts/far/operations.py"
    changed = {**files, name: files[name] + b"\n" + operations.encode()}
    changed |= {f"weft/hosts/far/{module}.py": text.encode() for module, text in modules.items()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for file, content in changed.items():
            archive.writestr(file, content)
    content = out.getvalue()
    return FarProgram(content=content, digest=hashlib.sha256(content).hexdigest()[:32])
