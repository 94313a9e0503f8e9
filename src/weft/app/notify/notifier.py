"""Tells people of a run while it goes on, and never holds it up.

Each way to tell somebody has a thread and a queue of its own, so that one that hangs delays no other. A queue that
is full takes no more. In the end the rest has a few seconds; what has not got out by then is lost. What went wrong
is written to `.weft/notify.log`, and of each way the first time is shown.
"""

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Protocol, runtime_checkable

from weft.app.notify.channels import ByCommand, Channel, OnDesktop, ToWebhook, desktop_program
from weft.app.notify.notices import Notice, Notices
from weft.app.project.places import Places
from weft.app.views.event_json import timestamp
from weft.engine.messages.events import Recorded
from weft.plan.model import Plan
from weft.plan.notify import Notify
from weft.safe_files import locate
from weft.system_errors import describe
from weft.threads import run_sync, start_thread

MOST_WAITING = 100
"""Notices that wait for one way; more are not told."""
LAST_SECONDS = 10.0
"""How long the end waits for what has not been told yet."""
_HURRIED_SECONDS = 1.0
LARGEST_LOG = 100_000
"""Bytes; of a log that is larger, only the last half stays."""
LOG_NAME = "notify.log"


@runtime_checkable
class NoteListener(Protocol):
    """An observer that can be told something that is no event."""

    def notes(self, lines: Sequence[str]) -> None: ...


class Notifier:
    def __init__(
        self,
        plan: Plan,
        *,
        history: Iterable[Recorded],
        places: Places,
        observer: object,
        environ: Mapping[str, str],
        last_seconds: float = LAST_SECONDS,
    ) -> None:
        self._notices = Notices(plan)
        self._history: Iterable[Recorded] = history
        """What an earlier coordinator has told; it is read when there is news, as it may be long."""
        self._troubles = _Troubles(places)
        self._observer = observer
        self._last_seconds = last_seconds
        self._couriers = [
            (frozenset(one.on), _Courier(way, self._troubles))
            for one in plan.notify
            for way in self._ways(one, places, environ)
        ]

    def _ways(self, notify: Notify, places: Places, environ: Mapping[str, str]) -> Iterator[Channel]:
        if notify.run is not None:
            yield ByCommand(notify.run, folder=places.project, environ=environ)
        if notify.desktop:
            program = desktop_program(environ)
            if program is None:
                self._troubles.note("the desktop", "there is neither notify-send nor osascript here")
            else:
                yield OnDesktop(program, folder=places.project, environ=environ)
        if notify.webhook is not None:
            yield ToWebhook(notify.webhook)

    def hears(self, events: Sequence[Recorded]) -> None:
        if not events:
            return
        history, self._history = self._history, ()
        for recorded in takewhile(lambda recorded: recorded.seq < events[0].seq, history):
            self._notices.hear(recorded)
        for notice in filter(None, map(self._notices.hear, events)):
            for wanted, courier in self._couriers:
                if notice.event in wanted:
                    courier.take(notice)
        self._show_troubles()

    async def finish(self) -> None:
        try:
            await run_sync(self._wait, abandon_on_cancel=True)
        finally:
            for _, courier in self._couriers:
                courier.hurry()
            self._show_troubles()

    def _wait(self) -> None:
        until = time.monotonic() + self._last_seconds
        for _, courier in self._couriers:
            courier.close()
        for _, courier in self._couriers:
            courier.wait(until - time.monotonic())
        for _, courier in self._couriers:
            courier.hurry()
        for _, courier in self._couriers:
            courier.wait(_HURRIED_SECONDS)

    def _show_troubles(self) -> None:
        """Here, and not when it happens: only the thread of the run may write to the screen."""
        lines = self._troubles.unseen()
        if lines and isinstance(self._observer, NoteListener):
            self._observer.notes(lines)


class _Courier:
    """A thread that tells one way what comes in, in order."""

    def __init__(self, way: Channel, troubles: "_Troubles") -> None:
        self._way = way
        self._troubles = troubles
        self._queue: SimpleQueue[Notice | None] = SimpleQueue()
        self._stop = Event()
        self._thread: Thread | None = None

    def take(self, notice: Notice) -> None:
        if self._queue.qsize() >= MOST_WAITING:
            self._lost(notice, f"{MOST_WAITING} others wait already")
            return
        self._queue.put(notice)
        if self._thread is None:
            # A daemon: what hangs must not keep the process alive.
            self._thread = Thread(target=self._work, name=f"weft notify {self._way.name}", daemon=True)
            try:
                start_thread(self._thread)
            except OSError as error:  # the system has no room for one
                self._thread = None
                self._lost(notice, describe(error))

    def close(self) -> None:
        self._queue.put(None)

    def wait(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(max(0.0, seconds))

    def hurry(self) -> None:
        """What is under way ends, and what waits is given up."""
        self._stop.set()
        self._way.hurry()
        self.close()

    def _work(self) -> None:
        for notice in iter(self._queue.get, None):
            if self._stop.is_set():
                self._lost(notice, "the run was over, and there was no time left")
                continue
            try:
                self._way.send(notice, self._stop)
            except Exception as error:  # noqa: BLE001 - the edge: whatever it is, the run goes on
                self._lost(notice, str(error) or type(error).__name__)

    def _lost(self, notice: Notice, why: str) -> None:
        self._troubles.note(self._way.name, f"{why} (of: {notice.title})")


class _Troubles:
    """What could not be told."""

    def __init__(self, places: Places) -> None:
        self._log = places.weft / LOG_NAME
        self._lock = Lock()
        self._known: set[str] = set()
        self._unseen: deque[str] = deque()

    def note(self, who: str, why: str) -> None:
        with self._lock:
            self._write(f"{timestamp(time.time())} {who}: {why}\n")
            if who not in self._known:
                self._known.add(who)
                self._unseen.append(f"could not notify {who}: {why}; more of that goes to .weft/{LOG_NAME}")

    def unseen(self) -> list[str]:
        with self._lock:
            lines = list(self._unseen)
            self._unseen.clear()
        return lines

    def _write(self, line: str) -> None:
        try:
            tree, log = locate(self._log)
            with os.fdopen(tree.append(log), "a", encoding="utf-8") as stream:
                stream.write(line)
                stream.flush()
                is_large = os.fstat(stream.fileno()).st_size > LARGEST_LOG
            if is_large:
                with os.fdopen(tree.open(log), "rb") as stream:
                    stream.seek(-LARGEST_LOG // 2, os.SEEK_END)
                    tree.replace(log, stream.read(LARGEST_LOG))
        except OSError:  # it is only a log
            pass
