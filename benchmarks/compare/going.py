"""`weft run` as a process, from its plan to its end, and what is seen of it meanwhile."""

import json
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from benchmarks.compare.processes import environment, is_there
from weft.engine.messages.event_codec import kind_of
from weft.engine.messages.events import Recorded
from weft.errors import WeftError
from weft.store.sqlite import SqliteReader, open_reader

WEFT = (sys.executable, "-m", "weft", "run")
_PAUSE = 0.005
_PATIENCE = 600.0
_SCREEN = (50, 120)
"""Lines and columns."""


def steps_plan(slices: int, *, steps: int = 1, command: str = "true", at_once: int = 10) -> str:
    """Slices with so many steps each, all of which run the same command."""
    work = "\n".join(f"    - {{id: t{number}, run: '{command}'}}" for number in range(steps))
    subplans = "\n".join(f"  - {{id: s{number}, pipeline: work}}" for number in range(slices))
    return (
        f"weft: 1\nplan: many\nisolation: none\nmax_parallel: {at_once}\n"
        f"pipelines:\n  work:\n{work}\nsubplans:\n{subplans}\n"
    )


def write_plan(folder: Path, text: str) -> None:
    """Into a directory that is a project of its own, where nothing has been run."""
    folder.mkdir(exist_ok=True)
    (folder / ".weft").mkdir()
    (folder / "weft.yaml").write_text(text, "utf-8")


class Going:
    """A run that goes, seen through its journal. It has ended when the context manager `going` has."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes], *, after: int) -> None:
        """`after`: the last event that is not its own."""
        self.pid = process.pid
        self._folder = folder
        self._process = process
        self._reader: SqliteReader | None = None
        self._seen = after
        self._kinds: Counter[str] = Counter()

    def until(self, kind: str, times: int) -> None:
        """So many of its events are of this kind."""
        until = time.monotonic() + _PATIENCE
        while self._count(kind) < times:
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"it ended, or is stuck, before {kind} came {times} times: {self._kinds}")
            time.sleep(_PAUSE)

    def _count(self, kind: str) -> int:
        for one in self._news():
            self._seen = one.seq
            self._kinds[kind_of(one.event)] += 1
        return self._kinds[kind]

    def _news(self) -> Iterable[Recorded]:
        try:
            self._reader = self._reader or open_reader(self._folder / ".weft" / "weft.db")
            (record, *_) = self._reader.runs()
        except (WeftError, ValueError):  # it is still being made
            return ()
        return self._reader.events(record.run, after=self._seen)

    def supervisor(self) -> int:
        """Its pid."""
        (beat,) = self._folder.glob(".weft/runs/*/host/heartbeat.json")
        return int(json.loads(beat.read_text())["pid"])

    def kill(self) -> None:
        """As bad luck would have it."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """What still runs is ended; the journal is left to others, and the directory to nobody."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
        if self._reader is not None:
            self._reader.close()

    def wait(self) -> None:
        """For its end, and that of its supervisor, which has nothing to do any more but to wait a little."""
        self._process.wait()
        supervisor = self.supervisor()
        with suppress(ProcessLookupError):
            os.kill(supervisor, signal.SIGKILL)
        while is_there(supervisor):
            time.sleep(_PAUSE)


@contextmanager
def going(folder: Path, *options: str, on_a_terminal: bool = False) -> Iterator[Going]:
    """The run of the plan in a directory. It is stopped if it has not ended in the end."""
    after = events_of(folder)[-1].seq if (folder / ".weft" / "weft.db").exists() else 0
    with _audience(on_a_terminal=on_a_terminal) as stderr:
        process = subprocess.Popen(
            [*WEFT, *options],
            cwd=folder,
            env={**environment(), "TERM": "xterm-256color"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        with process, closing(Going(folder, process, after=after)) as run:
            yield run


@contextmanager
def _audience(*, on_a_terminal: bool) -> Iterator[int]:
    if not on_a_terminal:
        yield subprocess.DEVNULL
        return
    screen, terminal = os.openpty()
    termios.tcsetwinsize(terminal, _SCREEN)
    reader = threading.Thread(target=_read_all, args=(screen,))
    reader.start()
    try:
        yield terminal
    finally:
        os.close(terminal)
        reader.join()
        os.close(screen)


def _read_all(screen: int) -> None:
    try:
        while os.read(screen, 1 << 16):
            pass
    except OSError:  # so ends a terminal that nobody writes to any more
        pass


def events_of(folder: Path) -> list[Recorded]:
    """Of the one run in a directory."""
    with closing(open_reader(folder / ".weft" / "weft.db")) as reader:
        (record,) = reader.runs()
        return [*reader.events(record.run)]
