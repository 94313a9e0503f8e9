"""A host: where processes run. It knows jobs, and nothing of plans.

A job is started at most once, whatever happens: its id names it for ever, and to start it again does nothing. Its
end is recorded before it is told, and only when no process of it is alive; the record outlives every process, and
what nobody has heard of a power cut as well. Who comes later hears of all jobs that the host still knows, running
and ended, until it says that it does not need an ended one any more.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class Job(Struct, frozen=True, kw_only=True):
    id: str
    commands: tuple[tuple[str, ...], ...]
    """Argvs, run one after the other until one fails."""
    cwd: str
    env: Mapping[str, str]
    """With `shared`, all of its environment: nothing comes from the host."""
    shared: Mapping[str, str] = {}
    """Variables that many jobs have in common, so that they need to be told only once; `env` goes before them."""
    stdin: str | None = None
    """Text for its standard input, which is empty otherwise."""
    output: str
    """Where its output goes: `<this>.out` and `<this>.err`, and for what is too long `.out.tail`, `.err.tail`."""
    timeout: float
    grace: float
    sandboxed: bool = False
    """Whether the first process of a command only keeps the others in. It is not asked to end, as it ends with
    what it keeps; and what that leaves behind ends with it."""


class Why(StrEnum):
    EXITED = "exited"
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    """It was ended on request."""
    NOT_STARTED = "not_started"
    """It could not be started: no such program, no such directory, no memory."""
    LOST = "lost"
    """Whoever watched it died; what was left of it has been ended."""


class JobEnded(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    why: Why
    exit_code: int | None = None
    signal: int | None = None
    command: int = 0
    """The number of the last command that was run."""
    message: str = ""
    """For `not_started`: what the system said."""
    stdout: str | None = None
    """The whole of it, if it is short; else it is to be read from the file."""
    stderr: str | None = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    leftovers: int = 0
    """Processes that it left behind and that had to be ended."""
    started_at: float = 0.0
    ended_at: float = 0.0


class Running(Struct, frozen=True, kw_only=True):
    id: str
    pid: int
    started_at: float


Known = Mapping[str, Running | JobEnded]


class Host(Protocol):
    async def open(self) -> Known:
        """Find the host or make it; the jobs it knows of. What was found ended is not told again by `ended`."""
        ...

    def start(self, job: Job) -> None:
        """Hand over a job. That it cannot be started is told as its end."""
        ...

    def stop(self, job: str, *, grace: float | None = None) -> None:
        """End a job: SIGTERM, the grace (the job's own if None), SIGKILL. Its end is told as always."""
        ...

    def freeze(self, job: str) -> None:
        """Have all processes of a job stand still; time does not count for it. To stop it wakes it."""
        ...

    def thaw(self, job: str) -> None:
        """Have them go on."""
        ...

    def forget(self, jobs: Sequence[str]) -> None:
        """The ends of these jobs are safe elsewhere."""
        ...

    def ended(self) -> AsyncIterator[Sequence[JobEnded]]:
        """The ends of jobs, as they come; those that come together, together."""
        ...

    async def close(self) -> None:
        """Leave. What runs goes on."""
        ...
