"""Send notifications during a run without delaying it.

Each channel has a thread and a queue of its own, so that a channel that hangs delays no other. A full queue drops
further notices. At the end of the run the queues have a few seconds; later notices are lost. Failures go to
`.weft/notify.log`, and the first failure of each channel is shown to the user.
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
"""Number of notices that wait for a channel; further ones are dropped."""
LAST_SECONDS = 10.0
"""Seconds that the end of a run waits for unsent notices."""
_HURRIED_SECONDS = 1.0
LARGEST_LOG = 100_000
"""Bytes after which a log is cut to its last half."""
LOG_NAME = "notify.log"


@runtime_checkable
class NoteListener(Protocol):
    """An observer that can show notes besides events."""

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
        """Events that an earlier coordinator has reported; read only with the first news, as they may be many."""
        self._troubles = _Troubles(places)
        self._observer = observer
        self._last_seconds = last_seconds
        self._couriers = [
            (frozenset(notify.on), _Courier(channel, self._troubles))
            for notify in plan.notify
            for channel in self._channels(notify, places, environ)
        ]

    def _channels(self, notify: Notify, places: Places, environ: Mapping[str, str]) -> Iterator[Channel]:
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

    def receive(self, events: Sequence[Recorded]) -> None:
        if not events:
            return
        history, self._history = self._history, ()
        # The journal already contains the new events when this is called, so the history must stop before them.
        for recorded in takewhile(lambda recorded: recorded.seq < events[0].seq, history):
            self._notices.notice_of(recorded)
        for notice in filter(None, map(self._notices.notice_of, events)):
            for selected_events, courier in self._couriers:
                if notice.event in selected_events:
                    courier.take(notice)
        self._show_troubles()

    async def finish(self) -> None:
        try:
            # The wait blocks, so it runs in a thread; a user who presses Ctrl-C again need not sit through it.
            await run_sync(self._wait, abandon_on_cancel=True)
        finally:
            for _, courier in self._couriers:
                courier.hurry()
            self._show_troubles()

    def _wait(self) -> None:
        until = time.monotonic() + self._last_seconds
        for _, courier in self._couriers:
            # All are closed before any is waited for, so that they empty their queues at the same time.
            courier.close()
        for _, courier in self._couriers:
            courier.wait(until - time.monotonic())
        for _, courier in self._couriers:
            courier.hurry()
        for _, courier in self._couriers:
            courier.wait(_HURRIED_SECONDS)

    def _show_troubles(self) -> None:
        """Shows new failures. Only the thread of the run may write to the screen, so channels cannot do this."""
        lines = self._troubles.unseen()
        if lines and isinstance(self._observer, NoteListener):
            self._observer.notes(lines)


class _Courier:
    """A thread that sends notices through one channel, in order."""

    def __init__(self, channel: Channel, troubles: "_Troubles") -> None:
        self._channel = channel
        self._troubles = troubles
        self._queue: SimpleQueue[Notice | None] = SimpleQueue()
        self._stop = Event()
        self._thread: Thread | None = None

    def take(self, notice: Notice) -> None:
        if self._queue.qsize() >= MOST_WAITING:
            self._lost(notice, f"{MOST_WAITING} others wait already")
            return
        self._queue.put(notice)
        # Most runs send no notice, so the thread starts with the first one.
        if self._thread is None:
            # A daemon: what hangs must not keep the process alive.
            self._thread = Thread(target=self._work, name=f"weft notify {self._channel.name}", daemon=True)
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
        """Ends the current delivery and drops the waiting notices."""
        self._stop.set()
        self._channel.hurry()
        self.close()

    def _work(self) -> None:
        for notice in iter(self._queue.get, None):
            if self._stop.is_set():
                self._lost(notice, "the run was over, and there was no time left")
                continue
            try:
                self._channel.send(notice, self._stop)
            except Exception as error:  # noqa: BLE001 - the edge: no failure of a channel may end the run
                self._lost(notice, str(error) or type(error).__name__)

    def _lost(self, notice: Notice, reason: str) -> None:
        self._troubles.note(self._channel.name, f"{reason} (of: {notice.title})")


class _Troubles:
    """The log of undelivered notices."""

    def __init__(self, places: Places) -> None:
        self._log = places.weft / LOG_NAME
        self._lock = Lock()
        self._known: set[str] = set()
        self._unseen: deque[str] = deque()

    def note(self, channel: str, reason: str) -> None:
        # Called from the threads of all channels.
        with self._lock:
            self._write(f"{timestamp(time.time())} {channel}: {reason}\n")
            if channel not in self._known:
                self._known.add(channel)
                self._unseen.append(
                    f"could not notify {channel}: {reason}; further failures are logged in .weft/{LOG_NAME}"
                )

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
                # The log must not fill the disk if a webhook fails for days.
                with os.fdopen(tree.open(log), "rb") as stream:
                    stream.seek(-LARGEST_LOG // 2, os.SEEK_END)
                    tree.replace(log, stream.read(LARGEST_LOG))
        except OSError:  # it is only a log
            pass
