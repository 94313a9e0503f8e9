"""A turnstile that processes go through: it counts who is inside, and holds them until enough are."""

import os
import shlex
import threading
from pathlib import Path
from types import TracebackType
from typing import Self


class Turnstile:
    """`hold_until`: no process leaves before so many were inside together. The command is for a shell."""

    def __init__(self, folder: Path, *, hold_until: int = 1) -> None:
        folder.mkdir()
        self._hold_until = hold_until
        self._waiting = 0
        self._reached = threading.Event()
        self.inside = 0
        self.peak = 0
        self.entered = 0
        for name in ("door", "gate"):
            os.mkfifo(folder / name)
        # Open at both ends, so that nobody waits for anybody to open the other.
        self._door = os.open(folder / "door", os.O_RDWR)
        self._gate = os.open(folder / "gate", os.O_RDWR)
        door, gate = (shlex.quote(str(folder / name)) for name in ("door", "gate"))
        self.enter = f"echo + > {door}; read _ < {gate}"
        self.leave = f"echo - > {door}"
        self.command = f"{self.enter}; {self.leave}"
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        os.write(self._door, b"q\n")
        self._thread.join()
        os.close(self._door)
        os.close(self._gate)

    def wait(self) -> None:
        """Until as many are inside as are waited for."""
        self._reached.wait()

    def _watch(self) -> None:
        while True:
            for sign in os.read(self._door, 4096).decode().split():
                if sign == "q":
                    return
                self._count(sign)

    def _count(self, sign: str) -> None:
        if sign == "-":
            self.inside -= 1
            return
        self.inside += 1
        self.entered += 1
        self._waiting += 1
        self.peak = max(self.peak, self.inside)
        if self.inside >= self._hold_until:
            self._reached.set()
        if self._reached.is_set():
            # One byte each: readers cannot take parts of a line from each other.
            os.write(self._gate, b"\n" * self._waiting)
            self._waiting = 0
