"""The supervisor's loop: it takes requests, starts jobs, and records and sends their ends.

There is one thread, one loop, and one place that waits. Each turn handles all input, then records and sends all
ends of the turn, then starts jobs, each after a record of its start. An end that cannot be recorded because the
disk is full is kept and retried; it is not sent before.

Records survive every process. To survive the machine, they must be synced. Without a client, that happens before
the next turn. A client writes down what it receives before it acts on it, so with one the log is synced only once
in a while.

The client that connected last receives the ends. When no client is connected and nothing runs, the supervisor
ends.
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
"""Seconds for the coordinator that started the supervisor to connect."""


class Supervisor:
    """The supervisor of one directory."""

    def __init__(self, directory: str, log: JobLog, history: LogHistory, limits: OutputLimits) -> None:
        self._directory = directory
        self._log = log
        self._ids = history.ids
        self._ended = history.ended
        self._watch = Watch()
        self._jobs = JobTable(directory, limits, log, self._watch)
        self._started = start_time(os.getpid())
        self._client: SupervisorClient | None = None
        self._to_send: list[str] = []
        """Ends to send; a client may request one again."""
        self._is_list_requested = False
        """Whether the client waits for the list of known jobs."""
        self._closing = False
        self._unsynced = False
        """Whether a power loss could destroy recorded ends."""
        self._record_at = 0.0
        self._beat_at = 0.0
        self._exit_at = NEVER

    def serve(self, listener: socket.socket, linger: float) -> None:
        signals = _signals()
        self._watch.add(signals, lambda: self._take_signals(os.read(signals, 4096)))
        self._watch.add(listener.fileno(), lambda: self._accept(listener))
        self._exit_at = monotonic() + linger + _FIRST_LINGER
        while monotonic() < self._exit_at:
            self._turn()
            self._schedule_exit(linger)
            if monotonic() >= self._beat_at:
                self._beat()
                self._watch.expect(listener.fileno())
        self._drop_client()
        if self._unsynced:
            self._sync()

    def _turn(self) -> None:
        record_at = self._record_at if self._jobs.ended else NEVER
        until = min(self._jobs.due, self._beat_at, record_at, self._exit_at)
        self._watch.wait(max(0.0, until - monotonic()))
        # Ends are recorded before they are sent, and before new jobs start: a coordinator never learns of an
        # end that a crash could undo.
        self._jobs.check_due()
        self._record_ends()
        self._answer()
        self._jobs.start_waiting()
        # A coordinator writes each end into its own journal before it acts on it. Without one, the log is the
        # only copy.
        if self._unsynced and not self._has_listener:
            self._sync()

    def _schedule_exit(self, linger: float) -> None:
        if self._jobs.running or self._jobs.ended or (self._client and not self._closing):
            self._exit_at = NEVER
        elif self._closing:
            self._exit_at = monotonic()
        elif self._exit_at == NEVER:
            self._exit_at = monotonic() + linger

    # --- input ---

    def _take_signals(self, numbers: bytes) -> None:
        if signal.SIGTERM in numbers:
            self._closing = True
            self._jobs.stop_all()
        self._jobs.reap()

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            log_problem(f"cannot accept a connection: {words(error)}")
            self._watch.expect(listener.fileno(), readable=False)  # until the next beat
            return
        # The newest coordinator wins. The old one holds no lock any more, or this one could not have opened the
        # journal.
        self._drop_client('{"replaced":true}')
        self._client = client = SupervisorClient(connection)
        self._watch.add(client.descriptor, lambda: self._take_lines(client))
        client.send(encode({"hello": os.getpid(), "started": self._started}))

    def _drop_client(self, *last: str) -> None:
        if self._client is not None:
            self._watch.drop(self._client.descriptor)
            self._client.close(*last)
        self._client, self._is_list_requested = None, False

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
                log_problem(f"cannot understand a request: {error!r}")

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
            self._is_list_requested = True

    def _start(self, request: JobRequest) -> None:
        # A coordinator that reconnects repeats its requests, also for jobs that have ended meanwhile.
        if request.id in self._ended:
            self._to_send.append(self._ended[request.id])
        elif request.id not in self._ids and not self._closing:
            self._ids.add(request.id)
            self._jobs.add(request)

    def _forget(self, jobs: list[str]) -> None:
        for job in jobs:
            self._ended.pop(job, None)
        try:
            self._log.add_forget(jobs)
        except OSError as error:  # the jobs then stay known longer than needed
            log_problem(f"cannot write the log: {words(error)}")

    # --- output ---

    def _record_ends(self) -> None:
        ended = self._jobs.ended
        if not ended or monotonic() < self._record_at:
            return
        try:
            self._log.add(*(f'{{"ended":{end}}}' for end in ended.values()))
        except OSError as error:
            log_problem(f"cannot write the log: {words(error)}")
            self._record_at = monotonic() + _RETRY
            return
        self._unsynced = True
        self._ended.update(ended)
        self._to_send += ended.values()
        self._jobs.ended = {}

    @property
    def _has_listener(self) -> bool:
        return self._client is not None and self._client.listens

    def _sync(self) -> None:
        try:
            self._log.sync()
        except OSError as error:
            log_problem(f"cannot bring the log to the disk: {words(error)}")
        else:
            self._unsynced = False

    def _answer(self) -> None:
        ends, self._to_send = self._to_send, []
        client = self._client
        if client is None:
            return
        # Ends before the list: a job that has just ended is in the list as ended, and must not be reported
        # twice to a client that has just asked.
        if client.listens and ends:
            client.send(f'{{"ended":[{",".join(ends)}]}}')
        if self._is_list_requested:
            self._is_list_requested, client.listens = False, True
            client.send(self._list_jobs())
        if client.broken:
            self._drop_client()
        elif client.waits != client.watched:
            client.watched = client.waits
            self._watch.expect(client.descriptor, writable=client.waits)

    def _list_jobs(self) -> str:
        running = [
            {"id": job.id, "pid": job.pid, "started_at": job.started_at}
            for job in self._jobs.running.values()
        ]
        # Ends that could not be recorded yet, on a full disk, count as running until they are.
        running += [{"id": job, "pid": 0, "started_at": 0.0} for job in self._jobs.ended]
        return f'{{"running":{encode(running)},"ended":[{",".join(self._ended.values())}]}}'

    def _beat(self) -> None:
        self._beat_at = monotonic() + _BEAT
        if self._unsynced:
            self._sync()
        running = {job.id: job.pid for job in self._jobs.running.values()}
        heartbeat = {"pid": os.getpid(), "started": self._started, "at": time.time(), "running": running}
        try:
            replace(f"{self._directory}/heartbeat.json", encode(heartbeat).encode())
        except OSError as error:
            log_problem(f"cannot write the heartbeat: {words(error)}")


def _signals() -> int:
    """Returns a descriptor from which signal numbers can be read."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, _do_nothing)
    return reader


def _do_nothing(number: int, frame: object) -> None:
    """The number has been written to the pipe already."""


@lru_cache(maxsize=8)  # the same problem may last for days, and the file should stay small
def log_problem(problem: str) -> None:
    """Writes to the supervisor's log file; ignores a full disk."""
    with suppress(OSError):
        os.write(2, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {problem}\n".encode())
