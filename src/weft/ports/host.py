"""The port to a host, a machine that runs processes. A host knows jobs and nothing of plans.

A job is started at most once, whatever happens: its id is never reused, and starting it again does nothing. The
host records the end of a job before it reports it, and only when no process of the job is alive. The record
survives every process, and until the end has been reported it also survives a power cut. A later coordinator
learns of all jobs that the host still knows, running and ended, until it asks the host to forget the ended
ones.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class Job(Struct, frozen=True, kw_only=True):
    """The processes that a host runs under one id."""

    id: str
    commands: tuple[tuple[str, ...], ...]
    """Argument vectors, run one after the other until one fails."""
    cwd: str
    env: Mapping[str, str]
    """Together with `shared`, the whole environment: nothing is inherited from the host."""
    shared: Mapping[str, str] = {}
    """Variables that many jobs have in common, so that they are sent only once. `env` takes precedence."""
    stdin: str | None = None
    """Text for standard input, which is empty otherwise."""
    output: str
    """The prefix of the output files: `<this>.out` and `<this>.err`, and `.out.tail` and `.err.tail` for the end
    of an output that is too long."""
    timeout: float
    grace: float
    sandboxed: bool = False
    """Whether the first process of each command is a sandbox that contains the others. It gets no SIGTERM, because
    it exits with its contents; processes left behind in it end with it."""


class EndReason(StrEnum):
    """The reason for the end of a job."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    """It was stopped on request."""
    NOT_STARTED = "not_started"
    """It could not be started: no such program, no such directory, no memory."""
    LOST = "lost"
    """The supervisor died; the remaining processes of the job have been ended."""


class JobEnded(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The end of a job."""

    id: str
    why: EndReason
    exit_code: int | None = None
    signal: int | None = None
    command: int = 0
    """The number of the last command that ran."""
    message: str = ""
    """The system's error message for `not_started`."""
    stdout: str | None = None
    """The whole output if it is short; otherwise it must be read from the file."""
    stderr: str | None = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    leftovers: int = 0
    """The number of processes that it left behind and that had to be ended."""
    started_at: float = 0.0
    ended_at: float = 0.0


class Running(Struct, frozen=True, kw_only=True):
    """A job that runs."""

    id: str
    pid: int
    started_at: float


KnownJobs = Mapping[str, Running | JobEnded]
"""The jobs that a host knows, by id."""


class Host(Protocol):
    """A machine that runs jobs."""

    async def open(self) -> KnownJobs:
        """Connects to the host, or starts it, and returns its jobs. `ended` does not repeat the ended ones."""
        ...

    def start(self, job: Job) -> None:
        """Starts a job. If it cannot be started, that is reported as its end."""
        ...

    def stop(self, job: str, *, grace: float | None = None) -> None:
        """Ends a job: SIGTERM, a wait of `grace` (None: the job's own), SIGKILL. Its end is reported as usual."""
        ...

    def freeze(self, job: str) -> None:
        """Suspends all processes of a job; the time does not count towards its timeout. `stop` wakes it."""
        ...

    def thaw(self, job: str) -> None:
        """Resumes the processes of a job."""
        ...

    def forget(self, jobs: Sequence[str]) -> None:
        """Lets the host delete the records of these jobs, whose ends are stored elsewhere."""
        ...

    def ended(self) -> AsyncIterator[Sequence[JobEnded]]:
        """Yields the ends of jobs as they happen, in batches."""
        ...

    async def close(self) -> None:
        """Disconnects from the host. Running jobs continue."""
        ...
