"""The port to a host, a machine that runs processes. A host knows jobs and nothing of plans.

A job is started at most once, whatever happens: its id is never reused, and starting it again does nothing. The
host records the end of a job before it reports it, and only when no process of the job is alive. The record
survives every process, and until the end has been reported it also survives a power cut. A later coordinator
learns of all jobs that the host still knows, running and ended, until it asks the host to forget the ended
ones.

Everything that passes through the port is either a name that the coordinator chose or a path of the coordinator's
machine. A host on another machine translates the paths and keeps its own to itself.
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
    """The name under which the host stores the output, such as `store.model/test.1.7-1`. `read` takes it."""
    timeout: float
    idle_timeout: float | None = None
    """The seconds for which the job may write nothing; None without a limit."""
    grace: float
    sandboxed: bool = False
    """Whether the first process of each command is a sandbox that contains the others. It gets no SIGTERM, because
    it exits with its contents; processes left behind in it end with it."""
    host: str = ""
    """The name of the host; empty for this machine."""
    inherits: tuple[str, ...] = ()
    """For a job on another machine: the names of variables that it inherits from the account there, such as PATH
    or `*_API_KEY`. Their values stay there."""
    subplan: str = ""
    """The path of the slice in whose workspace it works; the slice stays on one machine of its host."""


class EndReason(StrEnum):
    """The reason for the end of a job."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    IDLE = "idle"
    """It wrote nothing for longer than its `idle_timeout`."""
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
    """The whole output if it is short; otherwise `read` returns it."""
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


class OutputPart(StrEnum):
    """A part of what a job has written."""

    OUT = "out"
    """The beginning of standard output, as it arrives."""
    ERR = "err"
    OUT_TAIL = "out.tail"
    """The end of a standard output that is too long. It is replaced while the job runs."""
    ERR_TAIL = "err.tail"
    REPORT = "result.json"
    """The file that WEFT_RESULT names, which the processes of the job write themselves."""


class PartState(Struct, frozen=True, kw_only=True):
    """The state of a part of an output. Two states are equal if the part has not changed between them."""

    size: int
    changed_at: int
    """In nanoseconds."""
    version: int = 0
    """Changes if the part was replaced as a whole."""


class Sighting(Struct, frozen=True, kw_only=True):
    """A running job, as the host last reported it."""

    pid: int
    at: float
    """When the host reported it."""


KnownJobs = Mapping[str, Running | JobEnded]
"""The jobs that a host knows, by id."""


class JobRecords(Protocol):
    """The stored output of jobs, and the last report about them.

    Any process can read it, at any time, without taking the jobs over. Reading never waits for a machine: a host
    on another one answers from what it has received. Absent output is empty; nothing here raises.
    """

    def exists(self) -> bool:
        """Whether the host may have jobs of this run."""
        ...

    def running(self) -> Mapping[str, Sighting]:
        """Returns the jobs that run according to the last report, which may be a few seconds old."""
        ...

    def state(self, output: str, part: OutputPart) -> PartState | None:
        """Returns the state of a part; None if it does not exist."""
        ...

    def read(self, output: str, part: OutputPart, offset: int, length: int) -> bytes:
        """Returns at most `length` bytes from `offset` on."""
        ...

    def outputs(self, prefix: str) -> Sequence[str]:
        """Returns the outputs named `prefix`, or `prefix` with a dot and more."""
        ...


class Host(JobRecords, Protocol):
    """A machine that runs jobs."""

    def prepare(self) -> None:
        """Lets the host start in the background, before the event loop runs. `open` works without it, too."""
        ...

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
        """Lets the host delete the records of these jobs; their ends are stored elsewhere."""
        ...

    def ended(self) -> AsyncIterator[Sequence[JobEnded]]:
        """Yields the ends of jobs as they happen, in batches."""
        ...

    async def close(self) -> None:
        """Disconnects from the host. Running jobs continue."""
        ...

    def wait_until_gone(self) -> None:
        """Blocks until the host, which is closed and idle, has ended, so that its files can be removed."""
        ...
