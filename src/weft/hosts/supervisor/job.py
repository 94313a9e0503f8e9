"""A job: its commands in sequence, its two outputs, and its end."""

import os
import time
from collections.abc import Sequence

from .log import encode
from .processes import Process, job_variables, set_mark
from .spawn import NotStartedError, open_input, spawn
from .streams import NEVER, OutputLimits, Stream, words
from .termination import LEFTOVER_GRACE, Termination

EXITED, TIMEOUT, IDLE, STOPPED, NOT_STARTED = "exited", "timeout", "idle", "stopped", "not_started"


class JobRequest:
    """A job as it was sent."""

    id: str
    commands: list[list[str]]
    cwd: str
    env: dict[str, str]
    stdin: str | None
    output: str
    timeout: float | None
    """None for no limit, because JSON has no infinity."""
    idle_timeout: float | None = None
    """The seconds for which it may write nothing; None for no limit."""
    grace: float
    sandboxed: bool = False

    def __init__(self, sent: dict[str, object], *, shared: dict[str, str]) -> None:
        vars(self).update(sent)
        self.env = shared | self.env


class RunningJob:
    """A job that has not ended."""

    def __init__(self, request: JobRequest, mark: int) -> None:
        self.request = request
        self.id = request.id
        self.mark = mark
        self.pid = 0
        """The pid of the running command; 0 if none runs."""
        self.pids: list[int] = []
        """The pids of all commands so far."""
        self.streams: list[Stream] = []
        self.started_at = 0.0
        self.deadline = NEVER
        self.ending: Termination | None = None
        self._remaining: float | None = None
        """While it is frozen, the seconds that remain of its timeout."""
        self._awake_since = NEVER
        """When it was started or last thawed: its silence before that does not count."""
        self._command = 0
        self._why = EXITED
        self._message = ""
        self._status: int | None = None
        self._leftovers: set[tuple[int, int]] = set()

    # --- its life ---

    def open_streams(self, limits: OutputLimits) -> None:
        for name in ("out", "err"):
            self.streams.append(Stream(f"{self.request.output}.{name}", limits))

    def run(self, directory: str) -> None:
        """Starts the next command."""
        request = self.request
        if self._command == 0:
            self.started_at = time.time()
            self._awake_since = time.monotonic()
            self.deadline = NEVER if request.timeout is None else time.monotonic() + request.timeout
        # The mark is inherited through fork and exec, and by every descendant, whatever it does to its
        # environment.
        set_mark(self.mark)
        env = request.env | job_variables(self.id, directory)
        argv = request.commands[self._command] if request.commands else []
        stdin = None if request.stdin is None else open_input(request.stdin)
        try:
            self.pid = spawn(argv, request.cwd, env, [stdin, *(stream.writer for stream in self.streams)])
        finally:
            if stdin is not None:
                os.close(stdin)
        self.pids.append(self.pid)

    def command_ended(self, status: int) -> bool:
        """Records the end of a command; returns whether another one follows."""
        self.pid = 0
        self._status = os.waitstatus_to_exitcode(status)
        if self._status != 0 or self.ending or self._command == len(self.request.commands) - 1:
            return False
        self._command += 1
        return True

    def fail(self, error: NotStartedError | OSError) -> None:
        """Records that it could not be started."""
        self._why = NOT_STARTED
        self._message = (
            f"the supervisor lacks resources to start it: {words(error)}"
            if isinstance(error, OSError)
            else str(error)
        )

    def stop(self, why: str, grace: float) -> None:
        if self.ending is None:
            self._why = why
            # In a sandbox the first process is the one that holds the others; if it ended first, the kernel
            # would kill the rest without their grace.
            self.ending = Termination(grace, spared=self.pid if self.request.sandboxed else 0)
        else:
            self.ending.shorten(grace)

    @property
    def is_frozen(self) -> bool:
        return self._remaining is not None

    def freeze(self) -> None:
        # The time limits of a step do not run while it is frozen.
        self._remaining, self.deadline = self.deadline - time.monotonic(), NEVER

    def thaw(self) -> None:
        assert self._remaining is not None
        self.deadline = time.monotonic() + self._remaining
        self._remaining = None
        self._awake_since = time.monotonic()

    def add_leftovers(self, leftovers: Sequence[Process]) -> None:
        """Records the processes that remain after the last command has ended by itself."""
        if self.ending is None:
            self.ending = Termination(min(LEFTOVER_GRACE, self.request.grace))
        if self._why == EXITED and not self.request.sandboxed:  # processes in a sandbox are dying already
            self._leftovers.update(process.key for process in leftovers)

    # --- timing ---

    @property
    def due(self) -> float:
        due = self.ending.check_at if self.ending else min(self.deadline, self.idle_deadline)
        for stream in self.streams:
            due = min(due, stream.due)
        return due

    @property
    def idle_deadline(self) -> float:
        """When it will have been silent for too long."""
        limit = self.request.idle_timeout
        if limit is None or self.is_frozen:
            return NEVER
        return limit + max([self._awake_since, *(stream.written_at for stream in self.streams)])

    def store_tails(self, now: float) -> None:
        for stream in self.streams:
            if stream.due <= now:
                stream.store_tail()

    # --- its end ---

    def finish(self) -> str:
        """Closes the outputs after all processes have ended; returns the end of the job as JSON."""
        end: dict[str, object] = {"id": self.id, "why": self._why}
        for name, stream in zip(("stdout", "stderr"), self.streams, strict=False):
            stream.finish()
            end |= {name: stream.text(), f"{name}_bytes": stream.count}
        end |= self._result() | {
            "command": self._command,
            "message": "; ".join(filter(None, [self._message, *(stream.trouble for stream in self.streams)])),
            "leftovers": len(self._leftovers),
            "started_at": self.started_at,
            "ended_at": time.time(),
        }
        return encode({name: value for name, value in end.items() if value is not None})

    def _result(self) -> dict[str, object]:
        if self._status is None or self._why == NOT_STARTED:
            return {}
        return {"exit_code": self._status} if self._status >= 0 else {"signal": -self._status}
