"""A host without processes. Its jobs do what their words say; the words are those of the contract of hosts.

The machine outlives the hosts, which are the ways of coordinators to it, as a supervisor outlives a coordinator.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio

from weft.ports.host import (
    EndReason,
    Host,
    Job,
    JobEnded,
    KnownJobs,
    OutputPart,
    PartState,
    Running,
    Sighting,
)

SHORT = 1.0
"""Seconds. Here time passes only for who waits, and then at once as much as is needed."""


class _Ended(Exception):  # noqa: N818 - it is how a job leaves off
    def __init__(self, **how: Any) -> None:
        self.how = how


class VirtualJob:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.command = 0
        self.output: list[str] = []
        self.waits = False
        self._words = [word for argv in job.commands for word in (*argv, "next")][:-1]

    def go_on(self, machine: "VirtualMachine") -> None:
        """Until it has to wait; raises when it is over."""
        self.waits = False
        while self._words and not self.waits:
            self._do(self._words.pop(0).split(), machine)
        if not self.waits:
            raise _Ended(why=EndReason.EXITED, exit_code=0)

    def _do(self, words: list[str], machine: "VirtualMachine") -> None:  # noqa: C901 - one case for each word
        match words:
            case ["next"]:
                self.command += 1
            case ["say", *text]:
                self.output.append(" ".join(text) + "\n")
            case ["mark"]:
                machine.marks[self.job.id] += 1
            case ["exit", code] if code != "0":
                raise _Ended(why=EndReason.EXITED, exit_code=int(code))
            case ["die", number]:
                raise _Ended(why=EndReason.EXITED, signal=int(number))
            case ["run", name]:
                raise _Ended(why=EndReason.NOT_STARTED, message=f"there is no {name}")
            case ["wait"] if self.job.timeout < SHORT:
                raise _Ended(why=EndReason.TIMEOUT, signal=15)
            case ["wait"] if self.job.idle_timeout is not None and self.job.idle_timeout < SHORT:
                raise _Ended(why=EndReason.IDLE, signal=15)
            case ["wait"]:
                self.waits = True
            case _:
                pass


class VirtualMachine:
    def __init__(self) -> None:
        self.marks: Counter[str] = Counter()
        self.jobs: dict[str, VirtualJob] = {}
        """Those that run, or are about to."""
        self.ended: dict[str, JobEnded] = {}
        self.started: dict[str, Job] = {}
        """All that ever were."""
        self.outputs: dict[str, list[str]] = {}
        """What jobs wrote to standard output, by the name of the output."""
        self._pending: list[str] = []
        self._frozen: set[str] = set()
        self._visitor: VirtualHost | None = None
        self.is_used = False

    def visit(self, host: "VirtualHost") -> KnownJobs:
        self._visitor = host
        self.is_used = True
        self.work()
        running = {name: Running(id=name, pid=1, started_at=1.0) for name in self.jobs}
        return {**running, **self.ended}

    def start(self, job: Job) -> None:
        if job.id in self.ended:
            self._tell(self.ended[job.id])
        elif job.id not in self.started:
            self.started[job.id] = job
            self.jobs[job.id] = VirtualJob(job)
            self.outputs[job.output] = self.jobs[job.id].output
            self._pending.append(job.id)

    def work(self) -> None:
        pending, self._pending = self._pending, []
        for name in pending:
            if name in self._frozen:
                self._pending.append(name)
            else:
                self._go_on(name)

    def _go_on(self, name: str) -> None:
        with suppress(KeyError):  # it was stopped meanwhile
            try:
                self.jobs[name].go_on(self)
            except _Ended as end:
                self.end(name, **end.how)

    def end(self, name: str, **how: Any) -> None:
        done = self.jobs.pop(name)
        output = "".join(done.output)
        self.ended[name] = JobEnded(
            id=name,
            command=done.command,
            stdout=output,
            stderr="",
            stdout_bytes=len(output),
            started_at=1.0,
            ended_at=2.0,
            **how,
        )
        self._tell(self.ended[name])

    def _tell(self, end: JobEnded) -> None:
        if self._visitor is not None:
            self._visitor.hear(end)

    def stop(self, name: str, *, now: bool) -> None:
        if name in self.jobs:
            self.end(name, why=EndReason.STOPPED, signal=9 if now else 15)

    def freeze(self, name: str, *, frozen: bool) -> None:
        if frozen and name in self.jobs:
            self._frozen.add(name)
        else:
            self._frozen.discard(name)

    def release(self, name: str) -> None:
        """Lets a waiting job continue."""
        self.work()
        assert self.jobs[name].waits
        self._pending.append(name)
        self.work()

    def crash(self) -> None:
        """The supervisor dies, and all running jobs are lost."""
        for name in [name for name in self.jobs if name not in self._pending]:
            self.end(name, why=EndReason.LOST)

    def waiting(self) -> list[str]:
        self.work()
        return [name for name, job in self.jobs.items() if job.waits]


class VirtualHost(Host):
    def __init__(self, machine: VirtualMachine) -> None:
        self._machine = machine
        self._ends: list[JobEnded] = []
        self._news = anyio.Event()
        self._closed = False

    # --- the records ---

    def exists(self) -> bool:
        return self._machine.is_used

    def running(self) -> Mapping[str, Sighting]:
        self._machine.work()
        return {name: Sighting(pid=1, at=1.0) for name in self._machine.jobs}

    def state(self, output: str, part: OutputPart) -> PartState | None:
        text = self._text(output, part)
        return PartState(size=len(text), changed_at=len(text)) if text else None

    def read(self, output: str, part: OutputPart, offset: int, length: int) -> bytes:
        return self._text(output, part)[max(offset, 0) :][:length]

    def outputs(self, prefix: str) -> Sequence[str]:
        names = sorted(self._machine.outputs)
        return [
            name for name in names if f"{name}.".startswith(f"{prefix}.") and self._text(name, OutputPart.OUT)
        ]

    def _text(self, output: str, part: OutputPart) -> bytes:
        written = self._machine.outputs.get(output, []) if part is OutputPart.OUT else []
        return "".join(written).encode()

    # --- the jobs ---

    def prepare(self) -> None:
        pass

    def wait_until_gone(self) -> None:
        pass

    async def open(self) -> KnownJobs:
        await anyio.lowlevel.checkpoint()
        return self._machine.visit(self)

    def start(self, job: Job) -> None:
        self._machine.start(job)
        self._news.set()

    def stop(self, job: str, *, grace: float | None = None) -> None:
        self._machine.stop(job, now=grace == 0.0)

    def freeze(self, job: str) -> None:
        self._machine.freeze(job, frozen=True)

    def thaw(self, job: str) -> None:
        self._machine.freeze(job, frozen=False)
        self._news.set()

    def forget(self, jobs: Sequence[str]) -> None:
        for job in jobs:
            self._machine.ended.pop(job, None)

    def hear(self, end: JobEnded) -> None:
        self._ends.append(end)
        self._news.set()

    async def ended(self) -> AsyncIterator[Sequence[JobEnded]]:
        while not self._closed:
            await self._news.wait()
            self._news = anyio.Event()
            self._machine.work()
            if self._ends:
                ends, self._ends = self._ends, []
                yield ends

    async def close(self) -> None:
        await anyio.lowlevel.checkpoint()
        self._closed = True
        self._news.set()
