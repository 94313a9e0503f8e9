"""The streams of runs: server-sent events with the number of the journal's last event as id.

One task for each run that is watched polls its journal and gives each message to all its readers. The message of a
reader that has fallen behind waits in a short queue; when that is full, the reader is dropped. It connects again
with the number of the last event that it has, and gets everything since: rows have their present values, so
nothing can be lost or applied twice.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from weft.app.read_model.live_run import LiveRun
from weft.app.views.needs_model import Need
from weft.app.views.snapshot_model import Activity, ActivityUpdate, Increment, Strip
from weft.web.server.live_runs import LiveRuns

INTERVAL = 0.25
"""Seconds between two messages."""
_ACTIVITY = 1.0
_REFRESH = 5.0
"""Seconds after which also what depends on the clock alone is looked at, such as the end of a usage limit."""
_ALIVE = 15.0
_QUEUE = 32
"""Messages that wait for a slow reader."""
_PATIENCE = 30.0
"""Seconds for which a reader may take nothing."""
MOST_READERS = 100

_encode = msgspec.json.Encoder().encode
RESYNC = b"event: resync\ndata: {}\n\n"
# A comment alone would be enough for the connection, but a page cannot see it.
ALIVE = b": alive\nevent: alive\ndata: {}\n\n"


def change_message(increment: Increment) -> bytes:
    """Returns the event `change`."""
    return b"id: %d\nevent: change\ndata: %b\n\n" % (increment.seq, _encode(increment))


def activity_message(activity: dict[int, Activity]) -> bytes:
    """Returns the event `activity`, which has no id."""
    return b"event: activity\ndata: %b\n\n" % _encode(ActivityUpdate(activity=activity))


class StreamReader:
    """A client of a stream."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[bytes | None] = asyncio.Queue(_QUEUE)
        """None ends the stream."""

    def put(self, message: bytes) -> bool:
        """Queues a message; returns False if the reader is too slow."""
        try:
            self.messages.put_nowait(message)
        except asyncio.QueueFull:
            return False
        return True

    def end(self) -> None:
        """Ends the stream, after which the client connects again."""
        with suppress(asyncio.QueueEmpty):
            while True:
                self.messages.get_nowait()
        self.messages.put_nowait(None)


class Feed:
    """The stream of one run, for all its readers."""

    def __init__(self, runs: LiveRuns, run: str) -> None:
        self._runs = runs
        self.run = run
        self.readers: set[StreamReader] = set()
        self._seq = -1
        self._needs: Sequence[Need] | None = None
        self._strip: Strip | None = None
        self._activity: dict[int, Activity] = {}
        self._activity_at = self._refreshed_at = 0.0

    async def serve(self) -> None:
        """Polls until no reader is left."""
        while self.readers:
            for message in await self._runs.ask(self.run, self._news):
                for reader in [reader for reader in self.readers if not reader.put(message)]:
                    self.readers.discard(reader)
                    reader.end()
            await asyncio.sleep(INTERVAL)

    def _news(self, live: LiveRun) -> list[bytes]:
        """Returns the messages since the last call. It runs in the thread of the runs."""
        now = time.monotonic()
        messages: list[bytes] = []
        is_due = now - self._refreshed_at >= _REFRESH
        has_news = live.is_changed() or live.view.seq > self._seq
        is_active = self._strip is not None and self._strip.is_active
        if has_news or is_due or is_active != live.is_active():
            self._refreshed_at = now
            messages += self._changes(live)
        if now - self._activity_at >= _ACTIVITY:
            self._activity_at = now
            activity = live.activity()
            if activity != self._activity:
                self._activity = activity
                messages.append(activity_message(activity))
        return messages

    def _changes(self, live: LiveRun) -> list[bytes]:
        is_first = self._strip is None
        increment = live.increment_since(max(self._seq, live.view.seq if is_first else 0), self._needs)
        if increment is None:
            self._seq = live.view.seq
            return [RESYNC]
        is_same = (
            not increment.rows and increment.needs is None and _without_clock(increment.strip) == self._strip
        )
        self._seq, self._strip = increment.seq, _without_clock(increment.strip)
        self._needs = increment.needs if increment.needs is not None else self._needs
        # The first increment is for the feed: each reader begins with one of its own.
        return [] if is_same or is_first else [change_message(increment)]


def _without_clock(strip: Strip) -> Strip:
    """Returns the strip without what changes with time alone."""
    return msgspec.structs.replace(strip, at=0.0, seconds=0.0)


class Feeds:
    """The streams of all runs that are watched."""

    def __init__(self, runs: LiveRuns) -> None:
        self._runs = runs
        self._feeds: dict[str, tuple[Feed, asyncio.Task[None]]] = {}

    @property
    def readers(self) -> int:
        return sum(len(feed.readers) for feed, _ in self._feeds.values())

    async def stream(self, run: str, after: int | None) -> "EventStream":
        """Returns the stream of a run from an event on; without one, from now on."""
        run = await self._runs.ask(run, lambda live: live.id)
        reader = StreamReader()
        # The reader joins first, and then gets what it lacks: so there is no moment that neither covers.
        self._join(run, reader)
        first = await self._runs.ask(run, lambda live: _first_message(live, after))
        reader.put(first)
        return EventStream(self, run, reader)

    def _join(self, run: str, reader: StreamReader) -> None:
        feed, task = self._feeds.get(run, (None, None))
        if feed is None or task is None or task.done():
            feed = Feed(self._runs, run)
            feed.readers.add(reader)
            self._feeds[run] = feed, asyncio.create_task(self._serve(feed))
        else:
            feed.readers.add(reader)

    async def _serve(self, feed: Feed) -> None:
        try:
            await feed.serve()
        finally:
            # After an error, such as a journal that cannot be read any more, the clients ask again and see it.
            self._feeds.pop(feed.run, None)
            for reader in feed.readers:
                reader.end()

    def leave(self, run: str, reader: StreamReader) -> None:
        if run in self._feeds:
            self._feeds[run][0].readers.discard(reader)

    def close(self) -> None:
        """Ends all streams."""
        for feed, task in [*self._feeds.values()]:
            for reader in feed.readers:
                reader.end()
            task.cancel()


def _first_message(live: LiveRun, after: int | None) -> bytes:
    live.catch_up()
    increment = live.increment_since(live.view.seq if after is None else after)
    return RESYNC if increment is None else change_message(increment)


class EventStream(Response):
    """The response with the messages of a reader."""

    def __init__(self, feeds: Feeds, run: str, reader: StreamReader) -> None:
        super().__init__()
        self._feeds = feeds
        self._run = run
        self._reader = reader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        sender = asyncio.create_task(self._send_all(send, headers))
        try:
            # `receive` ends when the client has gone, which the sender may not notice for long.
            gone = asyncio.create_task(_until_gone(receive))
            await asyncio.wait({sender, gone}, return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
        finally:
            self._feeds.leave(self._run, self._reader)
            sender.cancel()
            with suppress(asyncio.CancelledError, TimeoutError, OSError):
                await sender

    async def _send_all(self, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"retry: 1000\n\n", "more_body": True})
        while True:
            try:
                message = await asyncio.wait_for(self._reader.messages.get(), _ALIVE)
            except TimeoutError:
                message = ALIVE
            if message is None:
                break
            body = {"type": "http.response.body", "body": message, "more_body": True}
            await asyncio.wait_for(send(body), _PATIENCE)
        await asyncio.wait_for(send({"type": "http.response.body", "body": b""}), _PATIENCE)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
