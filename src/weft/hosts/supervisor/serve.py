"""The supervisor's life: it takes requests, starts jobs, notices their ends, records them, and tells them.

One thread, one loop, no waiting but in one place. In each turn everything that has come is taken; then all ends of
the turn are recorded and told; then jobs are started, each after a record that it will be. An end that cannot be
recorded, as the disk is full, is kept and tried again; nobody hears of it before.

What is recorded outlives every process. To outlive the machine it must be on the disk: where nobody listens, it is
brought there before the next turn. Where somebody does, that one writes down what it hears before it acts on it,
so there is no hurry, and the disk is asked only once in a while.

Whoever connects last is the one who is told. When nobody is connected and nothing runs, the supervisor goes.
"""

import json
import os
import signal
import socket
import time
from contextlib import suppress
from functools import lru_cache
from time import monotonic

from .client import SupervisorClient
from .job import JobRequest
from .jobs import JobTable
from .log import JobLog, LogHistory, encode, start_time
from .streams import NEVER, OutputLimits, replace, words
from .watch import Watch

_BEAT = 2.0
_RETRY = 1.0
_FIRST_LINGER = 10.0
"""Seconds for whoever started us to connect."""


class Supervisor:
    def __init__(self, directory: str, log: JobLog, history: LogHistory, limits: OutputLimits) -> None:
        self._directory = directory
        self._log = log
        self._ids = history.ids
        self._ended = history.ended
        self._watch = Watch()
        self._jobs = JobTable(directory, limits, log, self._watch)
        self._started = start_time(os.getpid())
        self._client: SupervisorClient | None = None
        self._again: list[str] = []
        """Ends to be told once more, as they were asked for."""
        self._asked = False
        """Whether the client waits for what is known."""
        self._closing = False
        self._unsynced = False
        """Whether ends are recorded that a power cut could take away."""
        self._record_at = 0.0
        self._beat_at = 0.0
        self._leave_at = NEVER

    def serve(self, listener: socket.socket, linger: float) -> None:
        signals = _signals()
        self._watch.add(signals, lambda: self._take_signals(os.read(signals, 4096)))
        self._watch.add(listener.fileno(), lambda: self._accept(listener))
        self._leave_at = monotonic() + linger + _FIRST_LINGER
        while monotonic() < self._leave_at:
            self._turn()
            self._consider_leaving(linger)
            if monotonic() >= self._beat_at:
                self._beat()
                self._watch.expect(listener.fileno())
        self._drop_client()
        if self._unsynced:
            self._sync()

    def _turn(self) -> None:
        record_at = self._record_at if self._jobs.ended else NEVER
        until = min(self._jobs.due, self._beat_at, record_at, self._leave_at)
        self._watch.wait(max(0.0, until - monotonic()))
        self._jobs.look_after()
        self._record_ends()
        self._answer()
        self._jobs.start_waiting()
        if self._unsynced and not self._is_heard:
            self._sync()

    def _consider_leaving(self, linger: float) -> None:
        if self._jobs.there or self._jobs.ended or (self._client and not self._closing):
            self._leave_at = NEVER
        elif self._closing:
            self._leave_at = monotonic()
        elif self._leave_at == NEVER:
            self._leave_at = monotonic() + linger

    # --- what comes ---

    def _take_signals(self, numbers: bytes) -> None:
        if signal.SIGTERM in numbers:
            self._closing = True
            self._jobs.stop_all()
        self._jobs.reap()

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            complain(f"cannot accept a connection: {words(error)}")
            self._watch.expect(listener.fileno(), readable=False)  # until the next beat
            return
        self._drop_client('{"replaced":true}')
        self._client = client = SupervisorClient(connection)
        self._watch.add(client.descriptor, lambda: self._take_lines(client))
        client.send(encode({"hello": os.getpid(), "started": self._started}))

    def _drop_client(self, *last: str) -> None:
        if self._client is not None:
            self._watch.drop(self._client.descriptor)
            self._client.close(*last)
        self._client, self._asked = None, False

    def _take_lines(self, client: SupervisorClient) -> None:
        client.flush()
        lines = client.read()
        if lines is None:
            self._drop_client()
            return
        for line in lines:
            try:
                self._take(line, client)
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                complain(f"cannot make sense of what was asked for: {error!r}")

    def _take(self, line: bytearray, client: SupervisorClient) -> None:
        message = json.loads(line)
        if "start" in message:
            shared = client.shared[int(message["shared"])]
            self._start(JobRequest(message["start"], shared=shared))
        elif "share" in message:
            client.shared.append(message["share"])
        elif "stop" in message:
            self._jobs.stop(message["stop"], message["grace"])
        elif "freeze" in message:
            self._jobs.freeze(message["freeze"], frozen=message["frozen"])
        elif "forget" in message:
            self._forget(message["forget"])
        else:
            self._asked = True

    def _start(self, request: JobRequest) -> None:
        if request.id in self._ended:
            self._again.append(self._ended[request.id])
        elif request.id not in self._ids and not self._closing:
            self._ids.add(request.id)
            self._jobs.add(request)

    def _forget(self, jobs: list[str]) -> None:
        for job in jobs:
            self._ended.pop(job, None)
        try:
            self._log.add_forget(jobs)
        except OSError as error:  # then they are known a little longer than needed
            complain(f"cannot write the log: {words(error)}")

    # --- what goes ---

    def _record_ends(self) -> None:
        ended = self._jobs.ended
        if not ended or monotonic() < self._record_at:
            return
        try:
            self._log.add(*(f'{{"ended":{end}}}' for end in ended.values()))
        except OSError as error:
            complain(f"cannot write the log: {words(error)}")
            self._record_at = monotonic() + _RETRY
            return
        self._unsynced = True
        self._ended.update(ended)
        self._again += ended.values()
        self._jobs.ended = {}

    @property
    def _is_heard(self) -> bool:
        return self._client is not None and self._client.listens

    def _sync(self) -> None:
        try:
            self._log.sync()
        except OSError as error:
            complain(f"cannot bring the log to the disk: {words(error)}")
        else:
            self._unsynced = False

    def _answer(self) -> None:
        ends, self._again = self._again, []
        client = self._client
        if client is None:
            return
        if client.listens and ends:
            client.send(f'{{"ended":[{",".join(ends)}]}}')
        if self._asked:
            self._asked, client.listens = False, True
            client.send(self._known())
        if client.broken:
            self._drop_client()
        elif client.waits != client.watched:
            client.watched = client.waits
            self._watch.expect(client.descriptor, writable=client.waits)

    def _known(self) -> str:
        running = [
            {"id": job.id, "pid": job.pid, "started_at": job.started_at} for job in self._jobs.there.values()
        ]
        running += [{"id": job, "pid": 0, "started_at": 0.0} for job in self._jobs.ended]
        return f'{{"running":{encode(running)},"ended":[{",".join(self._ended.values())}]}}'

    def _beat(self) -> None:
        self._beat_at = monotonic() + _BEAT
        if self._unsynced:
            self._sync()
        running = {job.id: job.pid for job in self._jobs.there.values()}
        sign = {"pid": os.getpid(), "started": self._started, "at": time.time(), "running": running}
        try:
            replace(f"{self._directory}/heartbeat.json", encode(sign).encode())
        except OSError as error:
            complain(f"cannot write the heartbeat: {words(error)}")


def _signals() -> int:
    """A descriptor from which their numbers can be read."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, _do_nothing)
    return reader


def _do_nothing(number: int, frame: object) -> None:
    """The number has been written to the pipe already."""


@lru_cache(maxsize=8)  # it may go on for days, and the file is to stay small
def complain(what: str) -> None:
    """To a file; if even that is full there is nothing to be done."""
    with suppress(OSError):
        os.write(2, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {what}\n".encode())
